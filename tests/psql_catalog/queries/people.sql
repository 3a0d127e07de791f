CREATE TABLE dept (id int PRIMARY KEY, name varchar(20) NOT NULL UNIQUE);
CREATE TABLE people (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  n serial,
  big bigserial,
  name varchar(40) NOT NULL,
  code char(3) DEFAULT 'abc',
  salary numeric(10,2) DEFAULT 0 CHECK (salary > 0),
  dept int REFERENCES dept (id) ON DELETE CASCADE,
  hired date DEFAULT CURRENT_DATE,
  at timestamptz(3) DEFAULT now(),
  note text DEFAULT 'none',
  flag bool DEFAULT true,
  tags text[] DEFAULT '{}',
  doc jsonb,
  u uuid,
  f real, d double precision, s smallint,
  initials text GENERATED ALWAYS AS (upper(name)) STORED,
  CONSTRAINT named CHECK (name <> '' AND length(name) < 30),
  CONSTRAINT either CHECK (note IS NOT NULL OR flag),
  UNIQUE (name, dept));
CREATE INDEX people_hired ON people (hired DESC);
CREATE INDEX people_lower ON people (lower(name));
CREATE INDEX people_part ON people (dept) WHERE flag;
CREATE SEQUENCE standalone INCREMENT 5 MINVALUE 10 MAXVALUE 1000 START 20 CYCLE;
COMMENT ON TABLE people IS 'all of them';
COMMENT ON COLUMN people.name IS 'full name';
COMMENT ON INDEX people_hired IS 'an index';
COMMENT ON CONSTRAINT named ON people IS 'a check';
COMMENT ON SEQUENCE standalone IS 'a sequence';

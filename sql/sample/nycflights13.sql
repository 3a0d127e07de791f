-- The reference tables of nycflights13 (public domain, CC0): declared, with a key of their own.
-- One partition holds each of the two small ones, so a transaction may change any of their rows together; planes are
-- spread over four partitions, and a statement by tail number still reads one entity.

CREATE TABLE airlines (
    carrier text PRIMARY KEY,
    name    text NOT NULL
) WITH (partition_key = '''airlines''', row_key = 'carrier');

CREATE TABLE airports (
    faa   text PRIMARY KEY,
    name  text NOT NULL,
    lat   double precision,
    lon   double precision,
    alt   integer,
    tz    integer,
    dst   text,
    tzone text
) WITH (partition_key = '''airports''', row_key = 'faa');

CREATE TABLE planes (
    tailnum      text PRIMARY KEY,
    year         integer,
    type         text,
    manufacturer text,
    model        text,
    engines      integer,
    seats        integer,
    speed        integer,
    engine       text
) WITH (partition_key = 'bucket(4)', row_key = 'tailnum');

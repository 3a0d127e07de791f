-- The table that the expressions of the facts are over, and a schema for others of its name.
CREATE SCHEMA s;
CREATE TABLE things (
    a int, b int2, c int8, n numeric(10,2), t text, v varchar(10), ch char(3), d date, ts timestamp, tz timestamptz,
    f float8, r float4, bo bool, u uuid, j jsonb, ar int[], ta text[], i interval, by bytea, nm name, tm time, jj json,
    ir int4range, vb varbit, o oid, ca "char", na numeric[], da date[], va varchar(5)[], pt point, ip inet, mo money,
    nn numeric, ts3 timestamp(3), i2 int2[]
);
SET client_min_messages = error;

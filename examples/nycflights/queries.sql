\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
\echo -- rows per carrier, with names
SELECT a.name, count(*) FROM flights f JOIN airlines a ON a.carrier = f.carrier GROUP BY a.name ORDER BY 2 DESC, 1;
\echo -- worst ten average arrival delays by destination with at least 100 flights
SELECT dest, count(*), avg(arr_delay::float8) FROM flights GROUP BY dest HAVING count(*) >= 100 ORDER BY 3 DESC NULLS LAST, 1 LIMIT 10;
\echo -- one flight by its full key
SELECT * FROM flights WHERE origin = 'EWR' AND time_hour = '2013-01-01T10:00:00Z' AND carrier = 'UA' AND flight = 1545;
\echo -- the flights of one day from Newark
SELECT time_hour, carrier, flight, tailnum, dest, dep_delay FROM flights WHERE origin = 'EWR' AND time_hour >= '2013-07-04T04:00:00Z' AND time_hour < '2013-07-05T04:00:00Z' ORDER BY time_hour, carrier, flight;
\echo -- weather joined to flights
SELECT f.origin, count(*), avg(f.dep_delay::float8), max(w.wind_speed), min(w.visib) FROM flights f JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour WHERE w.precip > 0.1 GROUP BY f.origin ORDER BY 1;
\echo -- planes that flew most
SELECT p.manufacturer, p.model, count(*) FROM flights f JOIN planes p ON p.tailnum = f.tailnum GROUP BY p.manufacturer, p.model ORDER BY 3 DESC, 1, 2 LIMIT 10;

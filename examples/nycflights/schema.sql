-- The five nycflights13 tables with their natural keys. The first key column is the PartitionKey, the others are the RowKey.
CREATE TABLE airlines (carrier text PRIMARY KEY, name text);

CREATE TABLE airports (
    faa text PRIMARY KEY, name text, lat float8, lon float8, alt int, tz int, dst text, tzone text
);

CREATE TABLE planes (
    tailnum text PRIMARY KEY, year int, type text, manufacturer text, model text, engines int, seats int, speed int,
    engine text
);

CREATE TABLE weather (
    origin text, year int, month int, day int, hour int, temp float8, dewp float8, humid float8, wind_dir int,
    wind_speed float8, wind_gust float8, precip float8, pressure float8, visib float8, time_hour timestamptz,
    PRIMARY KEY (origin, time_hour)
);

CREATE TABLE flights (
    year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int,
    arr_delay int, carrier text, flight int, tailnum text, origin text, dest text, air_time int, distance int, hour int,
    minute int, time_hour timestamptz,
    PRIMARY KEY (origin, time_hour, carrier, flight)
);

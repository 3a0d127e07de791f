"""Flights as nycflights13 has them: its columns, its number of rows, its order in time; the same rows each time."""

from pathlib import Path

import duckdb

ROWS = 336_776
# As many of a day's flights as there are in the original leave in one hour, from three airports.
PER_HOUR = 39
KEY = "origin, time_hour, carrier, flight"
DECLARED = f"""
    year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int,
    arr_delay int, carrier text, flight int, tailnum text, origin text, dest text, air_time int, distance int, hour int,
    minute int, time_hour timestamptz, PRIMARY KEY ({KEY})
"""
# What the rows of a table have to add up to, however they came into it.
CHECKSUM = """
    SELECT count(*), sum(dep_delay)::bigint, sum(distance)::bigint, sum(flight)::bigint, count(tailnum),
        sum(extract(epoch FROM time_hour))::bigint, min(carrier), max(dest)
    FROM flights
"""


def write(path: Path, rows: int, form: str):
    """As `parquet`, with a header as `csv`. Some flights were cancelled, and have no times."""
    duckdb.sql(f"""
        COPY (
            WITH numbered AS (
                SELECT n, TIMESTAMP '2013-01-01 05:00' + to_hours(n // {PER_HOUR}) AS scheduled, {some(0, 60)} AS past,
                    CASE WHEN {some(1, 41)} > 0 THEN {some(2, 90)} - 20 END AS delay,
                    30 + {some(3, 350)} AS flown
                FROM range({rows}) AS r(n)
            ), timed AS (
                SELECT *, scheduled + to_minutes(past) AS planned, scheduled + to_minutes(past + flown) AS landing FROM numbered
            )
            SELECT year(scheduled)::int AS year, month(scheduled)::int AS month, day(scheduled)::int AS day,
                {clock('planned + to_minutes(delay)')} AS dep_time, {clock('planned')} AS sched_dep_time, delay AS dep_delay,
                {clock('landing + to_minutes(delay - 3)')} AS arr_time, {clock('landing')} AS sched_arr_time,
                delay - 3 AS arr_delay,
                ['UA', 'AA', 'B6', 'DL', 'EV', 'MQ', 'US', 'WN', 'VX', 'FL', 'AS', '9E', 'F9', 'HA', 'YV', 'OO'][{some(4, 16)} + 1] AS carrier,
                (1 + {some(5, 400)} * {PER_HOUR // 3} + n % {PER_HOUR} // 3)::int AS flight,
                CASE WHEN {some(6, 134)} > 0 THEN 'N' || (100 + {some(6, 900)}) || chr(65 + {some(6, 26)}) || 'A' END AS tailnum,
                ['EWR', 'JFK', 'LGA'][n % 3 + 1] AS origin,
                chr(65 + {some(7, 5)}) || chr(65 + {some(7, 21)}) || 'X' AS dest,
                flown + delay AS air_time, (flown * 7)::int AS distance, hour(scheduled)::int AS hour, past AS minute,
                to_timestamp(epoch(scheduled)) AS time_hour
            FROM timed ORDER BY n
        ) TO '{path}' (FORMAT {form})
    """)


def some(of: int, below: int) -> str:
    """A number that row n has."""
    return f"(hash(n + {of}) % {below})::int"


def clock(moment: str) -> str:
    """A time of the day as the original writes it: 517 is 5:17."""
    return f"(hour({moment}) * 100 + minute({moment}))::int"

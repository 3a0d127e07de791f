"""Loads tables with the tools of data frames, as their users do, in both modes, and reads them back."""

import asyncio
import datetime
import importlib.resources
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import adbc_driver_postgresql.dbapi
import asyncpg
import connectorx
import duckdb
import pandas
import polars
import psycopg
import sqlalchemy

UTC = datetime.timezone.utc
LONG = "long " * 6_000
# Three key columns, whose rows come in no order.
KEYED = "CREATE TABLE keyed (part text, at timestamptz, n int, note text, PRIMARY KEY (part, at, n))"
ROWS = [(f"p{n % 7}", datetime.datetime(2024, 1, 1, n % 24, tzinfo=UTC), n, f"note {n}") for n in (i * 7_919 % 1_500 for i in range(1_500))]
SUMS = (1_500, sum(range(1_500)), "note 999")
HOST, PORT, USER, PASSWORD, DATABASE = (os.environ[f"PG{name}"] for name in ("HOST", "PORT", "USER", "PASSWORD", "DATABASE"))
URI = f"postgresql://{USER}:{PASSWORD.replace(' ', '%20')}@{HOST}:{PORT}/{DATABASE}"


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{str(found)[:600]}\nis not\n{str(expected)[:600]}")


def query(sql):
    with psycopg.connect("", autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else None


def engine(driver):
    return sqlalchemy.create_engine(URI.replace("postgresql:", f"postgresql+{driver}:"))


def frame():
    hours = pandas.date_range("2024-01-01", periods=400, freq="h", tz="UTC")
    made = pandas.DataFrame({"n": range(400), "at": hours, "day": [hour.date() for hour in hours], "name": [f"name {n}" for n in range(400)]})
    made["ratio"] = made["n"] / 3
    made["flag"] = made["n"] % 2 == 0
    made.loc[made["n"] % 5 == 0, ["name", "ratio"]] = None
    made["long"] = made["n"].map(lambda n: LONG if n % 100 == 0 else "short")
    return made


def pandas_writes(driver, **options):
    made = frame()
    made.to_sql("framed", engine(driver), index=False, if_exists="replace", **options)
    back = pandas.read_sql("SELECT * FROM framed ORDER BY n", engine(driver))
    pandas.testing.assert_frame_equal(back, made)


def pandas_writes_many_tables():
    """Forty at once, by eight clients; then some of them anew in one block."""
    made, pool = frame()[["n", "name"]].head(60), engine("psycopg")
    names = [f"many_{n}" for n in range(40)]
    query(f"DROP TABLE IF EXISTS {', '.join(names)}")
    with ThreadPoolExecutor(8) as clients:
        list(clients.map(lambda name: made.to_sql(name, pool, index=False), names))
    with pool.begin() as block:
        for name in names[:4]:
            made.to_sql(name, block, index=False, if_exists="replace")
    equal(query("SELECT count(*) FROM pg_class WHERE relname ~ '^many_'"), [(40,)])
    equal({query(f"SELECT count(*) FROM {name}")[0][0] for name in names}, {60})


def pandas_writes_wide_tables():
    made = pandas.DataFrame({f"c{i}": range(i, i + 10) for i in range(240)})
    made["long"] = LONG
    made.to_sql("wide", engine("psycopg2"), index=False, if_exists="replace")
    equal(query("SELECT count(*), sum(c239), count(DISTINCT long) FROM wide"), [(10, sum(range(239, 249)), 1)])


def polars_writes():
    made = polars.from_pandas(frame())
    for if_exists in ("replace", "replace"):
        made.write_database("columns", URI, engine="adbc", if_table_exists=if_exists)
    back = polars.read_database_uri("SELECT * FROM columns ORDER BY n", URI, engine="adbc")
    equal(back.rows(), made.rows())
    with adbc_driver_postgresql.dbapi.connect(URI, autocommit=True) as connection:
        made.write_database("columns", connection, engine="adbc", if_table_exists="append")
    equal(query("SELECT count(*), count(name) FROM columns"), [(800, 640)])


def connectorx_reads():
    for protocol in ("binary", "csv", "cursor", "simple"):
        equal(len(connectorx.read_sql(URI, "SELECT n, name, ratio, flag, at FROM columns", protocol=protocol)), 800)
    equal(len(connectorx.read_sql(URI, "SELECT n, name FROM columns", partition_on="n", partition_num=3)), 800)


def duckdb_writes():
    folder = importlib.resources.files("duckdb_extension_postgres_scanner") / "extensions" / f"v{duckdb.__version__}"
    duck = duckdb.connect()
    duck.execute(f"LOAD '{folder / 'postgres_scanner.duckdb_extension'}'; SET pg_use_ctid_scan = false; ATTACH '' AS gate (TYPE postgres)")
    duck.execute("""
        CREATE TABLE here AS SELECT n::int AS n, n * 10000000000 AS big, n / 8 AS ratio, (n / 8)::decimal(10,2) AS price, 'name ' || n AS name,
            n % 2 = 0 AS flag, DATE '2024-01-01' + n::int AS day, TIMESTAMP '2024-01-01' + to_seconds(n) AS at, uuid() AS code,
            encode('raw ' || n) AS raw, CASE WHEN n % 3 > 0 THEN ['a', 'b' || n] END AS tags FROM range(3000) r(n)
    """)
    duck.execute("DROP TABLE IF EXISTS gate.ducks; CREATE TABLE gate.ducks AS FROM here")
    equal(duck.execute("SELECT count(*) FROM (FROM gate.ducks EXCEPT ALL FROM here)").fetchall(), [(0,)])
    equal(duck.execute("SELECT count(*), sum(n) FROM gate.ducks WHERE n >= 2990").fetchall(), [(10, 29_945)])
    duck.execute("BEGIN; CREATE OR REPLACE TABLE gate.ducks AS FROM here LIMIT 10; INSERT INTO gate.ducks FROM here LIMIT 5; COMMIT")
    equal(query("SELECT count(*) FROM ducks"), [(15,)])


def psycopg_copies():
    query(f"DROP TABLE IF EXISTS keyed; {KEYED}")
    with psycopg.connect("", autocommit=True) as connection, connection.cursor() as cursor:
        for form in ("text", "binary"):
            with cursor.copy(f"COPY keyed FROM STDIN (FORMAT {form})") as copy:
                copy.set_types(["text", "timestamptz", "int4", "text"])
                for row in ROWS:
                    copy.write_row(row)
            equal(query("SELECT count(*), sum(n), max(note) FROM keyed"), [SUMS])
            cursor.execute("TRUNCATE keyed")


def asyncpg_copies(mode):
    query(f"DROP TABLE IF EXISTS keyed; {KEYED}")

    async def copy():
        connection = await asyncpg.connect(server_settings={"egt.mode": mode})
        equal(await connection.copy_records_to_table("keyed", records=ROWS), "COPY 1500")
        equal(tuple(await connection.fetchrow("SELECT count(*), sum(n), max(note) FROM keyed")), SUMS)
        equal([tuple(row) for row in await connection.fetch("SELECT * FROM keyed ORDER BY n LIMIT 9")], sorted(ROWS, key=lambda row: row[2])[:9])
        await connection.close()

    asyncio.run(copy())


failed = 0
for mode in ("strict", "observe"):
    # What libpq reads, and so all but asyncpg; connectorx writes nothing.
    os.environ["PGOPTIONS"] = f"-c egt.mode={mode}"
    checks = {
        f"pandas to_sql, {driver} {options or ''}": lambda driver=driver, options=options: pandas_writes(driver, **options)
        for driver in ("psycopg2", "psycopg")
        for options in ({}, {"method": "multi", "chunksize": 150}, {"chunksize": 150})
    }
    checks |= {
        "pandas, forty tables": pandas_writes_many_tables,
        "pandas, a wide table": pandas_writes_wide_tables,
        "polars, ADBC": polars_writes,
        "connectorx": connectorx_reads,
        "DuckDB": duckdb_writes,
        "psycopg copy": psycopg_copies,
        "asyncpg copy": lambda: asyncpg_copies(mode),
    }
    for name, check in checks.items():
        try:
            check()
            print(f"ok {name}, {mode}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {name}, {mode}\n{traceback.format_exc()}", flush=True)
sys.exit(1 if failed else 0)

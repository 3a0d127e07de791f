"""A tool that people load with, in a process of its own: `tools.py NAME PORT DATABASE PARQUET`.

It says `ready` when it has its rows, waits for a line, works, and says how many seconds that took and how many rows it moved.
"""

import asyncio
import importlib.resources
import sys
import time

HOST, USER = "127.0.0.1", "bench"


class Place:
    """Where a server is, as each tool wants to be told."""

    def __init__(self, port: str, database: str):
        self.port, self.database = port, database
        self.uri = f"postgresql://{USER}@{HOST}:{port}/{database}"
        self.words = f"host={HOST} port={port} user={USER} dbname={database}"

    def engine(self, driver: str):
        import sqlalchemy

        return sqlalchemy.create_engine(self.uri.replace("postgresql:", f"postgresql+{driver}:"))


def to_sql(driver: str, **options):
    def prepare(place: Place, parquet: str):
        import pandas

        frame, engine = pandas.read_parquet(parquet), place.engine(driver)

        def work():
            frame.to_sql("flights", engine, index=False, **options)
            return len(frame)

        return work

    return prepare


def read_sql(driver: str):
    def prepare(place: Place, parquet: str):
        import pandas

        engine = place.engine(driver)
        return lambda: len(pandas.read_sql("SELECT * FROM flights", engine))

    return prepare


def write_database(place: Place, parquet: str):
    import adbc_driver_postgresql.dbapi  # or its import would be timed
    import polars

    frame = polars.read_parquet(parquet)

    def work():
        frame.write_database("flights", place.uri, engine="adbc")
        return len(frame)

    return work


def read_database(place: Place, parquet: str):
    import adbc_driver_postgresql.dbapi
    import polars

    return lambda: len(polars.read_database_uri("SELECT * FROM flights", place.uri, engine="adbc"))


def read_connectorx(place: Place, parquet: str):
    import connectorx
    import pandas

    return lambda: len(connectorx.read_sql(place.uri, "SELECT * FROM flights"))


def _attached(place: Place):
    import duckdb

    # The extension out of its package: nothing is fetched.
    folder = importlib.resources.files("duckdb_extension_postgres_scanner") / "extensions" / f"v{duckdb.__version__}"
    duck = duckdb.connect()
    duck.execute(f"LOAD '{folder / 'postgres_scanner.duckdb_extension'}'")
    # There is no ctid in tablegate by which a table could be split; for both servers alike.
    duck.execute("SET pg_use_ctid_scan = false")
    duck.execute(f"ATTACH '{place.words}' AS pg (TYPE postgres)")
    return duck


def duckdb_create(place: Place, parquet: str):
    duck = _attached(place)
    duck.execute(f"CREATE TABLE here AS FROM '{parquet}'")
    return _counted(duck, "CREATE TABLE pg.flights AS FROM here")


def duckdb_read(place: Place, parquet: str):
    return _counted(_attached(place), "CREATE TABLE here AS FROM pg.flights")


def _counted(duck, statement: str):
    """Runs the statement, after which the table here has the rows; how many they are."""

    def work():
        duck.execute(statement)
        return duck.execute("SELECT count(*) FROM here").fetchone()[0]

    return work


def psycopg_copy(place: Place, parquet: str):
    import psycopg

    rows = _rows(parquet)

    def work():
        with psycopg.connect(place.words, autocommit=True) as connection, connection.cursor() as cursor:
            with cursor.copy("COPY flights FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        return len(rows)

    return work


def asyncpg_copy(place: Place, parquet: str):
    import asyncpg

    rows = _rows(parquet)

    async def copy():
        connection = await asyncpg.connect(place.uri)
        await connection.copy_records_to_table("flights", records=rows)
        await connection.close()
        return len(rows)

    return lambda: asyncio.run(copy())


def _rows(parquet: str) -> list:
    import polars

    return polars.read_parquet(parquet).rows()


# Those that make the table that they fill.
MAKING = {
    "pandas to_sql, psycopg2": to_sql("psycopg2"),
    "pandas to_sql, psycopg": to_sql("psycopg"),
    "pandas to_sql(method='multi'), psycopg2": to_sql("psycopg2", method="multi", chunksize=1000),
    "pandas to_sql(method='multi'), psycopg": to_sql("psycopg", method="multi", chunksize=1000),
    "polars write_database, ADBC": write_database,
    "DuckDB CREATE TABLE AS": duckdb_create,
}
# Those that fill one which is declared with its key.
FILLING = {
    "psycopg copy": psycopg_copy,
    "asyncpg copy_records_to_table": asyncpg_copy,
}
READING = {
    "pandas read_sql, psycopg2": read_sql("psycopg2"),
    "pandas read_sql, psycopg": read_sql("psycopg"),
    "connectorx read_sql": read_connectorx,
    "polars read_database_uri, ADBC": read_database,
    "DuckDB CREATE TABLE AS of a table there": duckdb_read,
}


def main():
    name, port, database, parquet = sys.argv[1:]
    work = (MAKING | FILLING | READING)[name](Place(port, database), parquet)
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    rows = work()
    print(time.monotonic() - begun, rows, flush=True)


if __name__ == "__main__":
    main()

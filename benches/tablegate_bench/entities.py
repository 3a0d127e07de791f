"""The key-value workload: entities of ten mixed properties, a thousand to a partition."""

import time
from pathlib import Path

import duckdb

PER_PARTITION = 1000
COLUMNS = """
    pk int, id int,
    quantity int, amount bigint, price double precision, weight double precision, flag boolean,
    category text, note text, made timestamptz, code uuid, level int
"""


def ddl(table: str, key: bool = True) -> str:
    return f"CREATE TABLE {table} ({COLUMNS}{', PRIMARY KEY (pk, id)' if key else ''})"


def write_csv(path: Path, entities: int):
    """The same rows each time: every value is made of its row's number."""
    duckdb.sql(f"""
        COPY (
            SELECT n // {PER_PARTITION} AS pk, n % {PER_PARTITION} AS id,
                (hash(n) % 1000)::int AS quantity, (hash(n + 1) % 1000000000)::bigint AS amount,
                round((hash(n + 2) % 100000) / 100.0, 2) AS price, (hash(n + 3) % 1000000) / 7.0 AS weight,
                hash(n + 4) % 3 = 0 AS flag, 'category ' || hash(n + 5) % 50 AS category,
                'note ' || n || ' of ' || md5(n::text) AS note,
                (TIMESTAMP '2020-01-01' + to_seconds(n * 37))::text || '+00' AS made,
                md5((n * 2)::text)::uuid AS code, (n % 7)::int AS level
            FROM range({entities}) AS r(n)
        ) TO '{path}' (FORMAT csv, HEADER false)
    """)


def load(server, table: str, csv: Path) -> float:
    """Makes the table and fills it. The seconds that COPY took."""
    connection = server.connect()
    connection.query(ddl(table))
    begun = time.monotonic()
    connection.copy_in(f"COPY {table} FROM STDIN WITH (FORMAT csv)", csv)
    took = time.monotonic() - begun
    if server.name == "PostgreSQL":
        connection.query(f"VACUUM ANALYZE {table}")
    connection.close()
    return took


def load_duckdb(database: duckdb.DuckDBPyConnection, table: str, csv: Path):
    # DuckDB keeps no order by key of its own: rows come in key order already.
    database.execute(ddl(table, key=False))
    database.execute(f"COPY {table} FROM '{csv}' (FORMAT csv, HEADER false)")

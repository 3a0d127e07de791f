"""Loading tables as people have them: one key column, two, none yet, many columns; outside a block, and in the block that
made them. Then what is done with many rows of such a table at once."""

import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median

import duckdb

import entities

WIDE = 60
# The columns of the wide table take turns: a text, a whole number, a fraction.
TYPES = ("text", "bigint", "double precision")
VALUES = ("md5((n + {i})::text) || md5(n::text)", "hash(n + {i}) % 1000000", "(n % 1000) / ({i} + 1.0)")

# The columns of a table behind its number; the values of both.
NUMBERED = "quantity int, note text, price numeric(10,2), made timestamp"
NUMBERED_VALUES = "n, hash(n) % 1000, 'note ' || md5(n::text), (hash(n + 2) % 100000) / 100.0, TIMESTAMP '2024-01-01' + to_seconds(n)"

ONE_KEY = "one key column"
# Name: columns with their key, and the query that makes so many rows of them.
TABLES = {
    ONE_KEY: (f"id bigint PRIMARY KEY, {NUMBERED}", NUMBERED_VALUES),
    "key columns (order, line)": (
        "\"order\" bigint, line int, note text, quantity int, price numeric(10,2), PRIMARY KEY (\"order\", line)",
        "n // 4, n % 4, 'note ' || md5(n::text), hash(n) % 50, (hash(n + 2) % 100000) / 100.0",
    ),
    # As a dump makes its tables: keys are added when the rows are there.
    "no key": (f"id bigint, {NUMBERED}", NUMBERED_VALUES),
    f"{WIDE} columns, one key column": (
        "id bigint PRIMARY KEY, " + ", ".join(f"c{i} {TYPES[i % 3]}" for i in range(1, WIDE)),
        "n, " + ", ".join(VALUES[i % 3].format(i=i) for i in range(1, WIDE)),
    ),
}


IN_BLOCK = ", in the block that made the table"


def sources() -> dict:
    """By name: the columns of a table with their key, and what writes a file of so many of its rows."""
    thousand = f"entities, {entities.PER_PARTITION:,} to a partition"
    made = {name: (columns, partial(write_csv, values)) for name, (columns, values) in TABLES.items()}
    return made | {thousand: (f"{entities.COLUMNS}, PRIMARY KEY (pk, id)", entities.write_csv)}


def write_csv(values: str, path: Path, rows: int):
    duckdb.sql(f"COPY (SELECT {values} FROM range({rows}) AS r(n)) TO '{path}' (FORMAT csv, HEADER false)")


def load(server, columns: str, csv: Path, in_block: bool, watched=nullcontext()) -> float:
    """Makes a table, fills it and drops it again. The seconds that COPY took, with COMMIT where it is in a block; `watched` is
    entered meanwhile."""
    connection = server.connect()
    if in_block:
        connection.query("BEGIN")
    connection.query(f"CREATE TABLE loaded ({columns})")
    with watched:
        begun = time.monotonic()
        connection.copy_in("COPY loaded FROM STDIN WITH (FORMAT csv)", csv)
        if in_block:
            connection.query("COMMIT")
        took = time.monotonic() - begun
    connection.query("DROP TABLE loaded")
    connection.close()
    server.settle()
    return took


# Statements on all rows of a table with one key column, in the order in which they are run, and how many times as fast as
# PostgreSQL each is to be.
STATEMENTS = {
    "INSERT .. SELECT": ("INSERT INTO copied SELECT * FROM loaded", 1.3),
    "UPDATE": ("UPDATE copied SET quantity = quantity + 1", 1.3),
    "COPY TO": ("COPY copied TO STDOUT WITH (FORMAT csv)", 2),
    "DELETE": ("DELETE FROM copied", 1.3),
}


def fill(connection, columns: str, csv: Path):
    """The tables of the statements: one with rows, and one like it."""
    for table in ("loaded", "copied"):
        connection.query(f"CREATE TABLE {table} ({columns})")
    connection.copy_in("COPY loaded FROM STDIN WITH (FORMAT csv)", csv)


def ask(connection, statement: str):
    connection.copy_out(statement) if statement.startswith("COPY") else connection.query(statement)


def many_rows(server, columns: str, csv: Path) -> dict:
    """The seconds of each of the statements on a table that was just filled."""
    connection = server.connect()
    fill(connection, columns, csv)
    took = {}
    for name, (statement, _) in STATEMENTS.items():
        server.settle()
        begun = time.monotonic()
        ask(connection, statement)
        took[name] = time.monotonic() - begun
    connection.query("DROP TABLE loaded, copied")
    connection.close()
    server.settle()
    return took


def measure(report, ours, postgres, work: Path, rows: int, runs: int):
    """A line for each table, both ways, and for each statement: the servers take turns."""
    load_tables(report, ours, postgres, work, rows, runs)
    columns, values = TABLES[ONE_KEY]
    csv = work / "loaded.csv"
    write_csv(values, csv, rows)
    times = [[many_rows(server, columns, csv) for server in (ours, postgres)] for _ in range(runs)]
    csv.unlink()
    for name, (_, target) in STATEMENTS.items():
        found = [median(pair[server][name] for pair in times) for server in (0, 1)]
        report.times(f"{name}, {rows:,} rows, one key column", *found, None, targets=(target, None))


def load_tables(report, ours, postgres, work: Path, rows: int, runs: int):
    csv = work / "loaded.csv"
    for name, (columns, write) in sources().items():
        write(csv, rows)
        for in_block in (False, True):
            times = [[], []]
            for _ in range(runs):
                for server, found in zip((ours, postgres), times):
                    found.append(load(server, columns, csv, in_block))
            where = f"COPY FROM, {rows:,} rows, {name}{IN_BLOCK if in_block else ''}"
            report.times(where, *map(median, times), None, targets=(1.5, None))
        csv.unlink()

"""Loading tables as people have them: one key column, two, none yet, many columns; outside a block, in the block that made
them, and in a block when they are there. Then what is done with many rows of such a table at once, outside of a block and in one."""

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


# How a COPY comes: on its own, in the block that made the table, in a block when the table is there.
ALONE, MAKING, LATER = "", ", in the block that made the table", ", in a block"
# Of more rows than an entity group transaction has. PostgreSQL takes it for a setting that it does not know.
OBSERVE = "SET egt.mode = observe"


def sources() -> dict:
    """By name: the columns of a table with their key, and what writes a file of so many of its rows."""
    thousand = f"entities, {entities.PER_PARTITION:,} to a partition"
    made = {name: (columns, partial(write_csv, values)) for name, (columns, values) in TABLES.items()}
    return made | {thousand: (f"{entities.COLUMNS}, PRIMARY KEY (pk, id)", entities.write_csv)}


def write_csv(values: str, path: Path, rows: int):
    duckdb.sql(f"COPY (SELECT {values} FROM range({rows}) AS r(n)) TO '{path}' (FORMAT csv, HEADER false)")


def load(server, columns: str, csv: Path, way: str = ALONE, watched=nullcontext()) -> float:
    """Makes a table, fills it and drops it again. The seconds that COPY took, with COMMIT where it is in a block; `watched` is
    entered meanwhile."""
    connection = server.connect()
    in_block = way != ALONE
    connection.query(OBSERVE)
    if way == MAKING:
        connection.query("BEGIN")
    connection.query(f"CREATE TABLE loaded ({columns})")
    with watched:
        begun = time.monotonic()
        if way == LATER:
            connection.query("BEGIN")
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
    "INSERT .. ON CONFLICT": (
        "INSERT INTO copied SELECT * FROM loaded ON CONFLICT (id) DO UPDATE SET quantity = excluded.quantity",
        1,
    ),
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


def many_rows(server, columns: str, csv: Path, in_block: bool) -> dict:
    """The seconds of each of the statements on a table that was just filled."""
    connection = server.connect()
    connection.query(OBSERVE)
    fill(connection, columns, csv)
    took = {}
    for name, (statement, _) in STATEMENTS.items():
        server.settle()
        begun = time.monotonic()
        if in_block:
            connection.query("BEGIN")
        ask(connection, statement)
        if in_block:
            connection.query("COMMIT")
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
    for in_block in (False, True):
        times = [[many_rows(server, columns, csv, in_block) for server in (ours, postgres)] for _ in range(runs)]
        for name, (_, target) in STATEMENTS.items():
            found = [median(pair[server][name] for pair in times) for server in (0, 1)]
            where = f"{name}, {rows:,} rows, one key column{LATER if in_block else ''}"
            report.times(where, *found, None, targets=(target, None))
    csv.unlink()


def load_tables(report, ours, postgres, work: Path, rows: int, runs: int):
    csv = work / "loaded.csv"
    for name, (columns, write) in sources().items():
        write(csv, rows)
        for way in (ALONE, MAKING, LATER):
            times = [[], []]
            for _ in range(runs):
                for server, found in zip((ours, postgres), times):
                    found.append(load(server, columns, csv, way))
            where = f"COPY FROM, {rows:,} rows, {name}{way}"
            report.times(where, *map(median, times), None, targets=(1.5, None))
        csv.unlink()

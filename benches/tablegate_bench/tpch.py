"""TPC-H: the 22 queries, with their keys declared, and PostgreSQL's indexes on its foreign keys."""

import math
import re
import subprocess
import time
from pathlib import Path
from statistics import median

from analytics import is_same, numbers_of, seconds_of
from report import Line, Report

SQL = Path(__file__).parents[2] / "sql" / "tpch"
TABLES = ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]
# A query that takes longer counts as this many seconds.
LIMIT = 300.0
FOREIGN_KEYS = [
    "nation (n_regionkey)",
    "supplier (s_nationkey)",
    "partsupp (ps_suppkey)",
    "customer (c_nationkey)",
    "orders (o_custkey)",
    "lineitem (l_partkey, l_suppkey)",
    "lineitem (l_suppkey)",
]


def measure(report: Report, ours, theirs, duck, folder: Path, scale: float, runs: int):
    folder.mkdir()
    subprocess.run(["tpchgen-cli", "--scale-factor", str(scale), "--quiet", "--output-dir", folder], check=True)
    for table in TABLES:
        _without_last_delimiters(folder / f"{table}.tbl")
    schema = (SQL / "schema.sql").read_text()
    for server in (ours, theirs):
        connection = server.connect()
        if server is ours:
            connection.query("SET egt.mode = observe")  # in which foreign keys are recorded
        connection.query(schema)
        took = seconds_of(lambda: _load(connection, folder))
        if server is theirs:
            for number, columns in enumerate(FOREIGN_KEYS):
                connection.query(f"CREATE INDEX fk_{number} ON {columns}")
        connection.query("ANALYZE")
        if server is theirs:
            connection.query("CHECKPOINT")  # or it writes what was loaded while the queries read
        print(f"TPC-H {scale:g} loaded into {server.name} in {took:.1f} s", flush=True)
        server.settle()
    duck.execute(_plain(schema))
    for table in TABLES:
        duck.execute(f"COPY {table} FROM '{folder / table}.tbl' (DELIMITER '|', HEADER false)")

    times, wrong = ([], [], []), []
    for number in range(1, 23):
        query = (SQL / "queries" / f"q{number:02}.sql").read_text().replace(":scale", str(scale))
        took, answers = [], []
        for index, run in enumerate((_asking(ours), _asking(theirs), lambda sql: duck.execute(sql).fetchall())):
            seconds, answer = _timed(run, query, runs)
            times[index].append(seconds)
            took.append(seconds)
            answers.append(answer)
        if answers[0] is None or answers[1] is None or not is_same(answers[0], answers[1]):
            wrong.append(str(number))
        print(f"  query {number:2}: " + "  ".join(f"{seconds:8.3f}" for seconds in took), flush=True)
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in times]
    report.times(f"TPC-H scale {scale:g}, geometric mean of 22 queries", *means, targets=(5, 0.6))
    told = "all as PostgreSQL's" if not wrong else f"not as PostgreSQL's: {', '.join(wrong)}"
    report.add(Line(f"TPC-H scale {scale:g}, answers", "22 right", told, met=not wrong))


def _without_last_delimiters(file: Path):
    """The generator ends each line with a delimiter, which COPY would take for one more column."""
    trimmed = file.with_suffix(".trimmed")
    with open(file, "rb") as lines, open(trimmed, "wb") as out:
        out.writelines(line.rstrip(b"|\n") + b"\n" for line in lines)
    trimmed.rename(file)


def _load(connection, folder: Path):
    for table in TABLES:
        connection.copy_in(f"COPY {table} FROM STDIN WITH (DELIMITER '|')", folder / f"{table}.tbl")


def _asking(server):
    connection = server.connect()
    connection.query(f"SET statement_timeout = {int(LIMIT * 1000)}")
    return connection.query


def _timed(run, query: str, runs: int):
    """The median seconds, without the first run of several, and the answer; the limit and None when it fails."""
    found, answer = [], None
    while len(found) <= runs and sum(found) < 60:
        begun = time.monotonic()
        try:
            answer = run(query)
        except Exception as error:  # the error of any of three clients
            print(f"    {error}", flush=True)
            return LIMIT, None
        found.append(time.monotonic() - begun)
    return median(found[1:] or found), numbers_of(answer)


def _plain(schema: str) -> str:
    """Without foreign keys, which DuckDB would check row by row."""
    schema = re.sub(r",\s*FOREIGN KEY \([^)]*\) REFERENCES \w+( \([^)]*\))?", "", schema)
    return re.sub(r"REFERENCES \w+( \([^)]*\))?", "", schema)

"""Scans: aggregates over all entities, rows sent to a client that drops them."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from report import Report

GROUPED = "SELECT category, count(*), sum(amount), avg(price) FROM {table} GROUP BY category ORDER BY category"
FILTERED = "SELECT sum(amount), sum(weight) FROM {table} WHERE quantity < 100 AND flag"
# One in a hundred, spread over all partitions.
TOUCHED = "UPDATE {table} SET level = level + 1 WHERE (pk * 7919 + id * 104729) % 100 = 0"


def seconds_of(work) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def in_turn(runners: list, runs: int) -> list:
    """The median seconds of each, A B A B, after one run of each that is not counted."""
    times = [[] for _ in runners]
    for run in range(runs + 1):
        for runner, found in zip(runners, times):
            took = seconds_of(runner)
            if run > 0:
                found.append(took)
    return [median(found) for found in times]


def aggregates(report: Report, ours, theirs, duck, table: str, label: str, runs: int) -> dict:
    """Both queries on all three; returns our seconds."""
    mine, postgres = ours.connect(), theirs.connect()
    found = {}
    for name, query in (("group-by", GROUPED), ("filtered sum", FILTERED)):
        sql = query.format(table=table)
        answers = [numbers_of(mine.query(sql)), numbers_of(postgres.query(sql)), numbers_of(duck.execute(sql).fetchall())]
        if not (is_same(answers[0], answers[1]) and is_same(answers[0], answers[2])):
            report.failed(f"{name}, {label}", ValueError("the answers differ"))
            continue
        runners = [lambda: mine.query(sql), lambda: postgres.query(sql), lambda: duck.execute(sql).fetchall()]
        times = in_turn(runners, runs)
        report.times(f"{name}, {label}", *times, targets=(10, 0.6))
        found[name] = times[0]
    return found


def dirty(report: Report, ours, table: str, clean: dict, runs: int):
    """The same with one in a hundred entities changed since."""
    connection = ours.connect()
    connection.query(TOUCHED.format(table=table))
    for name, query in (("group-by", GROUPED), ("filtered sum", FILTERED)):
        if name in clean:
            took = in_turn([lambda: connection.query(query.format(table=table))], runs)[0]
            report.bound(f"{name}, 1 % updated: times the clean seconds", took / clean[name], 1 / 0.7, "")


def all_rows(report: Report, ours, theirs, table: str, runs: int):
    mine, postgres = ours.connect(), theirs.connect()
    sql = f"SELECT * FROM {table}"
    times = in_turn([lambda: mine.discard(sql), lambda: postgres.discard(sql)], runs)
    report.times(f"SELECT * of {table}, discarded", *times, None, targets=(1.5, None))


def memory(report: Report, ours, table: str):
    """The most anonymous memory during an aggregate and during a SELECT of all."""
    for label, sql, limit in (
        ("memory, aggregate", GROUPED.format(table=table), 600),
        ("memory, SELECT of all", f"SELECT * FROM {table}", 300),
    ):
        report.bound(f"{label} of {table}", _peak_mb(ours, sql), limit, "MB")


def _peak_mb(server, sql: str) -> float:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(server.connect().discard, sql)
        peak = server.rss_anon_mb()
        while not running.done():
            peak = max(peak, server.rss_anon_mb())
            time.sleep(0.02)
        running.result()
    return peak


def numbers_of(rows) -> list:
    """The rows, with cells as numbers where they are some."""

    def cell(value):
        try:
            return float(value)
        except (TypeError, ValueError):
            return value

    return [tuple(cell(value) for value in row) for row in rows]


def is_same(one: list, other: list) -> bool:
    """Whether the rows are equal but for the last digits of numbers: sums of floats depend on their order."""

    def agree(a, b) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return math.isclose(a, b, rel_tol=1e-9)
        return a == b

    return len(one) == len(other) and all(
        len(a) == len(b) and all(map(agree, a, b)) for a, b in zip(one, other)
    )

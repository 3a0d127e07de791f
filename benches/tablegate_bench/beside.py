"""Points and logins beside queries that compute: how long they wait, and how soon such a query hears that it is to end."""

import threading
import time
from statistics import quantiles

from report import Line, Report
from wire import ServerError

# Ten ways of being busy, over the table of the other workloads and one of long texts.
WIDE = "CREATE TABLE wide (id int PRIMARY KEY, t text)"
FILL = "INSERT INTO wide SELECT n, repeat(md5(n::text), 900) FROM generate_series({low}, {high}) n"
HEAVY = (
    "SELECT max(a.t || b.t) FROM wide a, wide b",
    "SELECT count(*) FROM kv a, kv b WHERE a.amount + b.amount < 0",
    "SELECT count(*) FROM kv a JOIN kv b ON a.category = b.category AND a.made < b.made AND a.amount + b.amount < 0",
    "SELECT count(*) FROM kv a WHERE NOT EXISTS (SELECT FROM kv b WHERE a.price < b.weight - 1000000)",
    "SELECT count(DISTINCT note), count(DISTINCT code), count(DISTINCT md5(note)) FROM kv",
    "SELECT sum(n) FROM (SELECT code, count(*) n FROM kv GROUP BY code, note, amount) grouped",
    "SELECT note FROM kv ORDER BY note DESC, code OFFSET 1000000000",
    "SELECT max(r) FROM (SELECT rank() OVER (PARTITION BY level ORDER BY amount, code) r FROM kv) ranked",
    "SELECT count(*) FROM kv a WHERE repeat(note, 20) ~ '(a|b)*[0-9]+(c|d)*e{3,}f'",
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT sum(i) FROM n",
)
POINT = "SELECT quantity, note, price FROM kv WHERE pk = {pk} AND id = {id}"


class Busy(threading.Thread):
    """A client that asks for heavy queries until it is told to end."""

    def __init__(self, server, first: int):
        super().__init__(daemon=True)
        self.connection, self.next = server.connect(), first
        self.is_ending, self.ended, self.error = False, 0.0, None

    def run(self):
        while not self.is_ending:
            try:
                self.connection.query(HEAVY[self.next % len(HEAVY)])
            except ServerError as error:
                # Memory may not suffice for as many of them: that is an answer too.
                self.error = error
            self.next += 1
        self.ended = time.monotonic()


def measure(report: Report, ours, theirs, partitions: int, seconds: int):
    for server in (ours, theirs):
        connection = server.connect()
        connection.query(WIDE)
        for low in range(1, 2501, 100):
            connection.query(FILL.format(low=low, high=low + 99))
        server.settle()
    for clients in (2, 16):
        mine, postgres = (_beside(server, clients, partitions, seconds) for server in (ours, theirs))
        told = f"beside {clients} heavy queries"
        for name, limit in (("point SELECT", 20), ("login", 100), ("cancel", 200)):
            shown = [f"{found[name]:.1f} ms" for found in (mine, postgres)]
            report.add(Line(f"{name} {told}, p99", f"<= {limit} ms", *shown, met=mine[name] <= limit))
    for server in (ours, theirs):
        server.connect().query("DROP TABLE wide")


def _beside(server, clients: int, partitions: int, seconds: int) -> dict:
    busy = [Busy(server, first) for first in range(clients)]
    for one in busy:
        one.start()
    time.sleep(1)
    point, numbers = server.connect(), iter(range(10**9))

    def ask():
        n = next(numbers) * 7919
        point.query(POINT.format(pk=n % partitions, id=n % 1000))

    found = {
        "point SELECT": _p99(_waits(ask, seconds * len(HEAVY) / 2, 0.002)),
        "login": _p99(_waits(lambda: server.connect().close(), seconds, 0.02)),
        "cancel": _p99([_ends(one) for one in busy]),
    }
    for one in busy:
        one.connection.close()
    return found


def _waits(work, seconds: float, pause: float) -> list:
    """How long each call took, in milliseconds."""
    waits, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        work()
        waits.append((time.monotonic() - begun) * 1000)
        time.sleep(pause)
    return waits


def _ends(one: Busy) -> float:
    """How long the client waited for the end of its query, in milliseconds."""
    one.is_ending, begun = True, time.monotonic()
    while one.is_alive():
        # One that comes between two queries is for none.
        one.connection.cancel()
        one.join(0.5)
    return (one.ended - begun) * 1000


def _p99(values: list) -> float:
    return quantiles(values, n=100, method="inclusive")[98]

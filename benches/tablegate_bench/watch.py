"""What else is seen while a server is loaded: its memory, and how long a point SELECT waits.

Started as a program, it is the client that asks: a process of its own, which does not wait for what the loading client does.
"""

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

import entities

PARTITIONS = 20
TABLE = "points"
# Milliseconds between two questions.
PAUSE = 1.0
PROBED_ALONE = 3.0
MEMORY_MB = 256
WAIT = 3


@dataclass
class Seen:
    """Megabytes at the most, of those that it does not have idle, and the p99 of the waits in milliseconds."""

    peak_mb: float
    p99: float


class Memory(threading.Thread):
    """The most anonymous memory of a server, looked at again and again."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.peak, self.is_ending = server, 0.0, threading.Event()
        self.start()

    def run(self):
        while True:
            self.peak = max(self.peak, self.server.rss_anon_mb())
            if self.is_ending.wait(0.005):
                return

    def end(self) -> float:
        self.is_ending.set()
        self.join()
        return self.peak


def prepare(server, csv: Path):
    """The table that points are read from."""
    entities.write_csv(csv, PARTITIONS * entities.PER_PARTITION)
    entities.load(server, TABLE, csv)
    csv.unlink()


@contextmanager
def watching(server, seen: list):
    """Adds what was seen meanwhile. The server is one that was just started, and idle: what it has now is its own."""
    idle = server.rss_anon_mb()
    command = [sys.executable, __file__, str(server.port), server.database]
    probe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if probe.stdout.readline() != "ready\n":
        raise RuntimeError("the point SELECTs do not begin")
    memory = Memory(server)
    probe.stdin.write("\n")
    probe.stdin.flush()
    try:
        yield
    finally:
        peak = memory.end()
        said, _ = probe.communicate()
    seen.append(Seen(peak - idle, float(said)))


def alone(server) -> float:
    """The p99 of a point SELECT when nobody else asks for anything."""
    seen = []
    with watching(server, seen):
        time.sleep(PROBED_ALONE)
    return seen[0].p99


def main():
    """Asks from the first line that it is sent until there are no more."""
    from wire import Connection

    connection, waits, ended = Connection(int(sys.argv[1]), sys.argv[2]), [], threading.Event()
    numbers = iter(range(10**9))

    def ask():
        n = next(numbers) * 7919
        pk, row = n % PARTITIONS, n % entities.PER_PARTITION
        return connection.query(f"SELECT quantity, note, price FROM {TABLE} WHERE pk = {pk} AND id = {row}")

    for _ in range(200):
        assert len(ask()) == 1
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while len(waits) < 2 or not ended.wait(PAUSE / 1000):
        begun = time.monotonic()
        ask()
        waits.append((time.monotonic() - begun) * 1000)
    print(quantiles(waits, n=100, method="inclusive")[98], flush=True)


if __name__ == "__main__":
    main()

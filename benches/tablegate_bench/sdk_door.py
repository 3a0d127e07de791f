#!/usr/bin/env python3
"""The door for the Azure SDKs beside Azurite: point GET, insert, entity group transactions and scans, over 1 and 16 connections.

    sdk_door.py [--seconds N] [--tablegate BINARY] [--azurite FOLDER] [--write]

It takes two minutes. What is told is how much one processor of the server does in a second: the client, which is slower than the server, is not in it.
"""

import argparse
import base64
import hashlib
import hmac
import os
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
from datetime import date
from email.utils import formatdate
from pathlib import Path

from report import commit, machine, write

ACCOUNT = "devstoreaccount1"
# The emulators' own, which their documentation publishes.
KEY = base64.b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
TICKS = os.sysconf("SC_CLK_TCK")
PARTITIONS, ROWS = 20, 1000
VALUES = '"quantity":7,"price":12.5,"category":"category 3","note":"a note of forty or so characters in all","flag":true'


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Door:
    """A server, and how requests to it look."""

    def __init__(self, name: str, command: list, port: int, environment=None):
        self.name, self.port = name, port
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
        )
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"{name} does not listen")

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def request(self, method: str, path: str, body: str = "", kind: str = "application/json") -> bytes:
        path, _, query = f"/{ACCOUNT}{path}".partition("?")
        date = formatdate(usegmt=True)
        signed = f"{date}\n/{ACCOUNT}{path}".encode()
        signature = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
        target = f"{path}?{query}" if query else path
        lines = [
            f"{method} {target} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"x-ms-date: {date}",
            "x-ms-version: 2019-02-02",
            f"Authorization: SharedKeyLite {ACCOUNT}:{signature}",
            "Accept: application/json;odata=minimalmetadata",
            "Prefer: return-no-content",
            f"Content-Length: {len(body)}",
        ]
        if body:
            lines.append(f"Content-Type: {kind}")
        return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Connection:
    def __init__(self, door: Door):
        self.stream = socket.create_connection(("127.0.0.1", door.port))
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple:
        """The status, the headers and the length of the answer."""
        self.stream.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        lower = head.lower()
        if b"content-length: " in lower:
            length = int(lower.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
            pieces, received = [body], len(body)
            while received < length:
                pieces.append(self._more())
                received += len(pieces[-1])
            body = b"".join(pieces)
        elif b"chunked" in lower:
            pieces = [body]
            while not pieces[-1].endswith(b"0\r\n\r\n"):
                pieces.append(self._more())
            body = b"".join(pieces)
        return int(head[9:12]), head, body

    def _more(self) -> bytes:
        more = self.stream.recv(1 << 18)
        if not more:
            raise ConnectionError("the server closed the connection")
        return more


def change_set(operations: list) -> str:
    parts = "".join(
        f"--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n{line}\r\n"
        f"Accept: application/json;odata=minimalmetadata\r\nContent-Type: application/json\r\nPrefer: return-no-content\r\n\r\n"
        f"{body}\r\n"
        for line, body in operations
    )
    return f"--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n{parts}--changeset_1--\r\n--batch_1--\r\n"


def batch(door: Door, table: str, partition: str, rows) -> bytes:
    url = f"http://127.0.0.1:{door.port}/{ACCOUNT}/{table}"
    insert = lambda row: (f"POST {url} HTTP/1.1", f'{{"PartitionKey":"{partition}","RowKey":"{row}",{VALUES}}}')
    return door.request("POST", "/$batch", change_set([insert(row) for row in rows]), "multipart/mixed; boundary=batch_1")


def fill(door: Door):
    connection = Connection(door)
    for table in ("scanned", "written"):
        assert connection.ask(door.request("POST", "/Tables", f'{{"TableName":"{table}"}}'))[0] == 204
    for partition in range(PARTITIONS):
        for first in range(0, ROWS, 100):
            rows = [f"{row:06}" for row in range(first, first + 100)]
            status, _, told = connection.ask(batch(door, "scanned", f"{partition:04}", rows))
            assert status == 202 and told.count(b"204 No Content") == 100, (door.name, status, told[:1000])


def point_get(door: Door, worker: int, n: int):
    address = f"(PartitionKey='{n % PARTITIONS:04}',RowKey='{n * 7 % ROWS:06}')"
    return door.request("GET", f"/scanned{address}"), 200, 1


def insert(door: Door, worker: int, n: int):
    body = f'{{"PartitionKey":"i{worker}-{n // 100}","RowKey":"{n}-{time.monotonic_ns()}",{VALUES}}}'
    return door.request("POST", "/written", body), 204, 1


def transaction(door: Door, worker: int, n: int):
    return batch(door, "written", f"t{worker}-{n}-{time.monotonic_ns()}", range(100)), 202, 100


def rates(door: Door, run, done: list) -> tuple:
    """What was done a second, and a second of the server's processor, by as many workers as there are counts."""
    before, began = door.cpu_seconds(), time.monotonic()
    threads = [threading.Thread(target=run, args=[worker]) for worker in range(len(done))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    took, used = time.monotonic() - began, door.cpu_seconds() - before
    return sum(done) / took, sum(done) / max(used, 0.01)


def measure(door: Door, make, connections: int, seconds: float) -> tuple:
    """Things a second of the clock, and a second of the server's processor."""
    done = [0] * connections
    prepared = [[make(door, worker, n) for n in range(50 if make is transaction else 2000)] for worker in range(connections)]
    end = time.monotonic() + seconds

    def run(worker: int):
        connection = Connection(door)
        for request, status, count in prepared[worker] * (1000 if make is point_get else 1):
            if time.monotonic() >= end:
                return
            found = connection.ask(request)[0]
            assert found == status, found
            done[worker] += count

    return rates(door, run, done)


def scan(door: Door, _make, connections: int, seconds: float) -> tuple:
    done = [0] * connections

    def run(worker: int):
        connection, query, end = Connection(door), "", time.monotonic() + seconds
        while time.monotonic() < end:
            status, head, body = connection.ask(door.request("GET", f"/scanned(){query}"))
            assert status == 200, status
            done[worker] += body.count(b'"RowKey"')
            tokens = {}
            for line in head.decode().split("\r\n"):
                name, _, value = line.partition(": ")
                if name.lower().startswith("x-ms-continuation-"):
                    tokens[name.lower().rsplit("-", 1)[1]] = value
            names = {"nextpartitionkey": "NextPartitionKey", "nextrowkey": "NextRowKey"}
            query = "?" + urllib.parse.urlencode({names[name]: value for name, value in tokens.items()}) if tokens else ""

    return rates(door, run, done)


SCRIPT = "benches/tablegate_bench/sdk_door.py"
# How many times as much a core is to do as one of Azurite's.
TARGET = 10

WORK = {
    "point GET": (measure, point_get),
    "insert": (measure, insert),
    "transactions of 100, entities": (measure, transaction),
    "scan, entities": (scan, None),
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=5)
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    arguments.add_argument("--tablegate", default=os.environ.get("TABLEGATE", f"{target}/release/tablegate"))
    home = Path.home() / ".cache/tablegate-azurite"
    arguments.add_argument("--azurite", type=Path, default=Path(os.environ.get("TABLEGATE_AZURITE", home)))
    arguments.add_argument("--write", action="store_true", help="write the table into BENCHMARKS.md")
    given = arguments.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        port, sql, other = free_port(), free_port(), free_port()
        ours = [given.tablegate, "--listen", f"127.0.0.1:{sql}", "--rest", f"127.0.0.1:{port}", "--no-sample", "--data", f"{work}/ours"]
        if Path(given.tablegate).name == "serve":
            ours = [given.tablegate, f"{work}/ours", str(port)]
        emulator = ["node", given.azurite / "node_modules/azurite/dist/src/table/main.js", "--silent", "--disableTelemetry"]
        emulator += ["--skipApiVersionCheck", "--location", f"{work}/azurite", "--tableHost", "127.0.0.1", "--tablePort", str(other)]
        doors = [Door("tablegate", ours, port), Door("Azurite", emulator, other)]
        try:
            for door in doors:
                fill(door)
            print(f"{'':32}{'':>12}{'tablegate':>22}{'Azurite':>22}{'of a core':>10}")
            for name, (run, make) in WORK.items():
                for connections in (1, 16):
                    (rate, core), (their_rate, their_core) = [run(door, make, connections, given.seconds) for door in doors]
                    told = [f"{rate:,.0f}/s {core:,.0f}/core", f"{their_rate:,.0f}/s {their_core:,.0f}/core"]
                    ratio = core / their_core
                    print(f"{name:32}{connections:>9} con{told[0]:>22}{told[1]:>22}{ratio:>9.1f}x", flush=True)
                    met = "yes" if ratio >= TARGET else "**no**"
                    rows.append(f"| {name} | {connections} | {told[0]} | {told[1]} | {ratio:.1f} | {met} |")
        finally:
            [door.stop() for door in doors]
    head = f"Measured on {date.today()} with `{SCRIPT}`: {machine()}. tablegate {commit()}."
    table = [head, "", f"| workload | connections | tablegate | Azurite | ratio of a core, >= {TARGET} | met |", "|---|---|---|---|---|---|"]
    if given.write:
        write("\n".join([*table, *rows]) + "\n", Path(__file__).parents[2] / "BENCHMARKS.md", SCRIPT)


if __name__ == "__main__":
    main()

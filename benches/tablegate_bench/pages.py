"""How fast pages of a Table service become columns: a gateway over an account that replays its pages from memory."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from analytics import seconds_of
from report import Line, Report
from servers import Tablegate

ENTITIES = 200_000
# Ten times what a whole storage account of the service answers with in a second.
TARGET = 200_000
# All ten properties are decoded, and little is done with them.
QUERY = """SELECT count(quantity), count(amount), count(price), count(weight), count(flag), count(category), count(note),
    count(made), count(code), count(level), sum(amount) FROM wide"""


def measure(report: Report, work: Path, library: Path, runs: int):
    canned = subprocess.Popen(
        [sys.executable, Path(__file__).parent / "canned.py", str(ENTITIES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(canned.stdout.readline())
        # A well-formed key that opens nothing: the emulator's public account name, 32 zero bytes.
        key = "A" * 43 + "="
        os.environ["BENCH_ACCOUNT"] = (
            f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={key};"
            f"TableEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
        )
        flags = ("--connection-string", "env:BENCH_ACCOUNT", "--read-only")
        gateway = Tablegate(work / "pages", library, *flags)
        try:
            _scan(report, gateway, runs)
        finally:
            gateway.stop()
    finally:
        canned.stdin.close()
        canned.wait()


def _scan(report: Report, gateway: Tablegate, runs: int):
    connection = gateway.connect()
    rates, costs = [], []
    for run in range(runs + 1):
        cpu, answer = gateway.cpu_seconds(), []
        took = seconds_of(lambda: answer.extend(connection.query(QUERY)))
        if int(answer[0][0]) != ENTITIES:
            raise RuntimeError(f"{answer[0][0]} entities were counted, {ENTITIES} are there")
        if run > 0:  # the first makes the pages
            rates.append(ENTITIES / took)
            costs.append((gateway.cpu_seconds() - cpu) / ENTITIES)
    cost = median(costs)
    told = f"{1 / cost:,.0f}/s a core ({cost * 1e6:.2f} us each), {median(rates):,.0f}/s in all"
    report.add(Line("entities of an account's pages, 10 properties", f">= {TARGET:,}/s a core", told, met=1 / cost >= TARGET))

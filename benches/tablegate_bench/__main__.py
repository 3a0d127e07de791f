"""Runs the workloads of tablegate, PostgreSQL and DuckDB in turn, prints medians and ratios, writes BENCHMARKS.md."""

import argparse
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import duckdb

import analytics
import beside
import entities
import flights
import keys
import loads
import pages
import pgbench
import statements
import tpch
from loaders import Loaders
from report import Report, commit, write
from servers import Postgres, Tablegate, build_sync_library

ROOT = Path(__file__).parents[2]


@dataclass
class Size:
    """How much is measured, and how long."""

    entities: int
    many_entities: int
    few_entities: int
    flights: int
    restored: int
    scales: tuple
    seconds: int
    runs: int


FULL = Size(1_000_000, 10_000_000, 100_000, flights.ROWS, 3_000_000, (0.1, 1.0), 6, 3)
QUICK = Size(100_000, 300_000, 20_000, 30_000, 100_000, (0.01,), 3, 1)
PARTS = ("keys", "statements", "loads", "loaders", "scans", "beside", "many", "tpch", "pages")


class Bench:
    def __init__(self, work: Path, size: Size):
        self.work, self.size, self.report = work, size, Report()
        self.library = build_sync_library(work)
        self.postgres = Postgres(work / "postgres", self.library)
        self.ours = Tablegate(work / "tablegate", self.library, "--no-sample")
        self.duck = duckdb.connect(str(work / "duck.db"))
        self.duck.execute("SET threads = 2")

    def versions(self) -> dict:
        return {
            "tablegate": f"{self.ours.version()} ({commit()})",
            "PostgreSQL": self.postgres.version(),
            "DuckDB": duckdb.__version__,
        }

    def idle(self):
        self.ours.settle()
        self.report.bound("memory, idle", self.ours.rss_anon_mb(), 60, "MB")

    def load(self, table: str, count: int, runs: int = 1) -> list:
        """The median seconds of COPY on each server, each time into another table. The last one is kept."""
        csv = self.work / f"{table}.csv"
        entities.write_csv(csv, count)
        servers = (self.ours, self.postgres)
        times = [[] for _ in servers]
        others = [f"{table}_{run}" for run in range(1, runs)]
        for name in (*others, table):
            for server, found in zip(servers, times):
                found.append(entities.load(server, name, csv))
                server.settle()
        for server in servers:
            for name in others:
                server.connect().query(f"DROP TABLE {name}")
            server.settle()
        entities.load_duckdb(self.duck, table, csv)
        csv.unlink()
        return [median(found) for found in times]

    def copy(self):
        size = self.size
        took = self.load("kv", size.entities, size.runs)
        self.report.times(f"COPY FROM, {size.entities:,} entities", *took, None, targets=(1, None))

    def keys(self):
        size = self.size
        keys.measure(self.report, self.ours, self.postgres, self.work, size.entities // 1000, size.seconds, size.runs)

    def statements(self):
        statements.measure(self.report, self.ours, self.postgres, self.work, self.size.seconds, self.size.runs)

    def loads(self):
        loads.measure(self.report, self.ours, self.postgres, self.work, self.size.entities, self.size.runs)

    def loaders(self):
        Loaders(self.report, self.ours, self.postgres, self.work, self.size).measure()

    def scans(self):
        told = f"{self.size.entities:,} entities"
        found = analytics.aggregates(self.report, self.ours, self.postgres, self.duck, "kv", told, self.size.runs)
        analytics.all_rows(self.report, self.ours, self.postgres, "kv", self.size.runs)
        analytics.dirty(self.report, self.ours, "kv", found, self.size.runs)

    def beside(self):
        beside.measure(self.report, self.ours, self.postgres, self.size.entities // 1000, self.size.seconds)

    def many(self):
        size, table = self.size, "many"
        self.load("few", size.few_entities)
        self.load(table, size.many_entities)
        told = f"{size.many_entities:,} entities"
        analytics.aggregates(self.report, self.ours, self.postgres, self.duck, table, told, size.runs)
        analytics.memory(self.report, self.ours, table)
        self.ours.warm()
        latency = {}
        for name, count in (("few", size.few_entities), (table, size.many_entities)):
            script = self.work / f"point-{name}.sql"
            script.write_text(keys.POINT.format(partitions=count // 1000, table=name))
            rate = pgbench.in_turn([self.ours], script, "prepared", 1, size.seconds, size.runs)[0]
            latency[name] = rate.latency_ms
        self.report.bound("point read latency, many entities against few", latency[table] / latency["few"], 1.3, "x")
        self.ours.stop()
        took = self.ours.start()
        took += analytics.seconds_of(lambda: self.ours.connect().query(f"SELECT note FROM {table} WHERE pk = 1 AND id = 1"))
        self.report.bound(f"start-up with {told}, to the first answer", took, 3, "s")

    def tpch(self):
        for scale in self.size.scales:
            folder = self.work / f"tpch-{scale:g}"
            tpch.measure(self.report, self.ours, self.postgres, self.duck, folder, scale, self.size.runs)
            shutil.rmtree(folder)
            for drop in (self.ours.connect().query, self.postgres.connect().query, self.duck.execute):
                for table in reversed(tpch.TABLES):
                    drop(f"DROP TABLE {table}")

    def pages(self):
        pages.measure(self.report, self.work, self.library, self.size.runs)

    def stop(self):
        self.ours.stop()
        self.postgres.stop()


def main():
    parser = argparse.ArgumentParser(prog="benches/run.sh", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data, short runs: a check of the benchmark itself")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part only; may be repeated")
    parser.add_argument("--write", action="store_true", help="write the table into BENCHMARKS.md")
    parser.add_argument("--work", type=Path, help="folder for all data (default: a temporary one)")
    arguments = parser.parse_args()

    begun, parts = time.monotonic(), arguments.only or PARTS
    with tempfile.TemporaryDirectory(prefix="tablegate-bench-", dir=arguments.work) as folder:
        work = Path(folder)
        work.chmod(0o755)
        bench = Bench(work, QUICK if arguments.quick else FULL)
        try:
            bench.idle()
            if {"keys", "scans", "beside"} & set(parts):
                bench.copy()
            for part in PARTS:
                if part in parts:
                    getattr(bench, part)()
            markdown = bench.report.markdown(bench.versions())
            print(*bench.ours.complaints()[:20], sep="\n")
        finally:
            bench.stop()
    print(f"\n{markdown}\n{(time.monotonic() - begun) / 60:.0f} minutes")
    if arguments.write:
        write(markdown, ROOT / "BENCHMARKS.md")


main()

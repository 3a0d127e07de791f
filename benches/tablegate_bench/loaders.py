"""The tools that people load with, as they are: each into tablegate in both modes, and into PostgreSQL; with tablegate's memory
meanwhile, and how long a point SELECT beside it waits."""

import subprocess
import sys
import traceback
from collections import defaultdict
from pathlib import Path
from statistics import median

import flights
import loads
import restores
import tools
import watch
from report import Line

MODES = ("strict", "observe")


class Loaders:
    def __init__(self, report, ours, postgres, work: Path, size):
        self.report, self.ours, self.postgres, self.work = report, ours, postgres, work
        self.rows, self.restored, self.entities, self.runs = size.flights, size.restored, size.entities, size.runs
        self.parquet = work / "flights.parquet"
        # The p99 of point SELECTs on each server, and what the flights add up to.
        self.alone, self.expected = {}, None

    def measure(self):
        flights.write(self.parquet, self.rows, "parquet")
        for server in (self.ours, self.postgres):
            self.fresh(server, MODES[0])
            watch.prepare(server, self.work / "points.csv")
            server.settle()
        for server in (self.ours, self.postgres):
            self.fresh(server, MODES[0])
            self.alone[server] = watch.alone(server)
        shown = [f"{self.alone[server]:.2f} ms" for server in (self.ours, self.postgres)]
        self.report.add(Line("point SELECT alone, p99", "", *shown))
        for name in (*tools.MAKING, *tools.FILLING):
            self.lines(f"{name}, {self.rows:,} flights", 1, lambda server, mode, watched: self.tool(name, server, watched))
        self.reads()
        self.restores()
        self.loads()
        for server in (self.ours, self.postgres):
            server.connect().query(f"DROP TABLE {watch.TABLE}")
        self.ours.restart()

    def lines(self, told: str, target: float, load, modes: tuple = MODES):
        """A line of seconds for each mode, of its memory and of the point SELECTs beside it; PostgreSQL has no modes."""
        times, seen = defaultdict(list), defaultdict(list)
        try:
            for _ in range(self.runs):
                for server, mode in [(self.ours, modes[0]), (self.postgres, None), *((self.ours, mode) for mode in modes[1:])]:
                    self.fresh(server, mode or modes[0])
                    watched = watch.watching(server, seen[mode])
                    times[mode].append(load(server, mode or modes[0], watched))
        except Exception as error:  # of whatever tool it is: the others go on
            traceback.print_exc()
            self.report.failed(told, error)
            self.clear()
            return
        for mode in modes:
            where = f"{told}, {mode}" if len(modes) > 1 else told
            self.report.times(where, median(times[mode]), median(times[None]), None, targets=(target, None))
            self.report.bound(f"memory above idle, {where}", max(one.peak_mb for one in seen[mode]), watch.MEMORY_MB, "MB")
            self.beside(where, seen[mode], seen[None])

    def beside(self, where: str, mine: list, theirs: list):
        shown, met = [], None
        for server, seen in ((self.ours, mine), (self.postgres, theirs)):
            waited = median(one.p99 for one in seen)
            times = waited / self.alone[server]
            shown.append(f"{waited:.2f} ms, {times:.1f} x")
            met = times <= watch.WAIT if met is None else met
        self.report.add(Line(f"point SELECT beside {where}, p99", f"<= {watch.WAIT} x alone", *shown, met=met))

    def fresh(self, server, mode: str):
        """The server as it is when nobody has asked it for anything yet."""
        if server is self.ours:
            server.restart("--egt-mode", mode)
            server.settle(quiet=1.0)

    def clear(self):
        """Removes what a load that failed has left."""
        for server in (self.ours, self.postgres):
            connection = server.connect()
            for table in ("flights", "loaded", "copied"):
                connection.query(f"DROP TABLE IF EXISTS {table}")
            connection.close()

    def tool(self, name: str, server, watched) -> float:
        """Loads the flights with it, into a table that it makes or one that is declared: the seconds."""
        connection = server.connect()
        if name in tools.FILLING:
            connection.query(f"CREATE TABLE flights ({flights.DECLARED})")
        took = self.run(name, server, watched)
        found = connection.query(flights.CHECKSUM)
        self.expected = self.expected or found
        connection.query("DROP TABLE flights")
        connection.close()
        server.settle()
        if found != self.expected:
            raise RuntimeError(f"{server.name} has {found}, not {self.expected}")
        return took

    def run(self, name: str, server, watched) -> float:
        command = [sys.executable, Path(tools.__file__), name, str(server.port), server.database, str(self.parquet)]
        tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if tool.stdout.readline() != "ready\n":
            raise RuntimeError(_last_line(tool.communicate()[1]))
        with watched:
            said, complained = tool.communicate("\n")
        if tool.returncode != 0:
            raise RuntimeError(f"{server.name}: {_last_line(complained)}")
        seconds, rows = said.split()
        if int(rows) != self.rows:
            raise RuntimeError(f"{server.name}: {rows} rows, not {self.rows}")
        return float(seconds)

    def reads(self):
        """Of the declared table, filled once."""
        csv = self.work / "flights.csv"
        flights.write(csv, self.rows, "csv")
        for server in (self.ours, self.postgres):
            connection = server.connect()
            connection.query(f"CREATE TABLE flights ({flights.DECLARED})")
            connection.copy_in("COPY flights FROM STDIN WITH (FORMAT csv, HEADER)", csv)
            connection.close()
            server.settle()
        csv.unlink()
        for name in tools.READING:
            self.lines(f"{name}, {self.rows:,} flights", 1, lambda server, mode, watched: self.run(name, server, watched))
        self.clear()

    def restores(self):
        dump, keys_alone = self.work / "shop.dump", self.work / "shop.list"
        restores.make_dump(self.postgres, dump, self.restored)
        restores.strict_list(dump, keys_alone)
        for name, options in (("as is", ()), ("--single-transaction", ("--single-transaction",))):
            told = f"pg_restore {name}, {self.restored:,} rows in {len(restores.TABLES)} tables"
            self.lines(f"{told}, observe", 1.2, lambda server, mode, watched: self.restore(server, dump, options, watched), ("observe",))
            # What strict refuses is left out, for PostgreSQL too.
            without = (*options, "--use-list", keys_alone)
            told = f"{told}, without UNIQUE, indexes and foreign keys, strict"
            self.lines(told, 1.2, lambda server, mode, watched: self.restore(server, dump, without, watched), ("strict",))
        dump.unlink()

    def restore(self, server, dump: Path, options: tuple, watched) -> float:
        database = server.database
        if server is self.postgres:
            database = restores.RESTORED
            server.connect().query(f"DROP DATABASE IF EXISTS {database}")
            server.connect().query(f"CREATE DATABASE {database}")
        try:
            with watched:
                took = restores.restore(server, database, dump, options)
            connection = server.connect(database)
            restores.check(connection, self.restored)
            connection.close()
        finally:
            if server is self.postgres:
                server.connect().query(f"DROP DATABASE {database}")
            else:
                restores.drop(server.connect())
        server.settle()
        return took

    def loads(self):
        """Memory, and the point SELECTs, beside the loads whose seconds are of the part `loads`: once."""
        csv, rows = self.work / "loaded.csv", self.entities
        for name, (columns, write) in loads.sources().items():
            write(csv, rows)
            for way in (loads.ALONE, loads.MAKING, loads.LATER):
                where = f"COPY FROM, {rows:,} rows, {name}{way}"
                self.seen(where, lambda server, watched: loads.load(server, columns, csv, way, watched))
            csv.unlink()
        columns, write = loads.sources()[loads.ONE_KEY]
        write(csv, rows)
        for server in (self.ours, self.postgres):
            connection = server.connect()
            loads.fill(connection, columns, csv)
            connection.close()
            server.settle()
        csv.unlink()
        for name, (statement, _) in loads.STATEMENTS.items():
            self.seen(f"{name}, {rows:,} rows, {loads.ONE_KEY}", lambda server, watched: _ask(server, statement, watched))
        self.clear()

    def seen(self, where: str, load):
        found = {}
        for server in (self.ours, self.postgres):
            self.fresh(server, MODES[0])
            found[server] = []
            load(server, watch.watching(server, found[server]))
        self.report.bound(f"memory above idle, {where}", found[self.ours][0].peak_mb, watch.MEMORY_MB, "MB")
        self.beside(where, found[self.ours], found[self.postgres])


def _ask(server, statement: str, watched):
    connection = server.connect()
    with watched:
        loads.ask(connection, statement)
    connection.close()
    server.settle()


def _last_line(complained: str) -> str:
    return (complained.strip().splitlines() or ["it ended without a word"])[-1]

"""Reads and writes by key, over TCP with pgbench."""

from pathlib import Path

import entities
import pgbench
from report import Report

POINT = """\\set pk random(0, {partitions} - 1)
\\set id random(0, 999)
SELECT quantity, note, price FROM {table} WHERE pk = :pk AND id = :id;
"""
RANGE = """\\set pk random(0, {partitions} - 1)
\\set low random(0, 899)
\\set high :low + 100
SELECT id, quantity, note, price FROM kv WHERE pk = :pk AND id >= :low AND id < :high;
"""
ROW = "({pk}, {id}, 7, 7000000000, 1.25, 0.5, true, 'category 7', 'a note of some length', '2024-05-06 07:08:09+00', '6f1ed002-ab5d-4d4c-9a5e-3f3c1c5d7e11', 3)"
NEW_KEY = "\\set pk random(-2147483648, 2147483647)\n\\set id random(1, 2147483647)\n"


def scripts(folder: Path, partitions: int) -> dict:
    rows = [ROW.format(pk=":pk", id=n) for n in range(100)]
    texts = {
        "point": POINT.format(partitions=partitions, table="kv"),
        "range": RANGE.format(partitions=partitions),
        "insert": NEW_KEY + f"INSERT INTO inserted VALUES {ROW.format(pk=':pk', id=':id')};\n",
        "group": NEW_KEY + f"INSERT INTO inserted VALUES {', '.join(rows)};\n",
        "pipeline": NEW_KEY
        + "\\startpipeline\nBEGIN;\n"
        + "".join(f"INSERT INTO inserted VALUES {row};\n" for row in rows)
        + "COMMIT;\n\\endpipeline\n",
    }
    paths = {name: folder / f"{name}.sql" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    return paths


def measure(report: Report, ours, theirs, folder: Path, partitions: int, seconds: int, runs: int):
    servers = [ours, theirs]
    for server in servers:
        server.connect().query(entities.ddl("inserted"))
    paths = scripts(folder, partitions)

    def compare(label, script, mode, clients, target, syncs=False, tries=3):
        # What the workload before has left to be done in the background is not this one's.
        for server in servers:
            server.settle()
        try:
            rates = pgbench.in_turn(servers, paths[script], mode, clients, seconds, runs)
            report.rate(label, target, *rates, syncs=syncs)
        except RuntimeError as error:
            # Two random keys are the same once in a while.
            if "duplicate key" in str(error) and tries > 1:
                compare(label, script, mode, clients, target, syncs, tries - 1)
            else:
                report.failed(label, error)

    compare("point SELECT, prepared, 8 clients", "point", "prepared", 8, 1.4)
    compare("point SELECT, simple protocol, 8 clients", "point", "simple", 8, 1.4)
    compare("range of 100 rows by key, prepared, 8 clients", "range", "prepared", 8, 1.2)
    for delay, told in ((0, ""), (1000, ", 1 ms added to each sync")):
        for server in servers:
            server.syncs.delay(delay)
        for clients in (8, 32):
            compare(f"durable INSERT of 1 row, {clients} clients{told}", "insert", "prepared", clients, 1.5, True)
    for server in servers:
        server.syncs.delay(0)
    compare("durable INSERT of 100 rows of a partition, 8 clients", "group", "simple", 8, 1.5, True)
    compare("BEGIN, 100 INSERTs, COMMIT, pipelined, 8 clients", "pipeline", "prepared", 8, 1.5, True)

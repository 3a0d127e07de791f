"""Runs pgbench against a server and says what a transaction cost."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from servers import Server


@dataclass
class Rate:
    per_second: float
    latency_ms: float
    # Of the server alone: pgbench shares the processors with it.
    cpu_micros: float
    syncs: float


def run(server: Server, script: Path, mode: str, clients: int, seconds: int) -> Rate:
    cpu, syncs, begun = server.cpu_seconds(), server.syncs.count(), time.monotonic()
    command = ["pgbench", "-n", "-h", "127.0.0.1", "-p", str(server.port), "-U", "bench", "-c", str(clients)]
    command += ["-j", "2" if clients > 1 else "1", "-T", str(seconds), "-M", mode, "-f", str(script), server.database]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"pgbench on {server.name}: {done.stderr.strip()[-500:]}")
    time.sleep(0.2)  # until PostgreSQL has counted its backends that ended
    transactions = int(_find(r"actually processed: (\d+)", done.stdout))
    if transactions == 0:
        raise RuntimeError(f"pgbench on {server.name}: no transaction within {time.monotonic() - begun:.0f} s")
    return Rate(
        per_second=float(_find(r"tps = ([\d.]+)", done.stdout)),
        latency_ms=float(_find(r"latency average = ([\d.]+)", done.stdout)),
        cpu_micros=(server.cpu_seconds() - cpu) * 1e6 / transactions,
        syncs=(server.syncs.count() - syncs) / transactions,
    )


def in_turn(servers: list, script: Path, mode: str, clients: int, seconds: int, runs: int) -> list:
    """The medians of several runs on each server, A B A B."""
    rates = [[] for _ in servers]
    for _ in range(runs):
        for server, found in zip(servers, rates):
            found.append(run(server, script, mode, clients, seconds))
    return [
        Rate(*(median(getattr(rate, field) for rate in found) for field in Rate.__dataclass_fields__))
        for found in rates
    ]


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if not found:
        raise RuntimeError(f"pgbench printed no {pattern}:\n{text}")
    return found[1]

"""What was measured, as a table for people."""

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import date
from pathlib import Path


@dataclass
class Line:
    workload: str
    target: str
    tablegate: str
    postgres: str = ""
    duckdb: str = ""
    ratio: str = ""
    met: bool | None = None
    note: str = ""


class Report:
    def __init__(self):
        self.lines = []

    def add(self, line: Line):
        self.lines.append(line)
        print(self._row(line), flush=True)

    def rate(self, workload: str, target: float, ours, theirs, syncs: bool = False):
        """A line of rates, of tablegate and of PostgreSQL."""
        ratio = ours.per_second / theirs.per_second

        def show(rate):
            told = f"{rate.per_second:,.0f}/s, {rate.cpu_micros:,.0f} us"
            return told + (f", {rate.syncs:.2f} syncs" if syncs else "")

        self.add(Line(workload, f">= {target} x PostgreSQL", show(ours), show(theirs), "", f"{ratio:.2f}", ratio >= target))

    def times(self, workload: str, ours: float, postgres: float | None, duckdb: float | None, targets: tuple):
        """A line of seconds; `targets` are how many times as fast as PostgreSQL and as DuckDB it is to be."""
        ratios = [(other / ours, target) for other, target in zip((postgres, duckdb), targets) if other and target]
        names = [name for name, target in zip(("PostgreSQL", "DuckDB"), targets) if target]
        wanted = ", ".join(f">= {target} x {name}" for name, target in zip(names, filter(None, targets)))
        shown = [f"{seconds:.3f} s" if seconds else "" for seconds in (ours, postgres, duckdb)]
        told = ", ".join(f"{ratio:.2f}" for ratio, _ in ratios)
        self.add(Line(workload, wanted, *shown, told, all(ratio >= target for ratio, target in ratios)))

    def bound(self, workload: str, value: float, limit: float, unit: str):
        self.add(Line(workload, f"<= {limit:g} {unit}".strip(), f"{value:.4g} {unit}".strip(), met=value <= limit))

    def failed(self, workload: str, error: Exception):
        self.add(Line(workload, "", f"failed: {error}", met=False))

    def markdown(self, versions: dict) -> str:
        head = [
            f"Measured on {date.today()} with `benches/run.sh`: {machine()}.",
            ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
            "",
            "| workload | target | tablegate | PostgreSQL | DuckDB | ratio | met |",
            "|---|---|---|---|---|---|---|",
        ]
        return "\n".join([*head, *map(self._row, self.lines)]) + "\n"

    @staticmethod
    def _row(line: Line) -> str:
        met = {True: "yes", False: "**no**", None: ""}[line.met]
        cells = [line.workload, line.target, line.tablegate, line.postgres, line.duckdb, line.ratio, met + line.note]
        return "| " + " | ".join(cells) + " |"


def machine() -> str:
    model = next((l.split(":")[1].strip() for l in Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("model name")), "?")
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    return f"{os.cpu_count()} processors ({model}), {memory:.0f} GiB, Linux {platform.release()}"


def commit() -> str:
    here = Path(__file__).parent
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True)
    return done.stdout.strip() or "of no commit"


def write(markdown: str, path: Path, script: str = "benches/run.sh"):
    """Replaces what stands between the script's marks in BENCHMARKS.md."""
    begin, end = f"<!-- begin: {script} -->\n", f"<!-- end: {script} -->"
    text = path.read_text()
    head, rest = text.split(begin)
    path.write_text(head + begin + markdown + end + rest.split(end)[1])

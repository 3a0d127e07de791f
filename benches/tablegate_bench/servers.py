"""The servers that are compared, each in a folder of its own, on free ports of 127.0.0.1."""

import os
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

from wire import Connection

TICKS = os.sysconf("SC_CLK_TCK")
PG_BIN = Path(os.environ.get("PG_BIN", "/usr/lib/postgresql/15/bin"))
HERE = Path(__file__).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Syncs:
    """The counter and the delay that `sync.c` shares with a server."""

    def __init__(self, path: Path, library: Path):
        path.write_bytes(bytes(16))
        path.chmod(0o666)
        self.path = path
        self.environment = {"BENCH_SYNC": str(path), "LD_PRELOAD": str(library)}

    def count(self) -> int:
        return struct.unpack("=Q", self.path.read_bytes()[:8])[0]

    def delay(self, micros: int):
        with open(self.path, "r+b") as file:
            file.seek(8)
            file.write(struct.pack("=Q", micros))


def build_sync_library(folder: Path) -> Path:
    library = folder / "sync.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "sync.c", "-ldl"], check=True)
    return library


class Server:
    """What is asked of either server."""

    name: str
    database: str
    port: int
    pid: int
    syncs: Syncs

    def connect(self, database: str | None = None) -> Connection:
        return Connection(self.port, database or self.database)

    def cpu_seconds(self) -> float:
        """Processor time so far, of the server with all its processes."""
        raise NotImplementedError

    def rss_anon_mb(self) -> float:
        """Memory of its main process that is not on disk: of tablegate all there is."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("the kernel does not tell RssAnon")

    def settle(self, quiet: float = 2.0, limit: float = 300.0):
        """Waits until it does nothing by itself any more: less than 5 % of one processor for `quiet` seconds, and nothing is left to
        be written to the disk."""
        os.sync()
        end = time.monotonic() + limit
        while time.monotonic() < end:
            before = self.cpu_seconds()
            time.sleep(quiet)
            if self.cpu_seconds() - before < 0.05 * quiet:
                return

    def _wait(self):
        for _ in range(600):
            try:
                self.connect().close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"{self.name} does not answer")


class Postgres(Server):
    name = "PostgreSQL"
    database = "postgres"

    def __init__(self, folder: Path, library: Path):
        folder.mkdir()
        self.folder, self.port = folder, free_port()
        self.syncs = Syncs(folder.parent / "postgres.syncs", library)
        if os.getuid() == 0:
            subprocess.run(["chown", "nobody", folder], check=True)
        self._run("initdb", "-D", folder / "data", "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C")
        options = [
            f"-p {self.port}",
            "-c listen_addresses=127.0.0.1",
            f"-c unix_socket_directories={folder}",
            "-c synchronous_commit=on",
            "-c shared_buffers=2GB",
            "-c max_wal_size=8GB",
        ]
        self._run("pg_ctl", "-D", folder / "data", "-l", folder / "log", "-w", "-o", " ".join(options), "start")
        self.pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        self._wait()

    def _run(self, program: str, *arguments):
        # PostgreSQL refuses to run as root, and an ordinary user may not read the current folder.
        user = ["runuser", "-u", "nobody", "--"] if os.getuid() == 0 else []
        command = [*user, "env", *(f"{k}={v}" for k, v in self.syncs.environment.items()), PG_BIN / program, *arguments]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL)

    def cpu_seconds(self) -> float:
        # Ended backends are in the postmaster's sum of its children.
        ticks = sum(_stat(self.pid)[11:15])
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        for child in children:
            try:
                ticks += sum(_stat(int(child))[11:13])
            except FileNotFoundError:
                pass
        return ticks / TICKS

    def version(self) -> str:
        return self.connect().query("SHOW server_version")[0][0]

    def stop(self):
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "fast", "stop")


class Tablegate(Server):
    name = "tablegate"
    database = "tablegate"

    def __init__(self, folder: Path, library: Path, *flags: str):
        """Over the embedded store in `folder`, unless a flag names another one."""
        self.folder = folder
        self.flags = flags if "--connection-string" in flags else ("--data", folder, *flags)
        self.binary = binary()
        self.syncs = Syncs(folder.parent / f"{folder.name}.syncs", library)
        self.start()

    def start(self, *more: str) -> float:
        """Seconds until it answers. These flags are added to its own."""
        self.port = free_port()
        begun = time.monotonic()
        with open(f"{self.folder}.log", "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--listen", f"127.0.0.1:{self.port}", *self.flags, *more],
                stdout=log,
                stderr=log,
                env={**os.environ, **self.syncs.environment},
            )
        self.pid = self.process.pid
        try:
            self._wait()
        except RuntimeError:
            print(Path(f"{self.folder}.log").read_text()[-2000:], flush=True)
            raise
        return time.monotonic() - begun

    def restart(self, *more: str):
        self.stop()
        self.start(*more)

    def warm(self):
        """Reads its files, so that what is measured next is not the disk."""
        for file in self.folder.rglob("*"):
            if file.is_file():
                with open(file, "rb") as bytes_of:
                    while bytes_of.read(1 << 20):
                        pass

    def complaints(self) -> list:
        """What its log warns of."""
        lines = Path(f"{self.folder}.log").read_text(errors="replace").splitlines()
        return [line for line in lines if " WARN " in line or " ERROR " in line]

    def cpu_seconds(self) -> float:
        return sum(_stat(self.pid)[11:13]) / TICKS

    def version(self) -> str:
        return subprocess.run([self.binary, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


def binary() -> Path:
    target = os.environ.get("CARGO_TARGET_DIR", Path.home() / ".cache" / "tablegate-target")
    path = Path(os.environ.get("TABLEGATE", Path(target) / "release" / "tablegate"))
    if not path.exists():
        raise SystemExit(f"there is no {path}: run `make build`, or name the program in TABLEGATE")
    return path


def _stat(pid: int) -> list:
    """The numbers of /proc/PID/stat from the third field on; utime, stime, cutime and cstime are at 11 to 14."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return [int(field) if field.lstrip("-").isdigit() else 0 for field in text.rpartition(")")[2].split()]

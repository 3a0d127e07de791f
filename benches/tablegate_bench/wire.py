"""A small client of the PostgreSQL protocol: it costs little, so what is timed is the server."""

import socket
import struct

READY = b"Z\0\0\0\5"
CHUNK = 1 << 16


class ServerError(Exception):
    """What the server said, by field."""

    def __init__(self, body: bytes):
        fields = {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}
        super().__init__(f"{fields.get('C')}: {fields.get('M')}")


class Connection:
    """One session, simple protocol, without a password."""

    def __init__(self, port: int, database: str, user: str = "bench"):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port, self.buffer, self.key = port, bytearray(), b""
        parameters = f"user\0{user}\0database\0{database}\0\0".encode()
        self.socket.sendall(struct.pack("!ii", len(parameters) + 8, 196608) + parameters)
        self._until_ready()

    def close(self):
        self.socket.sendall(b"X\0\0\0\4")
        self.socket.close()

    def cancel(self):
        """Asks the server to end what this session is doing; comes back when it has been told."""
        with socket.create_connection(("127.0.0.1", self.port)) as other:
            other.sendall(struct.pack("!ii", 16, 80877102) + self.key)
            other.recv(1)

    def query(self, sql: str) -> list:
        """The rows of the last statement, cells as text or None."""
        self._send(b"Q", sql.encode() + b"\0")
        return self._until_ready()

    def discard(self, sql: str) -> int:
        """Reads the answer and drops it, unparsed. Returns how many rows the server says it sent."""
        return self._discarded(sql, b"SELECT ")

    def copy_in(self, sql: str, path) -> int:
        """Sends a file as the rows of COPY .. FROM STDIN. Returns how many rows were taken."""
        self._send(b"Q", sql.encode() + b"\0")
        kind, body = self._message()
        if kind != b"G":
            self._fail(kind, body)
        with open(path, "rb") as file:
            while piece := file.read(CHUNK):
                self._send(b"d", piece)
        self._send(b"c", b"")
        self._until_ready()
        return int(self.tag.split()[-1])

    def copy_out(self, sql: str) -> int:
        """Reads what COPY .. TO STDOUT sends and drops it, unparsed. Returns how many rows the server says it sent."""
        return self._discarded(sql, b"COPY ")

    def _discarded(self, sql: str, command: bytes) -> int:
        self._send(b"Q", sql.encode() + b"\0")
        tail, chunk = b"", bytearray(1 << 18)
        # Only the end is looked at: the last message is ReadyForQuery, before it is the tag.
        while not (tail[-6:-1] == READY):
            n = self.socket.recv_into(chunk)
            if n == 0:
                raise ConnectionError("the server went away")
            tail = (tail + bytes(chunk[max(0, n - 256) : n]))[-256:]
        tag = tail[:-6].rsplit(command, 1)
        if len(tag) != 2:
            raise ServerError(tail)
        return int(tag[1].rstrip(b"\0"))

    def _send(self, kind: bytes, body: bytes):
        self.socket.sendall(kind + struct.pack("!i", len(body) + 4) + body)

    def _read(self, n: int) -> bytes:
        while len(self.buffer) < n:
            piece = self.socket.recv(1 << 18)
            if not piece:
                raise ConnectionError("the server went away")
            self.buffer += piece
        taken = bytes(self.buffer[:n])
        del self.buffer[:n]
        return taken

    def _message(self):
        head = self._read(5)
        return head[:1], self._read(struct.unpack("!i", head[1:])[0] - 4)

    def _fail(self, kind: bytes, body: bytes):
        error = ServerError(body) if kind == b"E" else ConnectionError(f"unexpected message {kind!r}")
        while kind != b"Z":
            kind, _ = self._message()
        raise error

    def _until_ready(self) -> list:
        rows, self.tag = [], ""
        while True:
            kind, body = self._message()
            if kind == b"Z":
                return rows
            if kind == b"E":
                self._fail(kind, body)
            if kind == b"K":
                self.key = body
            if kind == b"T":
                rows = []
            if kind == b"C":
                self.tag = body[:-1].decode()
            if kind == b"D":
                rows.append(_cells(body))


def _cells(body: bytes) -> list:
    count, at, cells = struct.unpack_from("!h", body)[0], 2, []
    for _ in range(count):
        (size,) = struct.unpack_from("!i", body, at)
        at += 4
        cells.append(None if size < 0 else body[at : at + size].decode())
        at += max(size, 0)
    return cells

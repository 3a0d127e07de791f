"""Asks a PostgreSQL 15 what statements mean, and writes down the answers.

    python3 record_statements.py PORT < statements > facts

The server must have a database and a user `postgres` without a password; the tables of schema.sql are made anew in a database
of their own. Of each statement two lines are written: itself, and the answer. An answer begins with `=` and has the results
(name, type and the column of a table that it is), then behind `|` the types of the parameters; or with `!` and has SQLSTATE,
position, message, DETAIL and HINT.
"""

import os
import socket
import struct
import sys


class Connection:
    def __init__(self, port, database):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.buffer = b""
        start = b"\0\x03\0\0user\0postgres\0database\0" + database.encode() + b"\0\0"
        self.socket.sendall(struct.pack("!i", len(start) + 4) + start)
        while self.message()[0] != b"Z":
            pass

    def exactly(self, count):
        while len(self.buffer) < count:
            self.buffer += self.socket.recv(65536)
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def message(self):
        kind = self.exactly(1)
        length = struct.unpack("!i", self.exactly(4))[0]
        return kind, self.exactly(length - 4)

    @staticmethod
    def framed(kind, body):
        return kind + struct.pack("!i", len(body) + 4) + body

    def query(self, text):
        self.socket.sendall(self.framed(b"Q", text.encode() + b"\0"))
        rows, error = [], None
        while True:
            kind, body = self.message()
            if kind == b"D":
                count, at, row = struct.unpack("!h", body[:2])[0], 2, []
                for _ in range(count):
                    length = struct.unpack("!i", body[at : at + 4])[0]
                    at += 4
                    row.append(None if length < 0 else body[at : at + length].decode())
                    at += max(length, 0)
                rows.append(row)
            elif kind == b"E":
                error = fields(body)
            elif kind == b"Z":
                if error:
                    raise RuntimeError(error)
                return rows

    def describe(self, text):
        parts = self.framed(b"P", b"\0" + text.encode() + b"\0\0\0")
        self.socket.sendall(parts + self.framed(b"D", b"S\0") + self.framed(b"S", b""))
        parameters, columns, error = [], [], None
        while True:
            kind, body = self.message()
            if kind == b"t":
                count = struct.unpack("!h", body[:2])[0]
                parameters = list(struct.unpack(f"!{count}I", body[2:]))
            elif kind == b"T":
                count, at = struct.unpack("!h", body[:2])[0], 2
                for _ in range(count):
                    end = body.index(b"\0", at)
                    name = body[at:end].decode()
                    table, column, oid, _, modifier, _ = struct.unpack("!IhIhih", body[end + 1 : end + 19])
                    at = end + 19
                    columns.append((name, oid, modifier, table, column))
            elif kind == b"E":
                error = fields(body)
            elif kind == b"Z":
                return parameters, columns, error


def fields(body):
    found = {}
    for field in body.split(b"\0"):
        if field:
            found[chr(field[0])] = field[1:].decode()
    return found


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def main():
    port = int(sys.argv[1])
    name = f"facts_{os.getpid()}"
    first = Connection(port, "postgres")
    first.query(f"CREATE DATABASE {name}")
    connection = Connection(port, name)
    connection.query("CREATE SCHEMA s")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.sql")) as schema:
        connection.query(schema.read())
    tables = {int(oid): table for oid, table in connection.query("SELECT oid, oid::regclass FROM pg_class")}
    types = {}

    def type_name(oid, modifier):
        if (oid, modifier) not in types:
            types[oid, modifier] = connection.query(f"SELECT format_type({oid}, {modifier})")[0][0]
        return types[oid, modifier]

    seen = set()
    for line in sys.stdin:
        text = line.rstrip("\n")
        if not text or text.startswith("#") or text in seen:
            continue
        seen.add(text)
        parameters, columns, error = connection.describe(text.replace("\\n", "\n"))
        if error:
            # What is wrong with a text is said in other words here.
            if error.get("M", "").startswith("invalid input syntax for type json"):
                error.pop("D", None)
            words = [error.get("C", ""), error.get("P", "0"), error.get("M", ""), error.get("D", ""), error.get("H", "")]
            print(text)
            print("!\t" + "\t".join(escaped(word) for word in words))
            continue
        shown = []
        for column, oid, modifier, table, number in columns:
            origin = f"@{tables[table]}.{number}" if table else ""
            shown.append(f"{column}:{type_name(oid, modifier)}{origin}")
        known = [type_name(oid, -1) for oid in parameters]
        print(text)
        print("=\t" + "\t".join(shown) + "|" + ",".join(known))
    connection.socket.close()
    first.query(f"DROP DATABASE {name} WITH (FORCE)")


if __name__ == "__main__":
    main()

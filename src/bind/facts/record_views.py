"""Asks a PostgreSQL 15 how it prints queries, and writes down the answers.

    python3 record_views.py PORT < queries > views.txt

The server must have a database and a user `postgres` without a password; the tables of schema.sql are made anew in a database
of their own. Of each query two lines are written: itself, and behind `=` the two texts of a view of it, in full and pretty.
A line `(a, b) query` names the view's columns. Queries without a view are told of and left out.
"""

import os
import re
import sys

from record_statements import Connection, escaped


def created(line):
    """The statement that makes a view of a line."""
    named = re.match(r"(\([^)]*\)) (?=SELECT|WITH|VALUES)", line)
    columns, query = (named.group(1), line[named.end() :]) if named else ("", line)
    return f"CREATE VIEW a_view{columns} AS {query}"


def main():
    port = int(sys.argv[1])
    name = f"views_{os.getpid()}"
    first = Connection(port, "postgres")
    first.query(f"CREATE DATABASE {name} TEMPLATE template0")
    connection = Connection(port, name)
    connection.query("SET datestyle = 'ISO, MDY'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'")
    connection.query("CREATE SCHEMA s")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.sql")) as schema:
        connection.query(schema.read())
    seen = set()
    for line in sys.stdin:
        line = line.rstrip("\n")
        # The answers of a file that is recorded again begin so.
        if not line or line.startswith(("#", "=")) or line in seen:
            continue
        seen.add(line)
        try:
            connection.query(created(line))
        except RuntimeError as error:
            print(line, error.args[0].get("M"), sep="\n  ", file=sys.stderr)
            continue
        texts = connection.query("SELECT pg_get_viewdef('a_view'::regclass), pg_get_viewdef('a_view'::regclass, true)")[0]
        connection.query("DROP VIEW a_view")
        print(line)
        print("=\t" + "\t".join(escaped(text) for text in texts))
    connection.socket.close()
    first.query(f"DROP DATABASE {name} WITH (FORCE)")


if __name__ == "__main__":
    main()

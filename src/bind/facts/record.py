#!/usr/bin/env python3
"""Asks PostgreSQL 15 (PGHOST, PGPORT, user postgres, trusted) for facts of expressions; ../tests.rs says what they are.

    record.py FILE          asks the questions of a file of facts again, and those without an answer, and writes the file anew
    record.py SEED COUNT    prints facts of so many random conditions

Questions alone are lines like those of the files: a kind, a tab and the expression.
"""

import os
import pathlib
import random
import socket
import struct
import sys

R = random.Random(0)


class Server:
    """A connection that speaks as much of the protocol as is needed: queries, and descriptions of statements."""

    def __init__(self):
        address = (os.environ.get("PGHOST", "127.0.0.1"), int(os.environ.get("PGPORT", "5432")))
        self.socket, self.unread = socket.create_connection(address), b""
        body = struct.pack("!i", 196608) + b"user\0postgres\0database\0postgres\0client_encoding\0UTF8\0\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        while self.message()[0] != b"Z":
            pass

    def bytes(self, count):
        while len(self.unread) < count:
            self.unread += self.socket.recv(65536)
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def message(self):
        kind = self.bytes(1)
        return kind, self.bytes(struct.unpack("!i", self.bytes(4))[0] - 4)

    def send(self, *messages):
        self.socket.sendall(b"".join(kind + struct.pack("!i", len(body) + 4) + body for kind, body in messages))

    @staticmethod
    def error(body):
        return {chr(field[0]): field[1:].decode() for field in body.split(b"\0") if field}

    def query(self, text):
        """The rows of a query, and its error."""
        self.send((b"Q", text.encode() + b"\0"))
        rows, error = [], None
        while True:
            kind, body = self.message()
            if kind == b"E":
                error = self.error(body)
            elif kind == b"D":
                row, at = [], 2
                for _ in range(struct.unpack("!h", body[:2])[0]):
                    length = struct.unpack("!i", body[at : at + 4])[0]
                    at += 4
                    row.append(None if length < 0 else body[at : at + length].decode())
                    at += max(length, 0)
                rows.append(row)
            elif kind == b"Z":
                return rows, error

    def describe(self, text):
        """The types and modifiers of a query's columns, the types of its parameters, and its error."""
        self.send((b"P", b"\0" + text.encode() + b"\0\0\0"), (b"D", b"S\0"), (b"S", b""))
        columns, parameters, error = [], [], None
        while True:
            kind, body = self.message()
            if kind == b"E":
                error = self.error(body)
            elif kind == b"t":
                parameters = list(struct.unpack("!%dI" % struct.unpack("!h", body[:2])[0], body[2:]))
            elif kind == b"T":
                at = 2
                for _ in range(struct.unpack("!h", body[:2])[0]):
                    at = body.index(b"\0", at) + 1
                    _, _, oid, _, modifier, _ = struct.unpack("!ihIhih", body[at : at + 18])
                    columns.append((oid, modifier))
                    at += 18
            elif kind == b"Z":
                return columns, parameters, error


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def told(error, before):
    """An error, with its position in the expression. What is wrong with some texts, tablegate says in other words."""
    position = int(error["P"]) - before if "P" in error else 0
    otherwise = error["M"].startswith(("invalid input syntax for type json", "malformed array literal"))
    detail = "" if otherwise else error.get("D", "")
    texts = [escaped(text) for text in (error["M"], detail, error.get("H", ""))]
    return "\t".join(["!", error["C"], str(position), *texts])


def type_name(server, oid, modifier):
    return server.query(f"SELECT format_type({oid}, {modifier})")[0][0][0]


def of_condition(server, expr):
    begin = "CREATE TABLE s.things (LIKE public.things, CONSTRAINT ck CHECK (("
    _, error = server.query(begin + expr + ") IS NOT NULL))")
    if error:
        return error, begin
    query = "SELECT pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conname = 'ck'"
    texts = [escaped(text[len("CHECK (") : -1]) for text in server.query(query)[0][0]]
    columns, _, _ = server.describe(f"SELECT {expr} FROM things")
    return "\t".join(["=", type_name(server, *columns[0]), *texts]), begin


def of_member(server, expr):
    begin = "SELECT "
    columns, parameters, error = server.describe(f"{begin}{expr} FROM things")
    if error:
        return error, begin
    types = [type_name(server, oid, -1) for oid in parameters]
    return f"=\t{type_name(server, *columns[0])}\t" + "\t".join(types), begin


def of_default(server, expr):
    type_name, expr = expr.split("\t", 1)
    begin = f"CREATE TEMP TABLE dd (c {type_name} DEFAULT "
    _, error = server.query(f"{begin}{expr})")
    if error:
        return error, begin
    texts = "SELECT pg_get_expr(adbin, adrelid), pg_get_expr(adbin, adrelid, true)"
    rows, _ = server.query(texts + " FROM pg_attrdef WHERE adrelid = 'dd'::regclass")
    # DEFAULT NULL is none.
    return "\t".join(["=", *map(escaped, rows[0])]) if rows else None, begin


KINDS = {"C": of_condition, "S": of_member, "P": of_member, "D": of_default}


def facts(questions):
    server = Server()
    server.query("SET client_min_messages = error; DROP SCHEMA IF EXISTS s CASCADE; DROP TABLE IF EXISTS things")
    server.query((pathlib.Path(__file__).parent / "things.sql").read_text())
    for question in dict.fromkeys(questions):
        kind, expr = question.split("\t", 1)
        server.query("BEGIN")
        answer, begin = KINDS[kind](server, expr)
        server.query("ROLLBACK")
        if isinstance(answer, dict):
            # What is no expression is no question.
            is_syntax = answer["C"] == "42601" and answer["M"].startswith("syntax error")
            answer = None if is_syntax else told(answer, len(begin))
        if answer:
            yield f"{question}\n{answer}\n"


# Random expressions: most of them wrong in one of the ways in which expressions are.
cols = {
    "num": ["a", "b", "c", "n", "f", "r", "nn", "o"],
    "str": ["t", "v", "ch", "nm", "ca"],
    "time": ["d", "ts", "tz", "tm", "i", "ts3"],
    "bool": ["bo"],
    "json": ["j", "jj"],
    "arr": ["ar", "ta", "na", "da", "va", "i2"],
    "misc": ["u", "by", "u", "by", "ir"],
}
allc = [c for v in cols.values() for c in v]
lits = {
    "num": ["1", "0", "-7", "3000000000", "1.5", "-0.25", "1e3", "99999999999999999999", "NULL", "'5'", "'1.5'"],
    "str": ["'x'", "''", "'abc'", "'it''s'", "NULL", "'a%'", "'x'::text", "'ab'::varchar(3)", "'q'::char(2)"],
    "time": [
        "'2020-01-01'",
        "date '2020-01-01'",
        "timestamp '2020-01-01 10:00'",
        "timestamptz '2020-01-01 10:00+02'",
        "interval '1 day'",
        "interval '2' hour",
        "'1 day'",
        "time '10:00'",
        "current_date",
        "now()",
        "current_timestamp",
        "localtimestamp",
        "current_timestamp(2)",
    ],
    "bool": ["true", "false", "NULL", "'t'", "'yes'", "'maybe'"],
    "json": ["'{\"a\":1}'", "'[1,2]'", "'{}'::jsonb", "'{'", "'1'::json"],
    "arr": [
        "array[1,2]",
        "array['a','b']",
        "'{1,2}'",
        "'{}'",
        "array[]::int[]",
        "array[1.5,2]",
        "array[[1,2],[3,4]]",
        "'{a,b}'::text[]",
        "'{1,x}'",
    ],
    "misc": ["'00000000-0000-0000-0000-000000000001'", "'\\x00ff'", "'[1,5)'", "int4range(1,5)", "B'101'", "'x'::bytea"],
}
fams = list(cols)
types = [
    "int",
    "int2",
    "bigint",
    "numeric",
    "numeric(6,2)",
    "numeric(4)",
    "text",
    "varchar",
    "varchar(5)",
    "char(4)",
    "bpchar",
    "date",
    "timestamp",
    "timestamptz",
    "timestamp(2)",
    "time",
    "interval",
    "interval(1)",
    "interval day to second",
    "float8",
    "real",
    "bool",
    "uuid",
    "jsonb",
    "json",
    "int[]",
    "text[]",
    "varchar(3)[]",
    "numeric(5,1)[]",
    "bytea",
    "name",
    "oid",
    "int4range",
    '"char"',
    "int4range",
]
ops = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "<>",
    "<",
    ">",
    "<=",
    ">=",
    "~",
    "~*",
    "!~",
    "->",
    "->>",
    "#>",
    "#>>",
    "@>",
    "<@",
    "&&",
    "?",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "#",
    "@@",
    "!~~",
    "~~",
]
arith = ["+", "-", "*", "/", "%"]
comp = ["=", "<>", "<", ">", "<=", ">="]
funcs = "abs ceil floor round trunc sqrt power mod sign length lower upper char_length substr left right lpad rpad replace split_part strpos concat concat_ws format to_char to_date to_timestamp to_number date_trunc date_part age make_date make_interval extract_x coalesce nullif greatest least array_length cardinality array_append array_cat array_position array_to_string string_to_array unnest_x jsonb_typeof jsonb_array_length json_extract_path jsonb_extract_path jsonb_build_object jsonb_set to_jsonb md5 encode decode btrim ltrim reverse repeat ascii chr initcap quote_literal quote_ident random pi exp ln log degrees width_bucket int4range lower_inc isempty upper_inf num_nonnulls num_nulls now clock_timestamp pg_typeof array_fill array_prepend array_remove row_to_json regexp_replace regexp_match starts_with translate bit_length octet_length get_bit overlay position_x gen_random_uuid justify_days isfinite numeric_x text varchar int4 date timestamp float8 pg_sleep current_setting nextval sum count max row_number generate_series host masklen text_x interval bool numeric nosuchfunc jsonb_path_exists array_upper trim_scale scale to_hex sha256 date_bin bit_count numrange lag".split()


def leaf(f=None):
    f = f or R.choice(fams)
    if R.random() < 0.55:
        return R.choice(cols[f])
    return R.choice(lits[f])


def ex(d, f=None):
    if d <= 0:
        return leaf(f)
    f = f or R.choice(fams + ["num", "str", "time", "num", "str"])
    k = R.random()
    if k < 0.10:
        return leaf(f)
    if k < 0.34:
        if f == "num":
            return par("%s %s %s" % (ex(d - 1, "num"), R.choice(arith), ex(d - 1, "num")))
        if f == "str":
            return par("%s || %s" % (ex(d - 1, "str"), ex(d - 1, R.choice(["str", "str", "num", "arr"]))))
        if f == "time":
            return par("%s %s %s" % (ex(d - 1, "time"), R.choice("+-"), ex(d - 1, R.choice(["time", "num"]))))
        if f == "bool":
            return R.choice([cond(d - 1), cond(d - 1)])
        if f == "json":
            return par(
                "%s %s %s"
                % (
                    leaf("json"),
                    R.choice(["->", "->>", "#>", "@>", "?", "-", "||"]),
                    R.choice(["'a'", "1", "'{a}'", "'{\"a\":1}'", "t", "array['a']"]),
                )
            )
        if f == "arr":
            return par(
                "%s %s %s"
                % (ex(d - 1, "arr"), R.choice(["||", "@>", "=", "&&", "<"]), ex(d - 1, R.choice(["arr", "arr", "num", "str"])))
            )
        return par("%s %s %s" % (leaf(f), R.choice(ops), leaf(f)))
    if k < 0.40:
        return par("%s %s %s" % (ex(d - 1), R.choice(ops), ex(d - 1)))
    if k < 0.52:
        t = R.choice(types)
        e = ex(d - 1, f)
        return "(%s)::%s" % (e, t) if R.random() < 0.5 else "cast(%s as %s)" % (e, t)
    if k < 0.72:
        n = R.choice(funcs)
        if n == "extract_x":
            return "extract(%s from %s)" % (R.choice(["year", "epoch", "dow", "foo"]), ex(d - 1, "time"))
        if n == "position_x":
            return "position(%s in %s)" % (ex(d - 1, "str"), ex(d - 1, "str"))
        if n.endswith("_x"):
            return special(d)
        k = R.choice([0, 1, 1, 1, 2, 2, 2, 3, 3, 4]) if n not in ("concat", "coalesce", "greatest", "least") else R.choice([2, 3])
        return "%s(%s)" % (n, ", ".join(ex(d - 1, f if R.random() < 0.6 else None) for _ in range(k)))
    if k < 0.78:
        return "case when %s then %s else %s end" % (cond(d - 1), ex(d - 1, f), ex(d - 1, f))
    if k < 0.80:
        return "case %s when %s then %s end" % (ex(d - 1, f), ex(d - 1, f), ex(d - 1))
    if k < 0.84:
        return special(d)
    if k < 0.88:
        return "%s[%s]" % (R.choice(cols["arr"] + ["j", "t"]), R.choice(["1", "a", "'1'", "1:2", "a:", "t"]))
    return cond(d - 1)


def par(x):
    return "(%s)" % x if R.random() < 0.5 else x


def special(d):
    return R.choice(
        [
            lambda: "substring(%s from %s for %s)" % (ex(d - 1, "str"), ex(d - 1, "num"), ex(d - 1, "num")),
            lambda: "substring(%s from %s)" % (ex(d - 1, "str"), ex(d - 1)),
            lambda: "substring(%s, %s)" % (ex(d - 1, "str"), ex(d - 1, "num")),
            lambda: "trim(%s %s from %s)" % (R.choice(["both", "leading", "trailing"]), ex(d - 1, "str"), ex(d - 1, "str")),
            lambda: "trim(%s)" % ex(d - 1, "str"),
            lambda: "overlay(%s placing %s from %s)" % (ex(d - 1, "str"), ex(d - 1, "str"), ex(d - 1, "num")),
            lambda: "(%s) at time zone %s" % (ex(d - 1, "time"), R.choice(["'UTC'", "interval '1 hour'", "t"])),
            lambda: "array[%s]" % ", ".join(ex(d - 1) for _ in range(R.randint(1, 3))),
            lambda: "row(%s)" % ", ".join(ex(d - 1) for _ in range(R.randint(1, 3))),
            lambda: '(%s) collate "C"' % ex(d - 1, "str"),
            lambda: "- %s" % leaf("num"),
            lambda: "-(%s)" % ex(d - 1),
            lambda: "~ %s" % leaf("num"),
            lambda: "@ %s" % leaf("num"),
        ]
    )()


def cond(d):
    f = R.choice(fams)
    k = R.random()
    if d <= 0:
        return par("%s %s %s" % (leaf(f), R.choice(comp), leaf(f)))
    if k < 0.25:
        return par("%s %s %s" % (ex(d - 1, f), R.choice(comp), ex(d - 1, f)))
    if k < 0.35:
        return par("%s in (%s)" % (ex(d - 1, f), ", ".join(leaf(f) for _ in range(R.randint(1, 4)))))
    if k < 0.42:
        return par("%s not in (%s)" % (ex(d - 1, f), ", ".join(leaf(f) for _ in range(R.randint(1, 3)))))
    if k < 0.50:
        return par("%s between %s and %s" % (leaf(f), leaf(f), leaf(f)))
    if k < 0.54:
        return par("%s not between %s and %s" % (leaf(f), leaf(f), leaf(f)))
    if k < 0.60:
        return par(
            "%s %slike %s"
            % (ex(d - 1, "str"), R.choice(["", "not ", "i"]).replace("ilike", "i") if 0 else R.choice(["", "not "]), leaf("str"))
        )
    if k < 0.66:
        return par("(%s) is %s" % (ex(d - 1), R.choice(["null", "not null", "true", "not false", "unknown"])))
    if k < 0.70:
        return par("%s is %sdistinct from %s" % (leaf(f), R.choice(["", "not "]), leaf(f)))
    if k < 0.78:
        return par("%s %s %s(%s)" % (ex(d - 1), R.choice(comp), R.choice(["any", "all"]), leaf(R.choice(["arr", "arr", "num"]))))
    if k < 0.86:
        return "%s and %s" % (cond(d - 1), cond(d - 1))
    if k < 0.92:
        return "(%s or %s)" % (cond(d - 1), cond(d - 1))
    if k < 0.96:
        return "not %s" % cond(d - 1)
    return "(%s, %s) %s (%s, %s)" % (leaf(f), leaf(), R.choice(comp), leaf(f), leaf())


def main():
    if len(sys.argv) == 2:
        path = pathlib.Path(sys.argv[1])
        questions = [l for l in path.read_text().splitlines() if l[0] not in "=!"]
        path.write_text("".join(facts(questions)))
    else:
        R.seed(int(sys.argv[1]))
        for fact in facts("C\t" + ex(R.choice([1, 1, 2, 2, 3])) for _ in range(int(sys.argv[2]))):
            print(fact, end="")


main()

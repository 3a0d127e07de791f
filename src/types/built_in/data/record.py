#!/usr/bin/env python3
"""Records the files of this folder from a PostgreSQL 15 server, which psql's environment variables name.

relations.txt has a line per system relation: `schema.name oid kind column:type ...`, where `!` behind a type says NOT
NULL and `@oid` a collation that is not the type's. The relations of tablegate's own are kept as they are.

Each pg_*.txt and sql_*.txt has the rows of one relation. Its first line names the columns, separated by tabs;
`column=value` says what an empty cell of the column means, and `column=@other` that it means what the other column has.
The other lines are rows, as COPY writes them, without the tabs at their ends. Functions are named by their OIDs.
Privileges are left out: they are the server's own, and so is whatever refers to what tablegate does not have.
"""

import collections
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
OWN = (
    "egt_violations",
    "egt_transactions",
    "refused_statements",
    "schema_findings",
    "statement_statistics",
    "column_origins",
    "statement_progress",
    "table_segments",
)
SCHEMAS = "('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
# Dropped: collations of ICU and of the server's C library, the language plpgsql.
COLLATION = "(oid < 1000 OR collname = 'ucs_basic')"

# What restricts the rows of each relation. They are in the order of PostgreSQL's own files, which some queries show.
CONTENT = {
    "pg_aggregate": "true",
    "pg_am": "true",
    "pg_amop": "true",
    "pg_amproc": "true",
    "pg_cast": "true",
    "pg_collation": COLLATION,
    "pg_conversion": "true",
    "pg_description": "objsubid = 0 AND objoid < 16384 AND CASE classoid WHEN 'pg_namespace'::regclass THEN false"
    " WHEN 'pg_collation'::regclass THEN objoid < 12341 WHEN 'pg_extension'::regclass THEN false"
    " WHEN 'pg_language'::regclass THEN objoid < 12000 ELSE true END",
    "pg_language": "oid < 12000",
    "pg_opclass": "true",
    "pg_operator": "true",
    "pg_opfamily": "true",
    "pg_proc": f"pronamespace IN {SCHEMAS} AND proname NOT LIKE 'plpgsql%'",
    "pg_range": "true",
    "pg_tablespace": "true",
    "pg_ts_config": "true",
    "pg_ts_config_map": "true",
    "pg_ts_dict": "true",
    "pg_ts_parser": "true",
    "pg_ts_template": "true",
    "pg_type": f"typnamespace IN {SCHEMAS}",
    "sql_features": "true",
    "sql_implementation_info": "true",
    "sql_parts": "true",
    "sql_sizing": "true",
}
# Trees of expressions are kept as the text that they stand for, as everywhere in the catalogue.
SPELLED = {"proargdefaults": "pg_get_expr(proargdefaults, 0)", "prosqlbody": "NULL", "typdefaultbin": "NULL"}


def ask(query):
    command = ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-c", f"COPY ({query}) TO STDOUT"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]


def relations():
    query = f"""
        SELECT n.nspname || '.' || c.relname, c.oid, c.relkind, string_agg(
            attname || ':' || typname || CASE WHEN attnotnull THEN '!' ELSE '' END
            || CASE WHEN attcollation <> typcollation THEN '@' || attcollation ELSE '' END, ' ' ORDER BY attnum)
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
        JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 JOIN pg_type t ON t.oid = atttypid
        WHERE relkind IN ('r', 'v') AND n.oid IN {SCHEMAS} GROUP BY 1, 2, 3, n.oid ORDER BY n.oid, c.relname"""
    path = HERE / "relations.txt"
    own = [line for line in path.read_text().splitlines() if line.split(" ")[0].removeprefix("pg_catalog.") in OWN]
    lines = [line.replace("\t", " ") for line in ask(query)]
    path.write_text("\n".join(lines + own) + "\n")
    return {line.split(" ")[0]: line.split(" ")[3:] for line in lines}


def expression(column):
    name, kind = column.split(":")
    kind = kind.split("@")[0].rstrip("!")
    if kind == "_aclitem":
        return None
    if name in SPELLED:
        return SPELLED[name]
    return f"{name}::oid" if kind == "regproc" else name


def content(relation, schema, columns, where):
    names = [column.split(":")[0] for column in columns]
    expressions = [expression(column) for column in columns]
    names = [name for name, e in zip(names, expressions) if e is not None]
    query = ", ".join(e for e in expressions if e is not None)
    rows = [row.split("\t") for row in ask(f"SELECT {query} FROM {schema}.{relation} WHERE {where} ORDER BY ctid")]
    header, shown = [], []
    for i, name in enumerate(names):
        values = [row[i] for row in rows]
        common, count = collections.Counter(values).most_common(1)[0]
        same = next((other for j, other in enumerate(names[:i]) if sum(r[j] == r[i] for r in rows) > 0.8 * len(rows)), None)
        if "" in values:
            header.append(name)
            shown.append(values)
        elif same and count < 0.8 * len(rows):
            at = names.index(same)
            header.append(f"{name}=@{same}")
            shown.append(["" if row[i] == row[at] else row[i] for row in rows])
        elif count > 0.1 * len(rows):
            header.append(f"{name}={common}")
            shown.append(["" if value == common else value for value in values])
        else:
            header.append(name)
            shown.append(values)
    # What is nearly always the same stands last, where its tabs can be left out.
    order = sorted(range(len(header)), key=lambda i: sum(v != "" for v in shown[i]), reverse=True)
    lines = ["\t".join(header[i] for i in order)]
    lines += ["\t".join(shown[i][row] for i in order).rstrip("\t") for row in range(len(rows))]
    (HERE / f"{relation}.txt").write_text("\n".join(lines) + "\n")


def main():
    known = relations()
    for relation, where in CONTENT.items():
        schema = "information_schema" if relation.startswith("sql_") else "pg_catalog"
        content(relation, schema, known[f"{schema}.{relation}"], where)


main()

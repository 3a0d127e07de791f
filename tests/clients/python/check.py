"""psycopg 3, and psycopg2 where it speaks differently: one line `ok ...` a check, and the first that fails ends the run."""

import datetime
import decimal
import os
import uuid

import psycopg
import psycopg2
import psycopg2.extras
from psycopg.types.json import Jsonb

MOMENT = datetime.datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=datetime.timezone.utc)
PARCEL = ("north", 1, "Zoë's", decimal.Decimal("12.50"), 2.25, 2**40, True, b"\x00\\'\xff", uuid.UUID(int=7), MOMENT,
          datetime.date(2024, 2, 29), ["a", "b"], {"k": [1, None]})


def check(name):
    """Runs the function at once."""

    def run(function):
        function()
        print("ok", name, flush=True)

    return run


def equal(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


connection = psycopg.connect("")  # everything comes from the environment
cursor = connection.cursor()


@check("tables are made, in a transaction")
def _():
    cursor.execute("""CREATE TABLE parcels (depot text, id int, name text, price numeric(10, 2), weight float8, serial bigint,
        sent boolean, label bytea, code uuid, posted timestamptz, day date, tags text[], extra jsonb, PRIMARY KEY (depot, id))""")
    connection.commit()


@check("all types, there and back, as parameters")
def _():
    values = PARCEL[:-1] + (Jsonb(PARCEL[-1]),)
    cursor.execute(f"INSERT INTO parcels VALUES ({', '.join(['%s'] * len(values))})", values)
    equal(cursor.execute("SELECT * FROM parcels").fetchone(), PARCEL)
    types = [column.type_code for column in cursor.description]
    equal(types, [25, 23, 25, 1700, 701, 20, 16, 17, 2950, 1184, 1082, 1009, 3802])
    connection.commit()


@check("all types, binary")
def _():
    with connection.cursor(binary=True) as binary:
        equal(binary.execute("SELECT * FROM parcels WHERE depot = %b AND id = %b", ("north", 1)).fetchone(), PARCEL)


@check("each type as a condition")
def _():
    for column, value in zip(("name", "price", "weight", "serial", "sent", "label", "code", "posted", "day"), PARCEL[2:11]):
        equal(cursor.execute(f"SELECT id FROM parcels WHERE {column} = %s", (value,)).fetchall(), [(1,)])
    equal(cursor.execute("SELECT id FROM parcels WHERE depot = ANY(%s)", (["north", "south"],)).fetchall(), [(1,)])


@check("many rows, in a pipeline and by COPY")
def _():
    with connection.pipeline():
        cursor.executemany("INSERT INTO parcels (depot, id, name) VALUES (%s, %s, %s)", [("south", n, None) for n in range(150)])
    with cursor.copy("COPY parcels (depot, id, price) FROM STDIN") as copy:
        for n in range(200):
            copy.write_row(("west", n, decimal.Decimal(n) / 4))
    with cursor.copy("COPY (SELECT id, price FROM parcels WHERE depot = 'west' ORDER BY id) TO STDOUT") as copy:
        equal([line for line in copy.rows()][199], ("199", "49.75"))
    equal(cursor.execute("SELECT depot, count(*) FROM parcels GROUP BY 1 ORDER BY 1").fetchall(),
          [("north", 1), ("south", 150), ("west", 200)])
    connection.commit()


@check("binary COPY, both ways")
def _():
    with cursor.copy("COPY parcels (depot, id, weight, posted) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["text", "int4", "float8", "timestamptz"])
        copy.write_row(("east", 1, 0.1, MOMENT))
    with cursor.copy("COPY (SELECT depot, id, weight, posted FROM parcels WHERE depot = 'east') TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["text", "int4", "float8", "timestamptz"])
        equal(list(copy.rows()), [("east", 1, 0.1, MOMENT)])
    connection.rollback()


@check("a transaction is rolled back, a savepoint too")
def _():
    with connection.transaction(force_rollback=True):
        cursor.execute("DELETE FROM parcels")
        equal(cursor.rowcount, 351)
    with connection.transaction():
        try:
            with connection.transaction():
                cursor.execute("UPDATE parcels SET name = 'x' WHERE depot = 'west'")
                raise psycopg.Rollback
        except psycopg.Rollback:
            pass
        equal(cursor.execute("SELECT count(*) FROM parcels WHERE name = 'x'").fetchone(), (0,))
    connection.commit()


@check("a cursor on the server")
def _():
    with connection.cursor("scan") as scan:
        scan.itersize = 40
        equal(sum(1 for _ in scan.execute("SELECT * FROM parcels")), 351)
    connection.commit()


@check("statements prepared by the driver")
def _():
    for n in range(8):
        row = cursor.execute("SELECT price FROM parcels WHERE depot = %s AND id = %s", ("west", n), prepare=True).fetchone()
        equal(row, (decimal.Decimal(n) / 4,))
    connection.commit()


@check("errors have PostgreSQL's classes, and the connection goes on")
def _():
    for sql, error in (
        ("SELECT * FROM nowhere", psycopg.errors.UndefinedTable),
        ("INSERT INTO parcels (depot, id) VALUES ('north', 1)", psycopg.errors.UniqueViolation),
        ("SELECT 1/0", psycopg.errors.DivisionByZero),
        ("SELECT nothing FROM parcels", psycopg.errors.UndefinedColumn),
        ("INSERT INTO parcels (depot) VALUES ('x')", psycopg.errors.NotNullViolation),
        ("SELEC 1", psycopg.errors.SyntaxError),
    ):
        try:
            cursor.execute(sql)
            raise AssertionError(f"no error: {sql}")
        except error:
            connection.rollback()
    equal(cursor.execute("SELECT 1").fetchone(), (1,))
    connection.commit()


@check("listeners are told")
def _():
    with psycopg.connect("", autocommit=True) as listener:
        listener.execute("LISTEN depots")
        connection.execute("NOTIFY depots, 'open'")
        connection.commit()
        heard = next(listener.notifies(timeout=300, stop_after=1))
        equal((heard.channel, heard.payload, heard.pid), ("depots", "open", connection.info.backend_pid))


@check("a long statement is cancelled")
def _():
    try:
        cursor.execute("SET LOCAL statement_timeout = '200ms'")
        cursor.execute("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r")
        raise AssertionError("it was not cancelled")
    except psycopg.errors.QueryCanceled:
        connection.rollback()


@check("psycopg2: values written into the statement, and its own COPY")
def _():
    old = psycopg2.connect("")
    psycopg2.extras.register_uuid()
    with old, old.cursor() as two:
        two.execute("SELECT id FROM parcels WHERE name = %s AND posted = %s AND code = %s AND label = %s",
                    (PARCEL[2], PARCEL[9], PARCEL[8], psycopg2.Binary(PARCEL[7])))
        equal(two.fetchall(), [(1,)])
        psycopg2.extras.execute_values(two, "INSERT INTO parcels (depot, id) VALUES %s", [("two", n) for n in range(120)])
        two.execute("DELETE FROM parcels WHERE depot = 'two'")
        equal(two.rowcount, 120)
    old.close()


@check("TLS")
def _():
    with psycopg.connect("sslmode=require") as encrypted:
        equal(encrypted.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone(), (True,))


connection.close()

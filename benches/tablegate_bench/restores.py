"""A custom-format dump of twelve tables with keys, indexes and constraints, made by PostgreSQL's pg_dump and restored by its pg_restore."""

import subprocess
import time
from pathlib import Path

# How many of all rows each table has, of a thousand.
TABLES = {
    "countries": 0,
    "warehouses": 0,
    "suppliers": 5,
    "categories": 5,
    "products": 40,
    "customers": 50,
    "addresses": 50,
    "orders": 150,
    "order_lines": 400,
    "payments": 100,
    "stock": 50,
    "events": 150,
}
FIXED = 100
DEFINITIONS = """
    CREATE TABLE countries (code text PRIMARY KEY, name text NOT NULL UNIQUE);
    CREATE TABLE warehouses (id int PRIMARY KEY, country text NOT NULL REFERENCES countries, capacity int CHECK (capacity > 0));
    CREATE TABLE suppliers (id int PRIMARY KEY, name text NOT NULL, country text REFERENCES countries, mail text UNIQUE);
    CREATE TABLE categories (id int PRIMARY KEY, parent int REFERENCES categories, title text NOT NULL);
    CREATE TABLE products (
        id bigint PRIMARY KEY, sku text NOT NULL UNIQUE, title text NOT NULL, category int REFERENCES categories,
        supplier int REFERENCES suppliers, price numeric(10,2) NOT NULL CHECK (price >= 0), tags text[], attributes jsonb
    );
    CREATE TABLE customers (
        id bigserial PRIMARY KEY, name text NOT NULL, mail text NOT NULL UNIQUE, born date, is_member boolean NOT NULL DEFAULT false,
        made timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE addresses (
        customer bigint REFERENCES customers, number int, street text, city text, country text REFERENCES countries,
        PRIMARY KEY (customer, number)
    );
    CREATE TABLE orders (
        id bigint PRIMARY KEY, customer bigint NOT NULL REFERENCES customers, placed timestamptz NOT NULL,
        status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'sent', 'returned')), note text
    );
    CREATE TABLE order_lines (
        "order" bigint REFERENCES orders, line int, product bigint NOT NULL REFERENCES products,
        quantity int NOT NULL CHECK (quantity > 0), price numeric(10,2) NOT NULL, PRIMARY KEY ("order", line)
    );
    CREATE TABLE payments (id uuid PRIMARY KEY, "order" bigint NOT NULL REFERENCES orders, amount numeric(12,2), paid timestamp);
    CREATE TABLE stock (
        warehouse int REFERENCES warehouses, product bigint REFERENCES products, level int NOT NULL, counted date,
        PRIMARY KEY (warehouse, product)
    );
    CREATE TABLE events (
        kind text, at timestamptz, id bigint, customer bigint, weight double precision, payload jsonb, PRIMARY KEY (kind, at, id)
    );
    CREATE INDEX products_category ON products (category);
    CREATE INDEX customers_born ON customers (born);
    CREATE INDEX orders_customer ON orders (customer);
    CREATE INDEX orders_placed ON orders (placed);
    CREATE INDEX order_lines_product ON order_lines (product);
    CREATE INDEX payments_order ON payments ("order");
    CREATE INDEX stock_product ON stock (product);
    CREATE INDEX events_customer ON events (customer, at);
    CREATE VIEW members AS SELECT id, name FROM customers WHERE is_member;
"""
# The columns of row n, numbered from 0; {table} is how many rows that one has.
ROWS = {
    "countries": "'C' || n, 'country ' || n",
    "warehouses": "n, 'C' || n % {countries}, 1000 + n",
    "suppliers": "n, 'supplier ' || n, 'C' || n % {countries}, 'supplier' || n || '@example.com'",
    "categories": "n, CASE WHEN n > 0 THEN n / 8 END, 'category ' || md5(n::text)",
    "products": """n, 'SKU-' || n, 'product ' || md5(n::text), n % {categories}, n * 7 % {suppliers}, n * 37 % 100000 / 100.0,
        ARRAY['tag ' || n % 9, 'tag ' || n % 17], jsonb_build_object('weight', n % 250, 'colour', 'colour ' || n % 12)""",
    "customers": """n, 'customer ' || md5(n::text), 'customer' || n || '@example.com', DATE '1950-01-01' + (n * 31 % 18000)::int,
        n % 3 = 0, TIMESTAMPTZ '2015-01-01 00:00Z' + n * INTERVAL '7 minutes'""",
    "addresses": "n / 2, n % 2, 'street ' || md5(n::text), 'city ' || n % 500, 'C' || n % {countries}",
    "orders": """n, n * 7919 % {customers}, TIMESTAMPTZ '2018-01-01 00:00Z' + n * INTERVAL '97 seconds',
        (ARRAY['open', 'paid', 'sent', 'returned'])[1 + n % 4], CASE WHEN n % 5 = 0 THEN 'note ' || md5(n::text) END""",
    "order_lines": "n / 3 % {orders}, n % 3 + 3 * (n / (3 * {orders})), n * 104729 % {products}, 1 + n % 12, n * 41 % 100000 / 100.0",
    "payments": """md5(n::text)::uuid, n * 104729 % {orders}, n * 43 % 1000000 / 100.0,
        TIMESTAMP '2018-01-02 00:00' + n * INTERVAL '145 seconds'""",
    "stock": "n % {warehouses}, n / {warehouses} % {products}, n % 1000, DATE '2024-01-01' + (n % 365)::int",
    "events": """'kind ' || n % 20, TIMESTAMPTZ '2020-01-01 00:00Z' + n / 20 * INTERVAL '3 seconds', n, n * 31 % {customers}, n / 7.0,
        jsonb_build_object('page', '/page/' || n % 300, 'took', n % 977)""",
}
SOURCE, RESTORED = "shop", "restored"
# What `egt.mode = strict` refuses: entries of this kind in a dump's table of contents.
REFUSED = (" INDEX ", " FK CONSTRAINT ")
UNIQUE = "_key "


def counts(rows: int) -> dict:
    return {table: rows * share // 1000 or FIXED for table, share in TABLES.items()}


def make_dump(postgres, path: Path, rows: int):
    """Fills the tables in a database of their own, dumps it and drops it."""
    postgres.connect().query(f"CREATE DATABASE {SOURCE}")
    connection, found = postgres.connect(SOURCE), counts(rows)
    connection.query(DEFINITIONS)
    for table, values in ROWS.items():
        connection.query(f"INSERT INTO {table} SELECT {values.format(**found)} FROM generate_series(0::bigint, {found[table] - 1}) n")
    connection.query(f"SELECT setval('customers_id_seq', {found['customers']})")
    connection.close()
    subprocess.run(["pg_dump", *_place(postgres, SOURCE), "-Fc", "-f", path], check=True)
    postgres.connect().query(f"DROP DATABASE {SOURCE}")


def strict_list(dump: Path, path: Path):
    """The dump's table of contents without what `strict` refuses, for pg_restore's option --use-list."""
    lines = subprocess.run(["pg_restore", "-l", dump], capture_output=True, text=True, check=True).stdout.splitlines(True)
    path.write_text("".join(line for line in lines if not (any(kind in line for kind in REFUSED) or " CONSTRAINT " in line and UNIQUE in line)))


def restore(server, database: str, dump: Path, options: tuple) -> float:
    """The seconds that pg_restore takes; whatever it complains of is an error."""
    begun = time.monotonic()
    done = subprocess.run(["pg_restore", *_place(server, database), *options, dump], capture_output=True, text=True)
    took = time.monotonic() - begun
    if done.returncode != 0:
        raise RuntimeError(f"pg_restore into {server.name}: {done.stderr.strip()[-600:]}")
    return took


def check(connection, rows: int):
    """All rows are there, under their keys."""
    for table, count in counts(rows).items():
        found = connection.query(f"SELECT count(*) FROM {table}")[0][0]
        keys = connection.query(
            f"SELECT count(*) FROM pg_constraint WHERE conrelid = '{table}'::regclass AND contype = 'p'"
        )[0][0]
        if (found, keys) != (str(count), "1"):
            raise RuntimeError(f"{table} has {found} rows and {keys} keys, not {count} and 1")


def drop(connection):
    connection.query("DROP VIEW IF EXISTS members")
    for table in reversed(TABLES):
        connection.query(f"DROP TABLE IF EXISTS {table} CASCADE")


def _place(server, database: str) -> list:
    return ["-h", "127.0.0.1", "-p", str(server.port), "-U", "bench", "-d", database]

//! The tables that queries read: every type, NULLs, duplicates, and values at the edges.

use crate::differential::node::Node;
use crate::differential::types::Ty;

/// A table and its columns, the unique key first.
#[derive(Debug)]
pub(super) struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, Ty)],
}

/// Its rows are numbered from 1.
pub(super) const FACTS_ROWS: usize = 12;

pub(super) const FACTS: Table = Table {
    name: "facts",
    columns: &[
        ("id", Ty::Int4),
        ("i2", Ty::Int2),
        ("i4", Ty::Int4),
        ("i8", Ty::Int8),
        ("n", Ty::Numeric),
        ("f4", Ty::Float4),
        ("f8", Ty::Float8),
        ("b", Ty::Bool),
        ("t", Ty::Text),
        ("vc", Ty::Varchar),
        ("d", Ty::Date),
        ("ts", Ty::Timestamp),
        ("tz", Ty::Timestamptz),
        ("tm", Ty::Time),
        ("iv", Ty::Interval),
        ("u", Ty::Uuid),
        ("by", Ty::Bytea),
        ("j", Ty::Json),
        ("jb", Ty::Jsonb),
        ("ai", Ty::IntArray),
        ("tags", Ty::TextArray),
    ],
};

pub(super) const ITEMS: Table = Table {
    name: "items",
    columns: &[
        ("item", Ty::Int4),
        ("fact", Ty::Int4),
        ("label", Ty::Text),
        ("amount", Ty::Numeric),
        ("qty", Ty::Int2),
        ("day", Ty::Date),
    ],
};

impl Table {
    pub(super) fn key(&self) -> &'static str {
        self.columns[0].0
    }

    /// Its columns as they are named behind an alias.
    pub(super) fn columns_of(&self, alias: &str) -> Vec<Node> {
        self.columns.iter().map(|(name, ty)| Node::column(*ty, format!("{alias}.{name}"))).collect()
    }
}

/// Statements that make the tables and fill them.
pub(super) const SETUP: &[&str] = &[
    "CREATE TABLE facts (id int PRIMARY KEY, i2 smallint, i4 int, i8 bigint, n numeric(14,4), f4 real, f8 double precision, \
     b boolean, t text, vc varchar(12), d date, ts timestamp, tz timestamptz, tm time, iv interval, u uuid, by bytea, j json, \
     jb jsonb, ai int[], tags text[])",
    r#"INSERT INTO facts VALUES
     (1, 1, 10, 100, 1.5, 1.5, 2.5, true, 'abc', 'abc', '2014-08-22', '2014-08-22 13:45:06.789', '2014-08-22 13:45:06.789+00', '13:45:06', '1 day', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\xdeadbeef', '{"a": 1, "b": [1, 2]}', '{"a": 1, "b": [1, 2]}', '{1,2,3}', '{a,b}'),
     (2, 1, 20, 100, 2.25, -2.25, 0, false, 'Abc', 'x y', '2014-08-22', '2000-02-29 00:00:00', '2000-02-29 00:00:00+00', '00:00:00', '1 mon', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\x', '[]', '[]', '{}', '{}'),
     (3, 2, 10, -5, -1.5, 0, 1.5, true, 'hello world', 'hello', '2000-02-29', '2014-08-22 13:45:06.789', '2014-08-22 13:45:06.789+00', '23:59:59.999999', '-3 days', '00000000-0000-0000-0000-000000000000', '\x00ff', 'null', 'null', '{3,1,2}', '{NULL,x}'),
     (4, 2, NULL, 7, 0, 0.1, -7.25, NULL, '', '', '1970-01-01', '1970-01-01 00:00:00', '1970-01-01 00:00:00+00', '12:00', '04:05:06', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '\x616263', '"s"', '"s"', NULL, '{abc}'),
     (5, NULL, 30, NULL, NULL, NULL, NULL, true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{NULL,5}', NULL),
     (6, 3, -10, 3000000000, 100.125, 100, 1000000, false, 'zebra', 'abc', '1999-12-31', '1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00', '13:45:06', '1 year 2 mons', '00000000-0000-0000-0000-000000000000', '\x41', '{"a": {"k": "v"}}', '{"a": {"k": "v"}}', '{10}', '{a,b}'),
     (7, 3, 0, 0, 0.1, 0.1, 0.1, false, 'éàü', 'éà', '2024-01-31', '2024-01-31 12:00:00', '2024-01-31 12:00:00+00', '06:30', '30 days', NULL, '\x00', '12', '12', '{1,2,3}', '{b}'),
     (8, -4, 10, -100, 99.9999, 2.5, 2.5, NULL, 'abc', 'ABC', '2014-12-31', '2014-12-31 08:00:00', '2014-12-31 08:00:00+00', '08:00', '36:00:00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\xff', '{"b": null}', '{"b": null}', '{2,2}', '{"x y"}'),
     (9, 5, 42, 42, 42, 42, 42, true, '42', '42', '2014-08-23', '2014-08-23 00:00:00', '2014-08-23 00:00:00+00', '00:00:01', '0', '00000000-0000-0000-0000-000000000000', '\x3432', '42', '42', '{42}', '{42}'),
     (10, NULL, NULL, NULL, 1.5, 1.5, 'NaN', false, 'a,b,c', 'a_b%c', '9999-12-31', '2014-08-22 00:00:00', '2014-08-22 00:00:00+00', NULL, '1 day', NULL, NULL, NULL, NULL, NULL, NULL),
     (11, 32767, 2147483647, 9223372036854775807, 9999999999.9999, 1e10, 1e100, true, '  pad ', 'pad', '1601-01-01', '1601-01-01 00:00:00', '1601-01-01 00:00:00+00', '23:59:59', '100 years', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '\x7f80', '[1, 2.50, "x", null]', '[1, 2.50, "x", null]', '{2147483647}', '{"",z}'),
     (12, -32768, -2147483648, -9223372036854775808, -0.0001, -1e-10, -1e-100, false, 'x_y%z', 'it''s', '2014-08-22', '2014-08-22 13:45:06', '2014-08-22 13:45:06+00', '13:45:06', '-1 mons +1 day', NULL, '\x5c', '{"a": 1}', '{"a": 1}', '{-1,0,1}', '{a}')"#,
    "CREATE TABLE items (item int PRIMARY KEY, fact int, label text, amount numeric(10,2), qty smallint, day date)",
    "INSERT INTO items VALUES (1, 1, 'abc', 10.00, 1, '2014-08-22'), (2, 1, 'red', 20.50, 2, '2014-08-23'), \
     (3, 2, 'red', NULL, 3, '2014-08-22'), (4, 3, 'zebra', 0.01, NULL, NULL), (5, NULL, 'lost', 5.00, 1, '1999-12-31'), \
     (6, 99, 'gone', 7.25, 4, '2000-02-29'), (7, 6, NULL, -3.10, 2, '2014-08-22'), (8, 6, 'abc', 10.00, 2, '2024-01-31'), \
     (9, 9, '42', 42.00, 42, '2014-08-23')",
];

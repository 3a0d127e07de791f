//! Makes scripts that write: a table, a few INSERTs, UPDATEs and DELETEs, and what is in it after each.

use std::borrow::Cow;

use crate::differential::expressions::{Scope, expression, fill, leaf};
use crate::differential::families::Makes;
use crate::differential::families::whole::WRITES;
use crate::differential::fixture::Table;
use crate::differential::node::{Node, Part};
use crate::differential::queries::Query;
use crate::differential::types::{self, Ty};
use crate::support::rng::Rng;

/// Statements between CREATE and DROP TABLE, not counting those that look at the table.
const STEPS: usize = 4;

const SIMPLE: Table = Table {
    name: "w",
    columns: &[
        ("k", Ty::Int4),
        ("t", Ty::Text),
        ("n", Ty::Numeric),
        ("q", Ty::Int2),
        ("d", Ty::Date),
        ("b", Ty::Bool),
        ("v", Ty::Varchar),
        ("f", Ty::Float8),
    ],
};

const CREATES: &[&str] = &[
    "(k int PRIMARY KEY, t text, n numeric(6,2), q smallint, d date, b boolean, v varchar(5), f float8)",
    "(k int, t text NOT NULL, n numeric(6,2), q smallint, d date, b boolean NOT NULL, v varchar(5), f float8, PRIMARY KEY (k))",
    "(k int, t text, n numeric(6,2), q smallint, d date, b boolean, v varchar(5), f float8, PRIMARY KEY (t, k))",
];

/// A script over a table of its own.
pub(super) fn script(rng: &mut Rng, base: &Scope, case: usize) -> Vec<Query> {
    let table = format!("w{case}");
    let shape = rng.below(CREATES.len());
    let writer = Writer { table: &table, key: if shape == 2 { "t, k" } else { "k" }, base };
    let mut script = vec![writer.plain("", format!("CREATE TABLE {table} {}", CREATES[shape]), true)];
    script.push(writer.insert(rng, ""));
    for _ in 0..STEPS {
        script.push(writer.write(rng));
        script.push(writer.look());
    }
    script.push(writer.plain("", format!("DROP TABLE {table}"), true));
    script
}

/// A statement of a script as the gateway gets it: its table is one partition, so that each statement is one entity group
/// transaction, and what fails leaves nothing behind.
pub(super) fn for_gateway(sql: &str) -> String {
    if !sql.starts_with("CREATE TABLE w") {
        return sql.to_owned();
    }
    let key = if sql.contains("(t, k)") { "t, k" } else { "k" };
    format!("{sql} WITH (partition_key = '''all''', row_key = '{key}', key_escape = true)")
}

/// The statement that a script needs in front to run again.
pub(super) fn cleanup(case: usize) -> String {
    format!("DROP TABLE IF EXISTS w{case}")
}

struct Writer<'a> {
    table: &'a str,
    key: &'a str,
    base: &'a Scope,
}

impl Writer<'_> {
    fn plain(&self, label: &'static str, sql: String, is_ordered: bool) -> Query {
        Query { tree: Node::clause(label, vec![Part::Text(Cow::Owned(sql))]), is_ordered }
    }

    fn look(&self) -> Query {
        self.plain("", format!("SELECT * FROM {} ORDER BY {}", self.table, self.key), true)
    }

    fn scope(&self) -> Scope {
        Scope { columns: SIMPLE.columns_of(self.table), without: self.base.without.clone() }
    }

    fn write(&self, rng: &mut Rng) -> Query {
        match rng.below(100) {
            0..25 => self.insert(rng, ""),
            25..50 => self.upsert(rng),
            50..75 => self.update(rng),
            75..88 => self.delete(rng),
            _ => self.fixed(rng),
        }
    }

    /// Rows of values, some with the same key, some of the wrong type.
    fn insert(&self, rng: &mut Rng, label: &'static str) -> Query {
        let rows: Vec<Node> = (0..1 + rng.below(3)).map(|_| self.row(rng)).collect();
        let parts = vec![
            Part::Text(Cow::Owned(format!("INSERT INTO {} VALUES ", self.table))),
            Part::List(", ", rows),
            self.returning(rng),
        ];
        Query { tree: Node::clause(label, parts), is_ordered: false }
    }

    fn row(&self, rng: &mut Rng) -> Node {
        let bare = Scope { columns: Vec::new(), without: self.base.without.clone() };
        let mut items = vec![Node::leaf(None, (1 + rng.below(6)).to_string())];
        for (name, ty) in &SIMPLE.columns[1..] {
            let item = match rng.below(100) {
                0..5 => Node::leaf(None, "DEFAULT"),
                5..15 => expression(rng, &bare, *ty),
                15..60 if *name != "n" => Node::leaf(None, format!("'{}'", ty.values()[0])),
                15..60 => Node::leaf(None, (rng.pick(&["1", "2.5", "999.995", "'7.125'", "10000"])).to_owned()),
                60..61 => {
                    let other = rng.pick(types::ALL);
                    leaf(rng, &bare, other)
                }
                _ => leaf(rng, &bare, *ty),
            };
            items.push(item);
        }
        let tree = vec![Part::Text(Cow::Borrowed("(")), Part::Node(joined(items)), Part::Text(Cow::Borrowed(")"))];
        Node::clause("", tree)
    }

    fn returning(&self, rng: &mut Rng) -> Part {
        if rng.percent(60) {
            return Part::Text(Cow::Borrowed(""));
        }
        let scope = self.scope();
        let ty = rng.pick(types::ALL);
        let item = if rng.percent(50) { expression(rng, &scope, ty) } else { Node::leaf(None, "*") };
        let parts = vec![Part::Text(Cow::Borrowed(" RETURNING ")), Part::Node(item)];
        Part::Optional(Node::clause("RETURNING", parts))
    }

    fn upsert(&self, rng: &mut Rng) -> Query {
        const ACTIONS: &[&str] = &[
            "DO NOTHING",
            "DO UPDATE SET q = excluded.q",
            "DO UPDATE SET n = {w}.n + 1, d = excluded.d",
            "DO UPDATE SET f = {f8}, v = excluded.v WHERE {b}",
            "DO UPDATE SET q = coalesce({w}.q, 0) + 1",
            "DO UPDATE SET (n, q) = (excluded.n, 3)",
            "DO UPDATE SET b = DEFAULT",
            "DO UPDATE SET n = NULL",
            "DO UPDATE SET q = q + 1",
            "DO UPDATE SET nope = 1",
        ];
        let mut query = self.insert(rng, "INSERT ON CONFLICT");
        let action = rng.pick(ACTIONS);
        let target = if action == "DO NOTHING" && rng.percent(30) {
            String::new()
        } else if rng.percent(4) {
            "(q)".to_owned()
        } else {
            format!("({})", self.key)
        };
        let sql = format!(" ON CONFLICT {target} {}", action.replace("{w}", self.table));
        let parts = fill(rng, &self.scope(), Makes::Any, &sql, Ty::Int4, 1);
        query.tree.parts.insert(2, Part::Node(Node::clause(action, parts)));
        query
    }

    fn update(&self, rng: &mut Rng) -> Query {
        let (name, ty) = rng.pick(&SIMPLE.columns[1..]);
        let value = expression(rng, &self.scope(), ty);
        let mut sets = vec![Node::clause("", vec![Part::Text(Cow::Owned(format!("{name} = "))), Part::Node(value)])];
        if rng.percent(30) {
            sets.push(Node::clause("", vec![Part::Text(Cow::Borrowed("q = 9"))]));
        }
        let parts = vec![
            Part::Text(Cow::Owned(format!("UPDATE {} SET ", self.table))),
            Part::List(", ", sets),
            self.condition(rng),
            self.returning(rng),
        ];
        Query { tree: Node::clause("UPDATE", parts), is_ordered: false }
    }

    fn delete(&self, rng: &mut Rng) -> Query {
        let parts = vec![
            Part::Text(Cow::Owned(format!("DELETE FROM {}", self.table))),
            self.condition(rng),
            self.returning(rng),
        ];
        Query { tree: Node::clause("DELETE", parts), is_ordered: false }
    }

    fn condition(&self, rng: &mut Rng) -> Part {
        let condition = if rng.percent(50) {
            Node::leaf(
                None,
                rng.pick(&["k = 2", "k > 2", "k IN (1, 3)", "t = 'abc'", "n IS NULL", "k BETWEEN 2 AND 4"]).to_string(),
            )
        } else {
            expression(rng, &self.scope(), Ty::Bool)
        };
        Part::Optional(Node::clause("", vec![Part::Text(Cow::Borrowed(" WHERE ")), Part::Node(condition)]))
    }

    fn fixed(&self, rng: &mut Rng) -> Query {
        let template = rng.pick(WRITES);
        let sql = template.replace("{w}", self.table).replace("{key}", self.key);
        self.plain(template, sql, false)
    }
}

fn joined(items: Vec<Node>) -> Node {
    let mut parts = Vec::new();
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            parts.push(Part::Text(Cow::Borrowed(", ")));
        }
        parts.push(Part::Node(item));
    }
    Node::clause("", parts)
}

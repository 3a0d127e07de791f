//! Makes queries over tables of more rows than a batch has: joins, groups, windows and sub-queries of a whole table.
//!
//! What an operator does with one batch after another, in several threads, is only seen there. All values are exact, and LIMIT stands
//! behind an order by the whole key.

use crate::support::rng::Rng;

/// The tables, all rows of which are made of their number.
pub(super) const SETUP: &[&str] = &[
    "CREATE TABLE big (id bigint PRIMARY KEY, a int, b int, c numeric(10,2), t text, d date, f boolean, v varchar(10))",
    "INSERT INTO big SELECT i, nullif(i * 7919 % 1009, 13), nullif(i % 7, 3), \
     CASE WHEN i % 11 <> 0 THEN (i * 31 % 10007) / 100.0 END, CASE WHEN i % 5 <> 0 THEN 'k' || (i * 13 % 301) END, \
     date '2020-01-01' + (i * 17 % 1500)::int, CASE WHEN i % 3 <> 0 THEN i % 2 = 0 END, \
     (ARRAY['red', 'green', 'blue', ''])[i % 4 + 1] FROM generate_series(1, 20000) i",
    "CREATE TABLE lines (o int, l int, q int, p numeric(8,3), w text, PRIMARY KEY (o, l))",
    "INSERT INTO lines SELECT i / 3, i % 3, nullif(i * 37 % 501, 7), (i * 53 % 99991) / 1000.0, 'k' || (i * 29 % 350) \
     FROM generate_series(1, 25000) i",
    "CREATE TABLE small (k int PRIMARY KEY, g int, name text)",
    "INSERT INTO small SELECT i, nullif(i % 9, 4), 'k' || i FROM generate_series(1, 400) i",
];

struct Table {
    name: &'static str,
    key: &'static [&'static str],
    integers: &'static [&'static str],
    numerics: &'static [&'static str],
    texts: &'static [&'static str],
    /// Of few values.
    groups: &'static [&'static str],
}

const BIG: Table = Table {
    name: "big",
    key: &["id"],
    integers: &["id", "a", "b"],
    numerics: &["c"],
    texts: &["t", "v"],
    groups: &["b", "v", "f", "a", "t"],
};
const LINES: Table = Table {
    name: "lines",
    key: &["o", "l"],
    integers: &["o", "l", "q"],
    numerics: &["p"],
    texts: &["w"],
    groups: &["l", "q", "w"],
};
const SMALL: Table =
    Table { name: "small", key: &["k"], integers: &["k", "g"], numerics: &[], texts: &["name"], groups: &["g"] };

/// Joins by columns that do not make too many rows.
const JOINS: &[(&Table, &Table, &str)] = &[
    (&BIG, &LINES, "x.id = y.o"),
    (&LINES, &BIG, "x.o = y.id"),
    (&BIG, &SMALL, "x.a = y.k"),
    (&BIG, &SMALL, "x.t = y.name"),
    (&LINES, &SMALL, "x.q = y.k"),
    (&LINES, &SMALL, "x.w = y.name"),
    (&BIG, &BIG, "x.id = y.a"),
    (&SMALL, &LINES, "x.k = y.o"),
];

/// A query, and whether the order of its rows is fixed.
pub(super) fn query(seed: u64, number: u64) -> (String, bool) {
    Maker { rng: &mut Rng::of_case(seed, number) }.query()
}

struct Maker<'r> {
    rng: &'r mut Rng,
}

/// What stands in FROM: tables and their names.
struct From {
    sql: String,
    tables: Vec<(&'static Table, &'static str)>,
}

impl From {
    fn columns(&self, of: fn(&Table) -> &'static [&'static str]) -> Vec<String> {
        let of = |table, name: &str| of(table).iter().map(|column| format!("{name}.{column}")).collect::<Vec<_>>();
        self.tables.iter().flat_map(|(table, name)| of(table, name)).collect()
    }

    fn key(&self) -> Vec<String> {
        self.columns(|table| table.key)
    }
}

impl Maker<'_> {
    fn some(&mut self, columns: &[String]) -> String {
        columns[self.rng.below(columns.len())].clone()
    }

    fn integer(&mut self, from: &From) -> String {
        self.some(&from.columns(|table| table.integers))
    }

    fn text(&mut self, from: &From) -> String {
        let column = self.some(&from.columns(|table| table.texts));
        match self.rng.below(8) {
            0 => format!("upper({column})"),
            1 => format!("coalesce({column}, 'zz')"),
            2 => format!("left({column}, 2)"),
            _ => column,
        }
    }

    fn number(&mut self, from: &From, depth: usize) -> String {
        let columns = [from.columns(|table| table.integers), from.columns(|table| table.numerics)].concat();
        if depth == 0 || self.rng.percent(50) {
            return match self.rng.percent(85) {
                true => self.some(&columns),
                false => self.rng.pick(&["0", "1", "5", "100", "2.5"]).to_owned(),
            };
        }
        let value = self.number(from, depth - 1);
        match self.rng.below(8) {
            0..3 => {
                let (operator, other) = (self.rng.pick(&["+", "-", "*"]), self.number(from, depth - 1));
                format!("({value} {operator} {other})")
            }
            3 => format!("coalesce({value}, 3)"),
            4 => format!("abs({value})"),
            5 => format!("mod(({value})::bigint, 7)"),
            6 => format!("length({})", self.text(from)),
            _ => {
                let (condition, other) = (self.condition(from, 0, false), self.number(from, depth - 1));
                format!("CASE WHEN {condition} THEN {value} ELSE {other} END")
            }
        }
    }

    fn condition(&mut self, from: &From, depth: usize, may_ask: bool) -> String {
        match self.rng.below(100) {
            0..20 if depth > 0 => {
                let word = self.rng.pick(&["AND", "AND", "OR"]);
                let sides = [0, 1].map(|_| self.condition(from, depth - 1, may_ask));
                format!("({})", sides.join(&format!(" {word} ")))
            }
            20..25 if depth > 0 => format!("NOT ({})", self.condition(from, depth - 1, may_ask)),
            25..45 if may_ask => self.asked(from),
            45..65 => {
                let (operator, bound) = (self.rng.pick(&["=", "<", ">", "<=", ">=", "<>"]), self.rng.below(20_000));
                let bound = self.rng.pick(&[1, 2, 5, 100, 500, bound]);
                format!("{} {operator} {bound}", self.integer(from))
            }
            65..75 => {
                let operator = self.rng.pick(&["=", "<", ">", "<="]);
                format!("{} {operator} {}", self.number(from, 1), self.number(from, 1))
            }
            75..82 => format!("{} IS {}NULL", self.integer(from), self.rng.pick(&["", "NOT "])),
            82..90 => format!("{} LIKE '{}'", self.text(from), self.rng.pick(&["k1%", "%2", "k_", "re%"])),
            _ => {
                let members = self.rng.pick(&[2, 5, 30]);
                let members: Vec<String> = (0..members).map(|_| self.rng.below(1_000).to_string()).collect();
                let not = self.rng.pick(&["", "NOT "]);
                format!("{} {not}IN ({})", self.integer(from), members.join(", "))
            }
        }
    }

    /// A condition that asks a table about the columns.
    fn asked(&mut self, from: &From) -> String {
        let table = self.rng.pick(&[&SMALL, &LINES, &BIG]);
        let own = From { sql: format!("{} z", table.name), tables: vec![(table, "z")] };
        let (column, other) = (self.integer(from), self.integer(from));
        let (asked, also) = (self.integer(&own), self.integer(&own));
        let (choice, key, not) = (self.condition(&own, 1, false), table.key[0], self.rng.pick(&["", "NOT "]));
        match self.rng.below(6) {
            5 => format!("{not}EXISTS (SELECT 1 FROM {} WHERE {also} = {column} AND {asked} <> {other})", own.sql),
            0 => format!("{column} {not}IN (SELECT {asked} FROM {} WHERE {choice})", own.sql),
            1 => format!("{not}EXISTS (SELECT 1 FROM {} WHERE z.{key} = {column} AND {choice})", own.sql),
            2 => format!("({column}, {other}) IN (SELECT {asked}, {also} FROM {} WHERE {choice})", own.sql),
            3 => format!("{column} > (SELECT max({asked}) FROM {} WHERE z.{key} = {other})", own.sql),
            _ => format!("{} > (SELECT {} FROM {})", self.number(from, 1), self.aggregate(&own), own.sql),
        }
    }

    fn aggregate(&mut self, from: &From) -> String {
        let filter = match self.rng.percent(20) {
            true => format!(" FILTER (WHERE {})", self.condition(from, 0, false)),
            false => String::new(),
        };
        match self.rng.below(8) {
            0 => format!("count(*){filter}"),
            1 => format!("count(DISTINCT {}){filter}", self.integer(from)),
            2 => format!("sum({}){filter}", self.number(from, 1)),
            3 => format!("count({}){filter}", self.text(from)),
            call => format!("{}({}){filter}", if call % 2 == 0 { "min" } else { "max" }, self.number(from, 1)),
        }
    }

    fn from(&mut self) -> From {
        if self.rng.percent(50) {
            let table = self.rng.pick(&[&BIG, &BIG, &LINES]);
            return From { sql: format!("{} x", table.name), tables: vec![(table, "x")] };
        }
        let word = self.rng.pick(&["", "", "LEFT ", "RIGHT ", "FULL "]);
        let (left, right, on) = self.rng.pick(JOINS);
        let sql = format!("{} x {word}JOIN {} y ON {on}", left.name, right.name);
        From { sql, tables: vec![(left, "x"), (right, "y")] }
    }

    fn choice(&mut self, from: &From, percent: usize) -> String {
        match self.rng.percent(percent) {
            true => format!(" WHERE {}", self.condition(from, 2, true)),
            false => String::new(),
        }
    }

    fn query(&mut self) -> (String, bool) {
        let from = self.from();
        let (rest, key) = (format!(" FROM {}{}", from.sql, self.choice(&from, 60)), from.key().join(", "));
        let groups = from.columns(|table| table.groups);
        match self.rng.below(8) {
            0 | 1 => {
                let count = 1 + self.rng.below(3);
                let items: Vec<String> = (0..count).map(|_| self.aggregate(&from)).collect();
                (format!("SELECT {}{rest}", items.join(", ")), false)
            }
            2 | 3 => {
                let (by, items) = (self.some(&groups), [0, 1].map(|_| self.aggregate(&from)).join(", "));
                let form = self.rng.pick(&["{}", "{}", "ROLLUP ({})"]).replace("{}", &by);
                let having = self.rng.pick(&["", "", " HAVING count(*) > 5"]);
                (format!("SELECT {by}, {items}{rest} GROUP BY {form}{having}"), false)
            }
            4 => {
                let (item, by) = (self.number(&from, 2), self.some(&groups));
                let order = self.rng.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
                let limit = self.rng.pick(&["1", "10", "3000", "10 OFFSET 9000"]);
                (format!("SELECT {item}, {key}{rest} ORDER BY {by}{order}, {key} LIMIT {limit}"), true)
            }
            5 => (format!("SELECT DISTINCT {}{rest}", self.some(&groups)), false),
            6 => {
                let (value, part) = (self.integer(&from), self.some(&groups));
                let call = self.rng.pick(&["row_number()", "rank()", "sum({})", "max({})", "lag({})", "ntile(7)"]);
                let call = call.replace("{}", &value);
                let window = format!("{call} OVER (PARTITION BY {part} ORDER BY {}, {key})", self.integer(&from));
                (format!("SELECT count(*), sum(w), min(w), max(w) FROM (SELECT {window} AS w{rest}) s"), false)
            }
            _ => {
                let other = self.from();
                let word = self.rng.pick(&["UNION", "EXCEPT", "INTERSECT", "UNION ALL", "EXCEPT ALL"]);
                let (one, two) = (self.integer(&from), self.integer(&other));
                let sides = format!("SELECT {one} AS m{rest} {word} SELECT {two} FROM {}", other.sql);
                (format!("SELECT count(*), count(DISTINCT m), min(m), max(m) FROM ({sides}) s"), false)
            }
        }
    }
}

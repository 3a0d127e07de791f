//! Makes queries within queries: groups over joins of groups, LATERAL, EXISTS and IN about rows around them, set operations.
//!
//! The expressions in them are plain; it is the plans around them that are compared. Rows are compared as a bag: LIMIT stands behind
//! an order by all columns.

use crate::support::rng::Rng;

/// The tables that the queries read: integers, texts and lists, some of them NULL.
pub(super) const SETUP: &[&str] = &[
    "CREATE TABLE na (id int PRIMARY KEY, g int, k int, s text, v int, xs int[])",
    "INSERT INTO na SELECT i, nullif(i % 5, 0), nullif(i * 7 % 8, 7), (ARRAY['a', 'b', 'x', ''])[i % 5 + 1], i * 11 % 13 - 3, \
     CASE i % 4 WHEN 0 THEN ARRAY[]::int[] WHEN 1 THEN NULL ELSE ARRAY[i % 3, i % 5, i % 6] END FROM generate_series(1, 24) i",
    "CREATE TABLE nb (id int PRIMARY KEY, a int, n int, w text)",
    "INSERT INTO nb SELECT i, nullif(i * 5 % 27, 0), nullif(i * 3 % 9, 8), (ARRAY['a', 'b', 'y'])[i % 4 + 1] \
     FROM generate_series(1, 30) i",
    "CREATE TABLE nc (p text, q int, m int)",
    "INSERT INTO nc SELECT (ARRAY['a', 'b', 'x'])[i % 4 + 1], nullif(i % 6, 0), nullif(i % 5, 4) FROM generate_series(1, 12) i",
];

const TABLES: &[(&str, &[(&str, Kind)])] = &[
    (
        "na",
        &[
            ("id", Kind::Int),
            ("g", Kind::Int),
            ("k", Kind::Int),
            ("s", Kind::Text),
            ("v", Kind::Int),
            ("xs", Kind::List),
        ],
    ),
    ("nb", &[("id", Kind::Int), ("a", Kind::Int), ("n", Kind::Int), ("w", Kind::Text)]),
    ("nc", &[("p", Kind::Text), ("q", Kind::Int), ("m", Kind::Int)]),
];

/// Queries that are longer say no more.
const LONGEST: usize = 3_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Text,
    List,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    kind: Kind,
}

/// A query, or what stands in FROM.
struct Made {
    sql: String,
    columns: Vec<Column>,
}

/// The query of this number.
pub(super) fn query(seed: u64, number: u64) -> String {
    let mut rng = Rng::of_case(seed, number);
    loop {
        let depth = rng.pick(&[1, 2, 2, 3]);
        let made = Maker { rng: &mut rng, names: 0 }.query(depth, None);
        if made.sql.len() <= LONGEST {
            return made.sql;
        }
    }
}

struct Maker<'r> {
    rng: &'r mut Rng,
    names: usize,
}

impl Maker<'_> {
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn some(&mut self, columns: &[Column], kind: Kind) -> Option<String> {
        let such: Vec<&Column> = columns.iter().filter(|column| column.kind == kind).collect();
        if such.is_empty() { None } else { Some(such[self.rng.below(such.len())].name.clone()) }
    }

    fn int(&mut self, columns: &[Column], depth: usize) -> String {
        let choice = self.rng.below(100);
        if depth == 0 || choice < 45 {
            return match self.some(columns, Kind::Int) {
                Some(column) if self.rng.percent(80) => column,
                _ => (i64::try_from(self.rng.below(11)).expect("it is small") - 2).to_string(),
            };
        }
        let left = self.int(columns, depth - 1);
        match choice {
            45..65 => {
                let (operator, right) = (self.rng.pick(&["+", "-", "*"]), self.int(columns, depth - 1));
                format!("({left} {operator} {right})")
            }
            65..72 => format!("coalesce({left}, {})", self.rng.below(6)),
            72..80 => {
                let (condition, other) = (self.condition(columns, depth - 1, false), self.int(columns, depth - 1));
                format!("CASE WHEN {condition} THEN {left} ELSE {other} END")
            }
            80..84 => format!("nullif({left}, {})", self.rng.below(6)),
            84..88 => format!("CASE {left} WHEN 1 THEN 2 WHEN {} THEN 5 END", self.int(columns, 0)),
            88..92 => format!("length({})", self.text(columns, depth - 1)),
            92..96 => format!("mod({left}, {})", 2 + self.rng.below(4)),
            _ => format!("greatest({left}, {})", self.int(columns, depth - 1)),
        }
    }

    fn text(&mut self, columns: &[Column], depth: usize) -> String {
        match self.rng.below(100) {
            0..20 if depth > 0 => format!("({} || {})", self.text(columns, depth - 1), self.text(columns, depth - 1)),
            20..40 if depth > 0 => format!("upper({})", self.text(columns, depth - 1)),
            _ => match self.some(columns, Kind::Text) {
                Some(column) if self.rng.percent(85) => column,
                _ => self.rng.pick(&["'a'", "'b'", "'x'", "''"]).to_owned(),
            },
        }
    }

    fn condition(&mut self, columns: &[Column], depth: usize, may_ask: bool) -> String {
        if may_ask && self.rng.percent(30) {
            return self.asked(columns);
        }
        let (left, right) = (self.int(columns, 1), self.int(columns, 1));
        match self.rng.below(100) {
            0..12 if depth > 0 => {
                let word = self.rng.pick(&["AND", "OR"]);
                let sides = [0, 1].map(|_| self.condition(columns, depth - 1, may_ask));
                format!("({})", sides.join(&format!(" {word} ")))
            }
            12..20 if depth > 0 => format!("NOT ({})", self.condition(columns, depth - 1, may_ask)),
            20..30 => format!("{left} IS {}NULL", self.rng.pick(&["", "NOT "])),
            30..38 => format!("{left} {}IN (0, {}, {right})", self.rng.pick(&["", "NOT "]), self.rng.below(7)),
            38..44 => format!("{left} BETWEEN 0 AND {}", self.rng.below(9)),
            44..50 => format!("{left} IS {}DISTINCT FROM {right}", self.rng.pick(&["", "NOT "])),
            50..60 => {
                let operator = self.rng.pick(&["=", "<>", "<", ">="]);
                format!("{} {operator} {}", self.text(columns, 1), self.text(columns, 1))
            }
            _ => format!("{left} {} {right}", self.rng.pick(&["=", "<>", "<", ">=", "<=", ">"])),
        }
    }

    /// A condition that asks a query about the columns.
    fn asked(&mut self, columns: &[Column]) -> String {
        let (made, name, left) = (self.query(1, Some(columns)), self.name("z"), self.int(columns, 1));
        let not = self.rng.pick(&["", "NOT "]);
        let Some(column) = self.some(&made.columns, Kind::Int).filter(|_| self.rng.percent(65)) else {
            return format!("{not}EXISTS ({})", made.sql);
        };
        let from = format!("FROM ({}) {name}", made.sql);
        match self.rng.below(3) {
            0 => format!("{left} {not}IN (SELECT {name}.{column} {from})"),
            1 => {
                let (operator, word) = (self.rng.pick(&["<", ">=", "=", "<>"]), self.rng.pick(&["ANY", "ALL"]));
                format!("{left} {operator} {word} (SELECT {name}.{column} {from})")
            }
            _ => {
                let call = self.rng.pick(&["max", "min", "count", "sum"]);
                format!("{left} >= (SELECT {call}({name}.{column}) {from})")
            }
        }
    }

    fn source(&mut self, depth: usize) -> Made {
        let (name, sql, columns) = if depth == 0 || self.rng.percent(45) {
            let (table, columns) = self.rng.pick(TABLES);
            let columns = columns.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect();
            (self.name("t"), table.to_owned(), columns)
        } else {
            let made = self.query(depth - 1, None);
            (self.name("d"), format!("({})", made.sql), made.columns)
        };
        Made { sql: format!("{sql} {name}"), columns: qualified(&name, columns) }
    }

    /// What stands in FROM: of a query about rows around it perhaps the items of a list that one of them has.
    fn from(&mut self, depth: usize, around: Option<&[Column]>) -> Made {
        let list = around.and_then(|around| self.some(around, Kind::List)).filter(|_| self.rng.percent(40));
        let mut made = match list {
            Some(list) => {
                let name = self.name("i");
                let columns = vec![Column { name: format!("{name}.x"), kind: Kind::Int }];
                Made { sql: format!("unnest({list}) {name} (x)"), columns }
            }
            None => self.source(depth),
        };
        for _ in 0..self.rng.pick(&[0, 0, 1, 1, 2]) {
            let (sql, columns) = match self.rng.below(100) {
                0..12 => self.list_beside(&made.columns),
                12..22 => self.lateral(&made.columns),
                _ => self.joined(&made.columns, depth.saturating_sub(1)),
            };
            made.sql.push_str(&sql);
            made.columns.extend(columns);
        }
        made
    }

    /// The items of a list of each row.
    fn list_beside(&mut self, columns: &[Column]) -> (String, Vec<Column>) {
        let Some(list) = self.some(columns, Kind::List) else { return self.lateral(columns) };
        let name = self.name("u");
        let sql = match self.rng.below(3) {
            0 => format!(" CROSS JOIN unnest({list}) {name} (x)"),
            1 => format!(" LEFT JOIN unnest({list}) {name} (x) ON true"),
            _ => {
                let least = self.int(columns, 1);
                format!(" CROSS JOIN LATERAL (SELECT y + 1 AS x FROM unnest({list}) y WHERE y > {least}) {name}")
            }
        };
        (sql, vec![Column { name: format!("{name}.x"), kind: Kind::Int }])
    }

    fn lateral(&mut self, columns: &[Column]) -> (String, Vec<Column>) {
        let name = self.name("l");
        let (word, on) = self.rng.pick(&[("CROSS", ""), ("LEFT", " ON true")]);
        let made = match self.rng.below(3) {
            0 => self.query(1, Some(columns)),
            1 => {
                let (x, y) = (self.int(columns, 2), self.text(columns, 1));
                let choice = if self.rng.percent(30) { self.condition(columns, 1, false) } else { "true".to_owned() };
                let columns =
                    [("x", Kind::Int), ("y", Kind::Text)].map(|(name, kind)| Column { name: name.into(), kind });
                Made { sql: format!("SELECT {x} AS x, {y} AS y WHERE {choice}"), columns: columns.into() }
            }
            _ => {
                let rows = [0, 1].map(|_| format!("({})", self.int(columns, 1)));
                let columns = vec![Column { name: "column1".into(), kind: Kind::Int }];
                Made { sql: format!("VALUES {}", rows.join(", ")), columns }
            }
        };
        (format!(" {word} JOIN LATERAL ({}) {name}{on}", made.sql), qualified(&name, made.columns))
    }

    fn joined(&mut self, columns: &[Column], depth: usize) -> (String, Vec<Column>) {
        let other = self.source(depth);
        let pair = self.some(columns, Kind::Int).zip(self.some(&other.columns, Kind::Int));
        let Some((left, right)) = pair.filter(|_| self.rng.percent(85)) else {
            let on = self.rng.pick(&["true", "false", "NULL"]);
            return (format!(" LEFT JOIN {} ON {on}", other.sql), other.columns);
        };
        let word = self.rng.pick(&["", "LEFT ", "RIGHT ", "FULL "]);
        let mut on = format!("{left} = {right}");
        if word != "FULL " && self.rng.percent(30) {
            let both: Vec<Column> = columns.iter().chain(&other.columns).cloned().collect();
            on = format!("{on} AND {}", self.condition(&both, 1, false));
        }
        (format!(" {word}JOIN {} ON {on}", other.sql), other.columns)
    }

    fn query(&mut self, depth: usize, around: Option<&[Column]>) -> Made {
        if depth > 0
            && around.is_none()
            && self.rng.percent(12)
            && let Some(made) = self.set(depth - 1)
        {
            return made;
        }
        let from = self.from(depth, around);
        let mut scope = from.columns.clone();
        scope.extend(around.filter(|_| self.rng.percent(80)).unwrap_or_default().iter().cloned());
        let mut conditions = Vec::new();
        if around.is_some() || self.rng.percent(60) {
            conditions.push(self.condition(&scope, 2, depth > 0));
        }
        let pair = self.some(&from.columns, Kind::Int).zip(around.and_then(|around| self.some(around, Kind::Int)));
        if let Some((own, outer)) = pair.filter(|_| self.rng.percent(80)) {
            conditions.push(format!("{own} {} {outer}", self.rng.pick(&["=", "=", "=", "<", ">"])));
        }
        let choice = if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        let rest = format!(" FROM {}{choice}", from.sql);
        match self.rng.percent(35) {
            true => self.grouped(&from.columns, &rest),
            false => self.listed(&from.columns, &scope, &rest, depth, around.is_some()),
        }
    }

    fn grouped(&mut self, columns: &[Column], rest: &str) -> Made {
        let mut made = Vec::new();
        let mut items = Vec::new();
        let mut keys = Vec::new();
        for _ in 0..self.rng.pick(&[0, 1, 1, 2]) {
            let kind = self.rng.pick(&[Kind::Int, Kind::Int, Kind::Text]);
            let Some(key) = self.some(columns, kind) else { continue };
            items.push((key.clone(), kind));
            keys.push(key);
        }
        for _ in 0..self.rng.pick(&[1, 1, 2]) {
            let value = self.int(columns, 1);
            let call = match self.rng.pick(&["*", "sum", "max", "min", "count", "DISTINCT"]) {
                "*" => "count(*)".to_owned(),
                "DISTINCT" => format!("count(DISTINCT {value})"),
                call => format!("{call}({value})"),
            };
            let filter = match self.rng.percent(20) {
                true => format!(" FILTER (WHERE {})", self.condition(columns, 1, false)),
                false => String::new(),
            };
            items.push((format!("({call}{filter})::int"), Kind::Int));
        }
        if let Some(value) = self.some(columns, Kind::Int).filter(|_| self.rng.percent(15)) {
            items.push((format!("array_agg({value} ORDER BY {value})"), Kind::List));
        }
        let shown: Vec<String> = items.into_iter().map(|(item, kind)| self.shown(item, kind, &mut made)).collect();
        let by = match keys.is_empty() {
            true => String::new(),
            false => {
                let form =
                    self.rng.pick(&["{}", "{}", "{}", "{}", "ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())"]);
                format!(" GROUP BY {}", form.replace("{}", &keys.join(", ")))
            }
        };
        let value = self.int(columns, 1);
        let having = match self.rng.below(16) {
            0 => " HAVING count(*) > 1".to_owned(),
            1 => format!(" HAVING max({value}) > 2"),
            2 => format!(" HAVING (SELECT count(*) FROM nb) > {}", self.rng.pick(&[1, 100])),
            _ => String::new(),
        };
        Made { sql: format!("SELECT {}{rest}{by}{having}", shown.join(", ")), columns: made }
    }

    fn listed(&mut self, own: &[Column], scope: &[Column], rest: &str, depth: usize, is_inside: bool) -> Made {
        let mut made = Vec::new();
        let mut shown = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let (item, kind) = match self.rng.below(100) {
                0..15 if let Some(list) = self.some(own, Kind::List) => (list, Kind::List),
                15..30 => (self.text(scope, 1), Kind::Text),
                30..38 if let Some(part) = self.some(own, Kind::Int) => {
                    let call = self.rng.pick(&["sum", "max", "count"]);
                    (format!("({call}({}) OVER (PARTITION BY {part}))::int", self.int(own, 1)), Kind::Int)
                }
                38..46 if depth > 0 => (self.value_of_query(scope), Kind::Int),
                _ => (self.int(scope, 2), Kind::Int),
            };
            shown.push(self.shown(item, kind, &mut made));
        }
        let distinct = if !is_inside && self.rng.percent(15) { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{}{rest}", shown.join(", "));
        if !is_inside && self.rng.percent(10) {
            let places: Vec<String> = (1..=shown.len()).map(|place| place.to_string()).collect();
            sql = format!("{sql} ORDER BY {} LIMIT {}", places.join(", "), 1 + self.rng.below(8));
        }
        Made { sql, columns: made }
    }

    fn value_of_query(&mut self, columns: &[Column]) -> String {
        let (made, name) = (self.query(1, Some(columns)), self.name("z"));
        match self.some(&made.columns, Kind::Int) {
            Some(column) => {
                let call = self.rng.pick(&["max", "min", "count", "sum"]);
                format!("(SELECT {call}({name}.{column}) FROM ({}) {name})::int", made.sql)
            }
            None => format!("EXISTS ({})::int", made.sql),
        }
    }

    /// Two queries that give integers; `None` where one gives none.
    fn set(&mut self, depth: usize) -> Option<Made> {
        let sides = [0, 1].map(|_| (self.query(depth, None), self.name("s")));
        let word = self.rng.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"]);
        let mut columns = Vec::new();
        let mut parts = Vec::new();
        for (made, name) in sides {
            let column = format!("{name}.{}", self.some(&made.columns, Kind::Int)?);
            let item = if parts.is_empty() { self.shown(column, Kind::Int, &mut columns) } else { column };
            parts.push(format!("SELECT {item} FROM ({}) {name}", made.sql));
        }
        Some(Made { sql: parts.join(&format!(" {word} ")), columns })
    }

    /// An item of a list under a name of its own.
    fn shown(&mut self, item: String, kind: Kind, columns: &mut Vec<Column>) -> String {
        let name = self.name("c");
        let shown = format!("{item} AS {name}");
        columns.push(Column { name, kind });
        shown
    }
}

fn qualified(table: &str, columns: Vec<Column>) -> Vec<Column> {
    columns.into_iter().map(|column| Column { name: format!("{table}.{}", column.name), ..column }).collect()
}

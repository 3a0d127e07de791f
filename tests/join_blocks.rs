//! Joins give what nested loops give: inside the block that wrote their rows, after its COMMIT, and with further changes of another
//! block laid over it.
//!
//! Random queries over small tables whose columns have the same names everywhere, so that whatever follows a column by its name
//! takes a wrong one. They join up to six tables, inner and outer, ask for members of sub-queries, and want the first rows of an
//! order. What is expected is computed here, row by row.

use std::cmp::Ordering;
use std::fmt::Write;
use std::sync::Arc;

use crate::support::lines::lines;
use crate::support::rng::Rng;
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore};
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::store::table::TableStore;

const SEED: u64 = 55;
const CASES: u64 = 15;
const QUERIES: usize = 10;
const TABLES: usize = 4;
/// The first is the primary key.
const COLUMNS: &[&str] = &["id", "c", "l", "name"];
/// The only one that is a text.
const NAME: usize = 3;

/// The values of a row: numbers, of which that of a text is a part.
type Row = [Option<i64>; 4];
type Tables = Vec<Vec<Row>>;

fn literal(column: usize, value: Option<i64>) -> String {
    match value {
        None => "NULL".to_owned(),
        Some(value) if column == NAME => format!("'n{value}'"),
        Some(value) => value.to_string(),
    }
}

fn shown(column: usize, value: Option<i64>) -> String {
    match value {
        None => String::new(),
        Some(value) if column == NAME => format!("n{value}"),
        Some(value) => value.to_string(),
    }
}

/// A column of one of the joined tables.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Column {
    of: usize,
    column: usize,
}

impl Column {
    fn any(rng: &mut Rng, joined: usize) -> Self {
        Self { of: rng.below(joined), column: rng.below(COLUMNS.len()) }
    }

    fn text(self) -> String {
        format!("t{}.{}", self.of, COLUMNS[self.column])
    }
}

#[derive(Debug)]
enum Condition {
    Equal(Column, Column),
    Is(Column, i64),
    Below(Column, i64),
    /// The value is one of those of a column of a table, of the rows with another column below a bound.
    In {
        value: Column,
        table: usize,
        column: usize,
        below: (usize, i64),
    },
}

impl Condition {
    fn text(&self) -> String {
        match self {
            Self::Equal(a, b) => format!("{} = {}", a.text(), b.text()),
            Self::Is(column, value) => format!("{} = {}", column.text(), literal(column.column, Some(*value))),
            Self::Below(column, value) => format!("{} < {}", column.text(), literal(column.column, Some(*value))),
            Self::In { value, table, column, below: (bounded, bound) } => format!(
                "{} IN (SELECT {} FROM m{table} WHERE {} < {})",
                value.text(),
                COLUMNS[*column],
                COLUMNS[*bounded],
                literal(*bounded, Some(*bound)),
            ),
        }
    }

    fn holds(&self, tables: &Tables, row: &[Row]) -> bool {
        let value = |column: &Column| row[column.of][column.column];
        let is_below = |value: Option<i64>, bound: i64| value.is_some_and(|value| value < bound);
        match self {
            Self::Equal(a, b) => value(a).is_some() && value(a) == value(b),
            Self::Is(column, wanted) => value(column) == Some(*wanted),
            Self::Below(column, bound) => is_below(value(column), *bound),
            Self::In { value: tested, table, column, below: (bounded, bound) } => {
                let mut members = tables[*table].iter().filter(|row| is_below(row[*bounded], *bound));
                value(tested).is_some() && members.any(|row| row[*column] == value(tested))
            }
        }
    }
}

#[derive(Debug)]
struct Join {
    table: usize,
    is_outer: bool,
    on: Vec<Condition>,
}

#[derive(Debug)]
struct Query {
    joins: Vec<Join>,
    conditions: Vec<Condition>,
    /// What comes first in the order; behind it are all keys.
    order: Option<(Column, bool)>,
    limit: Option<usize>,
}

impl Query {
    fn any(rng: &mut Rng) -> Self {
        let mut joins = vec![Join { table: rng.below(TABLES), is_outer: false, on: Vec::new() }];
        for of in 1..2 + rng.below(5) {
            let mut on = vec![equality(rng, of)];
            if rng.percent(15) {
                on.push(equality(rng, of));
            }
            joins.push(Join { table: rng.below(TABLES), is_outer: rng.percent(15), on });
        }
        let conditions = (0..rng.below(3)).map(|_| condition(rng, joins.len())).collect();
        let order = rng.percent(60).then(|| (Column::any(rng, joins.len()), rng.percent(50)));
        let limit = rng.percent(60).then(|| 1 + rng.below(4));
        Self { joins, conditions, order, limit }
    }

    fn text(&self) -> String {
        let columns: Vec<String> =
            (0..self.joins.len()).flat_map(|of| [format!("t{of}.id"), format!("t{of}.name")]).collect();
        let mut text = format!("SELECT {} FROM m{} t0", columns.join(", "), self.joins[0].table);
        for (of, join) in self.joins.iter().enumerate().skip(1) {
            let kind = if join.is_outer { "LEFT JOIN" } else { "JOIN" };
            let on: Vec<String> = join.on.iter().map(Condition::text).collect();
            write!(text, " {kind} m{} t{of} ON {}", join.table, on.join(" AND ")).unwrap();
        }
        for (place, condition) in self.conditions.iter().enumerate() {
            write!(text, " {} {}", if place == 0 { "WHERE" } else { "AND" }, condition.text()).unwrap();
        }
        let first = self.order.map(|(column, down)| format!("{}{}", column.text(), if down { " DESC" } else { "" }));
        let keys = (0..self.joins.len()).map(|of| format!("t{of}.id"));
        write!(text, " ORDER BY {}", first.into_iter().chain(keys).collect::<Vec<_>>().join(", ")).unwrap();
        if let Some(limit) = self.limit {
            write!(text, " LIMIT {limit}").unwrap();
        }
        text
    }

    fn expected(&self, tables: &Tables) -> Vec<String> {
        let mut rows: Vec<Vec<Row>> = tables[self.joins[0].table].iter().map(|row| vec![*row]).collect();
        for join in &self.joins[1..] {
            rows = rows.into_iter().flat_map(|row| joined(tables, join, &row)).collect();
        }
        rows.retain(|row| self.conditions.iter().all(|condition| condition.holds(tables, row)));
        rows.sort_by(|a, b| {
            let first = self.order.map_or(Ordering::Equal, |(Column { of, column }, down)| {
                let order = nulls_last(a[of][column], b[of][column]);
                if down { order.reverse() } else { order }
            });
            let keys = a.iter().zip(b).map(|(a, b)| nulls_last(a[0], b[0]));
            keys.fold(first, Ordering::then)
        });
        let shown_row = |row: &Vec<Row>| {
            let cells = row.iter().flat_map(|row| [shown(0, row[0]), shown(NAME, row[NAME])]);
            cells.fold(String::new(), |line, cell| line + "|" + &cell)
        };
        rows.iter().take(self.limit.unwrap_or(usize::MAX)).map(shown_row).collect()
    }
}

/// A row with those that join it; with nothing, where an outer join finds none.
fn joined(tables: &Tables, join: &Join, row: &[Row]) -> Vec<Vec<Row>> {
    let with = |other: Row| row.iter().copied().chain([other]).collect::<Vec<Row>>();
    let mut found: Vec<Vec<Row>> = tables[join.table].iter().map(|other| with(*other)).collect();
    found.retain(|row| join.on.iter().all(|condition| condition.holds(tables, row)));
    if found.is_empty() && join.is_outer {
        found.push(with([None; 4]));
    }
    found
}

fn nulls_last(a: Option<i64>, b: Option<i64>) -> Ordering {
    a.is_none().cmp(&b.is_none()).then(a.cmp(&b))
}

/// A column of this table is equal to one of those before it.
fn equality(rng: &mut Rng, of: usize) -> Condition {
    let own = Column { of, ..Column::any(rng, 1) };
    let mut other = Column::any(rng, of);
    if (own.column == NAME) != (other.column == NAME) {
        other.column = if own.column == NAME { NAME } else { rng.below(NAME) };
    }
    if rng.percent(50) { Condition::Equal(own, other) } else { Condition::Equal(other, own) }
}

fn condition(rng: &mut Rng, joined: usize) -> Condition {
    let (column, value) = (Column::any(rng, joined), i64::try_from(rng.below(5)).unwrap());
    match rng.below(3) {
        0 => Condition::Is(column, value),
        1 => Condition::Below(column, value + 1),
        _ => {
            let own = if column.column == NAME { NAME } else { rng.below(NAME) };
            let below = (rng.below(COLUMNS.len()), value + 1);
            Condition::In { value: column, table: rng.below(TABLES), column: own, below }
        }
    }
}

fn any_row(rng: &mut Rng, key: usize) -> Row {
    let mut value = || rng.percent(85).then(|| i64::try_from(rng.below(5)).unwrap());
    [Some(i64::try_from(key).unwrap()), value(), value(), value()]
}

async fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let statement = session.parse(sql).unwrap().pop().expect("there is a statement");
    let prepared = session.prepare(statement, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let outcome = session.execute(&prepared, Vec::new(), Position::Last).await;
    match outcome.unwrap_or_else(|error| panic!("{sql}: {error:?}")) {
        Outcome::Rows(rows) => lines(session, rows).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")),
        _ => Vec::new(),
    }
}

/// Changes the tables at random, and tells them.
async fn change(session: &mut Session, rng: &mut Rng, tables: &mut Tables) {
    for (table, rows) in tables.iter_mut().enumerate() {
        for key in 1..=rng.below(8) {
            let row = any_row(rng, key);
            let cells: Vec<String> = row.iter().enumerate().map(|(column, value)| literal(column, *value)).collect();
            let at = rows.iter().position(|row| row[0] == Some(i64::try_from(key).unwrap()));
            match (at, rng.percent(30)) {
                (None, _) => {
                    run(session, &format!("INSERT INTO m{table} VALUES ({})", cells.join(", "))).await;
                    rows.push(row);
                }
                (Some(at), true) => {
                    run(session, &format!("DELETE FROM m{table} WHERE id = {key}")).await;
                    rows.remove(at);
                }
                (Some(at), false) => {
                    let sql = format!("UPDATE m{table} SET c = {}, name = {} WHERE id = {key}", cells[1], cells[3]);
                    run(session, &sql).await;
                    (rows[at][1], rows[at][3]) = (row[1], row[3]);
                }
            }
        }
    }
}

async fn compare(session: &mut Session, queries: &[Query], tables: &Tables, when: &str) {
    for query in queries {
        let sql = query.text();
        let rows = run(session, &sql).await;
        assert_eq!(rows, query.expected(tables), "{when}: {sql}\n{tables:?}");
    }
}

async fn joins_are_nested_loops(store: Arc<dyn TableStore>, cases: std::ops::Range<u64>) {
    let engine = Engine::open(store, Arc::new(SystemClock), EngineConfig::default()).await.expect("the store opens");
    let mut session = Session::new(engine, SessionOptions::default()).expect("no settings were given");
    run(&mut session, "SET egt.mode = observe").await;
    for case in cases {
        let mut rng = Rng::of_case(SEED, case);
        for table in 0..TABLES {
            run(&mut session, &format!("CREATE TABLE m{table} (id int PRIMARY KEY, c int, l int, name text)")).await;
        }
        let queries: Vec<Query> = (0..QUERIES).map(|_| Query::any(&mut rng)).collect();
        let mut tables = vec![Vec::new(); TABLES];
        run(&mut session, "BEGIN").await;
        change(&mut session, &mut rng, &mut tables).await;
        compare(&mut session, &queries, &tables, "in the block").await;
        run(&mut session, "COMMIT").await;
        compare(&mut session, &queries, &tables, "after COMMIT").await;
        run(&mut session, "BEGIN").await;
        let committed = tables.clone();
        change(&mut session, &mut rng, &mut tables).await;
        compare(&mut session, &queries, &tables, "in another block").await;
        run(&mut session, "ROLLBACK").await;
        compare(&mut session, &queries, &committed, "after ROLLBACK").await;
        for table in 0..TABLES {
            run(&mut session, &format!("DROP TABLE m{table}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_in_memory_are_nested_loops() {
    joins_are_nested_loops(Arc::new(MemoryStore::new(Arc::new(SystemClock))), 0..CASES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_in_a_folder_are_nested_loops() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock), EmbeddedOptions::default());
    joins_are_nested_loops(Arc::new(store.expect("an empty folder opens")), CASES..CASES + CASES / 3).await;
}

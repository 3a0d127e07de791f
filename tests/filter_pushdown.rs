//! Filters that reach the store give the rows that they give above it.
//!
//! Random conditions on columns of every type run with `tablegate.filter_pushdown` on and off: over declared tables and over
//! found ones whose properties have several types, with a transaction's own writes laid over some of the rows. Once on the
//! memory store, which leaves out all that it may, and once on the emulator of the Table service.

use std::sync::Arc;

use crate::support::lines::lines;
use crate::support::rng::Rng;
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::{EdmValue, Entity, EntityKey, PropertyName, SystemClock, TableName};
use tablegate::store::table::{Batch, Operation, TableStore};
use tablegate::types::error::SqlError;

use crate::support::azurite;

const ROWS: u64 = 90;

/// Columns, with literals of their type.
const COLUMNS: &[(&str, &[&str])] = &[
    ("small", &["0", "1", "-3", "2.5", "32767", "100000"]),
    ("n", &["0", "1", "2", "-7", "2.5", "1.5::float8", "2147483647", "3000000000", "2::bigint"]),
    ("big", &["0", "1", "5", "-5", "4.5", "3000000000", "-3000000000", "9007199254740993"]),
    ("f", &["0", "-0.0::float8", "1.5", "2", "-2.25", "1e20", "1e-7", "'NaN'", "'Infinity'"]),
    ("r", &["0", "1.5", "0.1", "'NaN'"]),
    ("b", &["true", "false"]),
    (
        "ts",
        &[
            "'2021-01-01 00:00:00+00'",
            "'2021-01-01 00:00:00.000001+00'",
            "'2021-01-01 00:00:01+00'",
            "'1700-06-01 12:00:00+00'",
            "'infinity'",
            "'0500-01-01 00:00:00+00'",
        ],
    ),
    ("local", &["'2021-01-01 00:00:00'", "'2021-01-01 00:00:00.5'", "date '2021-01-01'"]),
    ("d", &["'2021-01-01'", "'2021-01-02'", "timestamp '2021-01-01 12:00:00'"]),
    ("u", &["'00000000-0000-0000-0000-0000000000ab'", "'ffffffff-0000-0000-0000-000000000000'"]),
    ("by", &["'\\x'", "'\\x0a1b'", "'\\xff'"]),
    ("s", &["''", "'a'", "'ab'", "'o''b'", "'é'", "'\u{ff5e}'", "'😀'", "'5'", "'a '"]),
    ("v", &["''", "'a'", "'abc'", "'ab '", "'abcd'"]),
    ("c", &["'a'", "'a  '", "'abc'"]),
    ("num", &["0", "1", "2.50", "-1.25"]),
];

const MIXED: &[(&str, &[&str])] = &[
    ("x", &["0", "5", "-5", "4.5", "3000000000", "-3000000000"]),
    ("y", &["0", "5", "4.5", "-4.5", "'NaN'"]),
    ("z", &["'5'", "'a'", "'true'", "''"]),
    ("w", &["'5'", "'a'", "'b'"]),
];

async fn session(store: Arc<dyn TableStore>) -> Session {
    let engine = Engine::open(store, Arc::new(SystemClock), EngineConfig::default()).await.expect("the store opens");
    Session::new(engine, SessionOptions::default()).expect("no settings were given")
}

/// The rows of a statement as text; its error as text.
async fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, String> {
    let outcome = rows(session, sql).await;
    outcome.map_err(|error| {
        session.fail();
        format!("{:?}: {}", error.kind, error.message)
    })
}

async fn rows(session: &mut Session, sql: &str) -> Result<Vec<String>, Box<SqlError>> {
    let statement = session.parse(sql)?.pop().expect("there is a statement");
    let prepared = session.prepare(statement, &[]).await?;
    let Outcome::Rows(rows) = session.execute(&prepared, Vec::new(), Position::Last).await? else {
        return Ok(Vec::new());
    };
    lines(session, rows).await
}

/// A value that a row can have.
fn stored(rng: &mut Rng, column: &str, literals: &[&'static str]) -> &'static str {
    if rng.percent(25) {
        return "NULL";
    }
    let does_not_fit = |literal: &str| match column {
        "small" => matches!(literal, "100000"),
        "n" => literal == "3000000000",
        "ts" => literal.contains("infinity") || literal.contains("0500"),
        "v" => literal == "'abcd'",
        _ => false,
    };
    loop {
        let literal = rng.pick(literals);
        if !does_not_fit(literal) {
            return literal;
        }
    }
}

async fn set_up(session: &mut Session, store: &dyn TableStore) {
    let columns = "small int2, n int, big int8, f float8, r real, b bool, ts timestamptz, local timestamp(3), d date, \
                   u uuid, by bytea, s text, v varchar(3), c char(3), num numeric(10, 2)";
    let create = format!("CREATE TABLE t (p text, k int, {columns}, PRIMARY KEY (p, k))");
    run(session, &create).await.expect("the table is made");
    for row in 0..ROWS {
        let mut rng = Rng::of_case(1, row);
        let values: Vec<&str> = COLUMNS.iter().map(|(column, literals)| stored(&mut rng, column, literals)).collect();
        let insert = format!("INSERT INTO t VALUES ('{}', {row}, {})", ["a", "b"][rng.below(2)], values.join(", "));
        run(session, &insert).await.expect("the row is written");
    }
    let table = TableName::parse("mixed").expect("a name");
    store.create_table(&table).await.expect("the table is made");
    for row in 0..ROWS {
        let operation = Operation::Insert(mixed(&mut Rng::of_case(2, row), row));
        store.commit(Batch::single(table.clone(), operation).expect("it fits")).await.expect("it is written");
    }
}

/// An entity whose properties have one of several types each.
fn mixed(rng: &mut Rng, row: u64) -> Entity {
    let number = i32::try_from(rng.below(12)).expect("it is small") - 6;
    let long = EdmValue::Int64(i64::from(number) * if rng.percent(30) { 3_000_000_000 } else { 1 });
    let double = if rng.percent(10) { f64::NAN } else { f64::from(number) / 2.0 };
    let choices = [
        ("x", vec![EdmValue::Int32(number), long.clone()]),
        ("y", vec![EdmValue::Int32(number), EdmValue::Int64(number.into()), EdmValue::Double(double)]),
        (
            "z",
            vec![EdmValue::string("a"), EdmValue::Int32(number), EdmValue::Boolean(number > 0), EdmValue::string("5")],
        ),
        ("w", vec![EdmValue::string("a"), EdmValue::string("5")]),
    ];
    let mut properties = Vec::new();
    for (name, values) in choices {
        if rng.percent(85) {
            let value = values[rng.below(values.len())].clone();
            properties.push((PropertyName::parse(name).expect("a name"), value));
        }
    }
    let key = EntityKey::parse(["a", "b"][rng.below(2)], &format!("{row:03}")).expect("a key");
    Entity::new(key, properties.into_iter().collect())
}

fn condition(rng: &mut Rng, columns: &[(&str, &[&str])], depth: usize) -> String {
    if depth > 0 && rng.percent(55) {
        let mut inner = || condition(rng, columns, depth - 1);
        let (left, right) = (inner(), inner());
        return match rng.below(8) {
            0..=2 => format!("({left} AND {right})"),
            3..=5 => format!("({left} OR {right})"),
            6 => format!("NOT ({left})"),
            _ => format!("({left}) IS {}", rng.pick(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN"])),
        };
    }
    let (column, literals) = rng.pick(columns);
    let (one, other) = (rng.pick(literals), rng.pick(literals));
    let operator = rng.pick(&["=", "<>", "<", "<=", ">", ">="]);
    let not = rng.pick(&["", "", "NOT "]);
    match rng.below(12) {
        0..=4 => format!("{column} {operator} {one}"),
        5 => format!("{one} {operator} {column}"),
        6 => format!("{column} {not}IN ({one}, {other}, NULL)"),
        7 => format!("{column} {not}IN ({one}, {other}, {one}, {one}, {other})"),
        8 => format!("{column} {not}BETWEEN {one} AND {other}"),
        9 => format!("{column} IS {not}NULL"),
        10 => format!("{column} IS {not}DISTINCT FROM {one}"),
        _ if matches!(column, "s" | "v" | "w" | "z") => {
            format!(
                "{column} {not}LIKE {}",
                rng.pick(&["'a%'", "'a'", "'%b'", "'_b'", "'o''%'", "'\u{ff5e}%'", "'5%'"])
            )
        }
        _ if column == "b" => format!("{not}b"),
        _ => format!("{column} {operator} {other}"),
    }
}

/// Inside a block an error is taken back, so that the block goes on.
async fn both_ways(session: &mut Session, sql: &str, in_block: bool) -> Result<Vec<String>, String> {
    let mut answers = Vec::new();
    for way in ["on", "off"] {
        run(session, &format!("SET tablegate.filter_pushdown = {way}")).await.expect("it is a setting");
        answers.push(run(session, sql).await);
        if in_block && answers.last().is_some_and(Result::is_err) {
            run(session, "ROLLBACK TO SAVEPOINT changed").await.expect("there is a savepoint");
        }
    }
    assert_eq!(answers[0], answers[1], "pushed, and not: {sql}");
    answers.swap_remove(0)
}

async fn compare(session: &mut Session, seed: u64, cases: u64, in_block: bool) {
    let mut errors = Vec::new();
    for case in 0..cases {
        let mut rng = Rng::of_case(seed, case);
        let sql = if rng.percent(70) {
            let keys = rng.pick(&["", "p = 'a' AND ", "k > 40 AND ", "p = 'b' AND k < 60 AND "]);
            format!("SELECT p, k FROM t WHERE {keys}{} ORDER BY p, k", condition(&mut rng, COLUMNS, 2))
        } else {
            let condition = condition(&mut rng, MIXED, 2);
            format!("SELECT \"PartitionKey\", \"RowKey\" FROM mixed WHERE {condition} ORDER BY 1, 2")
        };
        if let Err(error) = both_ways(session, &sql, in_block).await {
            errors.push(format!("{sql}: {error}"));
        }
    }
    assert!(errors.len() * 10 < usize::try_from(cases).unwrap_or(0), "conditions are in error: {errors:#?}");
}

async fn check(store: Arc<dyn TableStore>, cases: u64) {
    let mut session = session(Arc::clone(&store)).await;
    set_up(&mut session, &*store).await;
    compare(&mut session, 21, cases, false).await;
    // Values that no pushed condition may see any more, and new ones that the store does not have.
    for sql in [
        "BEGIN",
        "UPDATE t SET n = 77, s = 'new', f = NULL WHERE p = 'a' AND k < 45",
        "DELETE FROM t WHERE p = 'a' AND k BETWEEN 45 AND 60",
        "INSERT INTO t (p, k, n, s) VALUES ('a', 1000, 1, 'a')",
        "SAVEPOINT changed",
    ] {
        run(&mut session, sql).await.expect("it is done");
    }
    compare(&mut session, 22, cases / 3, true).await;
    let own = run(&mut session, "SELECT k FROM t WHERE n = 1 AND k = 1000 AND s = 'a'").await;
    assert_eq!(own, Ok(vec!["|1000".to_owned()]));
}

#[tokio::test]
async fn both_ways_give_the_same_rows() {
    check(Arc::new(MemoryStore::new(Arc::new(SystemClock))), 900).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_give_the_same_rows_on_the_emulator() {
    check(Arc::new(azurite::new_store()), 300).await;
}

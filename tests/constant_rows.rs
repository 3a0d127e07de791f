//! INSERTs of many rows of constants do the same whether their rows are cut out of the text or parsed and bound: the same tables,
//! tags, rows of RETURNING and errors.
//!
//! Random statements, some with a value that is not of its column's type, run in two servers, one way in each.

use std::fmt::Write;
use std::sync::Arc;

use crate::support::in_memory;
use crate::support::lines::lines;
use crate::support::rng::Rng;
use tablegate::sql::EngineConfig;
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Repeated, Session};
use tablegate::types::error::SqlError;

const STATEMENTS: u64 = 150;

/// Columns of each type, values that they take, and some that are cut out of the text and are wrong, or are not cut out.
const COLUMNS: &[(&str, &[&str], &[&str])] = &[
    ("small int2", &["1", "-32768", "'7'", "NULL", "3::int2"], &["32768", "1.5", "'x'", "-32768::int2", "true"]),
    ("whole int", &["1", "-2147483648", "'+7'", "4::integer"], &["2147483648", "1.5", "0x1f", "5::bigint", "DEFAULT"]),
    (
        "big int8",
        &["9223372036854775807", "-1", "NULL::bigint", "'5'::int8"],
        &["9223372036854775808", "1e3", "2::int"],
    ),
    ("short float4", &["1", "-0", "1.5", "3.4e38", "'NaN'", "16777217", "'Infinity'::real"], &["1e39", "-0.0", "'x'"]),
    ("long float8", &["1", "-0.0", "1e300", "'-infinity'", "'1.5'::float", "9007199254740993"], &["1e400", "1e-400"]),
    ("bare numeric", &["1", "-1.50", "12345678901234567890.123", "'0.1'", "-0.00", "1e5"], &["'NaN'", "1e80", "''"]),
    ("exact numeric(10, 2)", &["1.005", "-1", "'2.345'::numeric", "3.14"], &["123456789", "'a'"]),
    (
        "words text",
        &["''", "'it''s'", "E'a\\\\b'", "'ü; (1), $1 -- no'", "'x'::text"],
        &["1", "true", "E'a\\nb'", "U&'\\0061'"],
    ),
    ("few varchar(5)", &["'abcde'", "'abcde   '", "NULL"], &["'abcdef'", "5", "'abcdef'::varchar"]),
    ("padded char(3)", &["'a'", "'abc'"], &["'abcd'", "'a'::text"]),
    ("yes bool", &["true", "FALSE", "'t'", "'off'", "true::bool"], &["1", "'maybe'"]),
    (
        "day date",
        &["'2024-02-29'", "'20240101'", "'2024-01-01'::date"],
        &["'2023-02-29'", "1", "'2024-01-01'::timestamp"],
    ),
    (
        "moment timestamp",
        &["'2024-01-01 10:00'", "'2024-01-01T10:00:00.123456'::timestamp"],
        &["'soon'", "'2024-01-01'::date"],
    ),
    ("rounded timestamp(0)", &["'2024-01-01 10:00:00.5'", "NULL"], &["'2024-01-01 10:00:00.5'::timestamp", "'x'"]),
    (
        "zoned timestamptz",
        &["'2024-01-01 10:00+02'", "'2024-01-01T10:00:00-07:00'::timestamptz"],
        &["''", "'2024-01-01'::date"],
    ),
    ("clock time", &["'10:11:12.5'", "'24:00'::time"], &["'25:00'"]),
    ("span interval", &["'1 day 2:03'", "'5'", "'P1M'::interval"], &["'x'", "5"]),
    ("days interval day", &["'3 days 4 hours'", "'5'"], &["'5'::interval"]),
    ("name uuid", &["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"], &["'a0'"]),
    ("bytes bytea", &["'\\x00ff'", "'\\x'::bytea", "'abc'"], &["'\\x0'"]),
    ("tree jsonb", &["'{\"b\": 1, \"a\": [null]}'", "'1'::jsonb"], &["'{'"]),
    ("leaf json", &["'{\"b\": 1}'"], &["'{\"b\"'"]),
    ("list int[]", &["'{1,2,NULL}'", "'{}'"], &["'{a}'", "ARRAY[1]", "'{1}'::int[]"]),
];

const TAILS: &[&str] = &[
    "",
    ";",
    "\n ; -- all of it",
    " ON CONFLICT DO NOTHING",
    " ON CONFLICT (id) DO UPDATE SET whole = EXCLUDED.small + 1, words = 'was ' || t.words",
    " RETURNING *",
    " ON CONFLICT (id) DO NOTHING RETURNING id, bare * 2",
];

async fn session() -> Session {
    let mut session = in_memory::session(EngineConfig::default()).await;
    let columns: Vec<&str> = COLUMNS.iter().map(|(column, ..)| *column).collect();
    let made = format!(
        "CREATE TABLE t (id int PRIMARY KEY, {}, counted int GENERATED ALWAYS AS IDENTITY, CHECK (whole <> 1))",
        columns.join(", ")
    );
    run(&mut session, &made, false).await.unwrap();
    session
}

/// The rows of a statement, or its tag, as text; its error as text.
async fn run(session: &mut Session, sql: &str, is_cut: bool) -> Result<Vec<String>, String> {
    let outcome = rows(session, sql, is_cut).await;
    outcome.map_err(|error| {
        session.fail();
        format!("{error:?}")
    })
}

async fn rows(session: &mut Session, sql: &str, is_cut: bool) -> Result<Vec<String>, Box<SqlError>> {
    let (prepared, parameters) = match is_cut {
        true => {
            let Repeated { prepared, parameters } = session.repeated(sql).await.expect("its rows are cut out");
            (prepared, parameters)
        }
        false => {
            let statement = session.parse(sql)?.pop().expect("there is a statement");
            (Arc::new(session.prepare(statement, &[]).await?), Vec::new())
        }
    };
    match session.execute(&prepared, parameters, Position::Last).await? {
        Outcome::Rows(rows) => lines(session, rows).await,
        Outcome::Done(tag) => Ok(vec![tag.to_string()]),
        Outcome::CopyIn(_) | Outcome::CopyOut(_) => Ok(Vec::new()),
    }
}

/// A statement, and whether all of its values are such as are cut out.
fn statement(rng: &mut Rng, wrong_percent: usize) -> (String, bool) {
    let of_columns: Vec<usize> = (0..COLUMNS.len()).filter(|_| rng.percent(40)).collect();
    let mut sql = "INSERT INTO t (id".to_owned();
    for column in &of_columns {
        let (name, _) = COLUMNS[*column].0.split_once(' ').expect("a name and a type");
        write!(sql, ", {name}").expect("memory is there");
    }
    sql.push_str(if rng.percent(50) { ") VALUES\n" } else { ")values " });
    // Values that are only sometimes wrong stand in a row of their own.
    let wrong = rng.percent(wrong_percent).then(|| rng.below(101));
    let (rows, first, mut is_plain) = (101 + rng.below(40), rng.below(3000), true);
    for row in 0..rows {
        let separator = if row == 0 { "" } else { rng.pick(&[", ", ",", ",\n\t", " /* and */, "]) };
        write!(sql, "{separator}({}", first + row).expect("memory is there");
        for column in &of_columns {
            let (_, right, other) = COLUMNS[*column];
            let takes_other = wrong == Some(row) && rng.percent(30);
            is_plain = is_plain && !takes_other;
            let value = if takes_other { rng.pick(other) } else { rng.pick(right) };
            write!(sql, "{}{value}", rng.pick(&[", ", ",", " , "])).expect("memory is there");
        }
        sql.push(')');
    }
    sql.push_str(rng.pick(TAILS));
    (sql, is_plain)
}

#[tokio::test]
async fn rows_that_are_cut_out_are_those_that_are_parsed() {
    let (mut cut, mut parsed) = (session().await, session().await);
    let (mut inserted, mut failed) = (0, 0);
    for number in 0..STATEMENTS {
        let (sql, is_plain) = statement(&mut Rng::of_case(29, number), 40);
        let is_cut = is_plain || cut.repeated(&sql).await.is_some();
        let (left, right) = (run(&mut cut, &sql, is_cut).await, run(&mut parsed, &sql, false).await);
        assert_eq!(left, right, "statement {number}: {sql}");
        match left {
            Ok(_) => inserted += 1,
            Err(_) => failed += 1,
        }
        if number % 10 == 0 {
            let contents = "SELECT * FROM t ORDER BY id";
            assert_eq!(run(&mut cut, contents, false).await, run(&mut parsed, contents, false).await, "after {sql}");
        }
    }
    assert!(inserted > 30 && failed > 30, "{inserted} inserted, {failed} failed");
}

#[tokio::test]
async fn rows_that_were_cut_out_outlive_changes_of_their_table() {
    let mut session = session().await;
    let rows: Vec<String> = (0..150).map(|n| format!("({n}, '{}', '2024-01-02', {n}.5)", n + 2)).collect();
    let text = format!("INSERT INTO t (id, whole, day, bare) VALUES {}", rows.join(", "));
    let prepared = session.many_rows(&text, &[]).await.expect("its rows are cut out");
    for change in [
        "SELECT 1",
        "ALTER TABLE t ADD COLUMN more int DEFAULT 5",
        "ALTER TABLE t ALTER COLUMN bare TYPE float8",
        "SET DateStyle = 'SQL, DMY'",
        "SET TimeZone = 'Asia/Tokyo'",
    ] {
        run(&mut session, change, false).await.unwrap();
        run(&mut session, "DELETE FROM t", false).await.unwrap();
        let outcome = session.execute(&prepared, Vec::new(), Position::Last).await;
        assert!(matches!(outcome, Ok(Outcome::Done(tag)) if tag.to_string() == "INSERT 0 150"), "after {change}");
        let sums = "SELECT count(*), sum(whole), sum(bare)::int, min(day) = date '2024-01-02' FROM t";
        assert_eq!(run(&mut session, sums, false).await.unwrap(), ["|150|11475|11250|t"], "after {change}");
    }
    run(&mut session, "DROP TABLE t", false).await.unwrap();
    let missing = session.execute(&prepared, Vec::new(), Position::Last).await.err().expect("the table is gone");
    assert!(missing.message.contains("\"t\" does not exist"), "{missing}");
}

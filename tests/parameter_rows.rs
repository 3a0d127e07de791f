//! INSERTs of several rows that are written alike but for their parameters do the same whether they are planned by their first row or
//! row by row: the same types of parameters, tables, tags, rows of RETURNING and errors.
//!
//! Random statements, whose parameters are declared as clients declare them, run in two servers, one way in each.

use std::fmt::Write;

use datafusion::common::ScalarValue;

use crate::support::in_memory;
use crate::support::lines::lines;
use crate::support::rng::Rng;
use tablegate::sql::EngineConfig;
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session};
use tablegate::types::error::{SqlError, SqlResult};
use tablegate::types::input::parse_text_as;
use tablegate::types::sql_type::SqlType;

const STATEMENTS: u64 = 150;

/// Columns, how their values are written, and the types that parameters are declared with.
const COLUMNS: &[(&str, &[&str], &[SqlType])] = &[
    ("small int2", &["?", "?::int2", "?::int"], &[SqlType::Int2, SqlType::Unknown, SqlType::Int4, SqlType::Text]),
    (
        "whole int",
        &["?", "?::INTEGER", "DEFAULT", "17"],
        &[SqlType::Int2, SqlType::Int4, SqlType::Unknown, SqlType::Int8],
    ),
    ("big int8", &["?", "?::BIGINT", "? + 1"], &[SqlType::Int2, SqlType::Int4, SqlType::Int8, SqlType::Unknown]),
    ("short float4", &["?", "?::float8"], &[SqlType::Float8, SqlType::Float4, SqlType::Unknown]),
    ("long float8", &["?", "?::DOUBLE PRECISION"], &[SqlType::Float8, SqlType::Unknown, SqlType::Int8]),
    ("bare numeric", &["?", "?::numeric"], &[SqlType::Numeric(None), SqlType::Unknown, SqlType::Int4, SqlType::Float8]),
    ("exact numeric(10, 2)", &["?", "?::numeric(10, 2)"], &[SqlType::Numeric(None), SqlType::Unknown, SqlType::Int2]),
    (
        "words text",
        &["?", "?::VARCHAR", "?::text", "NULL", "'it''s'"],
        &[SqlType::Unknown, SqlType::Text, SqlType::Varchar(None)],
    ),
    ("few varchar(5)", &["?", "?::VARCHAR"], &[SqlType::Unknown, SqlType::Varchar(None), SqlType::Text]),
    ("yes bool", &["?", "?::BOOLEAN", "true"], &[SqlType::Bool, SqlType::Unknown]),
    ("day date", &["?", "?::DATE", "'2024-02-29'"], &[SqlType::Date, SqlType::Unknown, SqlType::Timestamp]),
    (
        "moment timestamp(0)",
        &["?", "?::TIMESTAMP WITHOUT TIME ZONE"],
        &[SqlType::Timestamp, SqlType::Unknown, SqlType::Timestamptz],
    ),
    (
        "zoned timestamptz",
        &["?", "?::TIMESTAMP WITH TIME ZONE", "DEFAULT"],
        &[SqlType::Timestamptz, SqlType::Unknown, SqlType::Date],
    ),
    ("name uuid", &["?", "?::UUID"], &[SqlType::Uuid, SqlType::Unknown]),
    ("bytes bytea", &["?", "?::BYTEA"], &[SqlType::Bytea, SqlType::Unknown]),
    ("tree jsonb", &["?", "?::JSONB"], &[SqlType::Jsonb, SqlType::Unknown, SqlType::Text]),
];

const TAILS: &[&str] = &[
    "",
    ";",
    " ON CONFLICT DO NOTHING",
    " ON CONFLICT (id) DO UPDATE SET whole = EXCLUDED.whole, words = 'was ' || t.words",
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
    let made = made.replace("zoned timestamptz", "zoned timestamptz DEFAULT '2024-01-01 00:00+00'");
    run(&mut session, &made, None).await.unwrap();
    session
}

/// A statement with the types that its parameters are declared with, and their values as text.
struct Given {
    sql: String,
    declared: Vec<SqlType>,
    values: Vec<Option<String>>,
}

/// Text that each of these types, and most columns, can read.
fn value(rng: &mut Rng, sql_type: &SqlType, column: &str) -> String {
    let like = match sql_type {
        SqlType::Unknown | SqlType::Text | SqlType::Varchar(_) => column.split(' ').nth(1).unwrap_or_default(),
        SqlType::Bool => "bool",
        SqlType::Date => "date",
        SqlType::Timestamp => "timestamp(0)",
        SqlType::Timestamptz => "timestamptz",
        SqlType::Uuid => "uuid",
        SqlType::Bytea => "bytea",
        SqlType::Jsonb => "jsonb",
        SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_) => "numeric",
        _ => "int",
    };
    // One is refused by a check.
    let number = if rng.below(4000) == 0 { 1 } else { 2 + rng.below(98) };
    match like {
        "bool" => rng.pick(&["t", "false", "on"]).to_string(),
        "date" => format!("2024-03-{:02}", 1 + number % 28),
        "timestamp(0)" => format!("2024-03-{:02} 10:11:12.{number}", 1 + number % 28),
        "timestamptz" => format!("2024-03-{:02} 10:11:12+02", 1 + number % 28),
        "uuid" => format!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd38{number:04}"),
        "bytea" => format!("\\x{number:04}"),
        "jsonb" => format!("{{\"b\": [{number}, null], \"a\": 1}}"),
        "text" => format!("it's {number}; $1 (ü)"),
        "varchar(5)" if rng.below(1000) == 0 => "abcdefg".to_owned(),
        "varchar(5)" => rng.pick(&["ab", "abcde", "abcde  "]).to_string(),
        "numeric" | "numeric(10," | "float4" | "float8" => format!("{number}.{}", rng.below(1000)),
        _ => number.to_string(),
    }
}

fn given(rng: &mut Rng) -> Given {
    let of_columns: Vec<usize> = (0..COLUMNS.len()).filter(|_| rng.percent(40)).collect();
    let mut sql = "INSERT INTO t (id".to_owned();
    let mut cells = vec![("?", vec![[SqlType::Int4, SqlType::Unknown][rng.below(2)].clone()], "id int")];
    for column in &of_columns {
        let (name, written, types) = COLUMNS[*column];
        write!(sql, ", {}", name.split(' ').next().unwrap_or_default()).expect("memory is there");
        // Most clients declare a column in one way; some values are of another type, or of none.
        let kinds = if rng.percent(60) { 1 } else { 1 + rng.below(3) };
        let first = if rng.percent(97) { rng.below(types.len().min(2)) } else { rng.below(types.len()) };
        let types: Vec<SqlType> =
            (0..kinds).map(|kind| types[(first + kind) % types.len().min(first.max(2) + 1)].clone()).collect();
        let form = if rng.percent(50) { written[0] } else { rng.pick(written) };
        cells.push((form, types, name));
    }
    sql.push_str(") VALUES ");
    let (rows, start) = (8 + rng.below(200), rng.below(30_000));
    let (mut declared, mut values) = (Vec::new(), Vec::new());
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for (place, (form, types, column)) in cells.iter().enumerate() {
            if place > 0 {
                sql.push_str(", ");
            }
            if form.contains('?') {
                let sql_type = types[rng.below(types.len())].clone();
                values.push(match place {
                    0 => Some((start + row).to_string()),
                    _ => (!rng.percent(10)).then(|| value(rng, &sql_type, column)),
                });
                declared.push(sql_type);
            }
            sql.push_str(&form.replace('?', &format!("${}", declared.len())));
        }
        sql.push(')');
    }
    sql.push_str(rng.pick(TAILS));
    // Some drivers declare nothing.
    if rng.percent(20) {
        let are_unknown = |sql_type: &SqlType| *sql_type == SqlType::Unknown;
        if declared.iter().all(are_unknown) {
            declared.clear();
        }
    }
    Given { sql, declared, values }
}

/// The types of the parameters, and the rows of a statement, or its tag, as text; its error as text. Whether it was planned by its
/// first row.
async fn run(session: &mut Session, sql: &str, given: Option<(&Given, bool)>) -> Result<(Vec<String>, bool), String> {
    let outcome = try_run(session, sql, given).await;
    outcome.map_err(|error| {
        session.fail();
        format!("{error:?}")
    })
}

async fn try_run(session: &mut Session, sql: &str, given: Option<(&Given, bool)>) -> SqlResult<(Vec<String>, bool)> {
    let declared = given.map_or(&[][..], |(given, _)| &given.declared);
    let planned = match given {
        Some((_, true)) => session.many_rows(sql, declared).await,
        _ => None,
    };
    let by_first = planned.is_some();
    let prepared = match planned {
        Some(prepared) => prepared,
        None => {
            let statement = session.parse(sql)?.pop().expect("there is a statement");
            session.prepare(statement, declared).await?
        }
    };
    let mut told: Vec<String> = Vec::new();
    let mut parameters = Vec::new();
    if let Some((given, _)) = given {
        told.push(prepared.parameters.iter().map(|sql_type| format!(" {sql_type}")).collect());
        told.extend(prepared.columns.iter().flat_map(|columns| columns.iter()).map(|c| format!("{c:?}")));
        for (sql_type, value) in prepared.parameters.iter().zip(&given.values) {
            parameters.push(match value {
                Some(text) => parse_text_as(sql_type, text, session.reading())?,
                None => ScalarValue::try_new_null(&sql_type.arrow()).expect("each type has a NULL"),
            });
        }
    }
    match session.execute(&prepared, parameters, Position::Last).await? {
        Outcome::Rows(rows) => told.extend(lines(session, rows).await?),
        Outcome::Done(tag) => told.push(tag.to_string()),
        Outcome::CopyIn(_) | Outcome::CopyOut(_) => {}
    }
    Ok((told, by_first))
}

#[tokio::test]
async fn rows_planned_by_their_first_are_those_that_are_planned_one_by_one() {
    let (mut first, mut each) = (session().await, session().await);
    let (mut by_first, mut inserted, mut failed) = (0, 0, 0);
    for number in 0..STATEMENTS {
        let given = given(&mut Rng::of_case(31, number));
        let left = run(&mut first, &given.sql, Some((&given, true))).await;
        let right = run(&mut each, &given.sql, Some((&given, false))).await;
        let (left, right) = (
            left.inspect(|(_, planned)| by_first += usize::from(*planned)).map(|(told, _)| told),
            right.map(|(told, _)| told),
        );
        assert_eq!(left, right, "statement {number}, {:?}: {}", given.declared, given.sql);
        match left {
            Ok(_) => inserted += 1,
            Err(_) => failed += 1,
        }
        if number % 10 == 0 {
            let contents = "SELECT * FROM t ORDER BY id";
            assert_eq!(run(&mut first, contents, None).await, run(&mut each, contents, None).await, "{}", given.sql);
        }
    }
    assert!(
        by_first > 60 && inserted > 60 && failed > 10,
        "{by_first} by the first, {inserted} inserted, {failed} failed"
    );
}

#[tokio::test]
async fn rows_planned_by_their_first_outlive_changes_of_their_table() {
    let mut session = session().await;
    let rows: Vec<String> = (0..150).map(|n| format!("(${}, ${}::INTEGER, DEFAULT)", 2 * n + 1, 2 * n + 2)).collect();
    let text = format!("INSERT INTO t (id, whole, zoned) VALUES {}", rows.join(","));
    let prepared = session.many_rows(&text, &[]).await.expect("they are planned by the first");
    for change in ["SELECT 1", "ALTER TABLE t ADD COLUMN more int DEFAULT 5", "SET TimeZone = 'Asia/Tokyo'"] {
        run(&mut session, change, None).await.unwrap();
        run(&mut session, "DELETE FROM t", None).await.unwrap();
        let reading = session.reading();
        let value = |n: usize| parse_text_as(&SqlType::Int4, &(n / 2 + n % 2 * 2).to_string(), reading);
        let parameters = (0..300).map(value).collect::<Result<Vec<_>, Box<SqlError>>>().unwrap();
        let outcome = session.execute(&prepared, parameters, Position::Last).await;
        assert!(matches!(outcome, Ok(Outcome::Done(tag)) if tag.to_string() == "INSERT 0 150"), "after {change}");
        let sums = "SELECT count(*), sum(whole), count(zoned) FROM t";
        assert_eq!(run(&mut session, sums, None).await.unwrap().0, ["|150|11475|150"], "after {change}");
    }
}

/// Lists of VALUES in FROM, as mappers insert from them, and as keys are looked up.
#[tokio::test]
async fn lists_of_parameters_give_the_rows_that_lists_of_constants_give() {
    let rows: Vec<[String; 4]> = (0..200)
        .map(|n: i32| {
            let words = if n % 7 == 0 { "NULL".to_owned() } else { format!("w {n}") };
            [n.to_string(), (2 + n % 90).to_string(), words, format!("2024-03-{:02} 10:11:12.5", 1 + n % 28)]
        })
        .collect();
    let forms = ["::INTEGER", "", "::VARCHAR", "::TIMESTAMP WITHOUT TIME ZONE"];
    let statements = [
        "INSERT INTO t (id, whole, words, moment) SELECT p0::INTEGER, p1, p2::VARCHAR, p3 FROM (VALUES {list}) \
            AS imp_sen(p0, p1, p2, p3) ORDER BY p0 DESC RETURNING id, t.words AS w, moment, counted",
        "SELECT v.*, t.words IS NOT DISTINCT FROM v.c FROM (VALUES {list}) AS v(a, b, c, d) JOIN t ON t.id = v.a AND t.whole = v.b ORDER BY 1",
        "SELECT b, count(*), max(c), min(d), sum(a) FROM (VALUES {list}) AS v(a, b, c, d) GROUP BY b ORDER BY b",
        "WITH v(a, b, c, d) AS (VALUES {list}) UPDATE t SET words = v.c || '!' FROM v WHERE t.id = v.a AND v.b > 30 RETURNING t.id, t.words",
        "SELECT id FROM t WHERE (id, whole) IN (SELECT a, b FROM (VALUES {list}) AS v(a, b, c, d) WHERE c > 'w 5') ORDER BY id",
        "VALUES {list} ORDER BY 2 DESC, 1 LIMIT 5",
        "SELECT * FROM (VALUES {list}) AS v(a, b, c, d) WHERE d > '2024-03-20' AND a < 50 ORDER BY a",
    ];
    for count in [3, 64, 200] {
        let (mut with_parameters, mut with_constants) = (session().await, session().await);
        for statement in statements {
            let (mut values, mut declared, mut parameters, mut constants) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for row in &rows[..count] {
                let (mut by_number, mut by_value) = (Vec::new(), Vec::new());
                for (place, value) in row.iter().enumerate() {
                    let sql_type = [SqlType::Int2, SqlType::Int4, SqlType::Unknown, SqlType::Timestamp][place].clone();
                    let text = (value != "NULL").then(|| value.clone());
                    let quoted = text.as_ref().map_or("NULL".to_owned(), |text| format!("'{text}'"));
                    by_value.push(format!("{quoted}{}", if place == 1 { "::int" } else { forms[place] }));
                    declared.push(sql_type);
                    values.push(text);
                    by_number.push(format!("${}{}", declared.len(), forms[place]));
                }
                parameters.push(format!("({})", by_number.join(", ")));
                constants.push(format!("({})", by_value.join(", ")));
            }
            let sql = statement.replace("{list}", &parameters.join(", "));
            let given = Given { sql: sql.clone(), declared, values };
            let left = run(&mut with_parameters, &sql, Some((&given, false))).await.map(|(told, _)| told);
            let of_constants = statement.replace("{list}", &constants.join(", "));
            let right = run(&mut with_constants, &of_constants, None).await.map(|(told, _)| told);
            let (left, right) = (left.unwrap_or_else(|e| panic!("{statement}: {e}")), right.unwrap());
            assert!(
                left.ends_with(&right) && (count < 64 || !right.is_empty()),
                "{count} rows: {statement}: {left:?} and not {right:?}"
            );
        }
    }
}

//! Reads and changes by key in short ways give what they give without: the same rows in the same order, the same tags and
//! errors, and the same tables.
//!
//! Random queries over tables of every kind of key run on one session with `tablegate.direct_reads` on and off, once with
//! their values in the text and once as parameters; a transaction's own writes lie over some of the rows. Random changes
//! run on two servers, in short ways on the one alone.

use std::sync::Arc;

use crate::support::lines::lines;
use crate::support::rng::Rng;
use bytes::BytesMut;
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::{Outcome, SingleRow, Value};
use tablegate::sql::session::{Position, Repeated, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::types::ScalarValue;
use tablegate::types::error::SqlError;
use tablegate::types::output::write_value;
use tablegate::types::sql_type::SqlType;

type SqlResult<T> = Result<T, Box<SqlError>>;

const QUERIES: u64 = 600;
const CHANGES: u64 = 500;

const TABLES: &[(&str, &[&str])] = &[
    (r#"CREATE TABLE raw ("PartitionKey" text, "RowKey" text, n int)"#, &[r#""PartitionKey""#, r#""RowKey""#]),
    ("CREATE TABLE two (a text, b int, n int, PRIMARY KEY (a, b))", &["a", "b"]),
    (
        "CREATE TABLE one (a text, b int, n int, PRIMARY KEY (a, b)) WITH (partition_key = '''all''', row_key = 'a, b')",
        &["a", "b"],
    ),
    (
        "CREATE TABLE down (a text, b int, n int, PRIMARY KEY (a, b)) WITH (partition_key = 'a', row_key = 'b DESC')",
        &["a", "b"],
    ),
    (
        "CREATE TABLE spread (a text, b int, n int, PRIMARY KEY (a, b)) WITH (partition_key = 'bucket(3)', row_key = 'a, b')",
        &["a", "b"],
    ),
];

async fn session() -> Session {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let engine = Engine::open(store, clock, EngineConfig::default()).await.expect("an empty store opens");
    Session::new(engine, SessionOptions::default()).expect("no settings were given")
}

/// The rows of a statement as text; its error as text.
async fn run(session: &mut Session, sql: &str, parameters: Vec<ScalarValue>) -> Result<Vec<String>, String> {
    let outcome = rows(session, sql, parameters).await;
    outcome.map_err(|error| {
        session.fail();
        format!("{:?}: {}", error.kind, error.message)
    })
}

async fn rows(session: &mut Session, sql: &str, parameters: Vec<ScalarValue>) -> SqlResult<Vec<String>> {
    let types: Vec<SqlType> = parameters.iter().map(sql_type).collect();
    let (prepared, parameters) = match session.repeated(sql).await {
        Some(Repeated { prepared, parameters }) => (prepared, parameters),
        None => {
            let statement = session.parse(sql)?.pop().expect("there is a statement");
            (Arc::new(session.prepare(statement, &types).await?), parameters)
        }
    };
    if let Some(single) = session.execute_single(&prepared, &parameters, Position::Last).await? {
        return Ok(single.row.iter().map(|row| line(session, row)).collect());
    }
    let rows = match session.execute(&prepared, parameters, Position::Last).await? {
        Outcome::Rows(rows) => rows,
        Outcome::Done(tag) => return Ok(vec![tag.to_string()]),
        Outcome::CopyIn(_) | Outcome::CopyOut(_) => return Ok(Vec::new()),
    };
    lines(session, rows).await
}

/// A row that was read by its key, as [`lines`] shows rows.
fn line(session: &Session, row: &SingleRow) -> String {
    let style = session.output_style();
    let mut line = BytesMut::new();
    for value in row.values() {
        line.extend_from_slice(b"|");
        if value != Value::Null {
            write_value(value, &style, &mut line);
        }
    }
    String::from_utf8(line.to_vec()).expect("values are text")
}

fn sql_type(value: &ScalarValue) -> SqlType {
    match value {
        ScalarValue::Int32(_) => SqlType::Int4,
        ScalarValue::Int64(_) => SqlType::Int8,
        _ => SqlType::Text,
    }
}

/// A value as it stands in a text, and as a parameter.
fn literal(rng: &mut Rng, is_text: bool) -> (String, ScalarValue) {
    if rng.percent(4) {
        return ("NULL".to_owned(), if is_text { ScalarValue::Utf8(None) } else { ScalarValue::Int32(None) });
    }
    if is_text {
        let text = rng.pick(&["", "a", "b", "ab", "c", "zz"]);
        return (format!("'{text}'"), ScalarValue::Utf8(Some(text.to_owned())));
    }
    let number = rng.pick(&[-7, 0, 1, 2, 3, 5, 8, 2_000_000]);
    if rng.percent(20) {
        return (format!("{number}::bigint"), ScalarValue::Int64(Some(i64::from(number))));
    }
    (number.to_string(), ScalarValue::Int32(Some(number)))
}

/// A query that grows, with its values in the text and as parameters.
#[derive(Default)]
struct Query {
    text: String,
    with_parameters: String,
    parameters: Vec<ScalarValue>,
}

impl Query {
    fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self.with_parameters.push_str(text);
        self
    }

    fn push_value(&mut self, rng: &mut Rng, is_text: bool) -> &mut Self {
        let (text, value) = literal(rng, is_text);
        self.text.push_str(&text);
        self.parameters.push(value);
        self.with_parameters.push_str(&format!("${}", self.parameters.len()));
        self
    }

    fn push_condition(&mut self, rng: &mut Rng, column: &str, is_text: bool) {
        match rng.below(10) {
            0..=3 => self.push(column).push(" = ").push_value(rng, is_text),
            4 if !is_text => self.push(column).push(" = ").push_value(rng, is_text).push(" + 1"),
            4 => self.push(column).push(" = ").push_value(rng, is_text).push(" || 'b'"),
            5 => self.push_value(rng, is_text).push(" <= ").push(column),
            6 => self.push(column).push(rng.pick(&[" < ", " >= ", " > ", " <> "])).push_value(rng, is_text),
            7 => {
                self.push(column).push(" IN (").push_value(rng, is_text);
                self.push(", ").push_value(rng, is_text).push(")")
            }
            8 => {
                self.push(column).push(" BETWEEN ").push_value(rng, is_text);
                self.push(" AND ").push_value(rng, is_text)
            }
            _ => self.push("n > 20"),
        };
    }

    /// A query of one table by its key columns, a text and (but for raw keys) a number.
    fn of(rng: &mut Rng, table: &str, keys: &[&str]) -> Self {
        let mut query = Self::default();
        let outputs = rng.pick(&[
            "*",
            "n",
            "n, {0}",
            "{1} AS x, n + 1 AS m",
            "{0} || 'x', n / 2",
            "upper({0}), n",
            "1",
            "n, now() > 'epoch'",
            "coalesce(n, 0), now()::date - now()::date, {0}",
            "n / 0",
            "10 / n",
        ]);
        query.push("SELECT ").push(&outputs.replace("{0}", keys[0]).replace("{1}", keys[1]));
        query.push(" FROM ").push(table);
        for (index, column) in keys.iter().enumerate() {
            if rng.percent(85) {
                query.push(if query.text.contains(" WHERE ") { " AND " } else { " WHERE " });
                query.push_condition(rng, column, index == 0 || table == "raw");
            }
        }
        if rng.percent(30) {
            query.push(if query.text.contains(" WHERE ") { " AND " } else { " WHERE " });
            match rng.below(4) {
                0 => query.push("n IS NOT NULL"),
                1 => query.push("10 / n < ").push_value(rng, false),
                _ => query.push("n / 10 ").push_one_of(rng, &["= ", "<> ", "> "]).push_value(rng, false),
            };
        }
        let order = rng.pick(&["{0}, {1}", "{1}", "{1} DESC", "{0} DESC, {1} DESC", "{1}, {0}", "{0}, {1} DESC"]);
        query.push(" ORDER BY ").push(&order.replace("{0}", keys[0]).replace("{1}", keys[1]));
        // What the order leaves open is decided, so that there is one right answer.
        query.push(", ").push(keys[0]).push(", ").push(keys[1]);
        if rng.percent(40) {
            query.push_one_of(rng, &[" LIMIT 0", " LIMIT 1", " LIMIT 3", " OFFSET 1", " LIMIT 2 OFFSET 1"]);
        } else if rng.percent(20) {
            query.push(" LIMIT ").push_value(rng, false);
            if rng.percent(50) {
                query.push(" OFFSET ").push_value(rng, false);
            }
        }
        query
    }
}

async fn set_up(session: &mut Session) {
    for (create, keys) in TABLES {
        run(session, create, Vec::new()).await.expect("the table is made");
        let table = create.split(' ').nth(2).expect("a name follows CREATE TABLE");
        let number = if table == "raw" { "b::text" } else { "b" };
        let fill = format!(
            "INSERT INTO {table} ({}, {}, n) SELECT a, {number}, b * 10 FROM (VALUES (''), ('a'), ('ab'), ('b')) a(a), \
             generate_series(-2, 5) b",
            keys[0], keys[1]
        );
        // An empty text is no partition key on its own.
        let fill =
            if create.contains("partition_key = ''") { fill } else { fill.replace("(VALUES (''), ", "(VALUES ") };
        run(session, &fill, Vec::new()).await.expect("the rows are written");
    }
}

async fn both_ways(session: &mut Session, sql: &str, parameters: &[ScalarValue]) {
    let mut answers = Vec::new();
    for way in ["on", "off"] {
        run(session, &format!("SET tablegate.direct_reads = {way}"), Vec::new()).await.expect("it is a setting");
        let answer = run(session, sql, parameters.to_vec()).await;
        if answer.is_err() {
            // In a block it goes on from there; elsewhere there is nothing to go back to.
            let _ = run(session, "ROLLBACK TO before", Vec::new()).await;
        }
        answers.push(answer);
    }
    assert_eq!(answers[0], answers[1], "directly, and not: {sql} with {parameters:?}");
}

#[tokio::test]
async fn both_ways_give_the_same_rows() {
    let mut session = session().await;
    set_up(&mut session).await;
    for case in 0..QUERIES {
        let mut rng = Rng::of_case(11, case);
        let (create, keys) = rng.pick(TABLES);
        let table = create.split(' ').nth(2).expect("a name follows CREATE TABLE");
        let query = Query::of(&mut rng, table, keys);
        both_ways(&mut session, &query.text, &[]).await;
        both_ways(&mut session, &query.with_parameters, &query.parameters).await;
    }
}

/// Whether a query's row was read by its key, and shown without a batch.
async fn is_single(session: &mut Session, sql: &str) -> bool {
    let statement = session.parse(sql).expect("it can be parsed").pop().expect("there is a statement");
    let prepared = session.prepare(statement, &[]).await.expect("it can be planned");
    // The first run of a plan finds out whether it is current.
    session.execute(&prepared, Vec::new(), Position::Last).await.expect("it runs");
    session.execute_single(&prepared, &[], Position::Last).await.expect("it runs").is_some()
}

/// A column of each type, and a key of several.
const TYPES: &str = "CREATE TABLE types (k1 text, k2 int, k3 bigint, k4 date, k5 uuid, k6 timestamptz, b bool, i2 smallint, \
                     i4 int, i8 bigint, f8 float8, t text, v varchar(5), y bytea, u uuid, d date, ts timestamp, \
                     tz timestamptz, n numeric(8, 2), c char(3), f4 real, ms timestamp(3), bare numeric, \
                     j jsonb, js json, \
                     PRIMARY KEY (k1, k2, k3, k4, k5, k6))";

const TYPES_ROWS: &str = "INSERT INTO types SELECT 'k', r, -r, date '2024-02-29', '6f1ed002-ab5d-4d4c-9a5e-3f3c1c5d7e11', \
     '2001-02-03 04:05:06.789+00', \
     r = 1, -r, r * 1000, 9007199254740993, v.f, v.t, left(v.t, 5), v.t::bytea, gen_random_uuid(), date '1999-12-31', \
     '2024-05-06 07:08:09.012345', '1969-12-31 23:59:59.999999+00', v.f, left(v.t, 3), v.f, '2024-05-06 07:08:09.0126', v.f * 10, to_jsonb(v.t), json_build_array(v.t, r) \
     FROM (VALUES (1, 0.1::float8, 'plain'), (2, -1e-7, ''), (3, 123456.75, 'é\u{1F600}'), (4, NULL, NULL)) AS v(r, f, t)";

const TYPES_KEY: &str = "k1 = 'k' AND k3 = -{} AND k2 = {} AND k4 = date '2024-02-29' \
     AND k5 = '6f1ed002-ab5d-4d4c-9a5e-3f3c1c5d7e11' AND k6 = timestamptz '2001-02-03 04:05:06.789+00'";

#[tokio::test]
async fn one_row_is_shown_as_a_batch_shows_it() {
    let mut session = session().await;
    for sql in [TYPES, TYPES_ROWS] {
        run(&mut session, sql, Vec::new()).await.expect("it is done");
    }
    let all = "k1, k2, k3, k4, k5, k6, b, i2, i4, i8, f8, t, v, y, u, d, ts, tz, n, c, f4, ms, bare, j, js";
    let outputs =
        [all, "tz, t, k2, i4, t", "k6", "\"PartitionKey\", \"RowKey\", t", "n, j", "c", "f4, i4", "i4 + 1", "etag, i4"];
    let mut singles = 0;
    for style in [
        "",
        "SET TimeZone = 'Asia/Kolkata'",
        "SET DateStyle = 'German'",
        "SET bytea_output = 'escape'",
        "SET extra_float_digits = 0",
    ] {
        if !style.is_empty() {
            run(&mut session, style, Vec::new()).await.expect("it is a setting");
        }
        for (output, row) in outputs.iter().flat_map(|output| (1..=5).map(move |row| (output, row))) {
            let key = TYPES_KEY.replace("{}", &row.to_string());
            let query = format!("SELECT {output} FROM types WHERE {key}");
            both_ways(&mut session, &query, &[]).await;
            run(&mut session, "SET tablegate.direct_reads = on", Vec::new()).await.expect("it is a setting");
            singles += usize::from(is_single(&mut session, &query).await);
        }
    }
    // All but those of what is computed, or of the ETag.
    assert_eq!(singles, 5 * 7 * 5);
}

#[tokio::test]
async fn one_row_is_looked_at_as_a_batch_is() {
    let mut session = session().await;
    for sql in [TYPES, TYPES_ROWS] {
        run(&mut session, sql, Vec::new()).await.expect("it is done");
    }
    let looks = [
        "b",
        "NOT b",
        "b = true",
        "f8 IS NULL",
        "t IS NOT NULL",
        "i4 = 2000",
        "i2 < 0",
        "i8 >= i4",
        "3 <= k2",
        "i4 <> 1000",
        "t = 'plain'",
        "t > 'a'",
        "v <> ''",
        "c = 'pla'",
        "c = 'pl '",
        "n = 0.1",
        "n < 5",
        "n > 0.001",
        "bare = 1",
        "d = '1999-12-31'",
        "ts > '2024-01-01'",
        "ms = '2024-05-06 07:08:09.013'",
        "tz < 'epoch'",
        "u IS NULL",
        "y = 'plain'",
        "f8 = 0.1",
        "f4 > 1",
        "j = '\"plain\"'",
        "t LIKE 'p%'",
        "i4 IN (1000, 2000)",
        "t = NULL",
        "upper(t) = 'PLAIN'",
        "i4 = 1 / (k2 - k2)",
    ];
    let mut singles = 0;
    for case in 0..400 {
        let mut rng = Rng::of_case(13, case);
        let key = TYPES_KEY.replace("{}", &rng.pick(&[1, 2, 3, 4, 5]).to_string());
        let mut query = format!("SELECT {} FROM types WHERE {key}", rng.pick(&["*", "i4", "t, k3, b", "1"]));
        for _ in 0..rng.pick(&[1, 1, 2, 3]) {
            query.push_str(" AND ");
            query.push_str(rng.pick(&looks));
        }
        both_ways(&mut session, &query, &[]).await;
        run(&mut session, "SET tablegate.direct_reads = on", Vec::new()).await.expect("it is a setting");
        if !query.contains('/') {
            singles += usize::from(is_single(&mut session, &query).await);
        }
    }
    assert!(singles > 100, "{singles}");
}

#[tokio::test]
async fn one_row_is_read_as_the_table_is_now() {
    let mut session = session().await;
    set_up(&mut session).await;
    let query = "SELECT n, b FROM two WHERE a = 'a' AND b = 1";
    assert!(is_single(&mut session, query).await);
    let one = || vec!["|10|1".to_owned()];
    assert_eq!(run(&mut session, query, Vec::new()).await, Ok(one()));
    for (sql, expected) in [
        ("UPDATE two SET n = NULL WHERE a = 'a' AND b = 1", vec!["||1".to_owned()]),
        ("ALTER TABLE two ALTER COLUMN n TYPE bigint", vec!["||1".to_owned()]),
        ("UPDATE two SET n = 5000000000 WHERE a = 'a' AND b = 1", vec!["|5000000000|1".to_owned()]),
        ("DELETE FROM two WHERE a = 'a' AND b = 1", Vec::new()),
        ("BEGIN", Vec::new()),
        ("INSERT INTO two VALUES ('a', 1, 10)", one()),
        ("ROLLBACK", Vec::new()),
    ] {
        run(&mut session, sql, Vec::new()).await.expect("it is done");
        assert_eq!(run(&mut session, query, Vec::new()).await, Ok(expected), "after {sql}");
    }
}

#[tokio::test]
async fn a_transaction_reads_its_own_writes() {
    let mut session = session().await;
    set_up(&mut session).await;
    for sql in [
        "BEGIN",
        "UPDATE two SET n = -1 WHERE a = 'a' AND b = 1",
        "DELETE FROM two WHERE a = 'a' AND b = 2",
        "SAVEPOINT before",
    ] {
        run(&mut session, sql, Vec::new()).await.expect("it is done");
    }
    for case in 0..100 {
        let mut rng = Rng::of_case(12, case);
        let query = Query::of(&mut rng, "two", &["a", "b"]);
        both_ways(&mut session, &query.with_parameters, &query.parameters).await;
    }
    let own = run(&mut session, "SELECT b, n FROM two WHERE a = 'a' AND b IN (1, 2, 3)", Vec::new()).await;
    assert_eq!(own, Ok(vec!["|1|-1".to_owned(), "|3|30".to_owned()]));
}

/// With a column of each kind that assignments have something to say about.
const STRICT: &str = "CREATE TABLE strict (a varchar(3), b int, n smallint NOT NULL DEFAULT 7, d numeric(5, 2), \
                      t text CHECK (t <> 'no'), PRIMARY KEY (a, b))";

impl Query {
    fn push_one_of(&mut self, rng: &mut Rng, texts: &[&'static str]) -> &mut Self {
        self.push(rng.pick(texts))
    }

    /// A change of one of the tables of reads, or of the strict one.
    fn change_of(rng: &mut Rng) -> Self {
        let mut query = Self::default();
        let strict = rng.percent(40);
        let (table, keys): (&str, &[&str]) = if strict {
            ("strict", &["a", "b"])
        } else {
            let (create, keys) = rng.pick(TABLES);
            (create.split(' ').nth(2).expect("a name follows CREATE TABLE"), keys)
        };
        let values = if strict {
            &["1", "-5", "NULL", "'6'", "100000", "DEFAULT", "2.5", "3000000000", "'x'"][..]
        } else {
            &["1", "-5", "NULL", "'6'", "100000", "3000000000", "true"][..]
        };
        match rng.below(10) {
            0..=4 => {
                query.push("INSERT INTO ").push(table).push(&format!(" ({}, {}, n", keys[0], keys[1]));
                query.push(if strict { ", t) VALUES " } else { ") VALUES " });
                for row in 0..rng.pick(&[1, 1, 1, 2, 3]) {
                    query.push(if row > 0 { ", (" } else { "(" }).push_value(rng, true).push(", ");
                    query.push_value(rng, table == "raw").push(", ").push_one_of(rng, values);
                    if strict {
                        query.push_one_of(rng, &[", 'yes'", ", 'no'", ", NULL", ", 'it''s'"]);
                    }
                    query.push(")");
                }
                if rng.percent(40) {
                    query.push(&format!(" ON CONFLICT ({}, {}) DO ", keys[0], keys[1]));
                    query.push_one_of(
                        rng,
                        &[
                            "NOTHING",
                            "UPDATE SET n = EXCLUDED.n",
                            "UPDATE SET n = 5",
                            "UPDATE SET n = EXCLUDED.n + 1",
                            "UPDATE SET n = 100 / EXCLUDED.n",
                        ],
                    );
                    if query.text.contains(" SET ") && rng.percent(40) {
                        query.push(&format!(" WHERE {table}.n < EXCLUDED.n + ")).push_value(rng, false);
                    }
                }
            }
            5..=7 => {
                query.push("UPDATE ").push(table).push(" SET n = ");
                match rng.below(6) {
                    0 => query.push("n + ").push_value(rng, false),
                    1 | 5 => query.push_value(rng, false),
                    2 => query.push("n / ").push_value(rng, false),
                    _ => query.push_one_of(rng, &["n + 1", "0", "'4'", "100000", "n * 30000", "NULL", "1 + 1", "'x'"]),
                };
                if strict {
                    query.push_one_of(
                        rng,
                        &["", ", d = n / 3.0", ", d = 1.555", ", t = 'no'", ", t = t || 'x'", ", a = 'long'"],
                    );
                }
                query.push_keys(rng, table, keys);
            }
            _ => {
                query.push("DELETE FROM ").push(table);
                query.push_keys(rng, table, keys);
            }
        }
        if rng.percent(35) {
            query.push(" RETURNING ");
            match rng.below(4) {
                0 => query.push("n, n + 1 AS m, ").push(keys[0]),
                1 => query.push("*, now() > 'epoch'"),
                2 => query.push("10 / n, coalesce(n, ").push_value(rng, false).push(")"),
                _ => query.push("n + ").push_value(rng, false).push(", upper(").push(keys[0]).push(")"),
            };
        }
        query
    }

    /// A condition on both keys: mostly one row, or a few.
    fn push_keys(&mut self, rng: &mut Rng, table: &str, keys: &[&str]) {
        for (index, column) in keys.iter().enumerate() {
            self.push(if index == 0 { " WHERE " } else { " AND " });
            let is_text = index == 0 || table == "raw";
            if rng.percent(80) {
                self.push(column).push(" = ").push_value(rng, is_text);
            } else {
                self.push_condition(rng, column, is_text);
            }
        }
    }
}

/// Everything in all tables.
async fn contents(session: &mut Session) -> Vec<String> {
    let mut lines = Vec::new();
    for (create, keys) in TABLES {
        let table = create.split(' ').nth(2).expect("a name follows CREATE TABLE");
        let query = format!("SELECT {}, {}, n FROM {table} ORDER BY 1, 2", keys[0], keys[1]);
        lines.extend(run(session, &query, Vec::new()).await.expect("the table can be read"));
    }
    lines.extend(run(session, "SELECT * FROM strict ORDER BY a, b", Vec::new()).await.expect("the table can be read"));
    lines
}

async fn changes_are_the_same(seed: u64, with_parameters: bool) {
    let mut sessions = [session().await, session().await];
    for (session, direct, mode) in [(0, "on", "force_generic_plan"), (1, "off", "force_custom_plan")] {
        let session = &mut sessions[session];
        set_up(session).await;
        for sql in [
            STRICT,
            "INSERT INTO strict (a, b, n) VALUES ('a', 1, 1), ('a', 2, 2), ('b', 3, 3)",
            &format!("SET tablegate.direct_reads = {direct}"),
            &format!("SET plan_cache_mode = {mode}"),
        ] {
            run(session, sql, Vec::new()).await.expect("it is done");
        }
    }
    let [short, long] = &mut sessions;
    for case in 0..CHANGES {
        let mut rng = Rng::of_case(seed, case);
        let change = match rng.below(20) {
            0 => Query { text: "BEGIN".to_owned(), with_parameters: "BEGIN".to_owned(), parameters: Vec::new() },
            1 => Query { text: "COMMIT".to_owned(), with_parameters: "COMMIT".to_owned(), parameters: Vec::new() },
            2 => Query { text: "ROLLBACK".to_owned(), with_parameters: "ROLLBACK".to_owned(), parameters: Vec::new() },
            _ => Query::change_of(&mut rng),
        };
        let (sql, parameters) =
            if with_parameters { (&change.with_parameters, change.parameters) } else { (&change.text, Vec::new()) };
        let answer = run(short, sql, parameters.clone()).await;
        assert_eq!(
            answer,
            run(long, sql, parameters.clone()).await,
            "in a short way, and not: {sql} with {parameters:?}"
        );
        if case % 40 == 39 {
            run(short, "ROLLBACK", Vec::new()).await.expect("it ends a block, or warns");
            run(long, "ROLLBACK", Vec::new()).await.expect("it ends a block, or warns");
            assert_eq!(contents(short).await, contents(long).await, "after {case}: {sql}");
        }
    }
}

#[tokio::test]
async fn changes_with_constants_are_the_same_in_short_ways() {
    changes_are_the_same(13, false).await;
}

#[tokio::test]
async fn changes_with_parameters_are_the_same_in_short_ways() {
    changes_are_the_same(14, true).await;
}

#[tokio::test]
async fn texts_that_come_again_are_planned_once() {
    let mut session = session().await;
    set_up(&mut session).await;
    let text = |b: i32| format!("SELECT n FROM two WHERE a = 'a' AND b = {b}");
    assert!(session.repeated(&text(1)).await.is_none(), "it comes for the first time");
    let first = session.repeated(&text(2)).await.expect("it comes again");
    let second = session.repeated(&text(3)).await.expect("and again");
    assert!(Arc::ptr_eq(&first.prepared, &second.prepared));
    assert_eq!(second.parameters, [ScalarValue::from("a"), ScalarValue::from(3)]);
    assert!(session.repeated("SELECT n FROM two WHERE a = 'a' AND b = '1'").await.is_none(), "of another type");
    run(&mut session, "ALTER TABLE two ADD COLUMN m int", Vec::new()).await.expect("it is done");
    let third = session.repeated(&text(4)).await.expect("it is planned anew");
    assert!(!Arc::ptr_eq(&first.prepared, &third.prepared));
    for _ in 0..3 {
        let ranked = "SELECT rank() OVER (ORDER BY n) FROM two WHERE b = 1";
        assert!(session.repeated(ranked).await.is_none(), "it is no short query");
    }
    let change = |b: i32| format!("INSERT INTO two (a, b, n) VALUES ('q', {b}, 1)");
    assert!(session.repeated(&change(1)).await.is_none(), "it comes for the first time");
    assert!(session.repeated(&change(2)).await.is_some(), "it comes again");
    run(&mut session, "SET egt.mode = observe", Vec::new()).await.expect("it is a setting");
    assert!(session.repeated(&change(3)).await.is_some());
    assert!(session.repeated(&text(5)).await.is_some());
    // It records changes by their own texts.
    for sql in ["BEGIN".to_owned(), change(100), change(200).replace("'q'", "'r'"), "COMMIT".to_owned()] {
        run(&mut session, &sql, Vec::new()).await.expect("it is done");
    }
    let recorded =
        run(&mut session, "SELECT statement FROM egt_violations WHERE statement LIKE 'INSERT%'", Vec::new()).await;
    assert_eq!(recorded, Ok(vec![format!("|{}", change(200).replace("'q'", "'r'"))]));
}

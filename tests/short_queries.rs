//! Joins, aggregates and pages over a few rows give the same in the short way and by a plan of the engine's.
//!
//! Random queries over tables that refer to each other are prepared and run with `tablegate.direct_reads` on and off: what is
//! prepared takes the short way from its second run on.

use std::sync::Arc;

use crate::support::lines::lines;
use crate::support::rng::Rng;
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::{CommandTag, Outcome};
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::types::ScalarValue;
use tablegate::types::sql_type::SqlType;

const QUERIES: u64 = 600;

const SET_UP: &[&str] = &[
    "CREATE TABLE users (id int PRIMARY KEY, name text, age int, boss int)",
    "CREATE TABLE orders (user_id int, n int, total numeric(8, 2), state text, PRIMARY KEY (user_id, n))",
    "CREATE TABLE lines (user_id int, n int, line int, item bigint, weight float8, PRIMARY KEY (user_id, n, line))",
    "CREATE TABLE items (id bigint PRIMARY KEY, label varchar(20), made date)",
    "INSERT INTO users SELECT g, CASE WHEN g % 5 > 0 THEN 'user ' || g % 4 END, g % 7, nullif(g / 3, 0) FROM generate_series(1, 20) g",
    "INSERT INTO orders SELECT u, g, u * g / 3.0, (ARRAY['new', 'sent', NULL])[1 + (u + g) % 3] FROM generate_series(1, 22) u, generate_series(1, 4) g WHERE (u + g) % 4 > 0",
    "INSERT INTO lines SELECT user_id, n, l, (user_id * l) % 12, l / 4.0 FROM orders, generate_series(1, 3) l WHERE (user_id + l) % 5 > 0",
    "INSERT INTO items SELECT g, 'item ' || g, date '2024-01-01' + g FROM generate_series(0, 9) g",
];

/// What rows come from, the names of it with the columns of a key, and the columns that can be shown. Each `{}` is a number.
const SOURCES: &[(&str, &[&str], &[&str])] = &[
    ("users u", &["u.id"], &["u.name", "u.age"]),
    ("orders o", &["o.user_id", "o.n"], &["o.state", "o.total"]),
    ("orders o JOIN users u ON u.id = o.user_id", &["o.user_id", "o.n", "u.id"], &["u.name", "o.total", "o.state"]),
    ("orders o LEFT JOIN users u ON u.id = o.user_id AND u.age > {}", &["o.user_id", "o.n"], &["u.name", "o.total"]),
    ("users u RIGHT JOIN orders o ON u.id = o.user_id", &["o.user_id", "o.n"], &["u.name", "u.id", "o.state"]),
    ("users u FULL JOIN orders o ON u.id = o.user_id AND o.n = {}", &["u.id"], &["u.name", "o.total", "o.n"]),
    ("users u LEFT JOIN users b ON b.id = u.boss", &["u.id", "b.id"], &["b.name", "u.name", "b.age"]),
    ("users u JOIN users b ON b.id = u.boss JOIN users c ON c.id = b.boss", &["u.id", "c.id"], &["c.name", "u.age"]),
    (
        "orders o JOIN lines l ON l.user_id = o.user_id AND l.n = o.n JOIN items i ON i.id = l.item",
        &["o.user_id", "o.n", "l.user_id"],
        &["i.label", "l.weight", "o.state", "i.made"],
    ),
    (
        "lines l LEFT JOIN items i ON i.id = l.item JOIN users u ON u.id = l.user_id",
        &["l.user_id", "l.n", "u.id"],
        &["i.label", "u.name", "l.line"],
    ),
    ("users u, orders o", &["u.id", "o.user_id", "o.n"], &["u.age", "o.total", "o.state"]),
    (
        "users u JOIN (SELECT user_id, count(*) AS c, sum(total) AS s FROM orders GROUP BY user_id) t ON t.user_id = u.id",
        &["u.id", "t.user_id"],
        &["t.c", "t.s", "u.name"],
    ),
    (
        "(SELECT id, name FROM users WHERE id = {} UNION ALL SELECT user_id, state FROM orders WHERE user_id = {}) u",
        &["u.id"],
        &["u.name"],
    ),
    (
        "orders o CROSS JOIN LATERAL (SELECT u.name, u.age FROM users u WHERE u.id = o.user_id) u",
        &["o.user_id"],
        &["u.name", "u.age"],
    ),
];

const CONDITIONS: &[&str] = &[
    "EXISTS (SELECT 1 FROM orders x WHERE x.user_id = {key} AND x.state = 'new')",
    "NOT EXISTS (SELECT 1 FROM orders x WHERE x.user_id = {key} AND x.n > {})",
    "{key} IN (SELECT x.user_id FROM lines x WHERE x.item = {})",
    "{key} NOT IN (SELECT x.id FROM users x WHERE x.age = {})",
    "{key} = (SELECT max(x.user_id) FROM orders x WHERE x.n = {})",
    "{key} > (SELECT count(*) FROM orders x WHERE x.user_id = {})",
    "{key} % 2 = {} % 2",
    "10 / {key} > {}",
    "{key} IS NOT NULL",
    "({key} = {} OR {key} = {})",
    "{key} IN ({}, {}, {}, {}, 3) AND {key} IN ({}, 3, {}, {}, {})",
    "{key} IN ({}, {}, 3, {}, 5) AND {key} NOT IN ({}, {}, 7, {})",
    "({key} NOT IN ({}, {}, {}, 4) OR {key} NOT IN ({}, 5, {}, {}))",
];

const VALUES: &[&str] = &[
    "(SELECT count(*) FROM orders x WHERE x.user_id = {key})",
    "(SELECT max(x.total) FROM orders x WHERE x.user_id = {key} AND x.n <= {})",
    "(SELECT x.name FROM users x WHERE x.id = {key})",
    "EXISTS (SELECT 1 FROM lines x WHERE x.user_id = {key})",
    "(SELECT x.state FROM orders x WHERE x.user_id = {})",
    "coalesce({key}, 0) + {}",
    "now() > 'epoch'",
    "{key} / ({} - 1)",
];

const AGGREGATES: &[&str] = &[
    "count(*)",
    "count({shown})",
    "count(DISTINCT {shown})",
    "min({shown})",
    "max({key})",
    "sum({key})",
    "avg({key})",
    "count(*) FILTER (WHERE {key} > 2)",
    "bool_or({key} = 3)",
    "coalesce(sum({key}), 0)",
];

/// A query that grows: its text, and the values of its parameters.
#[derive(Default)]
struct Query {
    text: String,
    parameters: Vec<ScalarValue>,
}

impl Query {
    /// Takes a part, whose names are filled in and whose numbers are parameters.
    fn push(&mut self, rng: &mut Rng, part: &str, key: &str, shown: &str) {
        let part = part.replace("{key}", key).replace("{shown}", shown);
        let mut pieces = part.split("{}");
        self.text.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let number = rng.pick(&[0, 1, 2, 3, 3, 5, 7, 11, 21, 40]);
            let number = if rng.percent(3) { None } else { Some(number) };
            self.parameters.push(ScalarValue::Int32(number));
            self.text.push_str(&format!("${}{piece}", self.parameters.len()));
        }
    }

    fn of(rng: &mut Rng) -> Self {
        let mut query = Self::default();
        let (from, keys, shown) = rng.pick(SOURCES);
        let is_grouped = rng.percent(40);
        let is_by_key = rng.percent(50);
        let mut outputs = 0;
        query.text.push_str(if !is_grouped && rng.percent(15) { "SELECT DISTINCT " } else { "SELECT " });
        for _ in 0..=rng.below(3) {
            let (key, column) = (rng.pick(keys), rng.pick(shown));
            let part = match rng.below(10) {
                _ if is_grouped => rng.pick(AGGREGATES),
                0..=3 => "{key}",
                4..=6 => "{shown}",
                _ => rng.pick(VALUES),
            };
            query.text.push_str(if outputs > 0 { ", " } else { "" });
            query.push(rng, part, key, column);
            outputs += 1;
        }
        if is_grouped && is_by_key {
            query.text.push_str(&format!(", {}", shown[0]));
            outputs += 1;
        }
        query.text.push_str(" FROM ");
        query.push(rng, from, keys[0], shown[0]);
        let mut word = " WHERE ";
        if rng.percent(85) {
            query.text.push_str(word);
            let part = rng.pick(&["{key} = {}", "{key} = {}", "{key} IN ({}, {}, {})", "{key} BETWEEN {} AND {}"]);
            let key = rng.pick(keys);
            query.push(rng, part, key, shown[0]);
            word = " AND ";
        }
        for _ in 0..rng.pick(&[0, 0, 1, 1, 2]) {
            query.text.push_str(word);
            let (part, key) = (rng.pick(CONDITIONS), rng.pick(keys));
            query.push(rng, part, key, shown[0]);
            word = " AND ";
        }
        if is_grouped && is_by_key {
            query.text.push_str(&format!(" GROUP BY {}", shown[0]));
            if rng.percent(30) {
                query.push(rng, " HAVING count(*) > {}", keys[0], shown[0]);
            }
        }
        // All that comes out is sorted by, so that there is one right answer.
        let places: Vec<String> = (1..=outputs).map(|place| place.to_string()).collect();
        let direction = rng.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
        query.text.push_str(&format!(" ORDER BY {}", places.join(&format!("{direction}, "))));
        if rng.percent(30) {
            let part = rng.pick(&[" LIMIT 2", " LIMIT {}", " LIMIT {} OFFSET {}", " OFFSET 1"]);
            query.push(rng, part, keys[0], shown[0]);
        }
        query
    }
}

async fn session() -> Session {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let engine = Engine::open(store, clock, EngineConfig::default()).await.expect("an empty store opens");
    Session::new(engine, SessionOptions::default()).expect("no settings were given")
}

async fn run(session: &mut Session, sql: &str) {
    let statement = session.parse(sql).expect("it can be parsed").pop().expect("there is a statement");
    let prepared = session.prepare(statement, &[]).await.expect("it can be planned");
    let outcome = session.execute(&prepared, Vec::new(), Position::Last).await;
    outcome.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// The rows of each of three runs, or their errors.
async fn runs(session: &mut Session, query: &Query) -> Vec<Result<Vec<String>, String>> {
    let said = |error: Box<tablegate::types::error::SqlError>| format!("{:?}: {}", error.kind, error.message);
    let types = vec![SqlType::Int4; query.parameters.len()];
    let statement = session.parse(&query.text).expect("it can be parsed").pop().expect("there is a statement");
    let prepared = match session.prepare(statement, &types).await {
        Ok(prepared) => prepared,
        Err(error) => return vec![Err(said(error))],
    };
    let mut runs = Vec::new();
    for _ in 0..3 {
        let rows = match session.execute(&prepared, query.parameters.clone(), Position::Last).await {
            Ok(Outcome::Rows(rows)) => lines(session, rows).await,
            Ok(_) => unreachable!("it is a query"),
            Err(error) => Err(error),
        };
        runs.push(rows.map_err(said));
    }
    runs
}

/// Compares queries of which `is_asked` says that they are to be.
async fn compare(session: &mut Session, seed: u64, queries: u64, is_asked: impl Fn(&Query) -> bool) {
    let mut failed = 0;
    for case in 0..queries {
        let mut rng = Rng::of_case(seed, case);
        let query = Query::of(&mut rng);
        if !is_asked(&query) {
            continue;
        }
        run(session, "SET tablegate.direct_reads = on").await;
        let short = runs(session, &query).await;
        run(session, "SET tablegate.direct_reads = off").await;
        let planned = runs(session, &query).await;
        assert_eq!(short, planned, "in the short way, and not: {} with {:?}", query.text, query.parameters);
        failed += u64::from(planned.iter().any(Result::is_err));
    }
    assert!(failed * 5 < queries, "{failed} of {queries} queries were errors");
}

#[tokio::test]
async fn both_ways_give_the_same_rows() {
    let mut session = session().await;
    for sql in SET_UP {
        run(&mut session, sql).await;
    }
    compare(&mut session, 31, QUERIES, |_| true).await;
}

#[tokio::test]
async fn a_transaction_sees_its_own_rows_in_both_ways() {
    let mut session = session().await;
    for sql in SET_UP {
        run(&mut session, sql).await;
    }
    for sql in [
        "SET egt.mode = observe",
        "BEGIN",
        "UPDATE users SET name = 'mine', boss = 2 WHERE id IN (1, 3, 7)",
        "DELETE FROM orders WHERE user_id = 3",
        "INSERT INTO orders VALUES (40, 1, 1.5, 'new'), (5, 9, 2.5, NULL)",
        "DELETE FROM items WHERE id = 2",
    ] {
        run(&mut session, sql).await;
    }
    // An error would end the block: where there is none, there is nothing to divide by.
    let cannot_fail = |query: &Query| !query.text.contains('/') && !query.text.contains("x.state FROM");
    compare(&mut session, 32, QUERIES / 5, cannot_fail).await;
}

/// What applications ask, over tables that are large enough that no scan of them is short.
const OF_APPLICATIONS: &[&str] = &[
    "SELECT p.title, a.name FROM posts p JOIN authors a ON a.id = p.author WHERE p.id = $1",
    "SELECT p.title, a.name FROM posts p LEFT JOIN authors a ON a.id = p.author WHERE p.id = $1 AND p.title <> 'none'",
    "SELECT c.text, a.name FROM comments c JOIN posts p ON p.id = c.post JOIN authors a ON a.id = p.author WHERE c.post = $1 ORDER BY a.name, c.text DESC",
    "SELECT p.*, (SELECT count(*) FROM comments c WHERE c.post = p.id) AS comments FROM posts p WHERE p.id = $1",
    "SELECT count(*) FROM comments WHERE post = $1",
    "SELECT max(n), min(text), count(DISTINCT text) FROM comments WHERE post = $1",
    "SELECT text, count(*) FROM comments WHERE post = $1 GROUP BY text HAVING count(*) > 1 ORDER BY 2 DESC, 1",
    "SELECT EXISTS (SELECT 1 FROM comments WHERE post = $1)",
    "SELECT * FROM posts p WHERE p.id = $1 AND EXISTS (SELECT 1 FROM comments c WHERE c.post = p.id AND c.text = 'text 1')",
    "SELECT * FROM posts p WHERE p.id IN ($1, $1 + 1, $1 + 2) AND p.author NOT IN (SELECT a.id FROM authors a WHERE a.id = $1)",
    "SELECT * FROM comments WHERE post = $1 AND text LIKE '%1%' ORDER BY text, n DESC LIMIT 5",
    "SELECT * FROM authors WHERE id = (SELECT author FROM posts WHERE id = $1)",
    "SELECT id FROM posts WHERE id = $1 UNION SELECT author FROM posts WHERE id = $1 ORDER BY 1",
    "SELECT DISTINCT a.name FROM comments c, posts p, authors a WHERE c.post = $1 AND p.id = c.post AND a.id = p.author",
];

#[tokio::test]
async fn what_applications_ask_is_planned_once() {
    let mut session = session().await;
    for sql in [
        "CREATE TABLE authors (id int PRIMARY KEY, name text)",
        "CREATE TABLE posts (id int PRIMARY KEY, author int, title text)",
        "CREATE TABLE comments (post int, n int, text text, PRIMARY KEY (post, n))",
        "INSERT INTO authors SELECT g, 'author ' || g FROM generate_series(1, 3000) g",
        "INSERT INTO posts SELECT g, g % 3000 + 1, 'title ' || g FROM generate_series(1, 3000) g",
        "INSERT INTO comments SELECT g % 500, g, 'text ' || g % 3 FROM generate_series(1, 3000) g",
    ] {
        run(&mut session, sql).await;
    }
    let mut planned_again = Vec::new();
    for text in OF_APPLICATIONS {
        run(&mut session, "SELECT statement_statistics_reset()").await;
        let statement = session.parse(text).expect("it can be parsed").pop().expect("there is a statement");
        let prepared = session.prepare(statement, &[SqlType::Int4]).await.expect("it can be planned");
        let mut answers = Vec::new();
        for _ in 0..3 {
            let outcome = session.execute(&prepared, vec![ScalarValue::Int32(Some(7))], Position::Last).await;
            let Outcome::Rows(rows) = outcome.expect("it runs") else { unreachable!("it is a query") };
            answers.push(lines(&session, rows).await.expect("it has rows"));
            session.end_measure(Some(CommandTag::Plain("SELECT")));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0] && !answer.is_empty()), "{text}: {answers:?}");
        let statement = session.parse("SELECT max(plans) FROM statement_statistics").expect("it can be parsed").pop();
        let counted = session.prepare(statement.expect("there is a statement"), &[]).await.expect("it can be planned");
        let outcome = session.execute(&counted, Vec::new(), Position::Last).await.expect("it runs");
        let Outcome::Rows(rows) = outcome else { unreachable!("it is a query") };
        if lines(&session, rows).await.expect("it has a row") != ["|1"] {
            planned_again.push(text);
        }
    }
    assert!(planned_again.is_empty(), "{planned_again:#?}");
}

#[tokio::test]
async fn what_was_prepared_goes_the_short_way_again_after_its_table_changed() {
    let mut session = session().await;
    let made = "CREATE TABLE counts (id int PRIMARY KEY, n int)";
    run(&mut session, made).await;
    let mut prepared = Vec::new();
    for text in [
        "INSERT INTO counts (id, n) VALUES ($1, 1)",
        "SELECT n FROM counts WHERE id = $1",
        "UPDATE counts SET n = n + 1 WHERE id = $1",
        "DELETE FROM counts WHERE id = $1",
    ] {
        let statement = session.parse(text).expect("it can be parsed").pop().expect("there is a statement");
        prepared.push(session.prepare(statement, &[SqlType::Int4]).await.expect("it can be planned"));
    }
    for change in ["ALTER TABLE counts ADD COLUMN m int DEFAULT 7", "DROP TABLE counts", "SET TimeZone = 'Asia/Tokyo'"]
    {
        run(&mut session, change).await;
        if change.starts_with("DROP") {
            run(&mut session, made).await;
        }
        for id in 1..4 {
            for statement in &prepared {
                let parameters = vec![ScalarValue::Int32(Some(id))];
                if let Some(single) = session.execute_single(statement, &parameters, Position::Last).await.unwrap() {
                    assert!(id > 1 && single.row.is_some(), "what is planned anew goes the short way from then on");
                } else {
                    let outcome = session.execute(statement, parameters, Position::Last).await;
                    if let Outcome::Rows(rows) = outcome.unwrap_or_else(|e| panic!("{change}: {e}")) {
                        assert_eq!(lines(&session, rows).await.expect("it has a row").len(), 1);
                    }
                }
                session.end_measure(Some(CommandTag::Plain("SELECT")));
            }
        }
    }
}

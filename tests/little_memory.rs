//! Statements that keep more than there is memory for give what they give where there is plenty: aggregates of each value once and
//! in an order of their own, values that are long together, locks, rows that a block has written.

use tablegate::sql::session::Session;
use tablegate::sql::{EgtMode, EngineConfig};
use tablegate::types::error::{ErrorKind, SqlResult};

use crate::support::in_memory;
use crate::support::lines::lines_of_last;

const LITTLE: usize = 12 << 20;
const PLENTY: usize = 1 << 30;

async fn session(query_memory: usize) -> Session {
    let egt_mode = EgtMode::Observe;
    let config = EngineConfig { query_memory, query_threads: 2, egt_mode, ..EngineConfig::default() };
    in_memory::session(config).await
}

/// 100,000 rows: few groups and many, values that come twice and more, NULLs.
const ROWS: &str = "(SELECT n % 3 AS few, n % 20000 AS many, n % 60000 AS a, (n * 7919) % 80021 AS b, \
    CASE WHEN n % 11 > 0 THEN 'text ' || n % 40000 END AS t, n FROM generate_series(1, 100000) AS s(n)) AS r";

/// What an aggregation of these rows gives, in an order.
async fn grouped(session: &mut Session, group: &str, aggregates: &str) -> SqlResult<Vec<String>> {
    let sql = match group {
        "" => format!("SELECT {aggregates} FROM {ROWS}"),
        group => format!("SELECT {group}, {aggregates} FROM {ROWS} GROUP BY {group}"),
    };
    let mut lines = lines_of_last(session, &sql).await?;
    lines.sort();
    Ok(lines)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aggregates_of_many_values_give_the_same_with_little_memory() {
    let (mut little, mut plenty) = (session(LITTLE).await, session(PLENTY).await);
    let aggregates = [
        "count(DISTINCT a), count(DISTINCT b), sum(n), count(*)",
        "sum(DISTINCT a), avg(DISTINCT b), count(DISTINCT t), count(t), min(t), avg(n)",
        "count(DISTINCT a) FILTER (WHERE n % 2 = 0), count(DISTINCT a), count(DISTINCT t) FILTER (WHERE n < 0)",
        "md5(array_agg(a ORDER BY b DESC, n)::text), md5(string_agg(t, ',' ORDER BY n DESC)), count(DISTINCT b)",
        "md5(array_agg(DISTINCT t ORDER BY t DESC)::text), md5(string_agg(DISTINCT t, '-')), sum(n)",
        "percentile_disc(0.3) WITHIN GROUP (ORDER BY t), mode() WITHIN GROUP (ORDER BY a), percentile_disc(0.5) WITHIN GROUP (ORDER BY b DESC)",
        "percentile_cont(0.7) WITHIN GROUP (ORDER BY a), percentile_cont(0.2) WITHIN GROUP (ORDER BY b / 3.0) FILTER (WHERE n > 9)",
        "md5(json_agg(a ORDER BY n)::text), percentile_cont(0.25) WITHIN GROUP (ORDER BY b DESC)",
        "md5(array_agg(n / 3.0::float8 ORDER BY n / 7.0::float8 DESC)::text), count(*)",
    ];
    for (group, aggregates) in [("", &aggregates[..]), ("many", &aggregates), ("few, t", &aggregates[..3])] {
        for aggregates in aggregates {
            let expected = grouped(&mut plenty, group, aggregates).await.unwrap();
            let given = grouped(&mut little, group, aggregates).await;
            let given = given.unwrap_or_else(|error| panic!("{aggregates} by {group}: {error:?}"));
            assert!(given == expected, "{aggregates} by {group}: {:?} and not {:?}", given.first(), expected.first());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_are_long_together_are_computed_a_few_rows_at_a_time() {
    let mut session = session(LITTLE).await;
    let texts = "SELECT sum(length(repeat('x', 100000) || n)), count(*) FROM generate_series(1, 3000) AS s(n)";
    assert_eq!(lines_of_last(&mut session, texts).await.unwrap(), ["|300010893|3000"]);
    let greatest = "SELECT length(max(repeat('x', 100000) || n)) FROM generate_series(1, 3000) AS s(n)";
    assert_eq!(lines_of_last(&mut session, greatest).await.unwrap(), ["|100003"]);
    let found = "SELECT count(*) FROM generate_series(1, 3000) AS s(n) WHERE n || repeat('x', 100000) LIKE '7%'";
    assert_eq!(lines_of_last(&mut session, found).await.unwrap(), ["|111"]);
    let one = "SELECT length(repeat('x', 100000000) || n) FROM generate_series(1, 2) AS s(n)";
    assert_eq!(lines_of_last(&mut session, one).await.unwrap_err().kind, ErrorKind::OutOfMemory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_locks_than_there_is_memory_for_are_refused_and_given_back() {
    let mut session = session(LITTLE).await;
    let locks = "SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 500000) AS s(n)";
    let error = lines_of_last(&mut session, locks).await.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::OutOfMemory, "out of shared memory"));
    lines_of_last(&mut session, "SELECT pg_advisory_unlock_all()").await.unwrap();
    let some = "SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 1000) AS s(n)";
    assert_eq!(lines_of_last(&mut session, some).await.unwrap(), ["|1000"]);
}

/// What a block has written, read in it and behind it, with a savepoint that is gone back to; rows that come and change many at a
/// time and one by one.
async fn written_in_a_block(session: &mut Session) -> Vec<String> {
    let read = "SELECT count(*), sum(n), min(length(t)), sum(length(t)), sum(ascii(substr(t, 1 + id % 90)) * id % 1000003) FROM kept";
    let one = "SELECT n, length(t), left(t, 3) FROM kept WHERE id = 7777";
    let steps = [
        "CREATE TABLE kept (id int PRIMARY KEY, n int, t text)",
        "BEGIN",
        "INSERT INTO kept SELECT k, k % 7, repeat(k::text, 150) FROM generate_series(1, 10000) AS s(k)",
        read,
        one,
        "SAVEPOINT s",
        "UPDATE kept SET t = left(t, 9) || n, n = NULL WHERE id % 3 = 0",
        "DELETE FROM kept WHERE id % 5 = 0",
        read,
        "ROLLBACK TO s",
        "UPDATE kept SET n = n + 1 WHERE id < 3000",
        "DELETE FROM kept WHERE id BETWEEN 200 AND 1200",
        read,
        "COMMIT",
        read,
        one,
        "BEGIN",
        "UPDATE kept SET t = repeat(id::text, 200) WHERE id > 4000",
        read,
        one,
        "UPDATE kept SET t = 'one' WHERE id = 7777",
        "COMMIT",
        read,
        one,
    ];
    let mut lines = Vec::new();
    for step in steps {
        let given = lines_of_last(session, step).await;
        lines.extend(given.unwrap_or_else(|error| panic!("{step}: {error:?}")));
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_write_more_than_there_is_memory_for() {
    let (mut little, mut plenty) = (session(LITTLE).await, session(PLENTY).await);
    assert_eq!(written_in_a_block(&mut little).await, written_in_a_block(&mut plenty).await);
    lines_of_last(&mut little, "BEGIN").await.unwrap();
    let many = "INSERT INTO kept SELECT -k, 0, repeat('x', 1000) FROM generate_series(1, 20000) AS s(k)";
    let error = lines_of_last(&mut little, many).await.unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (ErrorKind::LimitExceeded, "a transaction cannot write more than 12 MiB")
    );
    assert!(error.hint.is_some_and(|hint| hint.contains("--query-memory")));
}

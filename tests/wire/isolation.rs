//! A defect in one statement stays there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tablegate::pg::PgConfig;
use tablegate::store::model::{Clock, EdmDateTime, SystemClock};

use crate::wire::harness::{Server, bind, column, error_code, execute, parse, status, sync, tags};

/// A clock that panics when it is told to.
#[derive(Default)]
struct BrokenClock {
    broken: AtomicBool,
}

impl Clock for BrokenClock {
    fn now(&self) -> EdmDateTime {
        assert!(!self.broken.load(Ordering::SeqCst), "the clock is broken");
        SystemClock.now()
    }
}

#[tokio::test]
async fn a_panic_costs_one_statement() {
    let clock = Arc::new(BrokenClock::default());
    let server = Server::start_with(PgConfig::default(), clock.clone()).await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (p text, r text, PRIMARY KEY (p, r))").await;
    client.query("BEGIN").await;
    clock.broken.store(true, Ordering::SeqCst);
    let messages = client.query("INSERT INTO t VALUES ('a', 'b')").await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("EZ", "XX000"));
    assert_eq!(status(&messages), 'E');
    client.query("ROLLBACK").await;
    let insert = [parse("", "INSERT INTO t VALUES ('a', 'b')", &[]), bind("", "", &[]), execute("", 0), sync()];
    let messages = client.ask(&insert).await;
    assert_eq!((error_code(&messages).as_str(), status(&messages)), ("XX000", 'I'));
    clock.broken.store(false, Ordering::SeqCst);
    assert!(!tags(&client.ask(&insert).await).contains('E'));
    assert_eq!(column(&client.query("SELECT count(*) FROM t").await), ["1"]);
    assert_eq!(column(&server.client().await.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

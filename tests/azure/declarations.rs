//! Two gateways over one account, one of which makes and changes the tables that the other one uses.

use tokio_postgres::Client;

use super::service;
use crate::azure::client::{connect, gateway, query, rows};

/// What an application does at its start, in several processes at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_two_gateways_make_at_once_is_one_of_the_two() {
    const TABLES: usize = 12;
    let account = service::new_account();
    let (first, second) = (connect(gateway(&account).await).await, connect(gateway(&account).await).await);
    for number in 0..TABLES {
        let (clause, taken) = match number % 2 {
            0 => ("", Err("42P07".to_owned())),
            _ => ("IF NOT EXISTS", rows(&[])),
        };
        let make = |default: usize| {
            format!("CREATE TABLE {clause} t{number} (id serial PRIMARY KEY, made_by int DEFAULT {default})")
        };
        let (one, other) = (make(1), make(2));
        let made = tokio::join!(query(&first, &one), query(&second, &other));
        assert!(made == (rows(&[]), taken.clone()) || made == (taken, rows(&[])), "{made:?}");
        for client in [&first, &second] {
            query(client, &format!("INSERT INTO t{number} VALUES (DEFAULT)")).await.unwrap();
        }
        for client in [&first, &second] {
            let read = format!("SELECT count(*) || ' of ' || count(DISTINCT made_by) FROM t{number}");
            assert_eq!(query(client, &read).await, rows(&["2 of 1"]));
        }
        query(&first, &format!("DROP TABLE t{number}")).await.unwrap();
    }
    // The loser's sequences are gone with what they were for.
    query(&second, "CREATE TABLE t0 (id serial PRIMARY KEY)").await.unwrap();
}

/// Two clients, each at a gateway of its own over one account.
async fn two() -> [Client; 2] {
    let account = service::new_account();
    [connect(gateway(&account).await).await, connect(gateway(&account).await).await]
}

/// Whether the other gateway looks at the catalogue in between is chance: it must not be seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_another_gateway_moved_is_looked_for_again() {
    let [first, second] = two().await;
    let create = "CREATE TABLE things (id int PRIMARY KEY, v int)";
    query(&first, create).await.unwrap();
    for round in 0..3 {
        for change in [&["DROP TABLE things", create][..], &["TRUNCATE things"]] {
            for step in change {
                query(&first, step).await.unwrap();
            }
            query(&first, &format!("INSERT INTO things VALUES (1, {round})")).await.unwrap();
            assert_eq!(query(&second, "SELECT v FROM things").await, rows(&[&round.to_string()]), "{change:?}");
            for step in change {
                query(&first, step).await.unwrap();
            }
            query(&second, "INSERT INTO things VALUES (2, 20)").await.unwrap();
            assert_eq!(query(&first, "SELECT v FROM things").await, rows(&["20"]), "{change:?}");
            assert_eq!(query(&second, "UPDATE things SET v = v + 1").await, rows(&[]));
            for step in change {
                query(&first, step).await.unwrap();
            }
            let reading = "WITH n AS (SELECT count(*) AS n FROM things) INSERT INTO things SELECT n + 5, n FROM n";
            query(&second, reading).await.unwrap();
            assert_eq!(query(&first, "SELECT id FROM things").await, rows(&["5"]), "{change:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_whose_table_another_gateway_moved_is_told_to_begin_again() {
    let [first, second] = two().await;
    query(&first, "CREATE TABLE things (id int PRIMARY KEY, v int)").await.unwrap();
    let mut conflicts = 0;
    for _ in 0..4 {
        assert_eq!(query(&second, "BEGIN; SELECT count(*) FROM things").await, rows(&["0"]));
        query(&first, "TRUNCATE things").await.unwrap();
        match second.simple_query("SELECT count(*) FROM things").await {
            Ok(_) => {}
            Err(error) => {
                let told = error.as_db_error().unwrap();
                assert_eq!(told.code().code(), "40001", "{told:?}");
                // Not what it is stored as.
                assert!(!format!("{told:?}").contains("thingsG"), "{told:?}");
                conflicts += 1;
            }
        }
        query(&second, "ROLLBACK").await.unwrap();
        // The next try meets the same no more.
        query(&second, "BEGIN; SELECT count(*) FROM things; COMMIT").await.unwrap();
    }
    assert!(conflicts > 0, "the other gateway knew each time");
}

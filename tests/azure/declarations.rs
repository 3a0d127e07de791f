//! Two gateways over one account, one of which makes and changes the tables that the other one uses.

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

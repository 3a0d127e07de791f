//! What is asked of the service: the filters it gets, what EXPLAIN says of them, and how much is asked at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_postgres::Client;

use super::service;
use crate::azure::client::{connect, gateway, gateway_at, query, rows};
use crate::azure::proxy::{Fault, Plan, Proxy};
use crate::support::account::Account;

/// The requests that a proxy passed on: method, path and query, decoded.
type Seen = Arc<Mutex<Vec<String>>>;

/// A client behind a proxy that notes what it sees, with faults of this plan.
async fn watched(account: &Account, fault: impl Fn(&str) -> Fault + Send + Sync + 'static) -> (Client, Seen, Proxy) {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    let plan: Plan = Arc::new(move |_, request| {
        let line = decoded(request.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1"));
        noted.lock().unwrap().push(line.clone());
        fault(&line)
    });
    let proxy = Proxy::start(account.address, plan).await;
    (connect(gateway_at(proxy.address, account).await).await, seen, proxy)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let hex = [rest.next().unwrap(), rest.next().unwrap()];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

/// The filters of queries of one table that were sent since this was last asked.
fn filters(seen: &Seen, table: &str) -> Vec<String> {
    let requests = std::mem::take(&mut *seen.lock().unwrap());
    let of_table = requests.iter().filter(|line| line.contains(&format!("/{table}()")));
    let filter = |line: &String| Some(line.split_once("$filter=")?.1.split("&$top").next()?.to_owned());
    of_table.filter_map(filter).collect()
}

async fn fill(client: &Client) {
    let create = "CREATE TABLE readings (site text, no int, n int, big bigint, v double precision, note text, \
                  at timestamptz, price numeric, PRIMARY KEY (site, no))";
    query(client, create).await.unwrap();
    let insert = "INSERT INTO readings SELECT s, i, i, i * 10, i / 2.0, 'n' || i % 10, \
                  timestamptz '2021-01-01 00:00:00+00' + i * interval '1 microsecond', i \
                  FROM (VALUES ('a'), ('b'), ('c')) s(s), generate_series(1, 100) i";
    query(client, insert).await.unwrap();
}

async fn explained(client: &Client, select: &str) -> String {
    query(client, &format!("EXPLAIN (COSTS off) {select}")).await.unwrap().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_on_columns_are_sent_and_their_rows_come() {
    let (client, seen, _proxy) = watched(&service::new_account(), |_| Fault::None).await;
    fill(&client).await;
    let [big, v] = match service::IS_EMULATOR {
        true => ["big ge 30 and big le 30", "not (v le 49.5)"],
        false => ["(big eq 30 or big eq 30L)", "(not (v le 49.5) or v ge 50)"],
    };
    let (big, v) = (format!("PartitionKey eq 'a' and {big}"), format!("PartitionKey eq 'a' and {v}"));
    let cases = [
        ("n > 98", "PartitionKey eq 'a' and n gt 98", "2"),
        ("n IN (1, 2, 500)", "PartitionKey eq 'a' and (n eq 1 or n eq 2 or n eq 500)", "2"),
        ("note = 'n3' AND n < 50", "PartitionKey eq 'a' and note eq 'n3' and n lt 50", "5"),
        ("note LIKE 'n3%'", "PartitionKey eq 'a' and note ge 'n3' and note lt 'n4'", "10"),
        ("big = 30", big.as_str(), "1"),
        ("v > 49.5", v.as_str(), "1"),
        (
            "at = '2021-01-01 00:00:00.000007+00'",
            "PartitionKey eq 'a' and at ge datetime'2021-01-01T00:00:00.000007Z' \
             and at le datetime'2021-01-01T00:00:00.0000079Z'",
            "1",
        ),
        // What the service cannot decide as SQL does is decided here.
        ("price > 98", "PartitionKey eq 'a'", "2"),
        ("n > 90 AND price > 98", "PartitionKey eq 'a' and n gt 90", "2"),
        ("(n = 1 OR price = 2)", "PartitionKey eq 'a'", "2"),
        ("note IS NULL", "PartitionKey eq 'a'", "0"),
        ("NOT (note = 'n3')", "PartitionKey eq 'a' and note ne 'n3'", "90"),
    ];
    for (condition, filter, count) in cases {
        seen.lock().unwrap().clear();
        let select = format!("SELECT count(*) FROM readings WHERE site = 'a' AND {condition}");
        assert_eq!(query(&client, &select).await, rows(&[count]), "{condition}");
        let sent = filters(&seen, "readings");
        assert!(!sent.is_empty() && sent.iter().all(|sent| sent == filter), "{condition}: {sent:?}");
    }
    query(&client, "SET tablegate.filter_pushdown = off").await.unwrap();
    seen.lock().unwrap().clear();
    assert_eq!(query(&client, "SELECT count(*) FROM readings WHERE site = 'a' AND n > 98").await, rows(&["2"]));
    assert_eq!(filters(&seen, "readings"), ["PartitionKey eq 'a'"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_is_refused_is_sent_without_what_it_asks_of_values() {
    let refuse = |line: &str| if line.contains("n gt") { Fault::Refused } else { Fault::None };
    let (client, seen, _proxy) = watched(&service::new_account(), refuse).await;
    fill(&client).await;
    seen.lock().unwrap().clear();
    assert_eq!(query(&client, "SELECT count(*) FROM readings WHERE site = 'a' AND n > 98").await, rows(&["2"]));
    assert_eq!(filters(&seen, "readings"), ["PartitionKey eq 'a' and n gt 98", "PartitionKey eq 'a'"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_tells_the_requests_before_they_are_made() {
    let client = connect(gateway(&service::new_account()).await).await;
    fill(&client).await;
    let point = explained(&client, "SELECT n FROM readings WHERE site = 'a' AND no = 7").await;
    let expected = "Entity Scan on readings\n  Scope: point\n  Keys: PartitionKey = 'a', RowKey = '0000000007'\n  \
                    Planned Requests: 1 GET\n  Select: PartitionKey,RowKey,Timestamp,n";
    assert_eq!(point, expected);
    let several = "SELECT n FROM readings WHERE n > 5 AND (site = 'a' AND no IN (1, 2) OR site = 'b' OR site > 'c')";
    let several = explained(&client, several).await;
    for line in [
        "Planned Requests: 2 GETs, 2 queries in pages, at most 8 at once (16 to a partition, 64 in all)",
        "Query Filters: PartitionKey eq 'b' and n gt 5; PartitionKey gt 'c' and n gt 5",
        "Select: PartitionKey,RowKey,Timestamp,n",
    ] {
        assert!(several.contains(line), "{line} is not in\n{several}");
    }
    let backwards = explained(&client, "SELECT * FROM readings WHERE site = 'a' ORDER BY no DESC LIMIT 3").await;
    assert!(backwards.contains("Planned Requests: 1 query in pages"), "{backwards}");
    let nothing = explained(&client, "SELECT n FROM readings WHERE site = 'a' AND site = 'b'").await;
    assert!(!nothing.contains("GET") && !nothing.contains("Query Filters"), "{nothing}");
    let json = query(&client, "EXPLAIN (FORMAT JSON) SELECT n FROM readings WHERE n > 5").await.unwrap().join("\n");
    for member in ["\"Planned Requests\": \"1 query in pages\"", "\"Query Filters\": [", "\"n gt 5\""] {
        assert!(json.contains(member), "{member} is not in\n{json}");
    }
    let many = (0..12).map(|i| format!("site LIKE 'x{i:02}%'")).collect::<Vec<_>>().join(" OR ");
    let many = explained(&client, &format!("SELECT n FROM readings WHERE {many}")).await;
    assert!(many.contains("12 queries in pages") && many.contains("; ... and 9 more"), "{many}");
}

/// Two pages at most are under way when the reader stops, and one whose limit is reached asks for no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_stops_asking_also_above_a_filter() {
    let (client, seen, _proxy) = watched(&service::new_account(), |_| Fault::None).await;
    query(&client, "CREATE TABLE items (p text, id int, n int, price numeric, PRIMARY KEY (p, id))").await.unwrap();
    query(&client, "INSERT INTO items SELECT 'a', i, i, i FROM generate_series(1, 5500) i").await.unwrap();
    let asked = |seen: &Seen| {
        let requests = std::mem::take(&mut *seen.lock().unwrap());
        requests.iter().filter(|line| line.contains("/items()")).count()
    };
    asked(&seen);
    assert_eq!(query(&client, "SELECT id FROM items WHERE price > 3 LIMIT 1").await, rows(&["4"]));
    let pages = asked(&seen);
    assert!((1..=2).contains(&pages), "{pages} pages of 6");
    assert_eq!(query(&client, "SELECT count(*) FROM items WHERE price > 3").await, rows(&["5497"]));
    // The second page of the first query may have been asked for when its answer was here already.
    let all = pages + asked(&seen);
    assert!((7..=8).contains(&all), "{all} pages");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_query_asks_no_more() {
    let (client, seen, proxy) = watched(&service::new_account(), |line| {
        if line.starts_with("GET") && line.contains("/items()") { Fault::Slow } else { Fault::None }
    })
    .await;
    query(&client, "CREATE TABLE items (p text, id int, n int, PRIMARY KEY (p, id))").await.unwrap();
    query(&client, "INSERT INTO items SELECT 'a', i, i FROM generate_series(1, 9500) i").await.unwrap();
    let pages = || seen.lock().unwrap().iter().filter(|line| line.contains("/items()")).count();
    let before = pages();
    // It ends with the block, so that no statement that follows is in a hurry.
    let hurried = "BEGIN; SET LOCAL statement_timeout = 500; SELECT count(*) FROM items";
    assert_eq!(query(&client, hurried).await, Err("57014".to_owned()));
    // What was on its way comes; no answer does, so nothing follows it.
    let mut asked = pages() - before;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = pages() - before;
        if now == asked {
            break;
        }
        asked = now;
    }
    assert!(asked < 8, "{asked} pages of 10");
    proxy.let_go(10);
    query(&client, "ROLLBACK").await.unwrap();
    // Three answers take as long as three more pages would.
    for _ in 0..3 {
        assert_eq!(query(&client, "SELECT n FROM items WHERE p = 'a' AND id = 7").await, rows(&["7"]));
    }
    // The client is told before every task of the query has ended: an answer that comes in between may be followed up once.
    let all = pages() - before;
    assert!(all <= asked + 1, "{all} pages, {asked} of them before it was cancelled");
}

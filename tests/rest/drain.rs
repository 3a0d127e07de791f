//! SIGTERM while applications write: what was acknowledged is there, and what was under way has its answer.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use super::{address, server};
use crate::support::installed::Installed;
use crate::support::tables::{Request, connection_string, send};

/// Rows that are acknowledged before the server is told to stop.
const BEFORE: usize = 300;

/// Python with the SDK, which writes until nobody listens: alone and in batches, from several threads.
const APPLICATION: &str = r#"
import os, sys, threading
from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError
from azure.data.tables import TableServiceClient

service = TableServiceClient.from_connection_string(os.environ["TABLES_CONNECTION_STRING"], retry_total=0)
service.create_table_if_not_exists("orders")
lock = threading.Lock()

def say(*keys):
    with lock:
        print(*keys, sep="\n", flush=True)

def write(worker):
    table = service.get_table_client("orders")
    for number in range(1_000_000):
        keys = [f"{worker}-{number}-{row}" for row in range(10)]
        try:
            if number % 2:
                table.create_entity({"PartitionKey": "p", "RowKey": keys[0]})
                say(keys[0])
            else:
                table.submit_transaction([("create", {"PartitionKey": "p", "RowKey": key}) for key in keys])
                say(*keys)
        except ServiceRequestError:
            # Nobody was there to ask.
            return
        except ServiceResponseError as error:
            # The connection was closed between two requests, which is told when the next one is sent.
            if "RemoteDisconnected" in str(error) or "ConnectionReset" in str(error) or "reset by peer" in str(error):
                return
            raise
        except HttpResponseError as error:
            if error.status_code == 503:
                return
            raise

threads = [threading.Thread(target=write, args=[worker]) for worker in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done", flush=True)
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_before_the_end_is_there() {
    let (mut server, rest) = server(&[]);
    let mut application = Command::new(Installed::find().python())
        .args(["-c", APPLICATION])
        .env("TABLES_CONNECTION_STRING", connection_string(rest))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python runs");
    let mut said = BufReader::new(application.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let mut acknowledged: BTreeSet<String> = said.by_ref().take(BEFORE).collect();
    assert_eq!(acknowledged.len(), BEFORE);
    server.terminate();
    let rest_of_them: Vec<String> = said.collect();
    let mut told = String::new();
    application.stderr.take().expect("it is piped").read_to_string(&mut told).expect("it is text");
    assert_eq!(rest_of_them.last().map(String::as_str), Some("done"), "{told}");
    // A thread that meets another error says so.
    assert!(application.wait().expect("it ends").success() && !told.contains("Traceback"), "{told}");
    acknowledged.extend(rest_of_them.into_iter().filter(|line| line != "done"));
    assert!(server.ended(), "{}", server.log());
    assert!(!server.log().contains("were cut off"), "{}", server.log());

    let server = server.again(&["--rest", "127.0.0.1:0"]);
    let rest = address(&server);
    let (mut stored, mut from) = (BTreeSet::new(), String::new());
    loop {
        let answer = send(rest, &Request::new("GET", &format!("/orders()?$select=RowKey{from}"))).await;
        assert_eq!(answer.status, 200);
        let page: serde_json::Value = serde_json::from_str(&answer.body).expect("it is JSON");
        let rows = page["value"].as_array().expect("it is a page");
        stored.extend(rows.iter().map(|row| row["RowKey"].as_str().unwrap_or_default().to_owned()));
        let token = |name: &str| answer.header(&format!("x-ms-continuation-{name}")).map(str::to_owned);
        let Some(partition) = token("NextPartitionKey") else { break };
        from = format!("&NextPartitionKey={partition}&NextRowKey={}", token("NextRowKey").unwrap_or_default());
    }
    let lost: Vec<&String> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "{lost:?}");
    // No batch is there in part: nothing but whole ones has other rows than the first.
    for key in stored.iter().filter(|key| !key.ends_with("-0")) {
        let batch = key.rsplit_once('-').expect("it is a key of ours").0;
        assert!((0..10).all(|row| stored.contains(&format!("{batch}-{row}"))), "a part of {batch}");
    }
}

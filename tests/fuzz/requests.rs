//! The same of the door for the Azure SDKs: requests that are signed and otherwise damaged, so that what is behind the
//! signature meets them too.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{CLIENTS, CONVERSATIONS, GROWTH_BYTES, SECONDS, kept_bytes};
use crate::support::PATIENCE;
use crate::support::rng::Rng;
use crate::support::settings::{setting, todays_seed};
use crate::support::tables::{Request, Target, send};

const BATCH: &str = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nPUT /fuzzed(PartitionKey='p',RowKey='2') \
    HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{\"n\":1}\r\n--c\r\n\r\nDELETE /fuzzed(PartitionKey='p',RowKey='3') HTTP/1.1\r\n\
    If-Match: *\r\n\r\n\r\n--c--\r\n--b--\r\n";

/// Tables that requests write to, and that one who does nothing wrong does.
const KEPT_TABLES: [&str; 2] = ["fuzzed", "witnessed"];

/// What is damaged: each is right as it stands.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("GET", "/Tables?$filter=TableName%20eq%20'a'&$top=5", ""),
    ("POST", "/Tables", r#"{"TableName":"fuzzed2"}"#),
    ("DELETE", "/Tables('fuzzed2')", ""),
    (
        "GET",
        "/fuzzed()?$filter=(n%20gt%205L%20or%20not%20s%20eq%20'it''s')%20and%20t%20lt%20datetime'2024-01-01T00:00:00Z'",
        "",
    ),
    ("GET", "/fuzzed()?$select=a,b&$top=2&NextPartitionKey=1!4!cA--&NextRowKey=1!4!Mg--", ""),
    ("GET", "/fuzzed(PartitionKey='p',RowKey='1')", ""),
    (
        "POST",
        "/fuzzed",
        r#"{"PartitionKey":"p","RowKey":"1","l@odata.type":"Edm.Int64","l":"5","d":1.5e3,"s":"\u00e9\n"}"#,
    ),
    ("PATCH", "/fuzzed(PartitionKey='p',RowKey='1')", r#"{"b@odata.type":"Edm.Binary","b":"AAECAw=="}"#),
    (
        "PUT",
        "/fuzzed?comp=acl",
        "<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id></SignedIdentifier></SignedIdentifiers>",
    ),
    ("PUT", "/?restype=service&comp=properties", "<StorageServiceProperties><Cors/></StorageServiceProperties>"),
    ("POST", "/$batch", BATCH),
];

/// Pieces that mean something somewhere.
const PIECES: &[&str] = &[
    "'",
    "''",
    "(",
    ")",
    "%",
    "%27",
    "%00",
    "%ff",
    "?",
    "&",
    "=",
    "--b",
    "--c--",
    "\r\n",
    "\r\n\r\n",
    "{",
    "}",
    "[",
    "\"",
    ":",
    ",",
    "null",
    "1e400",
    "-9223372036854775808",
    "@odata.type",
    "Edm.Guid",
    "<",
    ">",
    "&lt;",
    "<![CDATA[",
    "not%20",
    "%20and%20",
    "$filter=",
    "\u{0}",
    "\u{ffff}",
    "😀",
    "HTTP/1.1",
    "If-Match: x",
    "1!99999999999999999999!",
];

fn damaged(rng: &mut Rng, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.below(4) {
        let at = rng.below(chars.len() + 1);
        match rng.below(4) {
            0 => drop(chars.drain(at..(at + rng.below(8)).min(chars.len()))),
            1 => drop(chars.splice(at..at, PIECES[rng.below(PIECES.len())].chars())),
            2 => chars.extend_from_within(at..),
            _ => {
                if let Some(c) = chars.get_mut(at) {
                    *c = char::from_u32(u32::try_from(rng.below(0x250)).unwrap_or(0)).unwrap_or('x');
                }
            }
        }
    }
    chars.into_iter().collect()
}

/// One request, damaged before it is signed, and sometimes behind.
async fn ask(address: SocketAddr, seed: u64, case: u64) {
    let mut rng = Rng::of_case(seed, case);
    let (method, path, body) = REQUESTS[rng.below(REQUESTS.len())];
    let (damages_path, damages_body) = (rng.below(2) == 0, rng.below(2) == 0);
    let path = if damages_path { damaged(&mut rng, path) } else { path.to_owned() };
    // What ends a line or a word is no path.
    let path: String = path.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let body = if damages_body { damaged(&mut rng, body) } else { body.to_owned() };
    let mut request = Request::new(method, &path).with_body(&body);
    if body.starts_with("--") {
        request = request.with_header("Content-Type", "multipart/mixed; boundary=b");
    }
    let mut bytes = Target::of_emulator(address).signed(&request).into_bytes();
    if rng.below(4) == 0 {
        let at = rng.below(bytes.len());
        bytes[at] = u8::try_from(rng.below(256)).unwrap_or_default();
    }
    if rng.below(8) == 0 {
        bytes.truncate(rng.below(bytes.len()));
    }
    let Ok(mut stream) = TcpStream::connect(address).await else { return };
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_requested_costs_only_its_sender() {
    let seed = setting("FUZZ_SEED", todays_seed());
    let span = Duration::from_secs(setting("FUZZ_SECONDS", SECONDS));
    println!("FUZZ_SEED={seed} FUZZ_SECONDS={}", span.as_secs());
    let (mut server, address) = crate::rest::server(&["--metrics", "127.0.0.1:0"]);
    let metrics = server.address_behind("metrics are at");
    for table in KEPT_TABLES {
        let body = format!(r#"{{"TableName":"{table}"}}"#);
        let made = send(address, &Request::new("POST", "/Tables").with_body(&body)).await;
        assert_eq!(made.status, 201);
    }
    let (first, second) = (span / 3, span - span / 3);
    let cases = run(address, seed, 0, first).await;
    let before = kept_bytes(&server, metrics).await;
    let cases = cases + run(address, seed, cases, second).await;
    let after = kept_bytes(&server, metrics).await;
    println!(
        "{cases} requests; memory beside the store's buffers {} MiB after a third, {} MiB at the end",
        before >> 20,
        after >> 20
    );
    assert!(server.is_running(), "FUZZ_SEED={seed}: the server ended\n{}", server.log());
    let log = server.log();
    assert!(!log.contains("panicked"), "FUZZ_SEED={seed}: {log}");
    assert!(after < before + GROWTH_BYTES, "FUZZ_SEED={seed}: memory grew from {before} to {after} bytes");
}

/// Requests until the time is over and there were enough of them, and one that is answered all the while.
async fn run(address: SocketAddr, seed: u64, from: u64, span: Duration) -> u64 {
    let began = Instant::now();
    let next = Arc::new(AtomicU64::new(from));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let next = next.clone();
        clients.spawn(async move {
            while began.elapsed() < span || next.load(Ordering::Relaxed) < from + CONVERSATIONS {
                let case = next.fetch_add(1, Ordering::Relaxed);
                let asked = tokio::time::timeout(PATIENCE, ask(address, seed, case));
                assert!(asked.await.is_ok(), "FUZZ_SEED={seed}: case {case} hangs");
                if case.is_multiple_of(64) {
                    let path = "/witnessed(PartitionKey='witness',RowKey='here')";
                    let request = Request::new("PUT", path).with_body(&format!("{{\"n\":{case}}}"));
                    let answer = send(address, &request).await;
                    assert_eq!(answer.status, 204, "FUZZ_SEED={seed}: the witness is served: {answer:?}");
                }
            }
        });
    }
    clients.join_all().await;
    next.load(Ordering::Relaxed) - from
}

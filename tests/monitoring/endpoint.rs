//! The HTTP side: a client by hand, what each path answers, how the endpoint begins and ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Instant;

use crate::monitoring::connect;
use crate::monitoring::exposition::Samples;
use crate::support::PATIENCE;
use crate::support::server::{Server, program};

/// An answer.
pub(super) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// A server with metrics at a free port, which its log says.
pub(super) fn start(arguments: &[&str]) -> (Server, String) {
    let server = Server::start(&[&["--metrics", "127.0.0.1:0"], arguments].concat());
    let address = server.address_behind("metrics are at").to_string();
    (server, address)
}

pub(super) fn request(address: &str, text: &str) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(text.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let malformed = || std::io::Error::other(format!("no answer of HTTP: {answer:?}"));
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(malformed)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(malformed)?;
    Ok(Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
}

pub(super) fn get(address: &str, path: &str) -> Answer {
    request(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).unwrap()
}

pub(super) fn scrape(address: &str) -> Samples {
    let answer = get(address, "/metrics");
    assert_eq!(answer.status, 200);
    Samples::parse(&answer.body)
}

#[test]
fn each_path_has_its_answer() {
    let (_server, address) = start(&[]);
    let metrics = get(&address, "/metrics");
    assert!(metrics.head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{}", metrics.head);
    let health = get(&address, "/healthz");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    assert_eq!(get(&address, "/").status, 404);
    let post = request(&address, "POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(post.unwrap().status, 405);
    let head = request(&address, "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(request(&address, "nonsense\r\n\r\n").unwrap().status, 400);
    assert_eq!(get(&address, "/healthz").status, 200);
}

#[test]
fn an_answer_ends_its_connection_whatever_was_asked() {
    let (_server, address) = start(&[]);
    for request in ["GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "GET /healthz?a=b HTTP/1.0\r\n\r\n"] {
        let answer = crate::monitoring::endpoint::request(&address, request).unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"), "{request}");
        // HTTP/1.0 ends it without saying so.
        let says_so = request.contains("1.0") || answer.head.contains("connection: close");
        assert!(says_so && answer.head.contains("content-length: 3"), "{request}");
    }
    let endless = format!("GET /metrics HTTP/1.1\r\nx: {}", "y".repeat(1 << 20));
    let refused = crate::monitoring::endpoint::request(&address, &endless);
    assert!(refused.map_or(true, |answer| answer.status == 431));
    assert_eq!(get(&address, "/healthz").status, 200);
}

/// Most clients wait for the metrics of a server, not for one that stalls them.
#[test]
fn silent_connections_do_not_keep_others_out() {
    let (_server, address) = start(&[]);
    let _silent: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert_eq!(get(&address, "/healthz").status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_drains_says_so_until_it_ends() {
    let (mut server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY)").await.unwrap();
    // A statement that ends when its client wants it to.
    let mut copy = std::pin::pin!(client.copy_in::<_, bytes::Bytes>("COPY t FROM STDIN").await.unwrap());
    let began = Instant::now();
    while scrape(&address).get("tablegate_connections{state=\"active\"}") < 1.0 {
        assert!(began.elapsed() < PATIENCE, "the statement does not begin");
    }
    server.terminate();
    let draining = loop {
        let health = get(&address, "/healthz");
        if health.status != 200 {
            break health;
        }
        assert!(began.elapsed() < PATIENCE, "it does not drain");
    };
    assert_eq!((draining.status, draining.body.as_str()), (503, "draining\n"));
    assert_eq!(get(&address, "/metrics").status, 200);
    assert_eq!(copy.as_mut().finish().await.expect("the statement is finished"), 0);
    drop(client);
    assert!(server.ended(), "it stops by itself");
    assert!(TcpStream::connect(&address).is_err(), "nobody listens any more");
}

#[test]
fn an_address_in_use_is_a_clear_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = program()
        .args(["--memory", "--no-sample", "--listen", "127.0.0.1:0", "--metrics", &address])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let expected = format!("tablegate: {address}, the address for metrics, is in use by another program");
    assert!(said.contains(&expected) && said.contains("--metrics"), "{said}");
    assert!(ended.stdout.is_empty(), "it does not greet first");
}

#[test]
fn without_the_option_nothing_is_shown() {
    let server = Server::start(&[]);
    assert!(!server.log().contains("metrics are at"));
}

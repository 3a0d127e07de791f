//! The door for the Azure SDKs as a server: which bodies it reads and how many at once, and how it ends.

use std::net::SocketAddr;
use std::sync::Arc;

use tablegate::backends::memory::MemoryStore;
use tablegate::rest::{Alone, RestConfig, serve};
use tablegate::store::model::SystemClock;
use tablegate::store::model::limits::EGT_MAX_BYTES;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::tables::{Answer, Request, Target};

const ORDER: &str = "/orders(PartitionKey='p',RowKey='1')";
const BODY: &str = r#"{"n":12345}"#;

struct Door {
    target: Target,
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
}

impl Door {
    /// One with a table `orders`.
    async fn open(config: RestConfig) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target::of_emulator(listener.local_addr().unwrap());
        let (store, stop) = (Arc::new(MemoryStore::new(Arc::new(SystemClock))), CancellationToken::new());
        let alone = Arc::new(Alone(store.clone()));
        let served = tokio::spawn(serve(listener, store, alone, Arc::new(SystemClock), config, stop.clone()));
        let door = Self { target, stop, served };
        let made = door.target.send(&Request::new("POST", "/Tables").with_body(r#"{"TableName":"orders"}"#)).await;
        assert_eq!(made.status, 201);
        door
    }

    async fn connect(&self) -> Connection {
        Connection::to(self.target.address).await
    }

    /// The head and the body of a request on a connection that stays, signed.
    fn parts(&self, request: &Request) -> (String, String) {
        let text = self.target.signed(request).replace("Connection: close\r\n", "");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (format!("{head}\r\n\r\n"), body.to_owned())
    }
}

struct Connection(TcpStream);

impl Connection {
    async fn to(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.unwrap())
    }

    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// The next answer; none when the connection ends instead.
    async fn answer(&mut self) -> Option<Answer> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            bytes.push(self.0.read_u8().await.ok()?);
        }
        let length = Answer::parse(&bytes).header("content-length").map_or(0, |length| length.parse().unwrap());
        let head = bytes.len();
        bytes.resize(head + length, 0);
        self.0.read_exact(&mut bytes[head..]).await.ok()?;
        Some(Answer::parse(&bytes))
    }

    async fn status(&mut self) -> u16 {
        self.answer().await.expect("there is an answer").status
    }

    async fn code(&mut self) -> (u16, String) {
        let answer = self.answer().await.expect("there is an answer");
        (answer.status, answer.code().unwrap_or_default())
    }

    /// Waits until the other side ends it.
    async fn has_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        // One that is reset has ended too.
        let _ = self.0.read_to_end(&mut rest).await;
        rest.is_empty()
    }
}

fn put() -> Request {
    Request::new("PUT", ORDER).with_body(BODY)
}

#[tokio::test]
async fn a_body_is_asked_for_when_its_head_was_let_in() {
    let door = Door::open(RestConfig::default()).await;
    let (head, body) = door.parts(&put().with_header("Expect", "100-continue"));
    let mut client = door.connect().await;
    client.send(&head).await;
    assert_eq!(client.status().await, 100);
    client.send(&body).await;
    assert_eq!(client.status().await, 204);
    let mut stranger = door.connect().await;
    stranger.send(&head.replace("SharedKeyLite ", "SharedKeyLite x")).await;
    assert_eq!(stranger.code().await, (403, "AuthenticationFailed".to_owned()));
}

#[tokio::test]
async fn who_may_not_send_a_body_is_answered_without_it() {
    let door = Door::open(RestConfig::default()).await;
    let forged = Request::new("PUT", ORDER).with_header("Authorization", "SharedKey devstoreaccount1:AAAA");
    let of_no_resource = Request::new("PUT", "/Tables");
    let cases = [
        (forged.with_header("x-ms-date", "Thu, 01 Jan 1970 00:00:00 GMT"), 403, "AuthenticationFailed"),
        (Request::new("PUT", ORDER).with_header("Authorization", "Bearer x"), 401, "InvalidAuthenticationInfo"),
        (of_no_resource, 405, "UnsupportedHttpVerb"),
    ];
    for (request, status, code) in cases {
        let mut client = door.connect().await;
        let (head, _) = door.parts(&request.with_body(BODY));
        client.send(&head).await;
        assert_eq!(client.code().await, (status, code.to_owned()));
        // What comes all the same is no request: the next one is.
        client.send(BODY).await;
        let (head, body) = door.parts(&put());
        client.send(&format!("{head}{body}")).await;
        assert_eq!(client.status().await, 204);
    }
}

#[tokio::test]
async fn a_body_longer_than_a_transaction_is_refused_by_its_head() {
    let door = Door::open(RestConfig::default()).await;
    let (head, _) = door.parts(&put());
    let length = format!("Content-Length: {}\r\n", BODY.len());
    let mut client = door.connect().await;
    client.send(&head.replace(&length, &format!("Content-Length: {}\r\n", EGT_MAX_BYTES + 1))).await;
    assert_eq!(client.code().await, (413, "RequestBodyTooLarge".to_owned()));
    // One that does not say how long it is, when it is longer.
    let mut client = door.connect().await;
    client.send(&head.replace(&length, "Transfer-Encoding: chunked\r\n")).await;
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    client.send(&format!("{}0\r\n\r\n", chunk.repeat(5))).await;
    assert_eq!(client.code().await, (413, "RequestBodyTooLarge".to_owned()));
}

#[tokio::test]
async fn all_bodies_together_have_a_bound() {
    let door = Door::open(RestConfig { max_body_bytes: 0, ..RestConfig::default() }).await;
    let (head, body) = door.parts(&put().with_header("Expect", "100-continue"));
    let length = format!("Content-Length: {}\r\n", BODY.len());
    let mut first = door.connect().await;
    first.send(&head.replace(&length, &format!("Content-Length: {EGT_MAX_BYTES}\r\n"))).await;
    assert_eq!(first.status().await, 100, "it has all the room there is");
    let (impatient, body_of_impatient) =
        door.parts(&Request::new("PUT", &format!("{ORDER}?timeout=1")).with_body(BODY));
    let mut second = door.connect().await;
    second.send(&format!("{impatient}{body_of_impatient}")).await;
    assert_eq!(second.code().await, (503, "ServerBusy".to_owned()));
    // Reads need none.
    assert_eq!(door.target.send(&Request::new("GET", "/orders()")).await.status, 200);
    let mut third = door.connect().await;
    third.send(&head).await;
    drop(first);
    assert_eq!(third.status().await, 100);
    third.send(&body).await;
    assert_eq!(third.status().await, 204);
}

#[tokio::test]
async fn at_the_end_requests_under_way_are_answered_and_idle_connections_closed() {
    let door = Door::open(RestConfig::default()).await;
    let (mut under_way, mut idle, mut new) = (door.connect().await, door.connect().await, door.connect().await);
    let (head, body) = door.parts(&Request::new("GET", "/orders()"));
    idle.send(&format!("{head}{body}")).await;
    assert_eq!(idle.status().await, 200);
    let (head, body) = door.parts(&put().with_header("Expect", "100-continue"));
    under_way.send(&head).await;
    assert_eq!(under_way.status().await, 100);
    // It is accepted before the other one is answered.
    assert_eq!(door.target.send(&Request::new("GET", "/orders()")).await.status, 200);
    door.stop.cancel();
    assert!(idle.has_ended().await && new.has_ended().await);
    assert!(TcpStream::connect(door.target.address).await.is_err(), "nobody is let in any more");
    under_way.send(&body).await;
    let answer = under_way.answer().await.expect("it is answered");
    assert_eq!((answer.status, answer.header("connection")), (204, Some("close")));
    assert!(under_way.has_ended().await);
    door.served.await.unwrap().unwrap();
}

//! A proxy between a store and the emulator that makes things go wrong, as told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// 503 with Retry-After; the emulator never sees it.
    Busy,
    /// 500, and it was not carried out.
    FailedBefore,
    /// 500, and it was carried out.
    FailedAfter,
    /// The connection ends, and it was not carried out.
    ResetBefore,
    /// The connection ends, and it was carried out.
    ResetAfter,
    /// The body ends in the middle.
    Truncated,
    /// 400 InvalidInput.
    Refused,
    /// 409 TableBeingDeleted.
    BeingDeleted,
    /// A page with nothing in it, and where it goes on.
    EmptyPage,
    /// The answer waits until it is let go.
    Slow,
    /// A page whose last entity has a property that no other has.
    NewProperty,
    /// A page whose last entity has text where the others have numbers.
    NewType,
    /// Every version in the answer is one that never was.
    WrongETag,
}

/// What becomes of each request, counted from 0, by its text.
pub type Plan = Arc<dyn Fn(usize, &str) -> Fault + Send + Sync>;

pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    emulator: SocketAddr,
    plan: Plan,
    requests: AtomicUsize,
    /// Slow answers that may go.
    let_go: Semaphore,
}

impl Proxy {
    pub async fn start(emulator: SocketAddr, plan: Plan) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, let_go) = (AtomicUsize::new(0), Semaphore::new(0));
        let shared = Arc::new(Shared { emulator, plan, requests, let_go });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                tokio::spawn(async move { serve(client, &shared).await });
            }
        });
        Self { address, shared }
    }

    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Lets so many slow answers go, those that wait and those to come.
    pub fn let_go(&self, answers: usize) {
        self.shared.let_go.add_permits(answers);
    }
}

/// One connection, request by request, until it or a fault ends it.
async fn serve(mut client: TcpStream, shared: &Shared) -> Option<()> {
    let mut upstream = TcpStream::connect(shared.emulator).await.ok()?;
    loop {
        let request = read_message(&mut client).await?;
        let text = String::from_utf8_lossy(&[&*request.head, &*request.body].concat()).into_owned();
        let fault = (shared.plan)(shared.requests.fetch_add(1, Ordering::SeqCst), &text);
        let answer = match fault {
            Fault::Busy => canned("503 Server Busy", "Retry-After: 0\r\n", &error("ServerBusy")),
            Fault::FailedBefore => canned("500 Internal Server Error", "", &error("InternalError")),
            Fault::Refused => canned("400 Bad Request", "", &error("InvalidInput")),
            Fault::BeingDeleted => canned("409 Conflict", "", &error("TableBeingDeleted")),
            Fault::EmptyPage => {
                let token = "x-ms-continuation-NextPartitionKey: IA==\r\n";
                canned("200 OK", token, "{\"odata.metadata\":\"x\",\"value\":[]}")
            }
            Fault::ResetBefore => return None,
            Fault::None
            | Fault::FailedAfter
            | Fault::ResetAfter
            | Fault::Truncated
            | Fault::Slow
            | Fault::NewProperty
            | Fault::NewType
            | Fault::WrongETag => {
                upstream.write_all(&request.head).await.ok()?;
                upstream.write_all(&request.body).await.ok()?;
                let answer = read_message(&mut upstream).await?;
                match fault {
                    Fault::FailedAfter => canned("500 Internal Server Error", "", &error("OperationTimedOut")),
                    Fault::ResetAfter => return None,
                    Fault::Truncated => {
                        client.write_all(&answer.head).await.ok()?;
                        client.write_all(&answer.body[..answer.body.len() / 2]).await.ok()?;
                        return None;
                    }
                    Fault::Slow => {
                        shared.let_go.acquire().await.ok()?.forget();
                        [answer.head, answer.body].concat()
                    }
                    Fault::NewProperty => with_last_entity(&answer, |entity| entity["late"] = true.into()),
                    Fault::NewType => with_last_entity(&answer, |entity| entity["n"] = "many".into()),
                    Fault::WrongETag => with_other_versions([answer.head, answer.body].concat()),
                    _ => [answer.head, answer.body].concat(),
                }
            }
        };
        client.write_all(&answer).await.ok()?;
    }
}

/// The versions of another century: as long as they were.
fn with_other_versions(mut answer: Vec<u8>) -> Vec<u8> {
    const VERSION: &[u8] = b"W/\"datetime'20";
    const ESCAPED: &[u8] = b"W/\\\"datetime'20";
    for at in 0..answer.len() {
        for version in [VERSION, ESCAPED] {
            if answer[at..].starts_with(version) {
                answer[at + version.len() - 2..at + version.len()].copy_from_slice(b"19");
            }
        }
    }
    answer
}

/// A page with another last entity. An answer that is no page stays as it is.
fn with_last_entity(answer: &Message, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let body = if answer.is_chunked { joined(&answer.body) } else { answer.body.clone() };
    let mut page: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(last) = page["value"].as_array_mut().and_then(|entities| entities.last_mut()) else {
        return [answer.head.clone(), answer.body.clone()].concat();
    };
    change(last);
    let head = String::from_utf8_lossy(&answer.head).into_owned();
    let tokens = head.lines().filter(|line| line.to_ascii_lowercase().starts_with("x-ms-continuation"));
    let tokens: String = tokens.map(|line| format!("{line}\r\n")).collect();
    canned("200 OK", &tokens, &page.to_string())
}

/// A body without the marks of its chunks.
fn joined(chunks: &[u8]) -> Vec<u8> {
    let (mut body, mut rest) = (Vec::new(), chunks);
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap().trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

fn error(code: &str) -> String {
    format!("{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"lang\":\"en-US\",\"value\":\"as planned\"}}}}}}")
}

fn canned(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

struct Message {
    head: Vec<u8>,
    /// As it came, with the marks of its chunks if it has them.
    body: Vec<u8>,
    is_chunked: bool,
}

/// One request or answer; `None` when the connection ends.
async fn read_message(stream: &mut TcpStream) -> Option<Message> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let mut body = Vec::new();
    let is_chunked = header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
    if is_chunked {
        while !body.ends_with(b"0\r\n\r\n") {
            read_chunk(stream, &mut body).await?;
        }
    } else if let Some(length) = header("content-length").and_then(|value| value.trim().parse::<usize>().ok()) {
        body.resize(length, 0);
        stream.read_exact(&mut body).await.ok()?;
    }
    Some(Message { head, body, is_chunked })
}

async fn read_chunk(stream: &mut TcpStream, body: &mut Vec<u8>) -> Option<()> {
    let start = body.len();
    while !body[start..].ends_with(b"\r\n") {
        body.push(stream.read_u8().await.ok()?);
    }
    let size = std::str::from_utf8(&body[start..]).ok()?.trim();
    let size = usize::from_str_radix(size, 16).ok()? + 2;
    let from = body.len();
    body.resize(from + size, 0);
    stream.read_exact(&mut body[from..]).await.ok()?;
    Some(())
}

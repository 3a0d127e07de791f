//! A proxy between a store and the emulator that makes things go wrong, as told.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// 503 with Retry-After; the emulator never sees it.
    Busy,
    /// 500, and it was not carried out.
    FailedBefore,
    /// 500, and it was carried out.
    FailedAfter,
    /// The connection is reset while the body is on its way.
    ResetInBody,
    /// The connection is reset, and it was not carried out.
    ResetBefore,
    /// The connection is reset, and it was carried out.
    ResetAfter,
    /// The connection is reset in the middle of the answer.
    ResetInAnswer,
    /// The body ends in the middle.
    Truncated,
    /// 400 InvalidInput.
    Refused,
    /// 409 TableBeingDeleted.
    BeingDeleted,
    /// A page with nothing in it, and the token of where it goes on.
    EmptyPage(&'static str),
    /// The answer waits until it is let go.
    Slow,
    /// A page whose last entity has a property that no other has.
    NewProperty,
    /// A page whose last entity has text where the others have numbers.
    NewType,
    /// Every version in the answer is one that never was.
    WrongETag,
}

/// What becomes of each request, counted from 0, by its text: of a long one, the first half.
pub(super) type Plan = Arc<dyn Fn(usize, &str) -> Fault + Send + Sync>;

/// Bounds what goes wrong with one request and its repetitions, so that each of them comes through in the end.
#[derive(Default)]
pub(super) struct Mercy(Mutex<HashMap<String, usize>>);

impl Mercy {
    /// The fault, unless the request has met so many that its next repetition would be the last one.
    pub(super) fn bound(&self, request: &str, fault: Fault) -> Fault {
        const FAULTS_AT_MOST: usize = 3;
        if fault == Fault::None {
            return fault;
        }
        // What tells a batch from others is its first row: boundaries are new in each repetition.
        let told = request.find("PartitionKey").map_or(request, |at| &request[at..]);
        let met = &mut *self.0.lock().unwrap();
        let met = met.entry(told.chars().take(100).collect()).or_default();
        *met += 1;
        if *met > FAULTS_AT_MOST { Fault::None } else { fault }
    }
}

pub(super) struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    emulator: SocketAddr,
    plan: Plan,
    requests: AtomicUsize,
    /// Slow answers that may go.
    let_go: Semaphore,
    /// Connections are reset that bring more requests at once than this.
    bears: AtomicUsize,
    under_way: AtomicUsize,
    refused: AtomicUsize,
    /// Told when all connections are to be reset.
    resets: Notify,
}

/// One request that is under way.
struct UnderWay<'a>(&'a Shared);

impl<'a> UnderWay<'a> {
    /// `None` when there are too many.
    fn begin(shared: &'a Shared) -> Option<Self> {
        let before = shared.under_way.fetch_add(1, Ordering::SeqCst);
        let under_way = Self(shared);
        if before < shared.bears.load(Ordering::SeqCst) {
            return Some(under_way);
        }
        shared.refused.fetch_add(1, Ordering::SeqCst);
        None
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Proxy {
    pub(super) async fn start(emulator: SocketAddr, plan: Plan) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            emulator,
            plan,
            requests: AtomicUsize::new(0),
            let_go: Semaphore::new(0),
            bears: AtomicUsize::new(usize::MAX),
            under_way: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            resets: Notify::new(),
        });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                tokio::spawn(async move {
                    let ended = tokio::select! {
                        ended = serve(&mut client, &shared) => ended,
                        () = shared.resets.notified() => Served::Reset,
                    };
                    if let Served::Reset = ended {
                        // Closed without waiting for what was sent: the other side is told of a reset.
                        let _ = client.set_zero_linger();
                    }
                });
            }
        });
        Self { address, shared }
    }

    /// Resets every connection that there is, whatever it is doing.
    pub(super) fn reset_connections(&self) {
        self.shared.resets.notify_waiters();
    }

    /// From now on connections are reset that bring more requests at once than this.
    pub(super) fn bear(&self, requests: usize) {
        self.shared.bears.store(requests, Ordering::SeqCst);
    }

    /// How many requests were too many.
    pub(super) fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::SeqCst)
    }

    pub(super) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Lets so many slow answers go, those that wait and those to come.
    pub(super) fn let_go(&self, answers: usize) {
        self.shared.let_go.add_permits(answers);
    }
}

/// How one request ended.
enum Served {
    Answered,
    /// The connection is to end in good order.
    Closed,
    Reset,
}

/// One connection, request by request, until it or a fault ends it.
async fn serve(client: &mut TcpStream, shared: &Shared) -> Served {
    let Ok(mut upstream) = TcpStream::connect(shared.emulator).await else { return Served::Reset };
    loop {
        match serve_one(client, &mut upstream, shared).await {
            Some(Served::Answered) => {}
            Some(ended) => return ended,
            // One of the two has closed.
            None => return Served::Closed,
        }
    }
}

async fn serve_one(client: &mut TcpStream, upstream: &mut TcpStream, shared: &Shared) -> Option<Served> {
    let head = read_head(client).await?;
    let Some(_under_way) = UnderWay::begin(shared) else { return Some(Served::Reset) };
    let mut body = Body::of(&head);
    body.read_half(client).await?;
    let text = String::from_utf8_lossy(&[&*head, &*body.bytes].concat()).into_owned();
    let fault = (shared.plan)(shared.requests.fetch_add(1, Ordering::SeqCst), &text);
    if fault == Fault::ResetInBody {
        return Some(Served::Reset);
    }
    body.read(client).await?;
    let answer = match fault {
        Fault::Busy => canned("503 Server Busy", "Retry-After: 0\r\n", &error("ServerBusy")),
        Fault::FailedBefore => canned("500 Internal Server Error", "", &error("InternalError")),
        Fault::Refused => canned("400 Bad Request", "", &error("InvalidInput")),
        Fault::BeingDeleted => canned("409 Conflict", "", &error("TableBeingDeleted")),
        Fault::EmptyPage(token) => {
            let token = format!("x-ms-continuation-NextPartitionKey: {token}\r\n");
            canned("200 OK", &token, "{\"odata.metadata\":\"x\",\"value\":[]}")
        }
        Fault::ResetInBody | Fault::ResetBefore => return Some(Served::Reset),
        Fault::None
        | Fault::FailedAfter
        | Fault::ResetAfter
        | Fault::ResetInAnswer
        | Fault::Truncated
        | Fault::Slow
        | Fault::NewProperty
        | Fault::NewType
        | Fault::WrongETag => {
            upstream.write_all(&head).await.ok()?;
            upstream.write_all(&body.bytes).await.ok()?;
            let answer = read_message(upstream).await?;
            match fault {
                Fault::FailedAfter => canned("500 Internal Server Error", "", &error("OperationTimedOut")),
                Fault::ResetAfter => return Some(Served::Reset),
                Fault::Truncated | Fault::ResetInAnswer => {
                    client.write_all(&answer.head).await.ok()?;
                    client.write_all(&answer.body.bytes[..answer.body.bytes.len() / 2]).await.ok()?;
                    return Some(if fault == Fault::Truncated { Served::Closed } else { Served::Reset });
                }
                Fault::Slow => {
                    shared.let_go.acquire().await.ok()?.forget();
                    answer.into_bytes()
                }
                Fault::NewProperty => with_last_entity(answer, |entity| entity["late"] = true.into()),
                Fault::NewType => with_last_entity(answer, |entity| entity["n"] = "many".into()),
                Fault::WrongETag => with_other_versions(answer.into_bytes()),
                _ => answer.into_bytes(),
            }
        }
    };
    client.write_all(&answer).await.ok()?;
    Some(Served::Answered)
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
fn with_last_entity(answer: Message, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let body = if answer.body.is_chunked { joined(&answer.body.bytes) } else { answer.body.bytes.clone() };
    let mut page: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(last) = page["value"].as_array_mut().and_then(|entities| entities.last_mut()) else {
        return answer.into_bytes();
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

/// An answer.
struct Message {
    head: Vec<u8>,
    body: Body,
}

impl Message {
    fn into_bytes(self) -> Vec<u8> {
        [self.head, self.body.bytes].concat()
    }
}

/// A body, as it comes: with the marks of its chunks if it has them.
struct Body {
    bytes: Vec<u8>,
    is_chunked: bool,
    length: usize,
}

/// A body that is no longer is not halved.
const SHORT_BODY: usize = 1024;

impl Body {
    fn of(head: &[u8]) -> Self {
        let text = String::from_utf8_lossy(head).to_ascii_lowercase();
        let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let is_chunked = header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
        let length = header("content-length").and_then(|value| value.trim().parse().ok()).unwrap_or_default();
        Self { bytes: Vec::new(), is_chunked, length }
    }

    /// The first half of a long body whose length is known.
    async fn read_half(&mut self, stream: &mut TcpStream) -> Option<()> {
        let most = if self.length > SHORT_BODY { self.length / 2 } else { self.length };
        self.bytes.resize(most, 0);
        stream.read_exact(&mut self.bytes).await.ok()?;
        Some(())
    }

    /// All that has not come yet.
    async fn read(&mut self, stream: &mut TcpStream) -> Option<()> {
        if self.is_chunked {
            while !self.bytes.ends_with(b"0\r\n\r\n") {
                read_chunk(stream, &mut self.bytes).await?;
            }
            return Some(());
        }
        let from = self.bytes.len();
        self.bytes.resize(self.length, 0);
        stream.read_exact(&mut self.bytes[from..]).await.ok()?;
        Some(())
    }
}

/// `None` when the connection ends.
async fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(head)
}

async fn read_message(stream: &mut TcpStream) -> Option<Message> {
    let head = read_head(stream).await?;
    let mut body = Body::of(&head);
    body.read(stream).await?;
    Some(Message { head, body })
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

//! As much of HTTP as a monitoring system needs: one small request for each connection, and its answer.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest head of a request.
const HEAD_BYTES: usize = 8 << 10;
/// Most headers of a request.
const HEADERS: usize = 64;
/// Time a request may take to arrive, and its answer to leave.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A path, without what follows a question mark.
    Path(String),
    /// Something else than GET and HEAD.
    OtherMethod,
    TooLong,
    Nonsense,
}

/// A request, and whether only the head of its answer is wanted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub asked: Asked,
    pub head_only: bool,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: &'static str,
    pub content_type: &'static str,
    pub body: String,
}

impl Answer {
    pub fn text(status: &'static str, body: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }

    fn head(&self) -> String {
        let Self { status, content_type, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             Allow: GET, HEAD\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
    }
}

/// Reads a request; `None` when none comes in time.
pub(super) async fn receive(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut head = Vec::with_capacity(1024);
    let read = async {
        loop {
            if let Some(request) = parse(&head) {
                return Ok(Some(request));
            }
            if stream.read_buf(&mut head).await? == 0 {
                return Ok(None);
            }
        }
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap_or(Ok(None))
}

/// Sends an answer, and ends the connection.
pub(super) async fn send(stream: &mut TcpStream, answer: &Answer, head_only: bool) -> io::Result<()> {
    let mut bytes = answer.head();
    if !head_only {
        bytes.push_str(&answer.body);
    }
    let send = async {
        stream.write_all(bytes.as_bytes()).await?;
        stream.shutdown().await
    };
    tokio::time::timeout(PATIENCE, send).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// `None` while there must be more to come.
fn parse(head: &[u8]) -> Option<Request> {
    let only = |asked| Some(Request { asked, head_only: false });
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Partial) if head.len() < HEAD_BYTES => None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => only(Asked::TooLong),
        Err(_) => only(Asked::Nonsense),
        Ok(httparse::Status::Complete(_)) => {
            let path = request.path.unwrap_or_default();
            let path = path.split_once('?').map_or(path, |(path, _)| path).to_owned();
            match request.method {
                Some("GET") => only(Asked::Path(path)),
                Some("HEAD") => Some(Request { asked: Asked::Path(path), head_only: true }),
                _ => only(Asked::OtherMethod),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_understood_once_its_head_is_there() {
        let whole = b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n";
        assert!((0..whole.len()).all(|end| parse(&whole[..end]).is_none()));
        let path = Asked::Path("/metrics".to_owned());
        assert_eq!(parse(whole), Some(Request { asked: path, head_only: false }));
        assert!(parse(b"HEAD / HTTP/1.0\r\n\r\n").is_some_and(|request| request.head_only));
    }

    #[test]
    fn what_is_no_request_is_told_so() {
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        let long = format!("GET /{}", "x".repeat(HEAD_BYTES));
        for (head, expected) in [
            ("POST / HTTP/1.1\r\n\r\n", Asked::OtherMethod),
            ("nonsense\r\n\r\n", Asked::Nonsense),
            ("\u{1}\u{2}", Asked::Nonsense),
            (&many, Asked::TooLong),
            (&long, Asked::TooLong),
        ] {
            assert_eq!(parse(head.as_bytes()).map(|request| request.asked), Some(expected), "{head:?}");
        }
    }
}

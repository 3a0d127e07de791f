//! A client of the Table service's protocol that sends what it is told and nothing else, but for a signature.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tablegate::rest::{EMULATOR_ACCOUNT, EMULATOR_KEY};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    method: String,
    path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), ..Self::default() }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn with_body(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    /// The same with a text in the place of another one in its headers and body.
    pub(crate) fn with(&self, from: &str, to: &str) -> Self {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.replace(from, to))).collect();
        Self { headers, body: self.body.replace(from, to), ..self.clone() }
    }
}

impl Answer {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or_default();
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Self { status, headers: lines.filter_map(header).collect(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name.to_lowercase()).map(|(_, value)| value.as_str())
    }

    /// The code of a refusal, in JSON or XML.
    pub(crate) fn code(&self) -> Option<String> {
        let (_, behind) = self.body.split_once("\"code\":\"").or_else(|| self.body.split_once("<m:code>"))?;
        Some(behind.chars().take_while(char::is_ascii_alphanumeric).collect())
    }
}

/// An account of a server of the protocol.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub address: SocketAddr,
    pub account: String,
    pub key: String,
}

impl Target {
    /// The emulator's account.
    pub(crate) fn of_emulator(address: SocketAddr) -> Self {
        Self { address, account: EMULATOR_ACCOUNT.to_owned(), key: EMULATOR_KEY.to_owned() }
    }

    /// The address of the account.
    pub(crate) fn base(&self) -> String {
        format!("http://{}/{}", self.address, self.account)
    }

    /// Sends a request, signed unless it says otherwise itself.
    pub(crate) async fn send(&self, request: &Request) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        stream.write_all(self.signed(request).as_bytes()).await.expect("it is read");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("it answers");
        Answer::parse(&answer)
    }

    /// The bytes of a request, with its signature.
    pub(crate) fn signed(&self, request: &Request) -> String {
        let Request { method, path, headers, body } = request;
        let path = format!("/{}{path}", self.account);
        let named = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let date = chrono::Utc::now().format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        let mut add = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
        if !named("authorization") && !path.contains("sig=") && method != "OPTIONS" {
            add("x-ms-date", &date);
            add("Authorization", &format!("SharedKeyLite {}:{}", self.account, self.signature(&path, &date)));
        }
        if !named("content-type") && !body.is_empty() {
            add("Content-Type", "application/json");
        }
        if !named("accept") {
            add("Accept", "application/json;odata=nometadata");
        }
        headers.iter().for_each(|(name, value)| add(name, value));
        add("Content-Length", &body.len().to_string());
        format!("{head}\r\n{body}")
    }

    fn signature(&self, path: &str, date: &str) -> String {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let component = query.split('&').find_map(|pair| pair.strip_prefix("comp="));
        let component = component.map_or_else(String::new, |component| format!("?comp={component}"));
        let text = format!("{date}\n/{}{path}{component}", self.account);
        let key = STANDARD.decode(&self.key).expect("it is Base64");
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
        STANDARD.encode(ring::hmac::sign(&key, text.as_bytes()))
    }
}

/// As SDKs take it.
pub(crate) fn connection_string(address: SocketAddr) -> String {
    format!(
        "DefaultEndpointsProtocol=http;AccountName={EMULATOR_ACCOUNT};AccountKey={EMULATOR_KEY};TableEndpoint={};",
        Target::of_emulator(address).base()
    )
}

/// Sends a request to the emulator's account.
pub(crate) async fn send(address: SocketAddr, request: &Request) -> Answer {
    Target::of_emulator(address).send(request).await
}

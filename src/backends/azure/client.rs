//! Requests to one account: built, signed, sent, and their answers sorted by what may be done about them.
//!
//! URLs never get into an error: a shared access signature is part of them.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::Utc;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER, SERVER};
use reqwest::{Method, Url};
use tablegate_store::model::TableName;
use tablegate_store::table::{RequestFigures, ScanStats, StoreError};

use super::AzureOptions;
use super::account::{AzureAccount, Credential};
use super::figures::Requests;
use super::gate::Gate;
use super::property_filter::Dialect;
use super::reply::{Refusal, Reply};
use super::retry::{Backoff, RetryPolicy};
use super::secret::Secret;
use super::sign::{http_date, shared_key};
use super::token::Bearer;

/// The version of the protocol that is spoken, and the first one that takes tokens.
const API_VERSION: &str = "2019-02-02";
const API_VERSION_FOR_TOKENS: &str = "2020-12-06";
const MINIMAL_METADATA: &str = "application/json;odata=minimalmetadata";
/// The service gives a request 30 seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Node, which the emulator runs on, closes connections that are idle for 5 seconds, even while a request is on its
/// way.
const IDLE_TIMEOUT_OF_EMULATOR: Duration = Duration::from_secs(4);
/// A write that takes longer has waited for others at the service. The emulator, which does one thing at a time, takes a
/// connection for idle that waits for 5 seconds, and resets it.
const SLOW_WRITE: Duration = Duration::from_secs(1);

/// One request, without what all have in common.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub method: Method,
    /// Behind the endpoint, percent-encoded, with its slash.
    pub path: String,
    /// Percent-encoded, without the question mark.
    pub query: String,
    pub headers: Vec<(&'static str, String)>,
    pub content_type: Option<String>,
    pub body: Bytes,
    /// What it is about, for the bound of the partition.
    pub partition: Option<(TableName, String)>,
}

impl Request {
    pub(super) fn get(path: String) -> Self {
        Self::new(Method::GET, path)
    }

    pub(super) fn new(method: Method, path: String) -> Self {
        Self {
            method,
            path,
            query: String::new(),
            headers: Vec::new(),
            content_type: None,
            body: Bytes::new(),
            partition: None,
        }
    }

    /// Adds a query parameter, encoded here.
    pub(super) fn add_parameter(&mut self, name: &str, value: &str) {
        if !self.query.is_empty() {
            self.query.push('&');
        }
        self.query.push_str(name);
        self.query.push('=');
        for byte in value.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => self.query.push(byte.into()),
                _ => self.query.push_str(&format!("%{byte:02X}")),
            }
        }
    }
}

/// What became of one try.
#[derive(Debug)]
pub(super) enum Sent {
    /// It was decided upon.
    Answer(Reply),
    /// Nothing came of it, and the same may be asked again after a while.
    Throttled { after: Option<Duration>, reason: String },
    /// It did not get there.
    NoConnection(String),
    /// It was not sent: there is no token for it.
    NoToken(String),
    /// It may have been carried out or not.
    Unknown(Unanswered, String),
}

/// Why nothing is known of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The service failed.
    Failed,
    /// The connection was lost, or the answer did not come in time.
    Lost,
}

/// The way to one account.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    account: AzureAccount,
    bearer: Option<Bearer>,
    gate: Gate,
    requests: Requests,
    retry: RetryPolicy,
    /// As the last answer said.
    answered_by: AtomicU8,
}

/// Who answers where the path names the account: nobody has yet, an emulator, or another gateway's own door.
const NOBODY: u8 = 0;
const EMULATOR: u8 = 1;
const GATEWAY: u8 = 2;
/// What a gateway says that it is.
const GATEWAY_NAME: &str = "tablegate/";

impl Client {
    /// # Errors
    /// [`StoreError::Unavailable`] when this machine's certificates cannot be used.
    pub(super) fn new(account: AzureAccount, options: &AzureOptions) -> Result<Self, StoreError> {
        let idle = if account.is_emulated() { IDLE_TIMEOUT_OF_EMULATOR } else { IDLE_TIMEOUT };
        let http = http(options.request_timeout.unwrap_or(REQUEST_TIMEOUT), idle)?;
        let bearer = match account.credential() {
            Credential::Token(source) => Some(Bearer::new(source.clone(), account.kind().scope())),
            Credential::Key(_) | Credential::Sas(_) => None,
        };
        let gate = Gate::new(options.requests_per_account, options.requests_per_partition);
        let (requests, retry, answered_by) = (Requests::default(), options.retry.clone(), AtomicU8::new(NOBODY));
        Ok(Self { http, account, bearer, gate, requests, retry, answered_by })
    }

    pub(super) fn account(&self) -> &AzureAccount {
        &self.account
    }

    /// By whose rules filters are evaluated; `None` while that is not known.
    pub(super) fn dialect(&self) -> Option<Dialect> {
        match self.answered_by.load(Ordering::Relaxed) {
            _ if !self.account.is_emulated() => Some(Dialect::Service),
            GATEWAY => Some(Dialect::Service),
            EMULATOR => Some(Dialect::Emulator),
            _ => None,
        }
    }

    pub(super) fn figures(&self) -> RequestFigures {
        self.requests.figures(self.gate.limit())
    }

    pub(super) fn backoff(&self) -> Backoff<'_> {
        Backoff::new(&self.retry)
    }

    /// Sends a request that changes nothing, as often as it takes.
    ///
    /// # Errors
    /// When the tries are used up. What the service refuses is in the reply.
    pub(super) async fn read(&self, request: &Request, stats: Option<&ScanStats>) -> Result<Reply, StoreError> {
        let mut backoff = self.backoff();
        loop {
            let sent = self.send(request, stats, &mut backoff).await;
            let (goes_on, error) = match sent {
                Sent::Answer(reply) => return Ok(reply),
                Sent::Throttled { after, reason } => (backoff.wait(after).await, StoreError::Throttled(reason)),
                Sent::NoConnection(reason) => (backoff.wait_to_connect().await, StoreError::Unavailable(reason)),
                Sent::NoToken(reason) => (false, StoreError::Unavailable(reason)),
                Sent::Unknown(why, reason) => (backoff.wait_unanswered(why).await, StoreError::Unavailable(reason)),
            };
            if !goes_on {
                return Err(error);
            }
            if let Some(stats) = stats {
                stats.add_retry();
            }
        }
    }

    /// Sends a request once, as one of these tries.
    pub(super) async fn send(&self, request: &Request, stats: Option<&ScanStats>, tries: &mut Backoff<'_>) -> Sent {
        let token = match &self.bearer {
            None => None,
            Some(bearer) => match bearer.token().await {
                Ok(token) => Some(token),
                // Who has tokens has tried several times already.
                Err(reason) => return Sent::NoToken(format!("no token of Entra ID: {reason}")),
            },
        };
        let partition = request.partition.as_ref().map(|(table, key)| (table, key.as_str()));
        let pass = self.gate.enter(partition).await;
        if let Some(stats) = stats {
            stats.add_request();
        }
        let began = Instant::now();
        let exchanged = self.exchange(request, token.as_ref()).await;
        let took = began.elapsed();
        tries.tried(took);
        let sent = match exchanged {
            Ok(reply) => {
                if let (401, Some(bearer), Some(token)) = (reply.status, &self.bearer, &token) {
                    bearer.forget(token).await;
                }
                if let Some(stats) = stats {
                    stats.add_bytes(reply.body.len());
                }
                let sent = sorted(reply);
                // What is throttled, or fails at the service, is not on the bill.
                if let (Some(stats), Sent::Answer(_)) = (stats, &sent) {
                    stats.add_transaction();
                }
                sent
            }
            Err(error) if error.is_connect() || error.is_builder() => Sent::NoConnection(without_url(error)),
            Err(error) => Sent::Unknown(Unanswered::Lost, without_url(error)),
        };
        self.requests.count(&sent, took);
        match &sent {
            Sent::Answer(_) if request.method != Method::GET && took > SLOW_WRITE => self.gate.answered_late(&pass),
            Sent::Answer(_) => self.gate.answered(),
            Sent::NoToken(_) => {}
            Sent::Throttled { .. } | Sent::NoConnection(_) | Sent::Unknown(..) => {
                self.gate.overloaded(&pass);
            }
        }
        sent
    }

    async fn exchange(&self, request: &Request, token: Option<&Secret>) -> Result<Reply, reqwest::Error> {
        let url = self.url(request);
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            insert(&mut headers, name, value);
        }
        let date = http_date(Utc::now());
        insert(&mut headers, "x-ms-date", &date);
        insert(&mut headers, "x-ms-version", token.map_or(API_VERSION, |_| API_VERSION_FOR_TOKENS));
        insert(&mut headers, "DataServiceVersion", "3.0");
        insert(&mut headers, "MaxDataServiceVersion", "3.0;NetFx");
        insert(&mut headers, "Accept", MINIMAL_METADATA);
        let content_type = request.content_type.as_deref().unwrap_or_default();
        if !content_type.is_empty() {
            insert(&mut headers, "Content-Type", content_type);
        }
        let builder = match &url {
            Ok(url) => {
                let authorization = match self.account.credential() {
                    Credential::Key(key) => {
                        let method = request.method.as_str();
                        Some(shared_key(key, self.account.name(), method, url, content_type, &date))
                    }
                    Credential::Token(_) => token.map(|token| format!("Bearer {}", token.expose())),
                    Credential::Sas(_) => None,
                };
                if let Some(Ok(mut value)) = authorization.as_deref().map(HeaderValue::from_str) {
                    value.set_sensitive(true);
                    headers.insert(AUTHORIZATION, value);
                }
                self.http.request(request.method.clone(), url.clone())
            }
            // Fails in `send`, as a builder's error.
            Err(_) => self.http.request(request.method.clone(), ""),
        };
        let response = builder.headers(headers).body(request.body.clone()).send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await?;
        let server = headers.get(SERVER).and_then(|server| server.to_str().ok()).unwrap_or_default();
        let answered_by = if server.starts_with(GATEWAY_NAME) { GATEWAY } else { EMULATOR };
        self.answered_by.store(answered_by, Ordering::Relaxed);
        Ok(Reply { status, headers, body })
    }

    fn url(&self, request: &Request) -> Result<Url, url_error::Malformed> {
        let mut text = format!("{}{}", self.account.endpoint(), request.path);
        let sas = match self.account.credential() {
            Credential::Sas(sas) => sas.expose(),
            Credential::Key(_) | Credential::Token(_) => "",
        };
        for (part, separator) in [(request.query.as_str(), '?'), (sas, '&')] {
            if !part.is_empty() {
                text.push(if text.contains('?') { separator } else { '?' });
                text.push_str(part);
            }
        }
        Url::parse(&text).map_err(|_| url_error::Malformed)
    }
}

mod url_error {
    //! The parser's own error would repeat the URL.

    pub(super) struct Malformed;
}

/// Answers that decide nothing are told apart from those that do.
fn sorted(reply: Reply) -> Sent {
    match reply.status {
        503 | 429 => {
            let after = reply.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            let reason = Refusal::of(&reply).to_string();
            Sent::Throttled { after: after.map(Duration::from_secs), reason }
        }
        408 | 500 | 502 | 504 => Sent::Unknown(Unanswered::Failed, Refusal::of(&reply).to_string()),
        _ => Sent::Answer(reply),
    }
}

/// A value that no header can hold is left out; the service then says what is missing.
fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// The one kind of HTTP client there is. `timeout` is for a request with its answer, `idle` for connections between two.
///
/// # Errors
/// [`StoreError::Unavailable`] when this machine's certificates cannot be used.
pub(super) fn http(timeout: Duration, idle: Duration) -> Result<reqwest::Client, StoreError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls()?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(timeout)
        .pool_idle_timeout(idle)
        .referer(false)
        .build()
        .map_err(|error| StoreError::Unavailable(without_url(error)))
}

/// The machine's certificate authorities, and the one provider of cryptography that this program has.
fn tls() -> Result<tokio_rustls::rustls::ClientConfig, StoreError> {
    use rustls_platform_verifier::BuilderVerifierExt;
    use tokio_rustls::rustls::{ClientConfig, crypto::ring};
    let unusable = |error: tokio_rustls::rustls::Error| StoreError::Unavailable(error.to_string());
    let builder = ClientConfig::builder_with_provider(ring::default_provider().into());
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    Ok(builder.with_platform_verifier().map_err(unusable)?.with_no_client_auth())
}

pub(super) fn without_url(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

//! The figures of a running server over HTTP, for Prometheus and what reads its format; and whether it takes clients.
//!
//! Nobody logs in here, so nothing here names tables, users or statements: only numbers, under names that are fixed.

mod exposition;
mod process;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tablegate_pg::Counters;
use tablegate_sql::Engine;
use tablegate_store::model::EdmDateTime;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::exposition::{CONTENT_TYPE, Source};

/// Connections at once: a monitoring system needs one, a person another.
const CONNECTIONS: usize = 16;
/// Longest head of a request; the least that hyper reads into.
const REQUEST_BYTES: usize = 8 << 10;
/// Time a request may take to arrive, and its answer to leave.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause after a failed accept, so that running out of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long answers under way may take once the server has stopped.
const FAREWELL: Duration = Duration::from_secs(1);

/// What is asked about.
pub(super) struct Monitored {
    pub engine: Arc<Engine>,
    pub counters: Arc<Counters>,
    /// Of the door for the Azure SDKs, where it is open.
    pub rest: Option<Arc<tablegate_rest::Counters>>,
    pub max_connections: usize,
    pub started: EdmDateTime,
    /// The server takes no new clients any more.
    pub draining: CancellationToken,
}

/// Answers until `stop`: longer than the server takes clients, so that its end can be watched.
pub(super) async fn serve(listener: TcpListener, monitored: Monitored, stop: CancellationToken) {
    let endpoint = Arc::new(Endpoint { draining: monitored.draining.clone(), source: Source::new(monitored) });
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept(), if connections.len() < CONNECTIONS => accepted,
        };
        match accepted {
            Ok((stream, _)) => drop(connections.spawn(endpoint.clone().serve(stream))),
            Err(error) => {
                tracing::warn!(%error, "a connection for metrics could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // What is not answered by then is cut off with the set.
    let _ = tokio::time::timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
}

struct Endpoint {
    source: Source,
    draining: CancellationToken,
}

impl Endpoint {
    /// One request, and its answer.
    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let answer = service_fn(move |request| {
            let endpoint = self.clone();
            async move { Ok::<_, Infallible>(endpoint.answer(&request).await) }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(REQUEST_BYTES).keep_alive(false);
        let served = http.serve_connection(TokioIo::new(stream), answer);
        match tokio::time::timeout(2 * PATIENCE, served).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a request for metrics was not answered"),
            Err(_) => tracing::debug!("an answer with metrics was not taken in time"),
        }
    }

    async fn answer(self: Arc<Self>, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here");
            refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        match request.uri().path() {
            "/metrics" => self.metrics().await,
            "/healthz" if self.draining.is_cancelled() => text(StatusCode::SERVICE_UNAVAILABLE, "draining"),
            "/healthz" => text(StatusCode::OK, "ok"),
            _ => text(StatusCode::NOT_FOUND, "there are /metrics and /healthz"),
        }
    }

    /// The store may wait for the disk before it answers, and others are not to wait with it.
    async fn metrics(self: Arc<Self>) -> Response<Full<Bytes>> {
        match tokio::task::spawn_blocking(move || self.source.exposition()).await {
            Ok(Ok(body)) => response(StatusCode::OK, CONTENT_TYPE, body),
            failed => {
                tracing::error!(?failed, "the metrics could not be written");
                text(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written")
            }
        }
    }
}

fn text(status: StatusCode, line: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", format!("{line}\n"))
}

fn response(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

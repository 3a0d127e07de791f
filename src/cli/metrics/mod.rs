//! The figures of a running server over HTTP, for Prometheus and what reads its format; and whether it takes clients.
//!
//! Nobody logs in here, so nothing here names tables, users or statements: only numbers, under names that are fixed.

mod exposition;
mod http;
mod process;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::exposition::{CONTENT_TYPE, Source};
use self::http::{Answer, Asked};
use crate::model::EdmDateTime;
use crate::pg::Counters;
use crate::sql::Engine;

/// Connections at once: a monitoring system needs one, a person another.
const CONNECTIONS: usize = 16;
/// Pause after a failed accept, so that running out of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long answers under way may take once the server has stopped.
const FAREWELL: Duration = Duration::from_secs(1);

/// What is asked about.
pub struct Monitored {
    pub engine: Arc<Engine>,
    pub counters: Arc<Counters>,
    pub max_connections: usize,
    pub started: EdmDateTime,
    /// The server takes no new clients any more.
    pub draining: CancellationToken,
}

/// Answers until `stop`: longer than the server takes clients, so that its end can be watched.
pub async fn serve(listener: TcpListener, monitored: Monitored, stop: CancellationToken) {
    let endpoint = Arc::new(Endpoint {
        draining: monitored.draining.clone(),
        source: Source::new(monitored.engine, monitored.counters, monitored.max_connections, monitored.started),
    });
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
    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        if let Err(error) = self.try_serve(&mut stream).await {
            tracing::debug!(%error, "a request for metrics was not answered");
        }
    }

    async fn try_serve(self: Arc<Self>, stream: &mut TcpStream) -> io::Result<()> {
        let Some(request) = http::receive(stream).await? else { return Ok(()) };
        let answer = match request.asked {
            Asked::Path(path) => self.answer(&path).await,
            Asked::OtherMethod => Answer::text("405 Method Not Allowed", "only GET is answered here"),
            Asked::TooLong => Answer::text("431 Request Header Fields Too Large", "the request is too long"),
            Asked::Nonsense => Answer::text("400 Bad Request", "this is no request"),
        };
        http::send(stream, &answer, request.head_only).await
    }

    async fn answer(self: Arc<Self>, path: &str) -> Answer {
        match path {
            "/metrics" => self.metrics().await,
            "/healthz" if self.draining.is_cancelled() => Answer::text("503 Service Unavailable", "draining"),
            "/healthz" => Answer::text("200 OK", "ok"),
            _ => Answer::text("404 Not Found", "there are /metrics and /healthz"),
        }
    }

    /// The store may wait for the disk before it answers, and others are not to wait with it.
    async fn metrics(self: Arc<Self>) -> Answer {
        match tokio::task::spawn_blocking(move || self.source.exposition()).await {
            Ok(Ok(body)) => Answer { status: "200 OK", content_type: CONTENT_TYPE, body },
            failed => {
                tracing::error!(?failed, "the metrics could not be written");
                Answer::text("500 Internal Server Error", "the metrics could not be written")
            }
        }
    }
}

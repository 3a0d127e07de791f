//! Accepts connections, keeps them within their number and their time, and ends them in order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::door::Door;
use crate::handler::{self, Way};

/// Longest head of a request: addresses and filters stand in it.
const HEAD_BYTES: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
/// Time a client has between two requests, and to send the head of one.
const HEAD_TIME: Duration = Duration::from_secs(120);
/// Time for a handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Pause after a failed accept, so that running out of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Server {
    pub door: Arc<Door>,
    pub tls: Option<TlsAcceptor>,
    pub max_connections: usize,
    /// How long requests under way may go on after a shutdown was asked for.
    pub drain_timeout: Duration,
}

impl Server {
    /// Serves until `stop`: then idle connections end at once, and requests under way have `drain_timeout`.
    pub(crate) async fn run(self, listener: TcpListener, stop: CancellationToken) {
        let server = Arc::new(self);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = connections.join_next() => {
                    log_panic(ended);
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) if connections.len() < server.max_connections => {
                    connections.spawn(Arc::clone(&server).serve(stream, peer, stop.clone()));
                }
                Ok((_, peer)) => {
                    server.door.counters.add_refused_connection();
                    tracing::warn!(%peer, "too many connections: one more of the REST protocol was closed");
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection of the REST protocol could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        let all_ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(server.drain_timeout, all_ended).await.is_err() {
            tracing::warn!(count = connections.len(), "connections of the REST protocol were cut off");
            connections.abort_all();
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, peer: SocketAddr, stop: CancellationToken) {
        let _open = Open::new(Arc::clone(&self.door));
        // Answers are sent in whole pieces already.
        let _ = stream.set_nodelay(true);
        let end = CancellationToken::new();
        let client = self.door.coordinator.connected(peer, end.clone());
        let way = Way { peer, is_encrypted: self.tls.is_some(), client: client.as_deref() };
        let talk = self.greet(stream, way, stop);
        // Who watches may end it.
        let _ = end.run_until_cancelled(talk).await;
    }

    async fn greet(&self, stream: TcpStream, way: Way<'_>, stop: CancellationToken) {
        let peer = way.peer;
        match &self.tls {
            None => self.talk(stream, way, stop).await,
            Some(acceptor) => {
                let shaken = tokio::time::timeout(HANDSHAKE_TIME, acceptor.accept(stream));
                match stop.run_until_cancelled(shaken).await {
                    // Nothing was asked yet.
                    None => {}
                    Some(Ok(Ok(stream))) => self.talk(stream, way, stop).await,
                    Some(Ok(Err(error))) => tracing::info!(%peer, %error, "no TLS handshake"),
                    Some(Err(_)) => tracing::info!(%peer, "no TLS handshake in time"),
                }
            }
        }
    }

    async fn talk(&self, stream: impl AsyncRead + AsyncWrite + Unpin, way: Way<'_>, stop: CancellationToken) {
        let answer = service_fn(|request: Request<Incoming>| async move {
            let (parts, body) = request.into_parts();
            Ok::<_, Infallible>(handler::answer(&self.door, way, parts, body).await)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES).max_headers(HEADERS_MAX);
        let connection = http.serve_connection(TokioIo::new(stream), answer);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(peer = %way.peer, %error, "a connection of the REST protocol ended early");
        }
    }
}

/// An open connection, as it is counted.
struct Open(Arc<Door>);

impl Open {
    fn new(door: Arc<Door>) -> Self {
        door.counters.add_connection();
        Self(door)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.counters.remove_connection();
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection of the REST protocol panicked");
    }
}

//! Accepts connections, keeps them within their number, and ends them in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::{Authentication, BackendKeyData, SecretKey};
use tablegate_sql::Engine;
use tablegate_sql::session::Session;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::arrivals::Arrivals;
use super::auth::{Admitted, Gate};
use super::cancel::{CancelRegistry, Stop};
use super::connection::Connection;
use super::counters::Refusal;
use super::error::Failure;
use super::frame::FrameReader;
use super::halt::{Halt, Interrupts};
use super::outbox::Outbox;
use super::seats::{Seat, Seats};
use super::startup::{self, Request, Startup};
use super::stream::Stream;
use super::{PgConfig, check_listen_address};

/// Connections that may be in their start-up beyond the number of sessions: room for cancel requests.
const STARTING: usize = 64;
/// Pause after a failed accept, so that running out of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections get to say goodbye after the drain is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves clients until `shutdown`: then idle connections end at once, and running statements have `drain_timeout`.
///
/// # Errors
/// When the listener listens on an address that must not be served with this configuration.
pub fn serve(
    listener: TcpListener,
    engine: Arc<Engine>,
    config: PgConfig,
    shutdown: CancellationToken,
) -> BoxFuture<'static, io::Result<()>> {
    Box::pin(async move {
        check_listen_address(listener.local_addr()?, &config)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let server = Arc::new(Server {
            engine,
            seats: Seats::new(config.max_connections, config.max_connections_per_user),
            gate: Gate::new(&config.auth, config.tls.clone(), config.require_tls),
            cancels: Arc::default(),
            arrivals: Arrivals::within(config.message_memory),
            kill: CancellationToken::new(),
            shutdown,
            config,
        });
        let mut connections = JoinSet::new();
        server.accept(&listener, &mut connections).await;
        drop(listener);
        server.drain(&mut connections).await;
        Ok(())
    })
}

struct Server {
    engine: Arc<Engine>,
    config: PgConfig,
    seats: Arc<Seats>,
    gate: Gate,
    cancels: Arc<CancelRegistry>,
    /// Room for messages that have not arrived whole.
    arrivals: Arc<Arrivals>,
    shutdown: CancellationToken,
    kill: CancellationToken,
}

impl Server {
    async fn accept(self: &Arc<Self>, listener: &TcpListener, connections: &mut JoinSet<()>) {
        let most = self.config.max_connections.saturating_add(STARTING);
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return,
                Some(ended) = connections.join_next() => {
                    log_panic(ended);
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) if connections.len() < most => {
                    self.config.counters.accepted.add_one();
                    connections.spawn(self.clone().serve(stream, peer));
                }
                // Too many to be told so.
                Ok(_) => {
                    self.config.counters.accepted.add_one();
                    self.config.counters.add_refused(Refusal::Starting);
                    tracing::warn!("a connection was closed: too many are starting up");
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn drain(&self, connections: &mut JoinSet<()>) {
        let all_ended = async |connections: &mut JoinSet<()>| {
            while let Some(ended) = connections.join_next().await {
                log_panic(ended);
            }
        };
        tokio::select! {
            () = all_ended(connections) => return,
            () = tokio::time::sleep(self.config.drain_timeout) => {}
            () = self.config.hurry.cancelled() => {}
        }
        self.kill.cancel();
        if tokio::time::timeout(FAREWELL, all_ended(connections)).await.is_err() {
            tracing::warn!(count = connections.len(), "connections were cut off");
            connections.abort_all();
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        // Answers are sent in whole pieces already.
        let _ = stream.set_nodelay(true);
        let mut stream = Stream::Plain(stream);
        let started = tokio::select! {
            biased;
            () = self.shutdown.cancelled() => Err(Halt::Fatal(Failure::shutdown())),
            started = tokio::time::timeout(self.config.startup_timeout, self.start(&mut stream, peer)) => {
                started.unwrap_or_else(|_| {
                    tracing::info!(%peer, "a client took too long to log in");
                    self.config.counters.add_refused(Refusal::Timeout);
                    Err(Halt::Gone)
                })
            }
        };
        match started {
            Ok(Some(started)) => self.run(stream, peer, started).await,
            Ok(None) | Err(Halt::Gone) => {}
            Err(Halt::Fatal(failure) | Halt::Statement(failure)) => {
                self.config.counters.add_refused(Refusal::of(&failure));
                self.config.counters.add_error(&failure);
                // A client that is gone need not be told.
                let _ = tokio::time::timeout(FAREWELL, startup::refuse(&mut stream, &failure)).await;
            }
        }
    }

    /// Everything before the session; `None` when there will be none.
    async fn start(&self, stream: &mut Stream, peer: SocketAddr) -> Result<Option<Started>, Halt> {
        let Startup { mut options, negotiation } = match startup::receive(stream, self.gate.tls()).await? {
            Request::Session(startup) => startup,
            Request::Cancel { pid, secret } => {
                self.config.counters.cancel_requests.add_one();
                self.cancels.cancel(pid, secret);
                return Ok(None);
            }
            Request::Nothing => return Ok(None),
        };
        if let Some(negotiation) = negotiation {
            startup::send(stream, &negotiation).await?;
        }
        let Admitted { role, is_admin } = self.gate.admit(stream, peer, &options).await?;
        options.role = role;
        let seat = self.seats.take(&options.user, is_admin).map_err(Halt::Fatal)?;
        let encryption = stream.encryption();
        let (user, database) = (options.user.clone(), options.database.clone());
        options.encryption = encryption.clone().map(Arc::new);
        options.server = stream.server_address();
        let session = Session::new(self.engine.clone(), options)?;
        let encryption = encryption.map_or("none", |encryption| encryption.version);
        tracing::info!(%peer, ?user, ?database, encryption, "connected");
        Ok(Some(Started { session, user, _seat: seat }))
    }

    async fn run(&self, stream: Stream, peer: SocketAddr, started: Started) {
        let began = Instant::now();
        let Started { mut session, user, _seat } = started;
        let registration = self.cancels.register();
        session.set_process(registration.pid);
        let counters = &self.config.counters;
        let (read_half, write_half) = tokio::io::split(stream);
        let mut outbox = Outbox::new(write_half, counters.clone());
        outbox.send(&PgWireBackendMessage::Authentication(Authentication::Ok));
        super::connection::send_parameters(&mut session, &mut outbox);
        let secret = SecretKey::I32(registration.secret);
        outbox.send(&PgWireBackendMessage::BackendKeyData(BackendKeyData::new(registration.pid, secret)));
        let kill = self.kill.child_token();
        session.appear(Some(peer), Arc::new(Stop { running: registration.running.clone(), kill: kill.clone() }));
        let interrupts = Interrupts::new(registration.running.clone(), kill, counters.clone());
        let reader = FrameReader::new(read_half, self.arrivals.clone(), counters.clone());
        Connection::new(session, reader, outbox, interrupts, self.shutdown.clone()).run().await;
        tracing::info!(%peer, ?user, after = ?began.elapsed(), "disconnected");
    }
}

/// A client that was let in.
struct Started {
    session: Session,
    user: String,
    _seat: Seat,
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked");
    }
}

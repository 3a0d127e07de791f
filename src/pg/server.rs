//! Accepts connections, keeps them within their number, and ends them in order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::{Authentication, BackendKeyData, SecretKey};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::cancel::CancelRegistry;
use super::connection::Connection;
use super::error::Failure;
use super::frame::FrameReader;
use super::halt::Interrupts;
use super::outbox::Outbox;
use super::startup::{self, Request, Startup};
use super::{PgConfig, check_listen_address};
use crate::sql::Engine;
use crate::sql::session::Session;

/// Connections that may be in their start-up beyond the number of sessions: room for cancel requests.
const STARTING: usize = 64;
/// Pause after a failed accept, so that running out of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections get to say goodbye after the drain is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves clients until `shutdown`: then idle connections end at once, and running statements have `drain_timeout`.
///
/// # Errors
/// When the listener does not listen on a loopback address.
pub async fn serve(
    listener: TcpListener,
    engine: Arc<Engine>,
    config: PgConfig,
    shutdown: CancellationToken,
) -> io::Result<()> {
    check_listen_address(listener.local_addr()?).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let server = Arc::new(Server {
        engine,
        slots: Arc::new(Semaphore::new(config.max_connections.min(Semaphore::MAX_PERMITS))),
        cancels: Arc::default(),
        kill: CancellationToken::new(),
        shutdown,
        config,
    });
    let mut connections = JoinSet::new();
    server.accept(&listener, &mut connections).await;
    drop(listener);
    server.drain(&mut connections).await;
    Ok(())
}

struct Server {
    engine: Arc<Engine>,
    config: PgConfig,
    slots: Arc<Semaphore>,
    cancels: Arc<CancelRegistry>,
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
                Ok((stream, _)) if connections.len() < most => {
                    connections.spawn(self.clone().serve(stream));
                }
                // Too many to be told so.
                Ok(_) => tracing::warn!("a connection was closed: too many are starting up"),
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
        if tokio::time::timeout(self.config.drain_timeout, all_ended(connections)).await.is_ok() {
            return;
        }
        self.kill.cancel();
        if tokio::time::timeout(FAREWELL, all_ended(connections)).await.is_err() {
            tracing::warn!(count = connections.len(), "connections were cut off");
            connections.abort_all();
        }
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        // Answers are sent in whole pieces already.
        let _ = stream.set_nodelay(true);
        let started = tokio::select! {
            biased;
            () = self.shutdown.cancelled() => Err(Failure::shutdown()),
            started = tokio::time::timeout(self.config.startup_timeout, self.start(&mut stream)) => match started {
                Ok(Ok(Some(started))) => Ok(started),
                Ok(Ok(None) | Err(_)) | Err(_) => return,
            },
        };
        match started {
            Ok(started) => self.run(stream, started).await,
            Err(failure) => {
                // A client that is gone need not be told.
                let _ = tokio::time::timeout(FAREWELL, startup::refuse(&mut stream, &failure)).await;
            }
        }
    }

    /// Everything before the session; `None` when there will be none.
    async fn start(&self, stream: &mut TcpStream) -> io::Result<Option<Started>> {
        let Startup { options, negotiation } = match startup::receive(stream).await? {
            Request::Session(startup) => startup,
            Request::Cancel { pid, secret } => {
                self.cancels.cancel(pid, secret);
                return Ok(None);
            }
            Request::Nothing => return Ok(None),
        };
        let Ok(slot) = self.slots.clone().try_acquire_owned() else {
            startup::refuse(stream, &Failure::TooManyConnections).await?;
            return Ok(None);
        };
        match Session::new(self.engine.clone(), options) {
            Ok(session) => Ok(Some(Started { session, negotiation, _slot: slot })),
            Err(error) => {
                startup::refuse(stream, &Failure::Sql(error)).await?;
                Ok(None)
            }
        }
    }

    async fn run(&self, stream: TcpStream, started: Started) {
        let Started { mut session, negotiation, _slot } = started;
        let registration = self.cancels.register();
        session.set_process(registration.pid);
        let (read_half, write_half) = stream.into_split();
        let mut outbox = Outbox::new(write_half);
        if let Some(negotiation) = negotiation {
            outbox.send(&negotiation);
        }
        outbox.send(&PgWireBackendMessage::Authentication(Authentication::Ok));
        super::connection::send_parameters(&mut session, &mut outbox);
        let secret = SecretKey::I32(registration.secret);
        outbox.send(&PgWireBackendMessage::BackendKeyData(BackendKeyData::new(registration.pid, secret)));
        let interrupts = Interrupts::new(registration.running.clone(), self.kill.clone());
        let reader = FrameReader::new(read_half);
        Connection::new(session, reader, outbox, interrupts, self.shutdown.clone()).run().await;
    }
}

/// A client that was let in.
struct Started {
    session: Session,
    negotiation: Option<PgWireBackendMessage>,
    _slot: OwnedSemaphorePermit,
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked");
    }
}

//! `tablegate serve`: open, listen, say so, wait for a signal, drain.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use tablegate_pg::{ListenRefused, Method, PgConfig, TlsError, UsersError, UsersFile, check_listen_address};
use tablegate_rest::{EMULATOR_ACCOUNT, RestConfig};
use tablegate_sql::Engine;
use tablegate_sql::limits::STATEMENT_STACK;
use tablegate_store::model::{Clock, EdmDateTime, SystemClock};
use tablegate_types::error::SqlError;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::config::{Config, StoreConfig};
use super::doors::BesideSql;
use super::metrics::{self, Monitored};
use super::settings::{FsyncWhen, LogFormat};
use super::wiring::{self, Opened, RestError, WiringError};
use super::{private, sample};

/// Why the server could not start, or stopped.
#[derive(Debug, Error)]
pub(super) enum ServeError {
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error("{0} is in use by another program; choose another address with --listen")]
    AddressInUse(SocketAddr),
    #[error("{0}, the address for metrics, is in use by another program; choose another with --metrics")]
    MetricsAddressInUse(SocketAddr),
    #[error("{0}, the address for the Azure SDKs, is in use by another program; choose another with --rest")]
    RestAddressInUse(SocketAddr),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    #[error(transparent)]
    Refused(#[from] ListenRefused),
    #[error(transparent)]
    RestRefused(#[from] tablegate_rest::ListenRefused),
    #[error(transparent)]
    Users(#[from] UsersError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Rest(#[from] RestError),
    #[error(transparent)]
    Wiring(#[from] WiringError),
    #[error("cannot make the sample tables (--no-sample starts without): {0}")]
    Sample(Box<SqlError>),
    #[error("the server stopped: {0}")]
    Stopped(io::Error),
}

impl ServeError {
    fn listening(address: SocketAddr, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::AddressInUse(address),
            _ => Self::Listen(address, error),
        }
    }

    /// Says of an address in use what it is for.
    fn about(self, in_use: fn(SocketAddr) -> Self) -> Self {
        match self {
            Self::AddressInUse(address) => in_use(address),
            other => other,
        }
    }
}

/// Connections that the system takes before the server does.
const BACKLOG: u32 = 1024;

/// How many steps of clients a thread takes before it looks for what has arrived: one that is sent many rows takes a millisecond.
const STEPS_UNASKED: u32 = 8;

/// Serves until a signal comes and the clients are done.
///
/// # Errors
/// When the address or the data cannot be used; each is one line for the person who started it.
pub(super) fn serve(config: &Config) -> Result<(), ServeError> {
    start_logging(config);
    allow_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STATEMENT_STACK)
        .event_interval(STEPS_UNASKED)
        .build()
        .map_err(ServeError::Start)?;
    runtime.block_on(run(config))
}

async fn run(config: &Config) -> Result<(), ServeError> {
    let started = SystemClock.now();
    let front_end = wiring::front_end(config)?;
    let hurry = front_end.hurry.clone();
    check_listen_address(config.listen, &front_end)?;
    let stop = CancellationToken::new();
    heed_signals(stop.clone(), hurry.clone()).map_err(ServeError::Start)?;
    // The addresses come first, so that a port in use is found before anything is written; but nobody is let in, and waits
    // there, until the stores are open.
    let door = Door::reserve(config.listen)?;
    let metrics_door =
        config.metrics.map(Door::reserve).transpose().map_err(|error| error.about(ServeError::MetricsAddressInUse))?;
    let rest_door = config.rest.map(|address| reserve_for_rest(address, config)).transpose()?;
    let address = door.address()?;
    let Opened { store, scratch, is_new, place } = wiring::open_store(&config.store)?;
    let engine = wiring::open_engine(store, scratch, config).await?;
    let with_sample = config.sample && is_new;
    let user = first_user(config)?;
    let name = user.clone().filter(|name| is_plain(name)).unwrap_or_else(user_name);
    let psql = format!("psql -h {} -p {} -U {name} {}", address.ip(), address.port(), engine.config().database);
    if with_sample {
        sample::create(&engine).await.map_err(ServeError::Sample)?;
    }
    warn_of_lost_commits(config);
    warn_of_closed_door(config, user.as_deref());
    warn_of_open_key(config);
    let listener = door.open()?;
    let metrics =
        metrics_door.map(Door::open).transpose().map_err(|error| error.about(ServeError::MetricsAddressInUse))?;
    let counters = rest_door.as_ref().map(|(_, rest)| rest.counters.clone());
    let rest = match rest_door {
        Some((door, rest)) => Some(serve_rest(
            door.open().map_err(|error| error.about(ServeError::RestAddressInUse))?,
            rest,
            &engine,
            &stop,
        )),
        None => None,
    };
    greet(address, &place, &psql, with_sample);
    let metrics = metrics.map(|listener| show_metrics(listener, &engine, &front_end, counters, started, &stop));
    let served = tablegate_pg::serve(listener, engine.clone(), front_end, stop.clone()).await;
    // Where one door cannot go on, neither does the other.
    stop.cancel();
    if let Some(mut rest) = rest {
        tokio::select! {
            ended = &mut rest => {
                ended.map_err(|error| ServeError::Stopped(io::Error::other(error)))?.map_err(ServeError::Stopped)?;
            }
            () = hurry.cancelled() => rest.abort(),
        }
    }
    engine.flush().await;
    if let Some((task, end)) = metrics {
        end.cancel();
        // A defect there is no reason not to stop.
        let _ = task.await;
    }
    served.map_err(ServeError::Stopped)?;
    tracing::info!("stopped");
    Ok(())
}

fn start_logging(config: &Config) {
    // The filter was parsed when the configuration was checked.
    let filter = EnvFilter::try_new(without_values(&config.log)).unwrap_or_default();
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| LogOutput(io::stderr()));
    // A program that uses this crate as a library may log already; its choice holds.
    let _ = match config.log_format {
        LogFormat::Text => subscriber.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).with_current_span(false).try_init(),
    };
}

/// Where the log goes. That it cannot be written, because its disk is full or nobody reads it any more, is no reason to stop,
/// and there is nowhere to say it.
struct LogOutput(io::Stderr);

impl Write for LogOutput {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

/// As many files and connections as the system lets this process have: what shells begin with, often 1,024, is few for both.
fn allow_open_files() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// The filter, where a level is said for everything that is more than `info`: that is for the server's own messages alone.
/// Those of its libraries show statements and values; who wants to see them names the library (`datafusion=trace`).
fn without_values(filter: &str) -> String {
    let directive = |part: &str| match part.trim().parse::<LevelFilter>() {
        Ok(level) if level > LevelFilter::INFO => format!("info,tablegate={level}"),
        _ => part.to_owned(),
    };
    filter.split(',').map(directive).collect::<Vec<_>>().join(",")
}

/// An address that is this server's, at which nobody is let in yet.
struct Door {
    socket: TcpSocket,
    asked: SocketAddr,
}

impl Door {
    fn reserve(asked: SocketAddr) -> Result<Self, ServeError> {
        let refused = |error| ServeError::listening(asked, error);
        let socket = if asked.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(refused)?;
        // Connections of a server that was here a moment ago do not keep the address.
        #[cfg(unix)]
        socket.set_reuseaddr(true).map_err(refused)?;
        socket.bind(asked).map_err(refused)?;
        Ok(Self { socket, asked })
    }

    /// Where it is, with the port that was chosen where none was asked for.
    fn address(&self) -> Result<SocketAddr, ServeError> {
        self.socket.local_addr().map_err(ServeError::Start)
    }

    fn open(self) -> Result<TcpListener, ServeError> {
        self.socket.listen(BACKLOG).map_err(|error| ServeError::listening(self.asked, error))
    }
}

/// Takes the address for the Azure SDKs.
fn reserve_for_rest(address: SocketAddr, config: &Config) -> Result<(Door, RestConfig), ServeError> {
    let rest = wiring::rest(config)?;
    tablegate_rest::check_listen_address(address, &rest)?;
    Ok((Door::reserve(address).map_err(|error| error.about(ServeError::RestAddressInUse))?, rest))
}

/// Serves the Azure SDKs until the token is cancelled.
fn serve_rest(
    listener: TcpListener,
    rest: RestConfig,
    engine: &Arc<Engine>,
    stop: &CancellationToken,
) -> JoinHandle<io::Result<()>> {
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, "the Azure SDKs are served");
        if tablegate_rest::is_loopback(address) {
            tracing::info!(
                "the emulator's account {EMULATOR_ACCOUNT} is let in: everybody on this machine knows its key"
            );
        }
    }
    let (store, beside) = (engine.stores().public().clone(), Arc::new(BesideSql::new(engine.clone())));
    tokio::spawn(tablegate_rest::serve(listener, store, beside, Arc::new(SystemClock), rest, stop.clone()))
}

/// Shows metrics until the token is cancelled.
fn show_metrics(
    listener: TcpListener,
    engine: &Arc<Engine>,
    front_end: &PgConfig,
    rest: Option<Arc<tablegate_rest::Counters>>,
    started: EdmDateTime,
    stop: &CancellationToken,
) -> (JoinHandle<()>, CancellationToken) {
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, "metrics are at /metrics");
    }
    let monitored = Monitored {
        engine: engine.clone(),
        counters: front_end.counters.clone(),
        rest,
        max_connections: front_end.max_connections,
        started,
        draining: stop.clone(),
    };
    let end = CancellationToken::new();
    (tokio::spawn(metrics::serve(listener, monitored, end.clone())), end)
}

fn warn_of_lost_commits(config: &Config) {
    if let StoreConfig::Embedded { fsync: FsyncWhen::Never, .. } = config.store {
        tracing::warn!("fsync = never: COMMITS MAY BE LOST when the machine stops; use it for data you can load again");
    }
}

fn warn_of_closed_door(config: &Config, user: Option<&str>) {
    if config.auth == Method::Scram && user.is_none() {
        tracing::warn!("there are no users yet, so nobody can log in; make one with `tablegate user add NAME`");
    }
}

/// That others than its owner can read the private key, which PostgreSQL refuses; where secrets are mounted it is usual.
fn warn_of_open_key(config: &Config) {
    if let Some(files) = &config.tls
        && private::is_open_to_others(&files.key)
    {
        let key = files.key.display();
        tracing::warn!("the private key {key} is open to other users of this machine; close it with: chmod 600 {key}");
    }
}

/// What to do next, on stdout. That nobody may be reading it is no reason to stop.
fn greet(address: SocketAddr, place: &str, psql: &str, with_sample: bool) {
    let mut text = format!("tablegate listens on {address}, {place}\n\n  {psql}\n");
    if with_sample {
        text.push_str("\nSample tables to try: employees, airlines, airports, planes. For example:\n");
        text.push_str("\n  SELECT * FROM employees WHERE \"PartitionKey\" = 'Marketing';\n");
    }
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// One of the users, if there are any.
fn first_user(config: &Config) -> Result<Option<String>, UsersError> {
    let Some(file) = &config.users else { return Ok(None) };
    Ok(UsersFile::new(file).read()?.iter().next().map(|(name, _)| name.to_owned()))
}

/// The user to show in the psql line where any name is let in: the own one.
fn user_name() -> String {
    std::env::var("USER").ok().filter(|name| is_plain(name)).unwrap_or_else(|| "tablegate".to_owned())
}

/// Whether a name needs no quoting in a shell.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// SIGINT and SIGTERM begin the drain, a second one ends it. SIGHUP is for programs that read their files again.
#[cfg(unix)]
fn heed_signals(stop: CancellationToken, hurry: CancellationToken) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
                _ = hangup.recv() => {
                    tracing::info!("SIGHUP: users and accounts are read again whenever their files change, other settings at the next start");
                    continue;
                }
            };
            if stop.is_cancelled() {
                hurry.cancel();
                tracing::info!("{name}: running statements are ended");
                return;
            }
            stop.cancel();
            tracing::info!("{name}: no new clients, waiting for running statements; a second signal ends them");
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn heed_signals(stop: CancellationToken, hurry: CancellationToken) -> io::Result<()> {
    tokio::spawn(async move {
        for token in [stop, hurry] {
            if tokio::signal::ctrl_c().await.is_ok() {
                token.cancel();
                tracing::info!("interrupted: no new clients, waiting for running statements; a second time ends them");
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_say_what_they_do_only_when_they_are_named() {
        assert_eq!(without_values("trace"), "info,tablegate=trace");
        assert_eq!(without_values("DEBUG,hyper=trace"), "info,tablegate=debug,hyper=trace");
        assert_eq!(without_values("warn"), "warn");
        assert_eq!(without_values("tablegate_pg=debug"), "tablegate_pg=debug");
    }
}

//! The composition root: a checked configuration becomes a store, and a store becomes an engine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tablegate_backends::azure::{AzureAccount, AzureOptions, AzureStore};
use tablegate_backends::deferred::DeferredStore;
use tablegate_backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate_backends::memory::MemoryStore;
use tablegate_pg::{AuthConfig, FileAccounts, PgConfig, Tls, TlsError, server_config};
use tablegate_rest::RestConfig;
use tablegate_sql::session::Accounts;
use tablegate_sql::{Engine, EngineConfig, MountName, MountedStore, ScratchStore};
use tablegate_store::model::{Clock, SystemClock};
use tablegate_store::table::{StoreError, TableStore};
use tablegate_types::error::SqlError;
use tempfile::TempDir;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::config::{Config, MountConfig, SegmentConfig, StoreConfig};
use super::settings::{self, FsyncWhen};
use super::store_account::{AccountUse, OpenAccountError};
use super::token_keys::TokenIssuer;

/// The folder of temporary tables, in the data folder.
const SCRATCH_FOLDER: &str = "temp";
/// What its folder is called where there is no data folder, and what others on that disk are left.
const SCRATCH_PREFIX: &str = "tablegate-";
const SCRATCH_RESERVE_BYTES: u64 = 256 << 20;
/// What reading temporary tables again is worth: they are small, or read once.
const SCRATCH_CACHE_BYTES: u64 = 32 << 20;
const SCRATCH_MEMTABLE_BYTES: u64 = 16 << 20;

/// Which part of the memory of queries messages may take that have not arrived yet.
const PART_OF_MESSAGES: usize = 4;

/// Why the parts could not be put together.
#[derive(Debug, Error)]
pub(super) enum WiringError {
    #[error("cannot use the data folder {}: {error}", folder.display())]
    Folder { folder: PathBuf, error: std::io::Error },
    /// In use, or not one of ours: the store says which, with the folder.
    #[error("{0}")]
    NotAvailable(String),
    #[cfg(unix)]
    #[error(transparent)]
    OpenToOthers(#[from] super::private::OpenToOthers),
    #[error("cannot open the data folder {}: {error}", folder.display())]
    Store { folder: PathBuf, error: StoreError },
    #[error(transparent)]
    Account(#[from] OpenAccountError),
    #[error("cannot use the account {account}: {error}")]
    AccountStore { account: String, error: StoreError },
    #[error("cannot mount \"{name}\": {error}")]
    Mount { name: MountName, error: Box<WiringError> },
    #[error("cannot read the catalogue: {0}")]
    Catalog(Box<SqlError>),
}

/// Why the door for the Azure SDKs cannot be opened.
#[derive(Debug, Error)]
pub(super) enum RestError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("rest_token_keys: {0}")]
    TokenKeys(StoreError),
}

/// A store, opened.
pub(super) struct Opened {
    pub store: Arc<dyn TableStore>,
    /// Where temporary tables are.
    pub scratch: Arc<dyn TableStore>,
    /// It holds nothing yet.
    pub is_new: bool,
    /// Where the data is, for people.
    pub place: String,
}

/// Opens the store; reads files, so not for a thread that serves.
///
/// # Errors
/// When the folder cannot be made, is in use or is damaged.
pub(super) fn open_store(config: &StoreConfig) -> Result<Opened, WiringError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    match config {
        StoreConfig::Memory => {
            let place = "memory: gone when the server stops".to_owned();
            let scratch = Arc::new(MemoryStore::new(clock.clone()));
            Ok(Opened { store: Arc::new(MemoryStore::new(clock)), scratch, is_new: true, place })
        }
        StoreConfig::Azure { account, usage } => {
            let account = account.open()?;
            let place = format!("data in the account {}", account.name());
            let store = open_account(account, usage)?;
            let scratch = Arc::new(scratch_in_temporary_folder(std::env::temp_dir(), clock));
            // Whether it is new does not matter: no sample tables are put into somebody's account.
            Ok(Opened { store: Arc::new(store), scratch, is_new: false, place })
        }
        StoreConfig::Embedded { folder, fsync, disk_reserve, cache_memory, segments } => {
            let is_new = is_new(folder).map_err(|error| WiringError::Folder { folder: folder.clone(), error })?;
            #[cfg(unix)]
            super::private::close(folder, is_new)?;
            let fsync = match fsync {
                FsyncWhen::Always => Fsync::Always,
                FsyncWhen::Never => Fsync::Never,
            };
            let options = EmbeddedOptions {
                fsync,
                cache_bytes: *cache_memory,
                reserve_bytes: *disk_reserve,
                segments: segment_options(*segments),
                ..EmbeddedOptions::default()
            };
            let store = open_folder(folder, clock.clone(), options)?;
            // The store's lock is had now: no other server uses the folder within.
            let scratch = scratch_in(folder.join(SCRATCH_FOLDER), clock, *disk_reserve)?;
            let place = format!("data in {}", folder.display());
            Ok(Opened { store: Arc::new(store), scratch: Arc::new(scratch), is_new, place })
        }
    }
}

fn open_account(account: AzureAccount, usage: &AccountUse) -> Result<AzureStore, WiringError> {
    let name = account.name().to_owned();
    let options = AzureOptions {
        read_only: usage.read_only,
        retry: usage.retry.clone(),
        requests_per_account: usage.requests,
        sample_age: usage.rediscover,
        ..AzureOptions::default()
    };
    AzureStore::new(account, options).map_err(|error| WiringError::AccountStore { account: name, error })
}

/// The stores that are mounted. Nothing is sent yet: one that is away does not keep the server from starting.
///
/// # Errors
/// When a secret cannot be read, or is none.
fn open_mounts(mounts: &[MountConfig]) -> Result<Vec<MountedStore>, WiringError> {
    let open = |mount: &MountConfig| {
        let MountConfig { name, account, usage } = mount;
        let failed = |error| WiringError::Mount { name: *name, error: Box::new(error) };
        let account = account.open().map_err(|error| failed(error.into()))?;
        let store = open_account(account, usage).map_err(failed)?;
        Ok(MountedStore { name: *name, store: Arc::new(store), read_only: usage.read_only })
    };
    mounts.iter().map(open).collect()
}

fn segment_options(config: SegmentConfig) -> SegmentOptions {
    match config.rows {
        None => SegmentOptions::off(),
        Some(min_rows) => SegmentOptions { min_rows, dirty_percent: config.dirty, ..SegmentOptions::default() },
    }
}

fn open_folder(folder: &Path, clock: Arc<dyn Clock>, options: EmbeddedOptions) -> Result<EmbeddedStore, WiringError> {
    EmbeddedStore::open(folder, clock, options).map_err(|error| match error {
        StoreError::Unavailable(reason) => WiringError::NotAvailable(reason),
        error => WiringError::Store { folder: folder.to_owned(), error },
    })
}

/// The store of temporary tables in a folder of its own, opened once there is one. Whatever a server that was killed has left
/// there goes now.
fn scratch_in(folder: PathBuf, clock: Arc<dyn Clock>, reserve_bytes: u64) -> Result<DeferredStore, WiringError> {
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(WiringError::Folder { folder, error }),
        Ok(()) | Err(_) => {
            Ok(DeferredStore::new(EmbeddedStore::PROMISES, move || open_scratch(&folder, clock.clone(), reserve_bytes)))
        }
    }
}

/// The same where there is no data folder: in one below `parent` that is made with the first temporary table and goes with
/// the server.
fn scratch_in_temporary_folder(parent: PathBuf, clock: Arc<dyn Clock>) -> DeferredStore {
    let folder: OnceLock<TempDir> = OnceLock::new();
    DeferredStore::new(EmbeddedStore::PROMISES, move || {
        let made = match folder.get() {
            Some(made) => made,
            None => {
                let made = tempfile::Builder::new().prefix(SCRATCH_PREFIX).tempdir_in(&parent);
                let no_folder = |error| StoreError::Unavailable(format!("no folder for temporary tables: {error}"));
                let made = made.map_err(no_folder)?;
                folder.get_or_init(|| made)
            }
        };
        open_scratch(&made.path().join(SCRATCH_FOLDER), clock.clone(), SCRATCH_RESERVE_BYTES)
    })
}

fn open_scratch(folder: &Path, clock: Arc<dyn Clock>, reserve_bytes: u64) -> Result<Arc<dyn TableStore>, StoreError> {
    let options = EmbeddedOptions {
        fsync: Fsync::Never,
        cache_bytes: SCRATCH_CACHE_BYTES,
        memtable_bytes: SCRATCH_MEMTABLE_BYTES,
        reserve_bytes,
        segments: SegmentOptions::off(),
    };
    Ok(Arc::new(EmbeddedStore::open(folder, clock, options)?))
}

/// # Errors
/// When the catalogue is damaged.
pub(super) async fn open_engine(
    store: Arc<dyn TableStore>,
    scratch: Arc<dyn TableStore>,
    config: &Config,
) -> Result<Arc<Engine>, WiringError> {
    let spill_folder = match &config.store {
        StoreConfig::Memory | StoreConfig::Azure { .. } => std::env::temp_dir(),
        StoreConfig::Embedded { folder, .. } => folder.clone(),
    };
    let options = EngineConfig {
        query_memory: config.query_memory,
        egt_mode: config.egt_mode,
        max_connections: config.max_connections,
        slow_statement: config.log_slow,
        transaction_memory: config.transaction_memory,
        spill_folder,
        accounts: config.users.as_ref().map(|file| Arc::new(FileAccounts::new(file)) as Arc<dyn Accounts>),
        scratch: Some(ScratchStore(scratch)),
        mounts: open_mounts(&config.mounts)?,
        ..EngineConfig::default()
    };
    Engine::open(store, Arc::new(SystemClock), options).await.map_err(WiringError::Catalog)
}

/// # Errors
/// When the certificate or its key cannot be used.
pub(super) fn front_end(config: &Config) -> Result<PgConfig, TlsError> {
    let tls = config.tls.as_ref().map(|files| Tls::load(&files.certificate, &files.key)).transpose()?;
    Ok(PgConfig {
        max_connections: config.max_connections,
        max_connections_per_user: config.max_connections_per_user,
        message_memory: config.query_memory / PART_OF_MESSAGES,
        startup_timeout: config.authentication_timeout,
        drain_timeout: settings::DRAIN_TIMEOUT,
        hurry: CancellationToken::new(),
        auth: AuthConfig { method: config.auth, trust_loopback: config.trust_loopback, users: config.users.clone() },
        tls,
        require_tls: config.require_tls,
        insecure: config.insecure,
        counters: Arc::default(),
    })
}

/// The name of the protocol among those that TLS clients may ask for (ALPN).
const HTTP: &[u8] = b"http/1.1";

/// The door for the Azure SDKs.
///
/// # Errors
/// When the certificate or its key cannot be used, or this machine's certificates for asking for keys of tokens.
pub(super) fn rest(config: &Config) -> Result<RestConfig, RestError> {
    let load = |files: &super::config::TlsFiles| server_config(&files.certificate, &files.key, HTTP);
    let tls = config.tls.as_ref().map(load).transpose()?;
    let tokens = config.rest_tokens.as_ref().map(TokenIssuer::open).transpose().map_err(RestError::TokenKeys)?;
    Ok(RestConfig {
        accounts: config.rest_accounts.clone(),
        tls: tls.map(|(tls, _)| Arc::new(tls)),
        insecure: config.insecure,
        throttles: config.rest_limits,
        tokens,
        drain_timeout: settings::DRAIN_TIMEOUT,
        ..RestConfig::default()
    })
}

/// Whether there is nothing at this place, or a folder with nothing in it but users.
fn is_new(folder: &Path) -> std::io::Result<bool> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.all(|entry| entry.is_ok_and(|entry| is_of_users(&entry.file_name())))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// The users file or that of the accounts, or a lock of one of them.
fn is_of_users(name: &std::ffi::OsStr) -> bool {
    let files = [settings::USERS_FILE, settings::ACCOUNTS_FILE];
    name.to_str().is_some_and(|name| files.iter().any(|file| name.starts_with(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn temporary_tables_do_not_outlive_their_server() {
        let folder = tempfile::tempdir().unwrap();
        let (path, fsync) = (folder.path().to_owned(), FsyncWhen::Never);
        let segments = SegmentConfig { rows: None, dirty: 1 };
        let (disk_reserve, cache_memory) = (0, 1 << 20);
        let config = StoreConfig::Embedded { folder: path.clone(), fsync, disk_reserve, cache_memory, segments };
        let table = tablegate_store::model::TableName::parse("temp1").unwrap();
        let opened = open_store(&config).unwrap();
        assert!(!path.join(SCRATCH_FOLDER).exists(), "nobody needs it yet");
        opened.scratch.create_table(&table).await.unwrap();
        opened.store.create_table(&table).await.unwrap();
        drop(opened);
        assert!(path.join(SCRATCH_FOLDER).is_dir());
        let opened = open_store(&config).unwrap();
        assert!(!path.join(SCRATCH_FOLDER).exists());
        assert!(opened.scratch.reader().list_tables().await.unwrap().is_empty());
        assert_eq!(opened.store.reader().list_tables().await.unwrap(), [table]);
    }

    #[tokio::test]
    async fn without_a_data_folder_temporary_tables_are_in_one_that_goes_with_the_server() {
        let parent = tempfile::tempdir().unwrap();
        let folders = || std::fs::read_dir(parent.path()).unwrap().count();
        let scratch = scratch_in_temporary_folder(parent.path().to_owned(), Arc::new(SystemClock));
        assert_eq!(folders(), 0);
        scratch.create_table(&tablegate_store::model::TableName::parse("temp1").unwrap()).await.unwrap();
        assert_eq!(folders(), 1);
        drop(scratch);
        assert_eq!(folders(), 0);
    }

    #[test]
    fn a_folder_is_new_until_something_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_new(&folder.path().join("missing")).unwrap());
        assert!(is_new(folder.path()).unwrap());
        std::fs::write(folder.path().join("users.toml"), "").unwrap();
        assert!(is_new(folder.path()).unwrap());
        std::fs::write(folder.path().join("x"), "").unwrap();
        assert!(!is_new(folder.path()).unwrap());
        assert!(is_new(&folder.path().join("x")).is_err());
    }
}

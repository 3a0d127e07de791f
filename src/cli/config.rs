//! Options over environment over file over defaults becomes one checked [`Config`].
//!
//! What is not understood is refused: a misspelled key that is silently ignored is a setting that silently does not
//! hold. Every error is one line that says where the wrong value stands.

mod error;
mod mounts;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tablegate_backends::azure::RetryPolicy;
use tablegate_pg::Method;
use tablegate_sql::EgtMode;
use tracing_subscriber::EnvFilter;

pub(super) use self::error::{ConfigError, Origin};
pub(super) use self::mounts::MountConfig;
use self::mounts::MountLayer;
use super::args::ServeArgs;
use super::settings::{self, CONFIG_VARIABLE, DEFINITIONS, Definition, FsyncWhen, LogFormat, Reason, VARIABLE_PREFIX};
use super::store_account::{AccountConfig, AccountUse, SecretSource};
use super::token_keys::TokenIssuer;

/// What `serve` runs on, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    pub listen: SocketAddr,
    pub store: StoreConfig,
    /// Further stores, each behind a schema of its own.
    pub mounts: Vec<MountConfig>,
    pub sample: bool,
    pub max_connections: usize,
    pub max_connections_per_user: Option<usize>,
    /// Where the users are kept; memory and an account have no place of their own for them.
    pub users: Option<PathBuf>,
    pub auth: Method,
    pub trust_loopback: bool,
    pub authentication_timeout: Duration,
    pub tls: Option<TlsFiles>,
    pub require_tls: bool,
    /// Others than this machine are served without TLS.
    pub insecure: bool,
    pub query_memory: usize,
    pub transaction_memory: usize,
    /// What sessions begin with.
    pub egt_mode: EgtMode,
    /// Where metrics are shown.
    pub metrics: Option<SocketAddr>,
    /// Where the Azure SDKs connect.
    pub rest: Option<SocketAddr>,
    /// Where the accounts of that door are kept; memory and an account have no place of their own for them.
    pub rest_accounts: Option<PathBuf>,
    /// It refuses what is beyond the service's scalability targets.
    pub rest_limits: bool,
    /// Whose tokens it lets in.
    pub rest_tokens: Option<TokenIssuer>,
    /// A filter that parses.
    pub log: String,
    pub log_format: LogFormat,
    /// Statements that take so long are logged.
    pub log_slow: Option<Duration>,
}

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StoreConfig {
    Memory,
    Embedded { folder: PathBuf, fsync: FsyncWhen, disk_reserve: u64, cache_memory: u64, segments: SegmentConfig },
    Azure { account: AccountConfig, usage: AccountUse },
}

/// When rows are kept as columns too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentConfig {
    /// Rows that are worth it; `None` for never.
    pub rows: Option<u64>,
    /// In percent, what may change before the columns are made anew.
    pub dirty: u64,
}

/// A certificate and its key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The values one source gives, by key, not yet checked.
type Layer = HashMap<&'static str, (String, Origin)>;
/// The values of one source for the server, and those for what is mounted.
type Source = (Layer, MountLayer);

impl Config {
    /// # Errors
    /// Names the key, variable or option that is wrong.
    pub(super) fn load(
        args: &ServeArgs,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let options = (from_args(args), MountLayer::of_options(&args.mount)?);
        let (variables, named_file) = from_environment(environment)?;
        let file = match args.config.clone().or(named_file) {
            Some(path) => from_file(&path)?,
            None => Source::default(),
        };
        let (mut layers, mut mounts) = (Vec::new(), Vec::new());
        for (mut layer, mut named) in [options, variables, file] {
            named.move_public_to(&mut layer)?;
            layers.push(layer);
            mounts.push(named);
        }
        Self::from_layers(&layers, &mounts)
    }

    /// The first layer that has a key decides it.
    fn from_layers(layers: &[Layer], mounts: &[MountLayer]) -> Result<Self, ConfigError> {
        let store = store(layers)?;
        let config = Self {
            listen: checked(layers, "listen", settings::address)?,
            users: file_of(layers, "users", &store, settings::USERS_FILE),
            rest_accounts: file_of(layers, "rest_accounts", &store, settings::ACCOUNTS_FILE),
            store,
            mounts: mounts::mounts(mounts, layers)?,
            sample: checked(layers, "sample", settings::boolean)?,
            max_connections: checked(layers, "max_connections", settings::max_connections)?,
            max_connections_per_user: checked(layers, "max_connections_per_user", settings::max_connections_per_user)?,
            auth: checked(layers, "auth", settings::auth)?,
            trust_loopback: checked(layers, "trust_loopback", settings::boolean)?,
            authentication_timeout: checked(layers, "authentication_timeout", settings::authentication_timeout)?,
            tls: tls_files(layers)?,
            require_tls: checked(layers, "require_tls", settings::boolean)?,
            insecure: checked(layers, "insecure", settings::boolean)?,
            query_memory: checked(layers, "query_memory", settings::query_memory)?,
            transaction_memory: checked(layers, "transaction_memory", settings::transaction_memory)?,
            egt_mode: checked(layers, "egt_mode", settings::egt_mode)?,
            metrics: checked(layers, "metrics", settings::metrics)?,
            rest: checked(layers, "rest", settings::rest)?,
            rest_limits: checked(layers, "rest_limits", settings::rest_limits)?,
            rest_tokens: token_issuer(layers)?,
            log: checked(layers, "log", |text| {
                EnvFilter::try_new(text)
                    .map(|_| text.to_owned())
                    .map_err(|_| "a filter such as info or tablegate=debug".to_owned())
            })?,
            log_format: checked(layers, "log_format", settings::log_format)?,
            log_slow: checked(layers, "log_slow", settings::log_slow)?,
        };
        if config.require_tls && config.tls.is_none() {
            return Err(ConfigError::NoTls { at: value(layers, "require_tls").1 });
        }
        if let Some(address) = config.metrics.filter(|address| *address == config.listen && address.port() != 0) {
            return Err(ConfigError::SharedAddress { at: value(layers, "metrics").1, address });
        }
        let others = [Some(config.listen), config.metrics];
        if let Some(address) = config.rest.filter(|address| others.contains(&Some(*address)) && address.port() != 0) {
            return Err(ConfigError::RestAddress { at: value(layers, "rest").1, address });
        }
        Ok(config)
    }
}

/// A folder, memory and an account are answers to one question: the highest layer that answers decides.
fn store(layers: &[Layer]) -> Result<StoreConfig, ConfigError> {
    let read_only = checked(layers, "read_only", settings::boolean)?;
    let store = chosen_store(layers, read_only)?;
    match store {
        StoreConfig::Memory | StoreConfig::Embedded { .. } if read_only => {
            Err(ConfigError::NotReadOnly { at: value(layers, "read_only").1 })
        }
        store => Ok(store),
    }
}

fn chosen_store(layers: &[Layer], read_only: bool) -> Result<StoreConfig, ConfigError> {
    let fsync = checked(layers, "fsync", settings::fsync)?;
    let disk_reserve = checked(layers, "disk_reserve", settings::disk_reserve)?;
    let cache_memory = checked(layers, "cache_memory", settings::cache_memory)?;
    let segments = SegmentConfig {
        rows: checked(layers, "segment_rows", settings::segment_rows)?,
        dirty: checked(layers, "segment_dirty", settings::segment_dirty)?,
    };
    let embedded = |folder| StoreConfig::Embedded { folder, fsync, disk_reserve, cache_memory, segments };
    for layer in layers {
        let memory = match layer.get("memory") {
            Some(_) => checked(std::slice::from_ref(layer), "memory", settings::boolean)?,
            None => false,
        };
        if let Some(at) = names_account(layer) {
            if memory || layer.contains_key("data") {
                return Err(ConfigError::TwoStores { at });
            }
            return Ok(StoreConfig::Azure { account: account(layers, at)?, usage: account_use(layers, read_only)? });
        }
        match (memory, layer.get("data")) {
            (true, Some((_, at))) => return Err(ConfigError::TwoStores { at: at.clone() }),
            (true, None) => return Ok(StoreConfig::Memory),
            (false, Some(_)) => return Ok(embedded(checked(std::slice::from_ref(layer), "data", folder_name)?)),
            // `memory = false` alone takes back what a lower layer says about memory, not about the folder.
            (false, None) if layer.contains_key("memory") => break,
            (false, None) => {}
        }
    }
    Ok(embedded(checked(layers, "data", folder_name)?))
}

fn folder_name(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("the name of a folder".to_owned()) } else { Ok(PathBuf::from(text)) }
}

/// Where a layer says that the store is in an account.
fn names_account(layer: &Layer) -> Option<Origin> {
    ["connection_string", "endpoint"].iter().find_map(|key| layer.get(key)).map(|(_, at)| at.clone())
}

/// The parts of an account can come from different places: its endpoint from the file, its key from the environment.
fn account(layers: &[Layer], at: Origin) -> Result<AccountConfig, ConfigError> {
    let given = |key| layers.iter().find_map(|layer: &Layer| layer.get(key));
    let secret = |(value, at): &(String, Origin)| SecretSource::of(value, at);
    let entra = checked(layers, "entra", settings::boolean)?;
    match (given("connection_string"), given("endpoint"), given("key"), given("sas")) {
        (None, Some((endpoint, _)), None, None) if entra => Ok(AccountConfig::Entra { endpoint: endpoint.clone() }),
        _ if entra => Err(ConfigError::HalfAccount { at }),
        (Some(text), None, None, None) => Ok(AccountConfig::ConnectionString(secret(text)?)),
        (None, Some((endpoint, _)), Some(key), None) => {
            Ok(AccountConfig::Key { endpoint: endpoint.clone(), key: secret(key)? })
        }
        (None, Some((endpoint, _)), None, Some(sas)) => {
            Ok(AccountConfig::Sas { endpoint: endpoint.clone(), sas: secret(sas)? })
        }
        _ => Err(ConfigError::HalfAccount { at }),
    }
}

/// How an account is used, as these layers say.
fn account_use(layers: &[Layer], read_only: bool) -> Result<AccountUse, ConfigError> {
    let delays = checked(layers, "retry_delays", settings::retry_delays)?;
    let budget = checked(layers, "retry_budget", settings::retry_budget)?;
    Ok(AccountUse {
        read_only,
        requests: checked(layers, "account_requests", settings::account_requests)?,
        retry: RetryPolicy { delays, budget },
        rediscover: checked(layers, "rediscover", settings::rediscover)?,
    })
}

/// A file that is named, or has this name in the data folder.
fn file_of(layers: &[Layer], key: &'static str, store: &StoreConfig, name: &str) -> Option<PathBuf> {
    match (value(layers, key), store) {
        ((file, Origin::Option(_) | Origin::Variable(_) | Origin::File(..) | Origin::MountKey(..)), _) => {
            Some(PathBuf::from(file))
        }
        ((_, Origin::Default(_)), StoreConfig::Embedded { folder, .. }) => Some(folder.join(name)),
        ((_, Origin::Default(_)), StoreConfig::Memory | StoreConfig::Azure { .. }) => None,
    }
}

fn tls_files(layers: &[Layer]) -> Result<Option<TlsFiles>, ConfigError> {
    let file = |key| Some(value(layers, key).0).filter(|name| !name.is_empty()).map(PathBuf::from);
    match (file("tls_cert"), file("tls_key")) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        _ => Err(ConfigError::HalfTls),
    }
}

fn token_issuer(layers: &[Layer]) -> Result<Option<TokenIssuer>, ConfigError> {
    let (issuer, audience) = (value(layers, "rest_token_issuer").0, value(layers, "rest_token_audience").0);
    match (issuer.as_str(), checked(layers, "rest_token_keys", settings::rest_token_keys)?) {
        ("", None) => Ok(None),
        (_, Some(keys)) if !issuer.is_empty() => Ok(Some(TokenIssuer { issuer, audience, keys })),
        _ => Err(ConfigError::HalfIssuer),
    }
}

fn checked<T>(
    layers: &[Layer],
    key: &'static str,
    check: impl Fn(&str) -> Result<T, Reason>,
) -> Result<T, ConfigError> {
    let (value, at) = value(layers, key);
    check(&value).map_err(|reason| ConfigError::Value { at, value, reason })
}

fn value(layers: &[Layer], key: &'static str) -> (String, Origin) {
    let given = layers.iter().find_map(|layer| layer.get(key)).cloned();
    given.unwrap_or_else(|| {
        let default = DEFINITIONS.iter().find(|d| d.key == key).map(|d| d.default).unwrap_or_default();
        (default.to_owned(), Origin::Default(key))
    })
}

fn from_args(args: &ServeArgs) -> Layer {
    let switch = |on: bool, text: &str| on.then(|| text.to_owned());
    let given = [
        ("listen", args.listen.clone()),
        ("data", args.data.clone()),
        ("memory", switch(args.memory, "true")),
        ("connection_string", args.connection_string.clone()),
        ("read_only", switch(args.read_only, "true")),
        ("account_requests", args.account_requests.clone()),
        ("retry_delays", args.retry_delays.clone()),
        ("retry_budget", args.retry_budget.clone()),
        ("rediscover", args.rediscover.clone()),
        ("sample", switch(args.no_sample, "false")),
        ("fsync", args.fsync.clone()),
        ("disk_reserve", args.disk_reserve.clone()),
        ("cache_memory", args.cache_memory.clone()),
        ("segment_rows", args.segment_rows.clone()),
        ("segment_dirty", args.segment_dirty.clone()),
        ("egt_mode", args.egt_mode.clone()),
        ("max_connections", args.max_connections.clone()),
        ("max_connections_per_user", args.max_connections_per_user.clone()),
        ("users", args.users.clone()),
        ("auth", args.auth.clone()),
        ("trust_loopback", switch(args.trust_loopback, "true")),
        ("authentication_timeout", args.authentication_timeout.clone()),
        ("tls_cert", args.tls_cert.clone()),
        ("tls_key", args.tls_key.clone()),
        ("require_tls", switch(args.require_tls, "true")),
        ("insecure", switch(args.insecure, "true")),
        ("query_memory", args.query_memory.clone()),
        ("transaction_memory", args.transaction_memory.clone()),
        ("metrics", args.metrics.clone()),
        ("rest", args.rest.clone()),
        ("rest_accounts", args.rest_accounts.clone()),
        ("rest_limits", args.rest_limits.clone()),
        ("rest_token_issuer", args.rest_token_issuer.clone()),
        ("rest_token_audience", args.rest_token_audience.clone()),
        ("rest_token_keys", args.rest_token_keys.clone()),
        ("log", args.log.clone()),
        ("log_format", args.log_format.clone()),
        ("log_slow", args.log_slow.clone()),
    ];
    let given = given.into_iter().filter_map(|(key, value)| Some((definition(key)?, value?)));
    given.map(|(d, value)| (d.key, (value, Origin::Option(d.option())))).collect()
}

fn from_environment(
    environment: impl Iterator<Item = (String, String)>,
) -> Result<(Source, Option<PathBuf>), ConfigError> {
    let (mut layer, mut mounts) = Source::default();
    let mut file = None;
    for (name, value) in environment {
        let Some(rest) = name.strip_prefix(VARIABLE_PREFIX) else { continue };
        if name == CONFIG_VARIABLE {
            file = Some(PathBuf::from(value));
            continue;
        }
        if mounts.add_variable(&name, &value)? {
            continue;
        }
        let known = definition(&rest.to_ascii_lowercase()).filter(|d| d.variable() == name);
        let Some(known) = known else { return Err(ConfigError::UnknownVariable { name }) };
        layer.insert(known.key, (value, Origin::Variable(name)));
    }
    Ok(((layer, mounts), file))
}

fn from_file(path: &Path) -> Result<Source, ConfigError> {
    let file = || path.to_owned();
    let text = std::fs::read_to_string(path)
        .map_err(|error| ConfigError::Unreadable { file: file(), reason: error.to_string() })?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| ConfigError::Syntax { file: file(), reason: syntax_reason(&text, &error) })?;
    let (mut layer, mut mounts) = Source::default();
    for (key, value) in table {
        if key == "mount" {
            mounts.add_tables(path, value)?;
            continue;
        }
        let Some(known) = definition(&key) else { return Err(ConfigError::UnknownKey { file: file(), key }) };
        let text = text_of(value).ok_or_else(|| ConfigError::ValueKind { file: file(), key })?;
        layer.insert(known.key, (text, Origin::File(file(), known.key)));
    }
    Ok((layer, mounts))
}

/// A value of the file as text; `None` for what is none.
fn text_of(value: toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The first line of what the TOML reader says, with the line it is about.
fn syntax_reason(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().lines().next().unwrap_or("not valid TOML");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.to_owned(),
    }
}

fn definition(key: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|d| d.key == key)
}

#[cfg(test)]
mod tests;

//! Every setting of the server: its names, its default, its bounds. One home, so that no two places disagree.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tablegate_pg::Method;
use tablegate_sql::EgtMode;

use super::token_keys::KeysAt;

/// One setting. Its key is the line in the file; the environment variable and the option are spelled from it.
#[derive(Debug)]
pub(super) struct Definition {
    pub key: &'static str,
    pub default: &'static str,
}

/// All settings that the file, the environment and the options share.
pub(super) const DEFINITIONS: &[Definition] = &[
    Definition { key: "listen", default: "127.0.0.1:5433" },
    Definition { key: "data", default: "./tablegate-data" },
    Definition { key: "memory", default: "false" },
    Definition { key: "connection_string", default: "" },
    Definition { key: "endpoint", default: "" },
    Definition { key: "key", default: "" },
    Definition { key: "sas", default: "" },
    Definition { key: "entra", default: "false" },
    Definition { key: "read_only", default: "false" },
    Definition { key: "account_requests", default: "64" },
    Definition { key: "retry_delays", default: "2s 4s 10s 30s" },
    Definition { key: "retry_budget", default: "60s" },
    Definition { key: "rediscover", default: "60s" },
    Definition { key: "sample", default: "true" },
    Definition { key: "fsync", default: "always" },
    Definition { key: "disk_reserve", default: "256MB" },
    Definition { key: "cache_memory", default: "128MB" },
    Definition { key: "segment_rows", default: "50000" },
    Definition { key: "segment_dirty", default: "2%" },
    Definition { key: "egt_mode", default: "strict" },
    Definition { key: "max_connections", default: "100" },
    Definition { key: "max_connections_per_user", default: "0" },
    Definition { key: "users", default: "users.toml in the data folder" },
    Definition { key: "auth", default: "auto" },
    Definition { key: "trust_loopback", default: "false" },
    Definition { key: "authentication_timeout", default: "60s" },
    Definition { key: "tls_cert", default: "" },
    Definition { key: "tls_key", default: "" },
    Definition { key: "require_tls", default: "false" },
    Definition { key: "insecure", default: "false" },
    Definition { key: "query_memory", default: "1GB" },
    Definition { key: "transaction_memory", default: "64MB" },
    Definition { key: "metrics", default: "off" },
    Definition { key: "rest", default: "off" },
    Definition { key: "rest_accounts", default: "accounts.toml in the data folder" },
    Definition { key: "rest_limits", default: "off" },
    Definition { key: "rest_token_issuer", default: "" },
    Definition { key: "rest_token_audience", default: "https://storage.azure.com" },
    Definition { key: "rest_token_keys", default: "" },
    Definition { key: "log", default: "warn,tablegate=info" },
    Definition { key: "log_format", default: "text" },
    Definition { key: "log_slow", default: "off" },
];

/// What environment variables of this program start with.
pub(super) const VARIABLE_PREFIX: &str = "TABLEGATE_";
/// Names the configuration file; the only variable that is no setting.
pub(super) const CONFIG_VARIABLE: &str = "TABLEGATE_CONFIG";

/// Name of the users file in the data folder.
pub(super) const USERS_FILE: &str = "users.toml";
/// Name of the accounts file in the data folder.
pub(super) const ACCOUNTS_FILE: &str = "accounts.toml";
/// How long running statements may take to end after SIGTERM.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// PostgreSQL's own bounds, in seconds.
const AUTHENTICATION_TIMEOUT: std::ops::RangeInclusive<u64> = 1..=600;
const MAX_CONNECTIONS: std::ops::RangeInclusive<usize> = 1..=10_000;
/// The most is for a disk that others fill too.
const DISK_RESERVE: std::ops::RangeInclusive<u64> = 0..=(1 << 40);
/// Blocks of files have some KB, and a read needs a few of them at one time.
const CACHE_MEMORY: std::ops::RangeInclusive<u64> = (1 << 20)..=(1 << 40);
const SEGMENT_ROWS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;
const ACCOUNT_REQUESTS: std::ops::RangeInclusive<usize> = 1..=1024;
/// Waits between the tries of one request, and how long all of them may take.
const RETRIES_MAX: usize = 10;
const RETRY_MAX: Duration = Duration::from_secs(600);
/// How long a sample of a found table serves. Below a second every statement would take one.
const REDISCOVER: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(86_400);
/// Below 16 MiB DataFusion cannot sort a single batch.
const QUERY_MEMORY: std::ops::RangeInclusive<u64> = (16 << 20)..=(1 << 40);
const TRANSACTION_MEMORY: std::ops::RangeInclusive<u64> = (1 << 20)..=(1 << 40);

impl Definition {
    pub(super) fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.key.to_ascii_uppercase())
    }

    /// The option; `sample` is switched off by one.
    pub(super) fn option(&self) -> String {
        match self.key {
            "sample" => "--no-sample".to_owned(),
            key => format!("--{}", key.replace('_', "-")),
        }
    }
}

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FsyncWhen {
    Always,
    Never,
}

/// Why a value is not one; completes "... must be".
pub(super) type Reason = String;

/// # Errors
/// When it is not an address with a port. Whether it may be listened on is the front-end's to say.
pub(super) fn address(text: &str) -> Result<SocketAddr, Reason> {
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    text.parse().map_err(|_| "an IP address and a port, such as 127.0.0.1:5433 or [::1]:5433".to_owned())
}

/// Where metrics are shown; `None` for nowhere.
///
/// # Errors
/// When it is not an address with a port.
pub(super) fn metrics(text: &str) -> Result<Option<SocketAddr>, Reason> {
    if text == "off" {
        return Ok(None);
    }
    address(text).map(Some).map_err(|_| "off, or an IP address and a port, such as 127.0.0.1:9187".to_owned())
}

/// Where the Azure SDKs connect; `None` for nowhere.
///
/// # Errors
/// When it is not an address with a port.
pub(super) fn rest(text: &str) -> Result<Option<SocketAddr>, Reason> {
    if text == "off" {
        return Ok(None);
    }
    address(text).map(Some).map_err(|_| "off, or an IP address and a port, such as 127.0.0.1:10002".to_owned())
}

/// Whether the service's scalability targets are limits.
///
/// # Errors
/// When it is another word.
pub(super) fn rest_limits(text: &str) -> Result<bool, Reason> {
    match text {
        "off" => Ok(false),
        "service" => Ok(true),
        _ => Err("off or service".to_owned()),
    }
}

/// Where the keys of an issuer of tokens are; `None` for nowhere.
///
/// # Errors
/// When it is a URL whose answer others could have written.
pub(super) fn rest_token_keys(text: &str) -> Result<Option<KeysAt>, Reason> {
    let is_loopback = |behind: &str| {
        let host = behind.split('/').next().unwrap_or_default();
        let host = match host.strip_prefix('[') {
            Some(host) => host.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    let (scheme, behind) = text.split_once("://").unwrap_or_default();
    match (text, scheme) {
        ("", _) => Ok(None),
        (file, "") => Ok(Some(KeysAt::File(PathBuf::from(file)))),
        // Nobody's name belongs into it, and one could hide the host.
        (url, "https") if !url.contains('@') => Ok(Some(KeysAt::Url(url.to_owned()))),
        (url, "http") if !url.contains('@') && is_loopback(behind) => Ok(Some(KeysAt::Url(url.to_owned()))),
        _ => Err("a file, an https URL, or an http URL of this machine".to_owned()),
    }
}

/// # Errors
/// When it is neither yes nor no.
pub(super) fn boolean(text: &str) -> Result<bool, Reason> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err("true or false".to_owned()),
    }
}

/// # Errors
/// When it is another word.
pub(super) fn fsync(text: &str) -> Result<FsyncWhen, Reason> {
    match text {
        "always" => Ok(FsyncWhen::Always),
        "never" => Ok(FsyncWhen::Never),
        _ => Err("always or never".to_owned()),
    }
}

/// # Errors
/// When it is no size or out of bounds.
pub(super) fn disk_reserve(text: &str) -> Result<u64, Reason> {
    let bytes = size(text).filter(|bytes| DISK_RESERVE.contains(bytes));
    bytes.ok_or_else(|| "a size up to 1TB, such as 256MB or 1GB".to_owned())
}

/// # Errors
/// When it is no size or out of bounds.
pub(super) fn cache_memory(text: &str) -> Result<u64, Reason> {
    let bytes = size(text).filter(|bytes| CACHE_MEMORY.contains(bytes));
    bytes.ok_or_else(|| "a size from 1MB to 1TB, such as 128MB or 2GB".to_owned())
}

/// Rows that are worth being kept as columns too; `None` for never.
///
/// # Errors
/// When it is no number or out of bounds.
pub(super) fn segment_rows(text: &str) -> Result<Option<u64>, Reason> {
    if text == "off" {
        return Ok(None);
    }
    let rows = text.parse().ok().filter(|rows| SEGMENT_ROWS.contains(rows));
    rows.map(Some).ok_or_else(|| "off, or a number of rows such as 50000".to_owned())
}

/// In percent.
///
/// # Errors
/// When it is no number of percent.
pub(super) fn segment_dirty(text: &str) -> Result<u64, Reason> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
    percent.filter(|percent| *percent <= 100).ok_or_else(|| "0% to 100%".to_owned())
}

/// # Errors
/// When it is another word.
pub(super) fn egt_mode(text: &str) -> Result<EgtMode, Reason> {
    let modes = [EgtMode::Strict, EgtMode::Observe];
    modes.into_iter().find(|mode| mode.name() == text).ok_or_else(|| "strict or observe".to_owned())
}

/// How lines of the log look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFormat {
    Text,
    /// An object in each line.
    Json,
}

/// # Errors
/// When it is another word.
pub(super) fn log_format(text: &str) -> Result<LogFormat, Reason> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("text or json".to_owned()),
    }
}

/// # Errors
/// When it is no time.
pub(super) fn log_slow(text: &str) -> Result<Option<Duration>, Reason> {
    if text == "off" {
        return Ok(None);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "ms" => Some(1),
        "s" => Some(1000),
        _ => None,
    };
    let millis = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    millis.map(|millis| Some(Duration::from_millis(millis))).ok_or_else(|| "off or a time such as 250ms".to_owned())
}

/// # Errors
/// When it is no number or out of bounds.
pub(super) fn max_connections(text: &str) -> Result<usize, Reason> {
    let (low, high) = (MAX_CONNECTIONS.start(), MAX_CONNECTIONS.end());
    let number = text.parse().ok().filter(|n| MAX_CONNECTIONS.contains(n));
    number.ok_or_else(|| format!("a number from {low} to {high}"))
}

/// # Errors
/// When it is no number or out of bounds.
pub(super) fn account_requests(text: &str) -> Result<usize, Reason> {
    let (low, high) = (ACCOUNT_REQUESTS.start(), ACCOUNT_REQUESTS.end());
    let number = text.parse().ok().filter(|n| ACCOUNT_REQUESTS.contains(n));
    number.ok_or_else(|| format!("a number from {low} to {high}"))
}

/// The waits before a request is repeated, one after another.
///
/// # Errors
/// When one of them is no time or too long, or there are too many.
pub(super) fn retry_delays(text: &str) -> Result<Vec<Duration>, Reason> {
    if text == "off" {
        return Ok(Vec::new());
    }
    let delays: Option<Vec<Duration>> = text.split_whitespace().map(retry_time).collect();
    let delays = delays.filter(|delays| (1..=RETRIES_MAX).contains(&delays.len()));
    delays.ok_or_else(|| format!("off, or at most {RETRIES_MAX} times such as 2s 4s 10s 30s"))
}

/// # Errors
/// When it is no time or too long.
pub(super) fn retry_budget(text: &str) -> Result<Duration, Reason> {
    retry_time(text).ok_or_else(|| "a time up to 600s, such as 60s".to_owned())
}

/// How long what was found of a table serves; `None` until ANALYZE.
///
/// # Errors
/// When it is no time or out of bounds.
pub(super) fn rediscover(text: &str) -> Result<Option<Duration>, Reason> {
    if text == "off" {
        return Ok(None);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "s" => Some(1),
        "min" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    let time = seconds.map(Duration::from_secs).filter(|time| REDISCOVER.contains(time));
    time.map(Some).ok_or_else(|| "off, or a time from 1s to 24h, such as 60s or 5min".to_owned())
}

fn retry_time(text: &str) -> Option<Duration> {
    log_slow(text).ok().flatten().filter(|time| *time <= RETRY_MAX)
}

/// The most connections of one user; `None` for any number.
///
/// # Errors
/// When it is no number or out of bounds.
pub(super) fn max_connections_per_user(text: &str) -> Result<Option<usize>, Reason> {
    if text == "0" { Ok(None) } else { max_connections(text).map(Some) }
}

/// # Errors
/// When it is another word.
pub(super) fn auth(text: &str) -> Result<Method, Reason> {
    match text {
        "auto" => Ok(Method::Auto),
        "trust" => Ok(Method::Trust),
        "scram" => Ok(Method::Scram),
        _ => Err("auto, trust or scram".to_owned()),
    }
}

/// # Errors
/// When it is no time or out of bounds.
pub(super) fn authentication_timeout(text: &str) -> Result<Duration, Reason> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "s" => Some(1),
        "min" => Some(60),
        _ => None,
    };
    let seconds = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    let seconds = seconds.filter(|seconds| AUTHENTICATION_TIMEOUT.contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| "a time from 1s to 10min, such as 60s".to_owned())
}

/// # Errors
/// When it is no size or out of bounds.
pub(super) fn query_memory(text: &str) -> Result<usize, Reason> {
    let bytes = size(text).filter(|bytes| QUERY_MEMORY.contains(bytes));
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| "a size from 16MB to 1TB, such as 512MB or 2GB".to_owned())
}

/// # Errors
/// When it is no size or out of bounds.
pub(super) fn transaction_memory(text: &str) -> Result<usize, Reason> {
    let bytes = size(text).filter(|bytes| TRANSACTION_MEMORY.contains(bytes));
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| "a size from 1MB to 1TB, such as 64MB or 1GB".to_owned())
}

/// Bytes, with PostgreSQL's units: powers of 1024.
fn size(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_units_and_keep_bounds() {
        assert_eq!(query_memory("1GB"), Ok(1 << 30));
        assert_eq!(query_memory("16 MiB"), Ok(16 << 20));
        for wrong in ["", "1", "15MB", "2TB", "1XB", "-1GB", "99999999999TB"] {
            assert!(query_memory(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_take_units_and_keep_bounds() {
        assert_eq!(authentication_timeout("90"), Ok(Duration::from_secs(90)));
        assert_eq!(authentication_timeout("10min"), Ok(Duration::from_secs(600)));
        for wrong in ["", "0", "601s", "1h", "-1", "99999999999999999999min"] {
            assert!(authentication_timeout(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_found_serves_for_a_second_to_a_day() {
        let serves = |seconds| Ok(Some(Duration::from_secs(seconds)));
        assert_eq!((rediscover("off"), rediscover("1s"), rediscover("24h")), (Ok(None), serves(1), serves(86_400)));
        for wrong in ["", "0", "500ms", "25h", "-1", "99999999999999999999h"] {
            assert!(rediscover(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_as_columns_can_be_turned_off() {
        assert_eq!((segment_rows("off"), segment_rows("1000")), (Ok(None), Ok(Some(1000))));
        assert_eq!((segment_dirty("1%"), segment_dirty("100 %")), (Ok(1), Ok(100)));
        assert!(segment_rows("0").is_err() && segment_rows("many").is_err());
        assert!(segment_dirty("1").is_err() && segment_dirty("101%").is_err());
    }

    #[test]
    fn names_are_spelled_from_the_key() {
        let definition = DEFINITIONS.iter().find(|d| d.key == "max_connections").unwrap();
        assert_eq!(definition.variable(), "TABLEGATE_MAX_CONNECTIONS");
        assert_eq!(definition.option(), "--max-connections");
    }

    #[test]
    fn keys_of_tokens_come_from_where_nobody_else_can_put_them() {
        let url = |text: &str| Ok(Some(KeysAt::Url(text.to_owned())));
        assert_eq!(rest_token_keys(""), Ok(None));
        assert_eq!(rest_token_keys("keys.json"), Ok(Some(KeysAt::File("keys.json".into()))));
        for good in ["https://issuer.example/keys", "http://127.0.0.1:8080/keys", "http://[::1]/k", "http://localhost"]
        {
            assert_eq!(rest_token_keys(good), url(good));
        }
        for wrong in [
            "http://issuer.example/keys",
            "http://127.0.0.1@issuer.example/keys",
            "http://127.0.0.1:80@issuer.example/keys",
            "http://127.0.0.1.issuer.example/keys",
            "https://a@issuer.example/keys",
            "ftp://127.0.0.1/keys",
        ] {
            assert!(rest_token_keys(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn localhost_is_an_address() {
        assert_eq!(address("localhost:5433"), address("127.0.0.1:5433"));
        assert!(address("localhost").is_err() && address("5433").is_err());
    }
}

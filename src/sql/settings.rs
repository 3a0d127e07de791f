//! Session settings: PostgreSQL's names, defaults and checks, and this product's own (`egt.*`).
//!
//! A setting that changes nothing here but that clients set as a matter of course is accepted within PostgreSQL's range
//! of values and shown back. A name that PostgreSQL does not know is 42704.

use std::collections::HashMap;
use std::time::Duration;

use super::error::{ErrorKind, Severity, SqlError, SqlResult};
use super::tx::{Isolation, TransactionModes};

/// PostgreSQL's version, which clients parse: features and catalogue are those of this release.
pub const SERVER_VERSION: &str = "15.8";
const SERVER_VERSION_NUM: &str = "150008";

/// What kind of values a setting takes.
#[derive(Debug, Clone, Copy)]
enum Domain {
    Bool,
    /// Inclusive bounds.
    Int(i64, i64),
    /// Milliseconds, with PostgreSQL's units `us ms s min h d`.
    Duration,
    /// One of these, ignoring case.
    Choice(&'static [&'static str]),
    Text,
    /// Set by the server, never by a client.
    ReadOnly,
    /// A mode of the open transaction: `SET TRANSACTION` by another name.
    Transaction,
}

struct Definition {
    /// As PostgreSQL spells it; looked up ignoring case.
    name: &'static str,
    default: &'static str,
    domain: Domain,
    /// Reported to the client by ParameterStatus.
    reported: bool,
}

const fn def(name: &'static str, default: &'static str, domain: Domain) -> Definition {
    Definition { name, default, domain, reported: false }
}

const fn reported(name: &'static str, default: &'static str, domain: Domain) -> Definition {
    Definition { name, default, domain, reported: true }
}

const READ_ONLY: &str = "default_transaction_read_only";

const MESSAGE_LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning", "error"];

/// Every setting there is, in SHOW ALL's order. Names, defaults and domains are PostgreSQL 15's.
static DEFINITIONS: &[Definition] = &[
    reported("application_name", "", Domain::Text),
    def("bytea_output", "hex", Domain::Choice(&["hex"])),
    def("check_function_bodies", "on", Domain::Bool),
    reported("client_encoding", "UTF8", Domain::Choice(&["utf8", "utf-8", "unicode"])),
    def("client_min_messages", "notice", Domain::Choice(MESSAGE_LEVELS)),
    reported("DateStyle", "ISO, MDY", Domain::Text),
    def("default_table_access_method", "heap", Domain::Text),
    def("default_tablespace", "", Domain::Text),
    def("default_transaction_deferrable", "off", Domain::Bool),
    def("default_transaction_isolation", "read committed", Domain::Choice(&Isolation::NAMES)),
    reported("default_transaction_read_only", "off", Domain::Bool),
    def("egt.autocommit", "split", Domain::Choice(&["split", "strict"])),
    def("egt.mode", "strict", Domain::Choice(&["strict", "observe"])),
    def("escape_string_warning", "on", Domain::Bool),
    def("extra_float_digits", "1", Domain::Int(-15, 3)),
    def("geqo", "on", Domain::Bool),
    def("idle_in_transaction_session_timeout", "0", Domain::Duration),
    def("idle_session_timeout", "0", Domain::Duration),
    reported("in_hot_standby", "off", Domain::ReadOnly),
    reported("integer_datetimes", "on", Domain::ReadOnly),
    reported("IntervalStyle", "postgres", Domain::Choice(&["postgres"])),
    reported("is_superuser", "on", Domain::ReadOnly),
    def("jit", "off", Domain::Bool),
    def("lock_timeout", "0", Domain::Duration),
    def("max_identifier_length", "63", Domain::ReadOnly),
    def("row_security", "on", Domain::Bool),
    def("search_path", "\"$user\", public", Domain::Text),
    reported("server_encoding", "UTF8", Domain::ReadOnly),
    reported("server_version", SERVER_VERSION, Domain::ReadOnly),
    def("server_version_num", SERVER_VERSION_NUM, Domain::ReadOnly),
    reported("session_authorization", "", Domain::ReadOnly),
    reported("standard_conforming_strings", "on", Domain::Choice(&["on", "true", "yes", "1"])),
    def("statement_timeout", "0", Domain::Duration),
    def("synchronous_commit", "on", Domain::Choice(&["on", "local", "remote_write", "remote_apply"])),
    reported("TimeZone", "UTC", Domain::Choice(&["utc", "etc/utc", "gmt", "z", "0", "default", "universal", "zulu"])),
    def("transaction_deferrable", "off", Domain::Transaction),
    def("transaction_isolation", "read committed", Domain::Transaction),
    def("transaction_read_only", "off", Domain::Transaction),
    def("work_mem", "4MB", Domain::Text),
    def("xmloption", "content", Domain::Choice(&["content", "document"])),
];

/// What a transaction may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EgtMode {
    /// One EGT: the statement that would make it more is refused.
    #[default]
    Strict,
    /// Anything; what is not one EGT is carried out all the same, and noted.
    Observe,
}

impl EgtMode {
    /// As the setting `egt.mode` has it.
    pub fn name(self) -> &'static str {
        match self {
            EgtMode::Strict => "strict",
            EgtMode::Observe => "observe",
        }
    }
}

/// How a statement that needs several EGTs outside a block is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Autocommit {
    /// It runs as several EGTs, and a NOTICE says how many.
    Split,
    /// It is refused before anything is written.
    Strict,
}

/// The settings of one session.
#[derive(Debug, Clone)]
pub struct Settings {
    values: HashMap<&'static str, String>,
    /// What a SET inside the open block changed, to undo at ROLLBACK; what SET LOCAL changed, to undo at its end.
    undo_at_rollback: Vec<(&'static str, String)>,
    undo_at_end: Vec<(&'static str, String)>,
    changed: Vec<&'static str>,
    /// The user may not write, whatever the session asks for.
    reads_only: bool,
    /// What RESET goes back to: the defaults, then what start-up set.
    reset_values: HashMap<&'static str, String>,
}

impl Settings {
    /// The defaults, with `user` as the session's authorization.
    pub fn new(user: &str) -> Self {
        let mut values: HashMap<_, _> = DEFINITIONS.iter().map(|d| (d.name, d.default.to_owned())).collect();
        values.insert("session_authorization", user.to_owned());
        let changed = DEFINITIONS.iter().filter(|d| d.reported).map(|d| d.name).collect();
        Self {
            reset_values: values.clone(),
            values,
            undo_at_rollback: vec![],
            undo_at_end: vec![],
            changed,
            reads_only: false,
        }
    }

    /// For a user who may not write: transactions are read-only, and no setting makes them otherwise.
    pub fn allow_reading_only(&mut self) {
        self.reads_only = true;
        for values in [&mut self.values, &mut self.reset_values] {
            values.insert(READ_ONLY, "on".to_owned());
        }
    }

    /// The session's user is none who decides about others.
    pub fn is_no_superuser(&mut self) {
        for values in [&mut self.values, &mut self.reset_values] {
            values.insert("is_superuser", "off".to_owned());
        }
    }

    /// Sets from the server's configuration, then the start-up packet: these become what RESET goes back to.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn set_at_startup(&mut self, name: &str, value: &str) -> SqlResult<()> {
        self.set(name, value)?;
        self.undo_at_rollback.clear();
        self.reset_values = self.values.clone();
        Ok(())
    }

    /// SET, until the session ends; undone when the open block rolls back.
    ///
    /// # Errors
    /// 42704 for an unknown name, 22023 for a value outside the setting's domain, 42501 for one the user may not set.
    pub fn set(&mut self, name: &str, value: &str) -> SqlResult<()> {
        let (definition, value) = self.allowed(name, value)?;
        let old = self.replace(definition, value);
        self.undo_at_rollback.push((definition.name, old));
        Ok(())
    }

    /// SET LOCAL, until the block ends.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn set_local(&mut self, name: &str, value: &str) -> SqlResult<()> {
        let (definition, value) = self.allowed(name, value)?;
        let old = self.replace(definition, value);
        self.undo_at_end.push((definition.name, old));
        Ok(())
    }

    /// RESET name, or RESET ALL.
    ///
    /// # Errors
    /// 42704 for an unknown name.
    pub fn reset(&mut self, name: Option<&str>) -> SqlResult<()> {
        let names: Vec<&Definition> = match name {
            Some(name) => vec![find(name)?],
            None => {
                DEFINITIONS.iter().filter(|d| !matches!(d.domain, Domain::ReadOnly | Domain::Transaction)).collect()
            }
        };
        for definition in names {
            let value = self.reset_values.get(definition.name).cloned().unwrap_or_default();
            let old = self.replace(definition, value);
            self.undo_at_rollback.push((definition.name, old));
        }
        Ok(())
    }

    /// A transaction ended: what was local to it, and on ROLLBACK what it set, goes back.
    pub fn end_transaction(&mut self, committed: bool) {
        let mut undo = std::mem::take(&mut self.undo_at_end);
        let rollback = std::mem::take(&mut self.undo_at_rollback);
        if !committed {
            undo.splice(0..0, rollback);
        }
        for (name, value) in undo.into_iter().rev() {
            if let Some(definition) = DEFINITIONS.iter().find(|d| d.name == name) {
                self.replace(definition, value);
            }
        }
    }

    /// # Errors
    /// 42704 for an unknown name.
    pub fn show(&self, name: &str) -> SqlResult<(&'static str, &str)> {
        let definition = find(name)?;
        Ok((definition.name, self.value(definition.name)))
    }

    /// All settings with their values, in name order.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        DEFINITIONS.iter().map(|d| (d.name, self.value(d.name)))
    }

    /// What ParameterStatus has to say since the last call.
    pub fn take_changes(&mut self) -> Vec<(&'static str, String)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|name| (name, self.value(name).to_owned())).collect()
    }

    pub fn application_name(&self) -> &str {
        self.value("application_name")
    }

    pub fn egt_mode(&self) -> EgtMode {
        if self.value("egt.mode") == EgtMode::Observe.name() { EgtMode::Observe } else { EgtMode::Strict }
    }

    pub fn autocommit(&self) -> Autocommit {
        if self.value("egt.autocommit") == "strict" { Autocommit::Strict } else { Autocommit::Split }
    }

    pub fn statement_timeout(&self) -> Option<Duration> {
        self.duration("statement_timeout")
    }

    /// How long the client may be silent outside a block.
    pub fn idle_session_timeout(&self) -> Option<Duration> {
        self.duration("idle_session_timeout")
    }

    /// How long the client may be silent inside a block.
    pub fn idle_in_transaction_timeout(&self) -> Option<Duration> {
        self.duration("idle_in_transaction_session_timeout")
    }

    /// How long a statement waits for each lock.
    pub fn lock_timeout(&self) -> Option<Duration> {
        self.duration("lock_timeout")
    }

    /// The least severity that reaches the client.
    pub fn min_severity(&self) -> Option<Severity> {
        match self.value("client_min_messages") {
            "error" => None,
            "warning" => Some(Severity::Warning),
            _ => Some(Severity::Notice),
        }
    }

    /// The modes of a transaction that names none.
    pub fn default_modes(&self) -> TransactionModes {
        TransactionModes {
            isolation: Isolation::named(self.value("default_transaction_isolation"))
                .unwrap_or(Isolation::ReadCommitted),
            read_only: self.value("default_transaction_read_only") == "on",
            deferrable: self.value("default_transaction_deferrable") == "on",
        }
    }

    /// Shows the modes of the open transaction.
    pub fn show_modes(&mut self, modes: TransactionModes) {
        for (name, value) in modes.settings() {
            self.values.insert(name, value.to_owned());
        }
    }

    fn allowed(&self, name: &str, value: &str) -> SqlResult<(&'static Definition, String)> {
        let (definition, value) = checked(name, value)?;
        if self.reads_only && definition.name == READ_ONLY && value == "off" {
            return Err(may_only_read(READ_ONLY));
        }
        Ok((definition, value))
    }

    /// A duration; `None` when it is 0.
    fn duration(&self, name: &str) -> Option<Duration> {
        let millis = parse_duration(self.value(name)).unwrap_or(0);
        (millis > 0).then(|| Duration::from_millis(millis))
    }

    fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    fn replace(&mut self, definition: &'static Definition, value: String) -> String {
        if definition.reported && self.value(definition.name) != value {
            self.changed.push(definition.name);
        }
        self.values.insert(definition.name, value).unwrap_or_default()
    }
}

/// 42501: what would let a user write who may not.
pub(super) fn may_only_read(parameter: &str) -> Box<SqlError> {
    let message = format!("permission denied to set parameter \"{parameter}\"");
    SqlError::new(ErrorKind::InsufficientPrivilege, message)
        .with_detail("The user's role is read-only.")
        .with_hint("Connect as a user whose role is read-write.")
}

fn find(name: &str) -> SqlResult<&'static Definition> {
    let name = match name.to_ascii_lowercase().as_str() {
        "time zone" => "timezone".to_owned(),
        "names" => "client_encoding".to_owned(),
        "transaction isolation level" => "transaction_isolation".to_owned(),
        "session authorization" => "session_authorization".to_owned(),
        // SHOW gives the parts of a dotted name as words.
        other => other.replace(' ', "."),
    };
    DEFINITIONS.iter().find(|d| d.name.eq_ignore_ascii_case(&name)).ok_or_else(|| {
        if name.starts_with("datafusion.") {
            let message = format!("permission denied to set parameter \"{name}\"");
            return SqlError::new(ErrorKind::InsufficientPrivilege, message);
        }
        SqlError::new(ErrorKind::UndefinedObject, format!("unrecognized configuration parameter \"{name}\""))
    })
}

fn checked(name: &str, value: &str) -> SqlResult<(&'static Definition, String)> {
    let definition = find(name)?;
    let invalid = || {
        let error = SqlError::new(
            ErrorKind::InvalidParameterValue,
            format!("invalid value for parameter \"{}\": \"{value}\"", definition.name),
        );
        match definition.domain {
            Domain::Choice(choices) => error.with_hint(format!("Available values: {}.", choices.join(", "))),
            _ => error,
        }
    };
    let value = match definition.domain {
        Domain::ReadOnly | Domain::Transaction => {
            return Err(SqlError::new(
                ErrorKind::ObjectNotInState,
                format!("parameter \"{}\" cannot be changed", definition.name),
            ));
        }
        Domain::Text => value.to_owned(),
        Domain::Bool => match parse_bool(value) {
            Some(true) => "on".to_owned(),
            Some(false) => "off".to_owned(),
            None => return Err(invalid()),
        },
        Domain::Int(low, high) => match value.trim().parse::<i64>() {
            Ok(n) if (low..=high).contains(&n) => n.to_string(),
            _ => return Err(invalid()),
        },
        Domain::Duration => parse_duration(value).map(show_duration).ok_or_else(invalid)?,
        Domain::Choice(choices) => {
            let wanted = value.trim_matches('\'');
            let Some(choice) = choices.iter().find(|c| c.eq_ignore_ascii_case(wanted)) else { return Err(invalid()) };
            canonical(definition, choice)
        }
    };
    Ok((definition, value))
}

/// Several spellings of one meaning show as the default's spelling.
fn canonical(definition: &Definition, choice: &str) -> String {
    match definition.name {
        "client_encoding" | "TimeZone" | "standard_conforming_strings" => definition.default.to_owned(),
        _ => choice.to_owned(),
    }
}

/// PostgreSQL's booleans: on/off, true/false, yes/no, 1/0 and their unique prefixes.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    match text.as_str() {
        "" | "o" => None,
        "1" | "on" => Some(true),
        "0" => Some(false),
        t if "true".starts_with(t) || "yes".starts_with(t) => Some(true),
        t if "false".starts_with(t) || "no".starts_with(t) || "off".starts_with(t) => Some(false),
        _ => None,
    }
}

/// Milliseconds from `250`, `250ms`, `1s`, `2min`, `1h`, `1d`.
fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit.trim() {
        "" | "ms" => number,
        "us" => number / 1000,
        "s" => number.checked_mul(1000)?,
        "min" => number.checked_mul(60_000)?,
        "h" => number.checked_mul(3_600_000)?,
        "d" => number.checked_mul(86_400_000)?,
        _ => return None,
    };
    // PostgreSQL's own bound: the settings are 32-bit integers of milliseconds.
    (millis <= 2_147_483_647).then_some(millis)
}

/// The largest unit that divides it, as PostgreSQL shows it.
fn show_duration(millis: u64) -> String {
    match millis {
        0 => "0".to_owned(),
        m if m % 86_400_000 == 0 => format!("{}d", m / 86_400_000),
        m if m % 3_600_000 == 0 => format!("{}h", m / 3_600_000),
        m if m % 60_000 == 0 => format!("{}min", m / 60_000),
        m if m % 1000 == 0 => format!("{}s", m / 1000),
        m => format!("{m}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_shown_as_postgresql_does() {
        let mut settings = Settings::new("me");
        settings.set("STATEMENT_TIMEOUT", "1500").unwrap();
        assert_eq!(settings.show("statement_timeout").unwrap(), ("statement_timeout", "1500ms"));
        assert_eq!(settings.statement_timeout(), Some(Duration::from_millis(1500)));
        assert_eq!(settings.set("nosuch", "1").unwrap_err().kind, ErrorKind::UndefinedObject);
        assert_eq!(settings.set("jit", "perhaps").unwrap_err().kind, ErrorKind::InvalidParameterValue);
        assert_eq!(settings.set("server_version", "16").unwrap_err().kind, ErrorKind::ObjectNotInState);
        settings.set("egt.mode", "Observe").unwrap();
        assert_eq!((settings.egt_mode(), settings.show("egt mode").unwrap().1), (EgtMode::Observe, "observe"));
    }

    #[test]
    fn rollback_undoes_set_and_the_end_undoes_set_local() {
        let mut settings = Settings::new("me");
        settings.end_transaction(true);
        settings.set("jit", "on").unwrap();
        settings.set_local("application_name", "x").unwrap();
        settings.end_transaction(false);
        assert_eq!(settings.show("jit").unwrap().1, "off");
        settings.set("jit", "on").unwrap();
        settings.set_local("jit", "off").unwrap();
        settings.end_transaction(true);
        assert_eq!(settings.show("jit").unwrap().1, "on");
    }

    #[test]
    fn a_user_who_may_only_read_stays_so() {
        let mut settings = Settings::new("me");
        settings.allow_reading_only();
        let denied = Some(ErrorKind::InsufficientPrivilege);
        assert_eq!(settings.set(READ_ONLY, "off").err().map(|e| e.kind), denied);
        assert_eq!(settings.set_local(READ_ONLY, "false").err().map(|e| e.kind), denied);
        assert_eq!(settings.set_at_startup(READ_ONLY, "0").err().map(|e| e.kind), denied);
        settings.set(READ_ONLY, "on").unwrap();
        settings.reset(None).unwrap();
        assert!(settings.default_modes().read_only);
    }

    #[test]
    fn reported_settings_are_told_once() {
        let mut settings = Settings::new("me");
        assert!(
            settings.take_changes().iter().any(|(name, value)| *name == "server_version" && value == SERVER_VERSION)
        );
        assert!(settings.take_changes().is_empty());
        settings.set("application_name", "psql").unwrap();
        assert_eq!(settings.take_changes(), [("application_name", "psql".to_owned())]);
    }
}

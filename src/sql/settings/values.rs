//! The values of all settings at one moment. Sessions keep several: those now, those that stay, those to go back to.

use std::collections::BTreeMap;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::definitions::DEFINITIONS;
use super::value::Value;

/// Most settings of a client's own that a session keeps.
const CUSTOM_MAX: usize = 1000;

/// Who gave a setting its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    /// The server's own configuration.
    Server,
    /// The start-up packet.
    Client,
    Session,
}

impl Source {
    /// As `pg_settings` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::Server => "command line",
            Source::Client => "client",
            Source::Session => "session",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Values {
    /// By the places of their definitions.
    known: Vec<(Value, Source)>,
    /// Settings with a dot in their names, which mean something to the client alone.
    custom: BTreeMap<String, String>,
}

impl Values {
    pub(super) fn of_defaults() -> Self {
        let known = DEFINITIONS.iter().map(|definition| (definition.default.clone(), Source::Default)).collect();
        Self { known, custom: BTreeMap::new() }
    }

    pub(super) fn get(&self, place: usize) -> &Value {
        &self.known[place].0
    }

    pub(super) fn source(&self, place: usize) -> Source {
        self.known[place].1
    }

    pub(super) fn put(&mut self, place: usize, value: Value, source: Source) {
        self.known[place] = (value, source);
    }

    /// Takes over a setting of other values.
    pub(super) fn put_back(&mut self, place: usize, others: &Self) {
        self.known[place] = others.known[place].clone();
    }

    pub(super) fn custom(&self, name: &str) -> Option<&str> {
        self.custom.get(name).map(String::as_str)
    }

    pub(super) fn customs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.custom.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// # Errors
    /// 54000 for one more than a session keeps.
    pub(super) fn put_custom(&mut self, name: &str, value: String) -> SqlResult<()> {
        if self.custom.len() >= CUSTOM_MAX && !self.custom.contains_key(name) {
            let message = format!("a session has at most {CUSTOM_MAX} settings of its own");
            return Err(SqlError::new(ErrorKind::LimitExceeded, message));
        }
        self.custom.insert(name.to_owned(), value);
        Ok(())
    }

    /// A setting of the client's own that there was once is there for good: where it is no longer set it is empty.
    pub(super) fn keep_customs_of(&mut self, others: &Self) {
        for name in others.custom.keys().filter(|name| !self.custom.contains_key(*name)).cloned().collect::<Vec<_>>() {
            self.custom.insert(name, String::new());
        }
    }
}

/// The name under which a setting of the client's own is kept.
///
/// # Errors
/// 42704 for a name without a dot, 42602 for one that is not of plain identifiers, or whose first part is taken.
pub(super) fn custom_name(name: &str) -> SqlResult<String> {
    let lower = name.to_ascii_lowercase();
    let Some((prefix, _)) = lower.split_once('.') else { return Err(unrecognized(name)) };
    let invalid = || SqlError::new(ErrorKind::InvalidName, format!("invalid configuration parameter name \"{name}\""));
    if prefix == "datafusion" {
        let message = format!("permission denied to set parameter \"{name}\"");
        return Err(SqlError::new(ErrorKind::InsufficientPrivilege, message));
    }
    if prefix == "egt" {
        return Err(invalid().with_detail(format!("\"{prefix}\" is a reserved prefix.")));
    }
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let follows = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
    let is_plain = |part: &str| part.starts_with(starts) && part.chars().all(follows);
    if lower.split('.').all(is_plain) {
        return Ok(lower);
    }
    Err(invalid().with_detail("Custom parameter names must be two or more simple identifiers separated by dots."))
}

/// There is no such setting (42704).
pub(super) fn unrecognized(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedObject, format!("unrecognized configuration parameter \"{name}\""))
}

//! The settings that every statement asks for, worked out when they change.

use std::time::Duration;

use tablegate_types::error::Severity;
use tablegate_types::style::Style;

use super::definitions::place;
use super::egt::{Autocommit, EgtMode};
use super::value::Value;
use super::values::Values;
use super::{READ_ONLY, checks};
use crate::syntax::{Isolation, TransactionModes};

/// When a text is planned with parameters in the places of its constants (`plan_cache_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanCache {
    /// When it comes for the second time, but for its constants.
    Auto,
    /// At once.
    Generic,
    /// Never.
    Custom,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Often {
    pub style: Style,
    pub egt_mode: EgtMode,
    pub autocommit: Autocommit,
    pub direct_reads: bool,
    pub plan_cache: PlanCache,
    pub statement_timeout: Option<Duration>,
    pub idle_session_timeout: Option<Duration>,
    pub idle_in_transaction_timeout: Option<Duration>,
    pub lock_timeout: Option<Duration>,
    pub slow_statement: Option<Duration>,
    pub looks_for_temporary_last: bool,
    pub min_severity: Option<Severity>,
    pub default_modes: TransactionModes,
}

impl Often {
    pub(super) fn of(values: &Values) -> Self {
        let value = |name: &str| place(name).map(|place| values.get(place));
        let text = |name: &str| value(name).map_or("", Value::as_text);
        let is_on = |name: &str| value(name) == Some(&Value::Bool(true));
        let duration = |name: &str| millis(value(name)).filter(|duration| !duration.is_zero());
        Self {
            style: checks::style(|name| value(name).cloned().unwrap_or_else(|| Value::Text(String::new()))),
            egt_mode: if text("egt.mode") == EgtMode::Observe.name() { EgtMode::Observe } else { EgtMode::Strict },
            autocommit: if text("egt.autocommit") == "strict" { Autocommit::Strict } else { Autocommit::Split },
            direct_reads: is_on("tablegate.direct_reads"),
            plan_cache: match text("plan_cache_mode") {
                "force_generic_plan" => PlanCache::Generic,
                "force_custom_plan" => PlanCache::Custom,
                _ => PlanCache::Auto,
            },
            statement_timeout: duration("statement_timeout"),
            idle_session_timeout: duration("idle_session_timeout"),
            idle_in_transaction_timeout: duration("idle_in_transaction_session_timeout"),
            lock_timeout: duration("lock_timeout"),
            slow_statement: millis(value("log_min_duration_statement")),
            looks_for_temporary_last: looks_for_temporary_last(text("search_path")),
            min_severity: match text("client_min_messages") {
                "error" => None,
                "warning" => Some(Severity::Warning),
                _ => Some(Severity::Notice),
            },
            default_modes: TransactionModes {
                isolation: Isolation::named(text("default_transaction_isolation")).unwrap_or(Isolation::ReadCommitted),
                read_only: is_on(READ_ONLY),
                deferrable: is_on("default_transaction_deferrable"),
            },
        }
    }
}

/// A time; `None` when it is negative.
fn millis(value: Option<&Value>) -> Option<Duration> {
    match value {
        Some(Value::Integer(millis)) => u64::try_from(*millis).ok().map(Duration::from_millis),
        _ => None,
    }
}

/// Whether the path names the schema of temporary tables, and behind `public`. Unnamed it is the first.
fn looks_for_temporary_last(path: &str) -> bool {
    let mut schemas = path.split(',').map(|schema| schema.trim().trim_matches('"'));
    schemas.find(|schema| matches!(*schema, "public" | "pg_temp")) == Some("public")
        && schemas.any(|schema| schema == "pg_temp")
}

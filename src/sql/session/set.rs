//! SET and RESET.

use datafusion::common::ScalarValue;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::input::parse_text;
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::offset_name;

use super::Session;
use crate::outcome::{CommandTag, Outcome};
use crate::settings::{EgtMode, List, list_of, parse_bool};
use crate::syntax::{Isolation, NamedModes, SetCommand, SetValue};

impl Session {
    pub(super) fn run_set(&mut self, set: &SetCommand) -> SqlResult<Outcome> {
        match set {
            SetCommand::Setting { name, local, values } => {
                let text = if is_time_zone(name) { zone_text(values)? } else { set_text(name, values)? };
                self.assign_setting(name, text.as_deref(), *local)?;
            }
            SetCommand::TimeZone { local, value } => {
                let text = zone_text(std::slice::from_ref(value))?;
                self.assign_setting("TimeZone", text.as_deref(), *local)?;
            }
            SetCommand::Names(encoding) => self.assign_setting("client_encoding", encoding.as_deref(), false)?,
            SetCommand::Other(other) => return Err(SqlError::not_supported(format!("SET {other}"))),
        }
        Ok(Outcome::Done(CommandTag::Plain("SET")))
    }

    /// RESET of one setting, or of all.
    pub(super) fn run_reset(&mut self, name: Option<&str>) -> SqlResult<Outcome> {
        match name {
            Some(name) => self.settings.set(name, None)?,
            None => self.settings.reset_all(),
        }
        Ok(Outcome::Done(CommandTag::Plain("RESET")))
    }

    fn assign_setting(&mut self, name: &str, value: Option<&str>, local: bool) -> SqlResult<()> {
        if local && !self.transaction.in_block() {
            self.notice(
                Notice::warning("SET LOCAL can only be used in transaction blocks")
                    .of_kind(ErrorKind::NoActiveTransaction),
            );
        }
        self.set_setting(name, value, local)
    }

    /// Sets a setting, or a mode of the open transaction that is shown as one. `None` for DEFAULT.
    pub(super) fn set_setting(&mut self, name: &str, value: Option<&str>, local: bool) -> SqlResult<()> {
        if let Some(value) = value
            && let Some(modes) = transaction_mode(name, value)?
        {
            return self.set_block_modes(modes);
        }
        if local {
            self.settings.set_local(name, value)?
        } else {
            self.settings.set(name, value)?
        }
        if name.eq_ignore_ascii_case("egt.mode") {
            self.tell_about_egt_mode();
        }
        Ok(())
    }

    /// Observe mode records constraints everywhere; transactions that it allows need a store that can carry them out.
    fn tell_about_egt_mode(&mut self) {
        if self.settings.egt_mode() == EgtMode::Observe && !self.engine.stores().public().promises().atomic_groups {
            let message = "this store commits nothing larger than one entity group transaction: egt.mode = observe \
                           records constraints here, transactions stay strict";
            self.notice(Notice::warning(message));
        }
    }
}

/// The mode of the open transaction that a setting stands for, if it does.
fn transaction_mode(name: &str, value: &str) -> SqlResult<Option<NamedModes>> {
    let invalid = || {
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        SqlError::new(ErrorKind::InvalidParameterValue, message)
    };
    let boolean = || {
        let hint = || invalid().with_hint("Use on or off.");
        parse_bool(value).map(Some).ok_or_else(hint)
    };
    Ok(Some(match name {
        "transaction_isolation" => {
            let hint = || invalid().with_hint(format!("Available values: {}.", Isolation::NAMES.join(", ")));
            NamedModes { isolation: Some(Isolation::named(value).ok_or_else(hint)?), ..NamedModes::default() }
        }
        "transaction_read_only" => NamedModes { read_only: boolean()?, ..NamedModes::default() },
        "transaction_deferrable" => NamedModes { deferrable: boolean()?, ..NamedModes::default() },
        _ => return Ok(None),
    }))
}

fn is_time_zone(name: &str) -> bool {
    name.eq_ignore_ascii_case("timezone")
}

/// The value of a SET as text; `None` for DEFAULT.
fn set_text(name: &str, values: &[SetValue]) -> SqlResult<Option<String>> {
    if is_word(values, "default") {
        return Ok(None);
    }
    let parts = values.iter().map(SetValue::text).collect::<SqlResult<Vec<_>>>()?;
    match list_of(name) {
        List::No if parts.len() > 1 => {
            let message = format!("SET {name} takes only one argument");
            Err(SqlError::new(ErrorKind::InvalidParameterValue, message))
        }
        List::No | List::Words => Ok(Some(parts.join(", "))),
        List::Names => Ok(Some(parts.iter().map(|part| quote_ident(part)).collect::<Vec<_>>().join(", "))),
    }
}

/// The zone of SET TIME ZONE: a name, a number of hours, an interval; `None` for DEFAULT and LOCAL.
fn zone_text(values: &[SetValue]) -> SqlResult<Option<String>> {
    if is_word(values, "local") {
        return Ok(None);
    }
    let [SetValue::Interval { value, .. }] = values else { return set_text("TimeZone", values) };
    let text = value.text()?;
    let ScalarValue::IntervalMonthDayNano(Some(span)) = parse_text(&SqlType::Interval, &text)? else {
        return Ok(Some(text));
    };
    if span.months != 0 || span.days != 0 {
        let message = format!("invalid value for parameter \"TimeZone\": \"INTERVAL '{text}'\"");
        return Err(SqlError::new(ErrorKind::InvalidParameterValue, message)
            .with_detail("Cannot specify months or days in time zone interval."));
    }
    const NANOS_PER_SECOND: i64 = 1_000_000_000;
    Ok(Some(offset_name(span.nanoseconds / NANOS_PER_SECOND)))
}

fn is_word(values: &[SetValue], word: &str) -> bool {
    matches!(values, [value] if value.is_word(word))
}

//! SET and RESET.

use datafusion::sql::sqlparser::ast::{ContextModifier, Expr, Set, UnaryOperator, Value};

use super::Session;
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::outcome::{CommandTag, Outcome};
use crate::sql::settings::parse_bool;
use crate::sql::statement::dotted;
use crate::sql::tx::{Isolation, NamedModes};

impl Session {
    pub(super) fn run_set(&mut self, set: &Set) -> SqlResult<Outcome> {
        match set {
            Set::SingleAssignment { scope, variable, values, .. } => {
                let name = dotted(variable);
                let local = matches!(scope, Some(ContextModifier::Local));
                match set_text(values)? {
                    Some(text) => self.assign_setting(&name, &text, local)?,
                    None => self.settings.reset(Some(&name))?,
                }
            }
            Set::SetTimeZone { local, value } => match set_text(std::slice::from_ref(value))? {
                Some(text) => self.assign_setting("TimeZone", &text, *local)?,
                None => self.settings.reset(Some("TimeZone"))?,
            },
            Set::SetNames { charset_name, .. } => {
                self.assign_setting("client_encoding", &charset_name.value, false)?;
            }
            Set::SetNamesDefault {} => self.settings.reset(Some("client_encoding"))?,
            other => return Err(SqlError::not_supported(format!("SET {other}"))),
        }
        Ok(Outcome::Done(CommandTag::Plain("SET")))
    }

    pub(super) fn assign_setting(&mut self, name: &str, value: &str, local: bool) -> SqlResult<()> {
        if let Some(modes) = transaction_mode(name, value)? {
            return self.set_block_modes(modes);
        }
        if !local {
            return self.settings.set(name, value);
        }
        if !self.transaction.in_block() {
            self.notice(Notice::warning("SET LOCAL can only be used in transaction blocks"));
        }
        self.settings.set_local(name, value)
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
/// The value of a SET as text; `None` for DEFAULT.
fn set_text(values: &[Expr]) -> SqlResult<Option<String>> {
    if let [Expr::Identifier(ident)] = values
        && ident.quote_style.is_none()
        && ident.value.eq_ignore_ascii_case("default")
    {
        return Ok(None);
    }
    let parts = values.iter().map(value_text).collect::<SqlResult<Vec<_>>>()?;
    Ok(Some(parts.join(", ")))
}

fn value_text(value: &Expr) -> SqlResult<String> {
    match value {
        Expr::Value(v) => Ok(match &v.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) | Value::Number(text, _) => {
                text.clone()
            }
            Value::DollarQuotedString(text) => text.value.clone(),
            other => other.to_string(),
        }),
        Expr::Identifier(ident) => Ok(ident.value.clone()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(format!("-{}", value_text(expr)?)),
        other => Err(SqlError::new(ErrorKind::Syntax, format!("SET takes constants only, not {other}"))),
    }
}

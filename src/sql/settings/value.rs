//! Values of settings: from text within their bounds, and back as SHOW has them.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::output::write_f64;

use super::definitions::{Definition, Kind};
use super::unit::Unit;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i64),
    Real(f64),
    Text(String),
}

impl Value {
    /// A default of the table.
    pub(crate) fn of_default(kind: &Kind, text: &str) -> Self {
        match kind {
            Kind::Bool => Value::Bool(text == "on"),
            Kind::Integer { .. } => Value::Integer(text.parse().unwrap_or_default()),
            Kind::Real { .. } => Value::Real(text.parse().unwrap_or_default()),
            Kind::Enum(_) | Kind::Text => Value::Text(text.to_owned()),
        }
    }

    /// The value that a text stands for.
    ///
    /// # Errors
    /// 22023 for what is none of the setting's.
    pub(crate) fn parse(definition: &Definition, text: &str) -> SqlResult<Self> {
        match &definition.kind {
            Kind::Bool => parse_bool(text).map(Value::Bool).ok_or_else(|| {
                let message = format!("parameter \"{}\" requires a Boolean value", definition.name);
                SqlError::new(ErrorKind::InvalidParameterValue, message)
            }),
            Kind::Integer { least, most, unit } => {
                let value = Number::parse(text).in_unit(definition, text, *unit)?.round_ties_even();
                #[expect(clippy::cast_precision_loss, reason = "settings are 32-bit integers")]
                let fits = (*least as f64..=*most as f64).contains(&value);
                #[expect(clippy::cast_possible_truncation, reason = "whole, and the range is checked")]
                if fits {
                    Ok(Value::Integer(value as i64))
                } else {
                    Err(outside(definition, value, *unit, least, most))
                }
            }
            Kind::Real { least, most, unit } => {
                let value = Number::parse(text).in_unit(definition, text, *unit)?;
                let fits = (*least..=*most).contains(&value);
                if fits { Ok(Value::Real(value)) } else { Err(outside(definition, value, *unit, least, most)) }
            }
            Kind::Enum(choices) => choice(definition, choices, text).map(Value::Text),
            Kind::Text => Ok(Value::Text(text.to_owned())),
        }
    }

    /// As SHOW has it, with its unit.
    pub(crate) fn shown(&self, kind: &Kind) -> String {
        match (self, kind.unit()) {
            (Value::Integer(value), Some(unit)) => unit.shown(*value),
            (Value::Real(value), Some(unit)) if *value > 0.0 => format!("{}{}", self.bare(), unit.name),
            _ => self.bare(),
        }
    }

    /// As `pg_settings` has it, without its unit.
    pub(crate) fn bare(&self) -> String {
        match self {
            Value::Bool(value) => if *value { "on" } else { "off" }.to_owned(),
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => {
                /// C's `%g`: six digits, nine less than a double has.
                const SIX_DIGITS: i8 = -9;
                let mut out = String::new();
                // Writing to memory does not fail.
                let _ = write_f64(&mut out, *value, SIX_DIGITS);
                out
            }
            Value::Text(text) => text.clone(),
        }
    }

    pub(crate) fn as_text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            Value::Bool(_) | Value::Integer(_) | Value::Real(_) => "",
        }
    }
}

/// The text is no value of the setting (22023).
pub(super) fn invalid(definition: &Definition, text: &str) -> Box<SqlError> {
    let message = format!("invalid value for parameter \"{}\": \"{text}\"", definition.name);
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

fn outside(
    definition: &Definition,
    value: f64,
    unit: Option<Unit>,
    least: impl std::fmt::Display,
    most: impl std::fmt::Display,
) -> Box<SqlError> {
    let unit = unit.map(|unit| format!(" {}", unit.name)).unwrap_or_default();
    let name = definition.name;
    let message = format!("{value}{unit} is outside the valid range for parameter \"{name}\" ({least} .. {most})");
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

/// One of the choices, in the table's spelling.
fn choice(definition: &Definition, choices: &[&'static str], text: &str) -> SqlResult<String> {
    /// Names that PostgreSQL takes and does not list.
    const UNLISTED: [(&str, &str); 2] = [("debug", "debug2"), ("info", "info")];
    let known = choices.iter().find(|choice| choice.eq_ignore_ascii_case(text)).copied();
    let unlisted = || UNLISTED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, meaning)| *meaning);
    let unlisted = || unlisted().filter(|_| choices.contains(&"debug1"));
    // Whatever can be on or off can be true or false.
    let truth = || parse_bool(text).map(|is_on| if is_on { "on" } else { "off" }).filter(|word| choices.contains(word));
    known
        .or_else(unlisted)
        .or_else(truth)
        .map(str::to_owned)
        .ok_or_else(|| invalid(definition, text).with_hint(format!("Available values: {}.", choices.join(", "))))
}

/// PostgreSQL's booleans: on/off, true/false, yes/no, 1/0 and their unique prefixes.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
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

/// A number, and what stands behind it.
struct Number<'t> {
    value: Option<f64>,
    unit: &'t str,
}

impl<'t> Number<'t> {
    fn parse(text: &'t str) -> Self {
        let text = text.trim();
        let unsigned = text.trim_start_matches(['+', '-']);
        let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
        if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
            let digits = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
            let value = u32::from_str_radix(&hex[..digits], 16).ok();
            return Self { value: value.map(|value| sign * f64::from(value)), unit: hex[digits..].trim() };
        }
        let digits = unsigned.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let mut end = digits;
        // An exponent, where one follows.
        if let Some(behind) = unsigned[digits..].strip_prefix(['e', 'E']) {
            let signed = usize::from(behind.starts_with(['+', '-']));
            let count = behind[signed..].bytes().take_while(u8::is_ascii_digit).count();
            if count > 0 {
                end += 1 + signed + count;
            }
        }
        let (number, unit) = unsigned.split_at(end);
        Self { value: number.parse::<f64>().ok().map(|value| sign * value), unit: unit.trim() }
    }

    /// In the unit of the setting, which is meant where none is said.
    fn in_unit(&self, definition: &Definition, text: &str, unit: Option<Unit>) -> SqlResult<f64> {
        let refused = || match unit {
            Some(unit) => invalid(definition, text).with_hint(unit.hint()),
            None => invalid(definition, text),
        };
        let value = self.value.ok_or_else(|| invalid(definition, text))?;
        match (unit, self.unit) {
            (_, "") => Ok(value),
            (None, _) => Err(refused()),
            (Some(unit), name) => Ok(value * unit.of(name).ok_or_else(refused)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::definitions::{DEFINITIONS, place};
    use super::*;

    fn shown(name: &str, text: &str) -> String {
        let definition = &DEFINITIONS[place(name).unwrap()];
        match Value::parse(definition, text) {
            Ok(value) => value.shown(&definition.kind),
            Err(error) => format!("{}; {}", error.message, error.hint.unwrap_or_default()),
        }
    }

    #[test]
    fn values_are_checked_and_shown_as_postgresql_does() {
        const UNITS: &str = r#"Valid units for this parameter are "us", "ms", "s", "min", "h", and "d"."#;
        for (name, text, expected) in [
            ("statement_timeout", "1500", "1500ms"),
            ("statement_timeout", "1.5s", "1500ms"),
            ("statement_timeout", " 2 min ", "2min"),
            ("statement_timeout", "0", "0"),
            ("statement_timeout", "1e3", "1s"),
            ("statement_timeout", "0x10", "16ms"),
            ("statement_timeout", "1x", &format!("invalid value for parameter \"statement_timeout\": \"1x\"; {UNITS}")),
            (
                "statement_timeout",
                "-1",
                "-1 ms is outside the valid range for parameter \"statement_timeout\" (0 .. 2147483647); ",
            ),
            ("log_min_duration_statement", "-1", "-1"),
            ("work_mem", "65536", "64MB"),
            ("temp_buffers", "1000", "8000kB"),
            (
                "extra_float_digits",
                "4",
                "4 is outside the valid range for parameter \"extra_float_digits\" (-15 .. 3); ",
            ),
            ("extra_float_digits", "many", "invalid value for parameter \"extra_float_digits\": \"many\"; "),
            ("seq_page_cost", "1.50", "1.5"),
            ("jit", "yes", "on"),
            ("jit", "perhaps", "parameter \"jit\" requires a Boolean value; "),
            ("client_min_messages", "DEBUG", "debug2"),
            ("synchronous_commit", "1", "on"),
            (
                "xmloption",
                "x",
                "invalid value for parameter \"xmloption\": \"x\"; Available values: content, document.",
            ),
        ] {
            assert_eq!(shown(name, text), expected, "{name} = {text}");
        }
    }
}

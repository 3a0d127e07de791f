//! Checks of values beyond their kind: styles, time zones, encodings, and settings of which only the default is
//! supported.

use tablegate_types::encodings;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::style::{ByteaOutput, DateStyle, IntervalStyle, Style, named_zone};

use super::definitions::Definition;
use super::value::{Value, invalid};

/// The value that a text stands for in a session that has this style now; `reset` is what its DateStyle goes back to.
///
/// # Errors
/// 22023 for what is not a value of the setting, 0A000 for one that is not done here.
pub(super) fn checked(definition: &Definition, text: &str, current: Style, reset: DateStyle) -> SqlResult<Value> {
    let value = match definition.name {
        "DateStyle" => match DateStyle::parse(text, current.dates, reset) {
            Ok(style) => Value::Text(style.to_string()),
            Err(detail) => return Err(invalid(definition, text).with_detail(detail)),
        },
        "TimeZone" => {
            let (_, name) = named_zone(text).ok_or_else(|| invalid(definition, text))?;
            Value::Text(name)
        }
        "client_encoding" => Value::Text(encoding(definition, text)?.to_owned()),
        "lc_monetary" | "lc_numeric" | "lc_time" => {
            if !LOCALES.iter().any(|locale| locale.eq_ignore_ascii_case(text)) {
                return Err(invalid(definition, text));
            }
            Value::Text(text.to_owned())
        }
        "application_name" => Value::Text(text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect()),
        _ => Value::parse(definition, text)?,
    };
    if definition.is_fixed && value != definition.default {
        let shown = definition.default.shown(&definition.kind);
        let message = format!("\"{}\" as \"{text}\"", definition.name);
        return Err(SqlError::not_supported(message).with_hint(format!("It is always \"{shown}\".")));
    }
    Ok(value)
}

/// Locales whose numbers and names of months are those of C.
const LOCALES: [&str; 8] =
    ["C", "POSIX", "C.UTF-8", "C.utf8", "en_US.UTF-8", "en_US.utf8", "English_United States.1252", "en_US"];

/// UTF8, or SQL_ASCII, which means bytes as they are.
fn encoding(definition: &Definition, text: &str) -> SqlResult<&'static str> {
    match encodings::number(text).and_then(encodings::name) {
        Some(known @ ("UTF8" | "SQL_ASCII")) => Ok(known),
        Some(other) => {
            let message = format!("invalid value for parameter \"{}\": \"{text}\"", definition.name);
            Err(SqlError::new(ErrorKind::FeatureNotSupported, message)
                .with_detail(format!("Conversion between {other} and UTF8 is not supported.")))
        }
        None => Err(invalid(definition, text)),
    }
}

/// The style that settings say; their values have been checked.
pub(super) fn style(get: impl Fn(&'static str) -> Value) -> Style {
    let plain = Style::PLAIN;
    Style {
        dates: DateStyle::parse(get("DateStyle").as_text(), plain.dates, plain.dates).unwrap_or(plain.dates),
        zone: named_zone(get("TimeZone").as_text()).map_or(plain.zone, |(zone, _)| zone),
        intervals: IntervalStyle::named(get("IntervalStyle").as_text()).unwrap_or(plain.intervals),
        float_digits: match get("extra_float_digits") {
            Value::Integer(digits) => i8::try_from(digits).unwrap_or(plain.float_digits),
            Value::Bool(_) | Value::Real(_) | Value::Text(_) => plain.float_digits,
        },
        bytea: if get("bytea_output").as_text() == "escape" { ByteaOutput::Escape } else { ByteaOutput::Hex },
    }
}

//! Literals: what a text means as a value of a type, and how the type prints it.

use tablegate_types::ScalarValue;
use tablegate_types::error::{ErrorKind, SqlResult};
use tablegate_types::input::parse_text_as;
use tablegate_types::oid::of_oid;
use tablegate_types::output::{Style, TextColumn};
use tablegate_types::sql_type::{CatalogType, SqlType, TimeLimits, TimeType};
use tablegate_types::style::Reading;

use crate::catalogue::oids::{self, Oid};
use crate::expr::Literal;
use crate::numeric;

/// A text as a value of the type; the modifier counts for intervals alone.
///
/// # Errors
/// What the type's input function says: 22P02 for a text that is no value of it.
pub(crate) fn read(text: &str, oid: Oid, typmod: i32, reading: Reading) -> SqlResult<Literal> {
    // What the digits of an interval are of, its fields say.
    if let Some(limits) = TimeLimits::of_modifier(TimeType::Interval, typmod.into()).filter(|_| oid == oids::INTERVAL) {
        return read_as(text, &SqlType::Limited(limits), reading);
    }
    let as_written = || Literal::Text(text.into());
    if oid == oids::NUMERIC {
        return match numeric::printed(text) {
            Some(digits) => Ok(Literal::Text(digits.into())),
            // For the error.
            None => read_as(text, &SqlType::Numeric(None), reading),
        };
    }
    // Their digits are those that are written.
    if let Some(SqlType::Array(item)) = of_oid(oid).filter(|_| oid == oids::NUMERIC_ARRAY) {
        parse_text_as(&SqlType::Array(item), text, reading)?;
    }
    let Some(sql_type) = known_type(oid) else { return Ok(as_written()) };
    read_as(text, &sql_type, reading)
}

fn read_as(text: &str, sql_type: &SqlType, reading: Reading) -> SqlResult<Literal> {
    match parse_text_as(sql_type, text, reading) {
        Ok(value) => Ok(Literal::Read { value, text: text.into() }),
        // A word like `now`: what it means is known when the expression is computed.
        Err(error) if error.kind == ErrorKind::FeatureNotSupported => Ok(Literal::Text(text.into())),
        Err(error) => Err(error),
    }
}

/// The text of a value, as its type prints it; `None` for NULL.
pub(crate) fn printed(literal: &Literal, oid: Oid) -> Option<String> {
    match literal {
        Literal::Null => None,
        Literal::Text(text) => Some(text.to_string()),
        Literal::Value(value) | Literal::Read { value, .. } => Some(printed_value(value, oid).unwrap_or_default()),
    }
}

fn printed_value(value: &ScalarValue, oid: Oid) -> Option<String> {
    let mut text = String::new();
    let array = value.to_array().ok()?;
    TextColumn::new(&array, &of_oid(oid)?, &Style::PLAIN).write_to(0, &mut text).ok()?;
    Some(text)
}

/// The type by which texts are read; `None` for one whose values are their texts, or are not read here.
fn known_type(oid: Oid) -> Option<SqlType> {
    // Cutting and padding are done by the cast to a length.
    if matches!(oid, oids::TEXT | oids::VARCHAR | oids::BPCHAR | oids::UNKNOWN) {
        return None;
    }
    let of_values = |sql_type: &SqlType| match sql_type {
        SqlType::Catalog(of) => matches!(of, CatalogType::Xid | CatalogType::Lsn),
        SqlType::Array(item) => {
            !matches!(**item, SqlType::Numeric(_) | SqlType::Char(_) | SqlType::Catalog(_)) && !item.names_objects()
        }
        SqlType::Record(_) | SqlType::Void | SqlType::Unknown => false,
        // Names of objects are looked up by those who have the catalogue.
        other => !other.names_objects(),
    };
    of_oid(oid).filter(of_values)
}

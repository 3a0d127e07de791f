//! Reads values from text.

use datafusion::common::ScalarValue;

use super::error::{ErrorKind, SqlError, SqlResult};
use super::types::SqlType;

/// # Errors
/// 22P02 for text that is not a value of the type.
pub fn parse_text(sql_type: &SqlType, text: &str) -> SqlResult<ScalarValue> {
    let scalar = ScalarValue::Utf8(Some(text.to_owned()));
    match scalar.cast_to(&sql_type.arrow()) {
        Ok(value) => Ok(value),
        Err(_) => Err(SqlError::new(
            ErrorKind::InvalidTextRepresentation,
            format!("invalid input syntax for type {sql_type}: \"{text}\""),
        )),
    }
}

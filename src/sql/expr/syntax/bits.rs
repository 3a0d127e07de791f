//! Bit string literals: `B'101'` and `X'1F'`.

use sqlparser::ast::{Expr, Value};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{CatalogType, SqlType};

use super::cast;
use crate::syntax::value;

/// # Errors
/// 22P02 for another digit than 0 and 1.
pub(super) fn of_binary(digits: &str) -> SqlResult<Expr> {
    match digits.chars().find(|digit| !matches!(digit, '0' | '1')) {
        None => Ok(literal(digits)),
        Some(wrong) => Err(no_digit(wrong, "binary")),
    }
}

/// # Errors
/// 22P02 for what is not a hexadecimal digit.
pub(super) fn of_hexadecimal(digits: &str) -> SqlResult<Expr> {
    let four = |digit: char| match digit.to_digit(16) {
        Some(value) => Ok(format!("{value:04b}")),
        None => Err(no_digit(digit, "hexadecimal")),
    };
    Ok(literal(&digits.chars().map(four).collect::<SqlResult<String>>()?))
}

fn literal(digits: &str) -> Expr {
    cast(value(Value::SingleQuotedString(digits.to_owned())), &SqlType::Catalog(CatalogType::Bit))
}

fn no_digit(wrong: char, base: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidTextRepresentation, format!("\"{wrong}\" is not a valid {base} digit"))
}

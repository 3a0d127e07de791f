//! Numbers written with more digits than a numeric has here.

use sqlparser::ast::{Expr, Value, ValueWithSpan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

/// Most digits of a numeric.
const MAX_DIGITS: i64 = 76;

/// A number that is cast where it stands is read as the type it is cast to, so that `1e300::float8` is one.
///
/// # Errors
/// 22003 for a number that no numeric here can be.
pub(super) fn fit(expr: &mut Expr) -> SqlResult<()> {
    match expr {
        Expr::Cast { expr: operand, .. } => {
            if let Expr::Value(ValueWithSpan { value, .. }) = &mut **operand
                && let Value::Number(text, _) = value
                && !fits(text)
            {
                *value = Value::SingleQuotedString(std::mem::take(text));
            }
            Ok(())
        }
        Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) if !fits(text) => {
            Err(SqlError::new(ErrorKind::NumericOutOfRange, "value overflows numeric format")
                .with_detail(format!("A numeric holds {MAX_DIGITS} digits.")))
        }
        _ => Ok(()),
    }
}

fn fits(number: &str) -> bool {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(i64::MAX)),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let length = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let before = length(whole.trim_start_matches('0')).saturating_add(exponent).max(0);
    let behind = length(fraction).saturating_sub(exponent).max(0);
    before.saturating_add(behind) <= MAX_DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_counted_on_both_sides_of_the_point() {
        for (number, expected) in
            [("1", true), ("1e75", true), ("1e76", false), ("1e-76", true), ("1e-77", false), ("1.5e300", false)]
        {
            assert_eq!(fits(number), expected, "{number}");
        }
    }
}

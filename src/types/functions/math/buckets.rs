//! `width_bucket`: which of so many equal parts of a range a value falls into.

use arrow::array::{Array, ArrayRef, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{Float64Type, Int32Type};

use super::fixed_point::Decimal;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Compatible, CompatibleArray, Float8, Int4, Numeric};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("width_bucket", &[Float8, Float8, Float8, Int4], Int4, of_floats),
    Overload::new("width_bucket", &[Numeric, Numeric, Numeric, Int4], Int4, of_decimals),
    Overload::new("width_bucket", &[Compatible, CompatibleArray], Int4, of_thresholds),
];

fn refused(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidBucketArgument, message)
}

fn check_count(count: i32) -> SqlResult<i32> {
    if count <= 0 { Err(refused("count must be greater than zero")) } else { Ok(count) }
}

fn beyond_last(count: i32) -> SqlResult<i32> {
    count.checked_add(1).ok_or_else(|| SqlError::new(ErrorKind::NumericOutOfRange, "integer out of range"))
}

fn of_floats(call: &Call) -> SqlResult<ArrayRef> {
    let [operands, lows, highs] = [0, 1, 2].map(|index| call.primitive::<Float64Type>(index));
    let (operands, lows, highs, counts) = (operands?, lows?, highs?, call.primitive::<Int32Type>(3)?);
    call.numbers::<Int32Type>(|row| bucket(operands.at(row), lows.at(row), highs.at(row), check_count(counts.at(row))?))
}

fn bucket(operand: f64, low: f64, high: f64, count: i32) -> SqlResult<i32> {
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(refused("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(refused("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(refused("lower bound cannot equal upper bound"));
    }
    // A range that goes down is the same range seen in a mirror.
    let (operand, low, high) = if low < high { (operand, low, high) } else { (-operand, -low, -high) };
    if operand < low {
        return Ok(0);
    }
    if operand >= high {
        return beyond_last(count);
    }
    let share = (operand - low) / (high - low);
    #[expect(clippy::cast_possible_truncation, reason = "the share is below 1, so the product is below the count")]
    let bucket = (share * f64::from(count)) as i32;
    // Rounding may have reached the next one.
    Ok(bucket.min(count - 1) + 1)
}

fn of_decimals(call: &Call) -> SqlResult<ArrayRef> {
    let (operands, lows, highs) = (call.decimals(0)?, call.decimals(1)?, call.decimals(2)?);
    let counts = call.primitive::<Int32Type>(3)?;
    let scale = operands.scale.max(lows.scale).max(highs.scale);
    call.numbers::<Int32Type>(|row| {
        let count = check_count(counts.at(row))?;
        let at_scale = |value, from| Decimal::new(value, from).unscaled(scale.into());
        let operand = at_scale(operands.at(row), operands.scale);
        let (low, high) = (at_scale(lows.at(row), lows.scale), at_scale(highs.at(row), highs.scale));
        if low == high {
            return Err(refused("lower bound cannot equal upper bound"));
        }
        let (operand, low, high) = if low < high { (operand, low, high) } else { (-operand, -low, -high) };
        if operand < low {
            return Ok(0);
        }
        if operand >= high {
            return beyond_last(count);
        }
        let bucket = (operand - &low) * count / (high - low);
        i32::try_from(bucket).ok().and_then(|bucket| bucket.checked_add(1)).map_or_else(|| beyond_last(count), Ok)
    })
}

/// Among how many of the thresholds, which are in order, the value comes behind.
fn of_thresholds(call: &Call) -> SqlResult<ArrayRef> {
    let (operand, lists) = (&call.arguments[0], call.lists(1)?);
    call.numbers::<Int32Type>(|row| {
        let thresholds = lists.at(row);
        if thresholds.null_count() > 0 {
            return Err(SqlError::new(ErrorKind::NullValueNotAllowed, "thresholds array must not contain NULLs"));
        }
        let place = if operand.constant { 0 } else { row };
        let compare = make_comparator(&operand.array, &thresholds, SortOptions::default())?;
        let (mut low, mut high) = (0, thresholds.len());
        while low < high {
            let middle = low.midpoint(high);
            if compare(place, middle).is_lt() {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        i32::try_from(low).or_else(|_| beyond_last(i32::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_their_bucket() {
        for (operand, low, high, expected) in [
            (5.35, 0.024, 10.06, 3),
            (-1.0, 0.0, 10.0, 0),
            (11.0, 0.0, 10.0, 6),
            (3.0, 10.0, 0.0, 4),
            (0.0, 0.0, 10.0, 1),
            (10.0, 0.0, 10.0, 6),
        ] {
            assert_eq!(bucket(operand, low, high, 5).unwrap(), expected, "{operand}");
        }
        assert_eq!(bucket(1.0, 1.0, 1.0, 5).unwrap_err().kind, ErrorKind::InvalidBucketArgument);
    }
}

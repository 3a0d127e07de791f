//! `abs`, `ceil`, `floor`, `round`, `trunc`, `sign`.
//!
//! A `numeric` keeps as many digits behind the point as it is rounded to; where that is not known when the call is
//! planned, it is a `numeric` without declared size.

use arrow::array::ArrayRef;
use arrow::datatypes::{Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, i256};

use super::powers_of_ten::{cut, moved};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Type::{Float4, Float8, Int2, Int4, Int8, Numeric};
use crate::functions::signature::{Arguments, Overload};
use crate::input::Digits;
use crate::sql_type::SqlType;

/// Most digits a `numeric` has here.
const PRECISION_MAX: i32 = 76;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("abs", &[Int2], Int2, |call| {
        let values = call.primitive::<Int16Type>(0)?;
        call.numbers::<Int16Type>(|row| values.at(row).checked_abs().ok_or_else(|| out_of_range("smallint")))
    }),
    Overload::new("abs", &[Int4], Int4, |call| {
        let values = call.primitive::<Int32Type>(0)?;
        call.numbers::<Int32Type>(|row| values.at(row).checked_abs().ok_or_else(|| out_of_range("integer")))
    }),
    Overload::new("abs", &[Int8], Int8, |call| {
        let values = call.primitive::<Int64Type>(0)?;
        call.numbers::<Int64Type>(|row| values.at(row).checked_abs().ok_or_else(|| out_of_range("bigint")))
    }),
    Overload::new("abs", &[Float4], Float4, |call| {
        let values = call.primitive::<Float32Type>(0)?;
        call.numbers::<Float32Type>(|row| Ok(values.at(row).abs()))
    }),
    Overload::new("abs", &[Float8], Float8, |call| floats(call, f64::abs)),
    Overload::new("abs", &[Numeric], Numeric, |call| {
        let values = call.decimals(0)?;
        call.decimal_results(|row, _| Ok(values.at(row).wrapping_abs()))
    })
    .sized(|arguments| Ok(arguments.types[0].clone())),
    Overload::new("ceil", &[Float8], Float8, |call| floats(call, f64::ceil)),
    Overload::new("ceiling", &[Float8], Float8, |call| floats(call, f64::ceil)),
    Overload::new("floor", &[Float8], Float8, |call| floats(call, f64::floor)),
    Overload::new("round", &[Float8], Float8, |call| floats(call, f64::round_ties_even)),
    Overload::new("trunc", &[Float8], Float8, |call| floats(call, f64::trunc)),
    Overload::new("sign", &[Float8], Float8, |call| {
        // Neither above nor below 0 are zero, whatever its sign, and NaN.
        floats(call, |value| if value == 0.0 || value.is_nan() { 0.0 } else { value.signum() })
    }),
    Overload::new("ceil", &[Numeric], Numeric, |call| whole(call, Rounding::Up)).sized(whole_size),
    Overload::new("ceiling", &[Numeric], Numeric, |call| whole(call, Rounding::Up)).sized(whole_size),
    Overload::new("floor", &[Numeric], Numeric, |call| whole(call, Rounding::Down)).sized(whole_size),
    Overload::new("round", &[Numeric], Numeric, |call| whole(call, Rounding::Nearest)).sized(whole_size),
    Overload::new("trunc", &[Numeric], Numeric, |call| whole(call, Rounding::TowardsZero)).sized(whole_size),
    Overload::new("round", &[Numeric, Int4], Numeric, |call| to_places(call, Rounding::Nearest)).sized(places_size),
    Overload::new("trunc", &[Numeric, Int4], Numeric, |call| to_places(call, Rounding::TowardsZero)).sized(places_size),
    Overload::new("sign", &[Numeric], Numeric, |call| {
        let values = call.decimals(0)?;
        call.decimal_results(|row, _| Ok(values.at(row).signum()))
    })
    .sized(|_| Ok(SqlType::Numeric(Some((1, 0))))),
];

fn out_of_range(sql_type: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, format!("{sql_type} out of range"))
}

fn floats(call: &Call, function: impl Fn(f64) -> f64) -> SqlResult<ArrayRef> {
    let values = call.primitive::<Float64Type>(0)?;
    call.numbers::<Float64Type>(|row| Ok(function(values.at(row))))
}

#[derive(Clone, Copy)]
enum Rounding {
    Up,
    Down,
    TowardsZero,
    /// Halves away from zero.
    Nearest,
}

impl Rounding {
    /// The value with fewer digits behind the point, as an unscaled value of that scale.
    fn apply(self, value: i256, from_scale: i8, to_scale: i8) -> SqlResult<i256> {
        if let Rounding::Nearest = self {
            let precision = 76;
            return Digits::of(Some((precision, to_scale))).rescale(value, from_scale);
        }
        let (whole, was_cut) = cut(value, moved(from_scale, to_scale));
        Ok(match self {
            Rounding::Up if was_cut && value > i256::ZERO => whole.wrapping_add(i256::ONE),
            Rounding::Down if was_cut && value < i256::ZERO => whole.wrapping_sub(i256::ONE),
            _ => whole,
        })
    }
}

/// One digit more before the point than the argument has, for what rounding carries over; none behind it.
#[expect(clippy::unnecessary_wraps, reason = "the shape that Overload::sized asks for")]
fn whole_size(arguments: &Arguments<'_>) -> SqlResult<SqlType> {
    let digits = arguments.digits(0).map(|(precision, scale)| sized(precision, scale, 0));
    Ok(SqlType::Numeric(Some(digits.unwrap_or((57, 0)))))
}

/// Precision and scale of a value rounded to `places` behind the point.
fn sized(precision: u8, scale: i8, places: i8) -> (u8, i8) {
    let digits = i32::from(precision) - i32::from(scale) + 1 + i32::from(places);
    (u8::try_from(digits.clamp(1, PRECISION_MAX)).unwrap_or(u8::MAX), places)
}

fn whole(call: &Call, rounding: Rounding) -> SqlResult<ArrayRef> {
    let values = call.decimals(0)?;
    call.decimal_results(|row, _| match values.scale {
        ..=0 => Digits::of(Some((76, 0))).rescale(values.at(row), values.scale),
        scale => rounding.apply(values.at(row), scale, 0),
    })
}

/// As many digits behind the point as the second argument says, when it is a constant.
#[expect(clippy::unnecessary_wraps, reason = "the shape that Overload::sized asks for")]
fn places_size(arguments: &Arguments<'_>) -> SqlResult<SqlType> {
    const PLACES_MAX: i64 = 60;
    let places = arguments.constant_int(1).and_then(|n| i8::try_from(n.clamp(0, PLACES_MAX)).ok());
    let (precision, scale) = arguments.digits(0).unwrap_or((76, 20));
    Ok(SqlType::Numeric(places.map(|places| sized(precision, scale, places))))
}

fn to_places(call: &Call, rounding: Rounding) -> SqlResult<ArrayRef> {
    let (values, places) = (call.decimals(0)?, call.primitive::<Int32Type>(1)?);
    call.decimal_results(|row, digits| {
        let value = values.at(row);
        let places = places.at(row);
        if places >= i32::from(values.scale) {
            return digits.rescale(value, values.scale);
        }
        // A point so far left leaves nothing.
        let Ok(places) = i8::try_from(places.max(-PRECISION_MAX)) else { return Ok(i256::ZERO) };
        digits.rescale(rounding.apply(value, values.scale, places)?, places)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_goes_each_its_way() {
        let rounded = |rounding: Rounding, value: i128| rounding.apply(i256::from_i128(value), 2, 0).unwrap().as_i128();
        for (value, up, down, towards_zero, nearest) in
            [(250, 3, 2, 2, 3), (-250, -2, -3, -2, -3), (249, 3, 2, 2, 2), (-200, -2, -2, -2, -2), (1, 1, 0, 0, 0)]
        {
            assert_eq!(rounded(Rounding::Up, value), up);
            assert_eq!(rounded(Rounding::Down, value), down);
            assert_eq!(rounded(Rounding::TowardsZero, value), towards_zero);
            assert_eq!(rounded(Rounding::Nearest, value), nearest);
        }
    }

    #[test]
    fn results_have_room_for_a_carry() {
        assert_eq!(sized(4, 2, 0), (3, 0));
        assert_eq!(sized(10, 3, 1), (9, 1));
        assert_eq!(sized(76, 20, 60), (76, 60));
    }
}

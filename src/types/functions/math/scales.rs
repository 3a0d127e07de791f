//! How many digits a `numeric` has behind its point: `scale`, `min_scale`, `trim_scale`.

use arrow::array::ArrayRef;
use arrow::datatypes::{Int32Type, i256};

use super::powers_of_ten::cut;
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Int4, Numeric};
use crate::sql_type::SqlType;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("scale", &[Numeric], Int4, |call| {
        // Without a declared scale a numeric shows no zeros at its end.
        if matches!(call.arguments.first().map(|a| &a.sql_type), Some(SqlType::Numeric(None))) {
            return min_scale(call);
        }
        let values = call.decimals(0)?;
        call.numbers::<Int32Type>(|_| Ok(i32::from(values.scale.max(0))))
    }),
    Overload::new("min_scale", &[Numeric], Int4, min_scale),
    Overload::new("trim_scale", &[Numeric], Numeric, |call| {
        let values = call.decimals(0)?;
        call.decimal_results(|row, digits| digits.rescale(values.at(row), values.scale))
    }),
];

fn min_scale(call: &Call) -> SqlResult<ArrayRef> {
    let values = call.decimals(0)?;
    call.numbers::<Int32Type>(|row| Ok(shown_digits(values.at(row), values.scale)))
}

/// Digits behind the point, without the zeros at the end.
fn shown_digits(mut value: i256, scale: i8) -> i32 {
    if value == i256::ZERO {
        return 0;
    }
    let mut digits = i32::from(scale.max(0));
    while digits > 0 {
        let (shorter, was_cut) = cut(value, 1);
        if was_cut {
            break;
        }
        value = shorter;
        digits -= 1;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_do_not_count() {
        for (value, scale, digits) in [(84_100, 4, 2), (0, 4, 0), (100, 2, 0), (-15, 1, 1), (7, 0, 0)] {
            assert_eq!(shown_digits(i256::from_i128(value), scale), digits);
        }
    }
}

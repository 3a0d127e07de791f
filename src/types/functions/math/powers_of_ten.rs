//! Moving the point of an unscaled decimal towards zero or away from it.

use arrow::datatypes::i256;

/// 10^n; `None` beyond 256 bits.
pub(super) fn power_of_ten(exponent: u32) -> Option<i256> {
    match 10_i128.checked_pow(exponent) {
        Some(short) => Some(i256::from_i128(short)),
        None => i256::from_i128(10).checked_pow(exponent),
    }
}

/// How many digits the point moves to the right: at most those of the type.
pub(super) fn moved(from_scale: i8, to_scale: i8) -> u32 {
    u32::from(to_scale.abs_diff(from_scale))
}

/// The quotient by 10^n towards zero, and whether anything was cut off.
pub(super) fn cut(value: i256, digits: u32) -> (i256, bool) {
    if let (Some(value), Some(divisor)) = (value.to_i128(), 10_i128.checked_pow(digits)) {
        return (i256::from_i128(value / divisor), value % divisor != 0);
    }
    match power_of_ten(digits) {
        Some(divisor) => (value.wrapping_div(divisor), value.wrapping_rem(divisor) != i256::ZERO),
        None => (i256::ZERO, value != i256::ZERO),
    }
}

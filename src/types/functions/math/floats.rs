//! Functions of double precision: roots, powers, logarithms, angles in radians.

use std::f64::consts::LN_2;

use arrow::array::ArrayRef;
use arrow::datatypes::Float64Type;

use super::numerics::{logarithm_of_negative, logarithm_of_zero, power_is_complex, root_of_negative, zero_to_negative};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::Float8;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("pi", &[], Float8, |call| call.numbers::<Float64Type>(|_| Ok(std::f64::consts::PI))),
    Overload::new("sqrt", &[Float8], Float8, |call| {
        unary(call, |x| if x < 0.0 { Err(root_of_negative()) } else { Ok(x.sqrt()) })
    }),
    Overload::new("cbrt", &[Float8], Float8, |call| unary(call, |x| Ok(x.cbrt()))),
    Overload::new("exp", &[Float8], Float8, |call| {
        unary(call, |x| within_range(x.exp(), x.is_infinite(), x == f64::NEG_INFINITY))
    }),
    Overload::new("ln", &[Float8], Float8, |call| unary(call, |x| positive(x).map(f64::ln))),
    Overload::new("log", &[Float8], Float8, |call| unary(call, |x| positive(x).map(f64::log10))),
    Overload::new("log10", &[Float8], Float8, |call| unary(call, |x| positive(x).map(f64::log10))),
    Overload::new("power", &[Float8, Float8], Float8, |call| binary(call, power)),
    Overload::new("pow", &[Float8, Float8], Float8, |call| binary(call, power)),
    Overload::new("degrees", &[Float8], Float8, |call| {
        unary(call, |x| within_range(x / (std::f64::consts::PI / 180.0), x.is_infinite(), x == 0.0))
    }),
    Overload::new("radians", &[Float8], Float8, |call| {
        unary(call, |x| within_range(x * (std::f64::consts::PI / 180.0), x.is_infinite(), x == 0.0))
    }),
    Overload::new("sin", &[Float8], Float8, |call| unary(call, |x| finite(x).map(f64::sin))),
    Overload::new("cos", &[Float8], Float8, |call| unary(call, |x| finite(x).map(f64::cos))),
    Overload::new("tan", &[Float8], Float8, |call| unary(call, |x| finite(x).map(f64::tan))),
    Overload::new("cot", &[Float8], Float8, |call| unary(call, |x| finite(x).map(|x| 1.0 / x.tan()))),
    Overload::new("asin", &[Float8], Float8, |call| unary(call, |x| between(x, -1.0, 1.0).map(f64::asin))),
    Overload::new("acos", &[Float8], Float8, |call| unary(call, |x| between(x, -1.0, 1.0).map(f64::acos))),
    Overload::new("atan", &[Float8], Float8, |call| unary(call, |x| Ok(x.atan()))),
    Overload::new("atan2", &[Float8, Float8], Float8, |call| binary(call, |y, x| Ok(y.atan2(x)))),
    Overload::new("sinh", &[Float8], Float8, |call| unary(call, |x| Ok(x.sinh()))),
    Overload::new("cosh", &[Float8], Float8, |call| unary(call, |x| Ok(x.cosh()))),
    Overload::new("tanh", &[Float8], Float8, |call| unary(call, |x| Ok(x.tanh()))),
    Overload::new("asinh", &[Float8], Float8, |call| unary(call, |x| Ok(asinh(x)))),
    Overload::new("acosh", &[Float8], Float8, |call| unary(call, |x| between(x, 1.0, f64::INFINITY).map(acosh))),
    Overload::new("atanh", &[Float8], Float8, |call| unary(call, |x| between(x, -1.0, 1.0).map(f64::atanh))),
];

pub(super) fn unary(call: &Call, function: impl Fn(f64) -> SqlResult<f64>) -> SqlResult<ArrayRef> {
    let values = call.primitive::<Float64Type>(0)?;
    call.numbers::<Float64Type>(|row| function(values.at(row)))
}

pub(super) fn binary(call: &Call, function: impl Fn(f64, f64) -> SqlResult<f64>) -> SqlResult<ArrayRef> {
    let (a, b) = (call.primitive::<Float64Type>(0)?, call.primitive::<Float64Type>(1)?);
    call.numbers::<Float64Type>(|row| function(a.at(row), b.at(row)))
}

fn out_of_range(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, message)
}

/// The result, unless it left the range of its type without the arguments being the reason.
fn within_range(result: f64, may_be_infinite: bool, may_be_zero: bool) -> SqlResult<f64> {
    if result.is_infinite() && !may_be_infinite {
        return Err(out_of_range("value out of range: overflow"));
    }
    if result == 0.0 && !may_be_zero {
        return Err(out_of_range("value out of range: underflow"));
    }
    Ok(result)
}

fn positive(x: f64) -> SqlResult<f64> {
    if x == 0.0 {
        return Err(logarithm_of_zero());
    }
    if x < 0.0 { Err(logarithm_of_negative()) } else { Ok(x) }
}

pub(super) fn finite(x: f64) -> SqlResult<f64> {
    if x.is_infinite() { Err(out_of_range("input is out of range")) } else { Ok(x) }
}

pub(super) fn between(x: f64, least: f64, greatest: f64) -> SqlResult<f64> {
    if x < least || x > greatest { Err(out_of_range("input is out of range")) } else { Ok(x) }
}

/// Beside the square of a greater number one is nothing: so fdlibm, and the C library that PostgreSQL calls.
const ONE_IS_NOTHING: f64 = 268_435_456.0;

fn asinh(x: f64) -> f64 {
    // The square may be beyond the range.
    if x.abs() > ONE_IS_NOTHING { (x.abs().ln() + LN_2).copysign(x) } else { x.asinh() }
}

fn acosh(x: f64) -> f64 {
    if x > ONE_IS_NOTHING { x.ln() + LN_2 } else { x.acosh() }
}

fn power(base: f64, exponent: f64) -> SqlResult<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Err(zero_to_negative());
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(power_is_complex());
    }
    let is_infinite = base.is_infinite() || exponent.is_infinite();
    within_range(base.powf(exponent), is_infinite, is_infinite || base == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_of_hyperbolic_functions_have_all_of_the_range() {
        assert_eq!(
            (asinh(1e308), asinh(-1e308), acosh(1e308)),
            (709.889355822726, -709.889355822726, 709.889355822726)
        );
        assert_eq!((asinh(1.0), acosh(2.0)), (1.0_f64.asinh(), 2.0_f64.acosh()));
        assert_eq!((asinh(f64::NEG_INFINITY), acosh(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(asinh(f64::NAN).is_nan());
    }

    #[test]
    fn powers_leave_the_range_with_an_error() {
        assert_eq!(power(2.0, 10.0).unwrap(), 1024.0);
        assert_eq!(power(f64::INFINITY, -1.0).unwrap(), 0.0);
        for (base, exponent, kind) in [
            (0.0, -1.0, ErrorKind::InvalidPower),
            (-8.0, 0.5, ErrorKind::InvalidPower),
            (10.0, 400.0, ErrorKind::NumericOutOfRange),
            (10.0, -400.0, ErrorKind::NumericOutOfRange),
        ] {
            assert_eq!(power(base, exponent).unwrap_err().kind, kind, "{base}^{exponent}");
        }
    }
}

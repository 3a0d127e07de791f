//! Arithmetic of real and double precision: what is infinite or zero only because it is out of range is an error.
//!
//! real is computed in double precision and rounded once: for these four operations that is the same.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Kernel, Operands};

pub(crate) static FLOAT_ADD: Kernel = Kernel { name: "float_add", evaluate: |o, t| arithmetic(o, t, &ADD) };
pub(crate) static FLOAT_SUBTRACT: Kernel =
    Kernel { name: "float_subtract", evaluate: |o, t| arithmetic(o, t, &SUBTRACT) };
pub(crate) static FLOAT_MULTIPLY: Kernel =
    Kernel { name: "float_multiply", evaluate: |o, t| arithmetic(o, t, &MULTIPLY) };
pub(crate) static FLOAT_DIVIDE: Kernel = Kernel { name: "float_divide", evaluate: |o, t| arithmetic(o, t, &DIVIDE) };
pub(crate) static FLOAT_NEGATE: Kernel = Kernel { name: "float_negate", evaluate: |o, t| each(o, t, |v| -v, |v| -v) };
pub(crate) static FLOAT_ABSOLUTE: Kernel =
    Kernel { name: "float_absolute", evaluate: |o, t| each(o, t, f32::abs, f64::abs) };
pub(crate) static POWER: Kernel =
    Kernel { name: "float_power", evaluate: |o, _| o.zip::<Float64Type, Float64Type, Float64Type>(power) };
pub(crate) static SQUARE_ROOT: Kernel =
    Kernel { name: "float_square_root", evaluate: |o, _| o.map::<Float64Type, Float64Type>(square_root) };
pub(crate) static CUBE_ROOT: Kernel =
    Kernel { name: "float_cube_root", evaluate: |o, _| o.map::<Float64Type, Float64Type>(|value| Ok(value.cbrt())) };

/// One of the four operations, and which of its extreme results are not for want of range.
struct Operation {
    compute: fn(f64, f64) -> f64,
    divides: bool,
    may_be_infinite: fn(f64, f64) -> bool,
    may_be_zero: fn(f64, f64) -> bool,
}

const ADD: Operation = Operation {
    compute: |left, right| left + right,
    divides: false,
    may_be_infinite: |left, right| left.is_infinite() || right.is_infinite(),
    may_be_zero: |_, _| true,
};
const SUBTRACT: Operation = Operation { compute: |left, right| left - right, ..ADD };
const MULTIPLY: Operation =
    Operation { compute: |left, right| left * right, may_be_zero: |left, right| left == 0.0 || right == 0.0, ..ADD };
const DIVIDE: Operation = Operation {
    compute: |left, right| left / right,
    divides: true,
    may_be_infinite: |left, _| left.is_infinite(),
    may_be_zero: |left, right| left == 0.0 || right.is_infinite(),
};

impl Operation {
    fn check(&self, result: f64, left: f64, right: f64) -> SqlResult<()> {
        if result.is_infinite() && !(self.may_be_infinite)(left, right) {
            return Err(overflow());
        }
        if result == 0.0 && !(self.may_be_zero)(left, right) {
            return Err(underflow());
        }
        Ok(())
    }

    fn refuse_zero(&self, left: f64, right: f64) -> SqlResult<()> {
        if self.divides && right == 0.0 && !left.is_nan() {
            return Err(SqlError::new(ErrorKind::DivisionByZero, "division by zero"));
        }
        Ok(())
    }
}

fn arithmetic(operands: &Operands<'_>, result: &DataType, operation: &'static Operation) -> SqlResult<ArrayRef> {
    match result {
        DataType::Float32 => operands.zip::<Float32Type, Float32Type, Float32Type>(|left, right| {
            let (left, right) = (f64::from(left), f64::from(right));
            operation.refuse_zero(left, right)?;
            #[expect(clippy::cast_possible_truncation, reason = "rounding to real is what is asked for")]
            let result = (operation.compute)(left, right) as f32;
            operation.check(f64::from(result), left, right)?;
            Ok(result)
        }),
        _ => operands.zip::<Float64Type, Float64Type, Float64Type>(|left, right| {
            operation.refuse_zero(left, right)?;
            let result = (operation.compute)(left, right);
            operation.check(result, left, right)?;
            Ok(result)
        }),
    }
}

fn each(
    operands: &Operands<'_>,
    result: &DataType,
    narrow: impl Fn(f32) -> f32,
    wide: impl Fn(f64) -> f64,
) -> SqlResult<ArrayRef> {
    match result {
        DataType::Float32 => operands.map::<Float32Type, Float32Type>(|value| Ok(narrow(value))),
        _ => operands.map::<Float64Type, Float64Type>(|value| Ok(wide(value))),
    }
}

fn power(base: f64, exponent: f64) -> SqlResult<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Err(SqlError::new(ErrorKind::InvalidPower, "zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(SqlError::new(ErrorKind::InvalidPower, message));
    }
    let result = base.powf(exponent);
    let finite = base.is_finite() && exponent.is_finite();
    if result.is_infinite() && finite {
        return Err(overflow());
    }
    if result == 0.0 && base != 0.0 && finite {
        return Err(underflow());
    }
    Ok(result)
}

fn square_root(value: f64) -> SqlResult<f64> {
    if value < 0.0 {
        return Err(SqlError::new(ErrorKind::InvalidPower, "cannot take square root of a negative number"));
    }
    Ok(value.sqrt())
}

fn overflow() -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, "value out of range: overflow")
}

fn underflow() -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, "value out of range: underflow")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_out_of_range_are_refused() {
        let check = |operation: &Operation, left: f64, right: f64| {
            operation.refuse_zero(left, right)?;
            operation.check((operation.compute)(left, right), left, right)
        };
        let message = |operation, left, right| check(operation, left, right).unwrap_err().message;
        assert_eq!(message(&ADD, f64::MAX, f64::MAX), "value out of range: overflow");
        assert_eq!(message(&MULTIPLY, 1e300, 1e300), "value out of range: overflow");
        assert_eq!(message(&MULTIPLY, 1e-300, 1e-300), "value out of range: underflow");
        assert_eq!(message(&DIVIDE, 1.0, 0.0), "division by zero");
        assert_eq!(message(&DIVIDE, f64::INFINITY, 0.0), "division by zero");
        assert!(check(&ADD, f64::INFINITY, 1.0).is_ok());
        assert!(check(&SUBTRACT, 1.0, 1.0).is_ok());
        assert!(check(&MULTIPLY, 0.0, 1.0).is_ok());
        assert!(check(&DIVIDE, f64::NAN, 0.0).is_ok());
        assert!(check(&DIVIDE, 1.0, f64::INFINITY).is_ok());
    }

    #[test]
    fn powers_that_are_no_real_number_are_refused() {
        assert_eq!(power(2.0, 10.0).unwrap(), 1024.0);
        assert_eq!(power(-8.0, 3.0).unwrap(), -512.0);
        assert_eq!(power(0.0, -1.0).unwrap_err().message, "zero raised to a negative power is undefined");
        assert!(power(-8.0, 0.5).unwrap_err().message.starts_with("a negative number raised"));
        assert_eq!(power(10.0, 400.0).unwrap_err().message, "value out of range: overflow");
        assert!(square_root(-1.0).is_err());
    }
}

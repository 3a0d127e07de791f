//! Bitwise operators of the integer types.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Int16Type, Int32Type, Int64Type};
use tablegate_types::error::SqlResult;

use super::{Kernel, Operands};

pub(crate) static BIT_AND: Kernel = Kernel { name: "int_and", evaluate: |o, t| combine(o, t, |a, b| a & b) };
pub(crate) static BIT_OR: Kernel = Kernel { name: "int_or", evaluate: |o, t| combine(o, t, |a, b| a | b) };
pub(crate) static BIT_XOR: Kernel = Kernel { name: "int_xor", evaluate: |o, t| combine(o, t, |a, b| a ^ b) };
pub(crate) static BIT_NOT: Kernel = Kernel { name: "int_not", evaluate: invert };
/// The right operand is an integer, whatever the left one is.
pub(crate) static SHIFT_LEFT: Kernel =
    Kernel { name: "int_shift_left", evaluate: |o, t| shift(o, t, i32::wrapping_shl, i64::wrapping_shl) };
pub(crate) static SHIFT_RIGHT: Kernel =
    Kernel { name: "int_shift_right", evaluate: |o, t| shift(o, t, i32::wrapping_shr, i64::wrapping_shr) };

/// The result of 64 bits, cut to the width of the operands: no bit of one depends on a higher one.
#[expect(clippy::cast_possible_truncation, reason = "the higher bits repeat the sign")]
fn combine(operands: &Operands<'_>, result: &DataType, compute: fn(i64, i64) -> i64) -> SqlResult<ArrayRef> {
    match result {
        DataType::Int16 => {
            operands.zip_all::<Int16Type, Int16Type, Int16Type>(|a, b| compute(i64::from(a), i64::from(b)) as i16)
        }
        DataType::Int32 => {
            operands.zip_all::<Int32Type, Int32Type, Int32Type>(|a, b| compute(i64::from(a), i64::from(b)) as i32)
        }
        _ => operands.zip_all::<Int64Type, Int64Type, Int64Type>(compute),
    }
}

fn invert(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    match result {
        DataType::Int16 => operands.map::<Int16Type, Int16Type>(|value| Ok(!value)),
        DataType::Int32 => operands.map::<Int32Type, Int32Type>(|value| Ok(!value)),
        _ => operands.map::<Int64Type, Int64Type>(|value| Ok(!value)),
    }
}

/// As the machine shifts: by the count modulo the width, smallint as an integer that is then cut.
fn shift(
    operands: &Operands<'_>,
    result: &DataType,
    narrow: fn(i32, u32) -> i32,
    wide: fn(i64, u32) -> i64,
) -> SqlResult<ArrayRef> {
    match result {
        #[expect(clippy::cast_possible_truncation, reason = "the bits shifted out of a smallint are lost")]
        DataType::Int16 => operands
            .zip_all::<Int16Type, Int32Type, Int16Type>(|v, count| narrow(v.into(), count.cast_unsigned()) as i16),
        DataType::Int32 => {
            operands.zip_all::<Int32Type, Int32Type, Int32Type>(|v, count| narrow(v, count.cast_unsigned()))
        }
        _ => operands.zip_all::<Int64Type, Int32Type, Int64Type>(|v, count| wide(v, count.cast_unsigned())),
    }
}

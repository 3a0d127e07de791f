//! Arithmetic of smallint, integer and bigint: overflow and division by zero are errors.

use arrow::array::{ArrayRef, Datum};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType, Int16Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Kernel, Operands};

type Arithmetic = fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>;

pub(crate) static INTEGER_ADD: Kernel = Kernel { name: "int_add", evaluate: |o, t| arithmetic(numeric::add, o, t) };
pub(crate) static INTEGER_SUBTRACT: Kernel =
    Kernel { name: "int_subtract", evaluate: |o, t| arithmetic(numeric::sub, o, t) };
pub(crate) static INTEGER_MULTIPLY: Kernel =
    Kernel { name: "int_multiply", evaluate: |o, t| arithmetic(numeric::mul, o, t) };
/// Rounds towards zero.
pub(crate) static INTEGER_DIVIDE: Kernel =
    Kernel { name: "int_divide", evaluate: |o, t| arithmetic(numeric::div, o, t) };
/// Has the sign of the dividend.
pub(crate) static INTEGER_REMAINDER: Kernel =
    Kernel { name: "int_remainder", evaluate: |o, t| arithmetic(numeric::rem, o, t) };
pub(crate) static INTEGER_NEGATE: Kernel =
    Kernel { name: "int_negate", evaluate: |o, t| numeric::neg(&*o.get(0)?.array).map_err(|error| refused(error, t)) };
pub(crate) static INTEGER_ABSOLUTE: Kernel = Kernel { name: "int_absolute", evaluate: absolute };

/// Operands and result are of one type.
fn arithmetic(compute: Arithmetic, operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let (left, right) = (operands.get(0)?.datum(), operands.get(1)?.datum());
    compute(&*left, &*right).map_err(|error| refused(error, result))
}

fn absolute(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    match result {
        DataType::Int16 => {
            operands.map::<Int16Type, Int16Type>(|v| v.checked_abs().ok_or_else(|| out_of_range(result)))
        }
        DataType::Int32 => {
            operands.map::<Int32Type, Int32Type>(|v| v.checked_abs().ok_or_else(|| out_of_range(result)))
        }
        _ => operands.map::<Int64Type, Int64Type>(|v| v.checked_abs().ok_or_else(|| out_of_range(result))),
    }
}

fn refused(error: ArrowError, result: &DataType) -> Box<SqlError> {
    match error {
        ArrowError::ArithmeticOverflow(_) => out_of_range(result),
        other => other.into(),
    }
}

/// The type does not hold the result (22003).
pub(super) fn out_of_range(data_type: &DataType) -> Box<SqlError> {
    let name = match data_type {
        DataType::Int16 => "smallint",
        DataType::Int32 => "integer",
        _ => "bigint",
    };
    SqlError::new(ErrorKind::NumericOutOfRange, format!("{name} out of range"))
}

//! The value of a scalar sub-query, when it has one row at most: 21000 otherwise.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use tablegate_types::error::{ErrorKind, SqlError};

/// `value` where `rows` is at most 1.
pub(super) fn one_row(value: Expr, rows: Expr) -> Expr {
    ScalarUDF::new_from_impl(OneRow { signature: Signature::any(2, Volatility::Immutable) }).call(vec![value, rows])
}

/// `value`, which may be NULL: a sub-query without rows has no value, whatever its column promises.
pub(super) fn or_null(value: Expr) -> Expr {
    // The optimizer would compute it for a constant, and forget that it may be NULL.
    ScalarUDF::new_from_impl(OneRow { signature: Signature::any(1, Volatility::Volatile) }).call(vec![value])
}

/// The function's name in a plan.
pub(in crate::plan) const ONE_ROW: &str = "one_row";

#[derive(Debug, PartialEq, Eq, Hash)]
struct OneRow {
    signature: Signature,
}

impl ScalarUDFImpl for OneRow {
    fn name(&self) -> &'static str {
        ONE_ROW
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(value) => Ok(value.clone()),
            None => exec_err!("one_row takes a value"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(value) => Ok(Arc::new(value.as_ref().clone().with_nullable(true))),
            None => exec_err!("one_row takes a value"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut args = args.args.into_iter();
        let (Some(value), rows) = (args.next(), args.next()) else { return exec_err!("one_row takes a value") };
        if let Some(rows) = rows {
            let rows = rows.into_array(1)?;
            let counts = rows.as_primitive_opt::<Int64Type>();
            if counts.is_some_and(|counts| counts.iter().flatten().any(|count| count > 1)) {
                return Err(several_rows());
            }
        }
        Ok(value)
    }
}

fn several_rows() -> DataFusionError {
    let message = "more than one row returned by a subquery used as an expression";
    DataFusionError::External(SqlError::new(ErrorKind::CardinalityViolation, message))
}

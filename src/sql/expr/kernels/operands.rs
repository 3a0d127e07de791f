//! The operands of a computation: columns, and constants that stand for a column of one value.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Datum, PrimitiveArray, Scalar};
use arrow::compute::{binary, try_binary};
use arrow::datatypes::{ArrowPrimitiveType, DataType, FieldRef};
use arrow::error::ArrowError;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::functions::Moments;
use tablegate_types::sql_type::SqlType;

use crate::calls::moments_of;
use crate::expr::typed::ValueType;

/// The operands of one call.
pub(in crate::expr) struct Operands<'a> {
    values: &'a [ColumnarValue],
    fields: &'a [FieldRef],
    result: &'a ValueType,
    rows: usize,
    options: &'a ConfigOptions,
}

/// One operand.
pub(in crate::expr) struct Operand {
    pub array: ArrayRef,
    /// It is one value, which stands for all rows.
    constant: bool,
}

impl<'a> Operands<'a> {
    pub(crate) fn new(call: &'a ScalarFunctionArgs, result: &'a ValueType) -> Self {
        Self {
            values: &call.args,
            fields: &call.arg_fields,
            result,
            rows: call.number_rows,
            options: &call.config_options,
        }
    }

    /// The type of the results.
    pub(crate) fn result(&self) -> &ValueType {
        self.result
    }

    /// The times and the style of the statement.
    pub(crate) fn moments(&self) -> Moments {
        moments_of(self.options)
    }

    /// The SQL type of an operand.
    pub(crate) fn type_of(&self, index: usize) -> SqlType {
        self.fields.get(index).map_or(SqlType::Unknown, |field| SqlType::of_field(field))
    }

    /// As [`Operands::type_of`], with what matters to who writes the values out.
    pub(crate) fn declared_type_of(&self, index: usize) -> SqlType {
        self.fields.get(index).map_or(SqlType::Unknown, |field| SqlType::declared_in(field))
    }

    /// The columns among them.
    pub(crate) fn arrays(&self) -> Vec<ArrayRef> {
        let column = |value: &ColumnarValue| match value {
            ColumnarValue::Array(array) => Some(array.clone()),
            ColumnarValue::Scalar(_) => None,
        };
        self.values.iter().filter_map(column).collect()
    }

    /// Whether there is no column among them: then the result has one row.
    pub(crate) fn are_constant(&self) -> bool {
        self.values.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)))
    }

    /// Rows of the result.
    pub(crate) fn rows(&self) -> usize {
        if self.are_constant() { 1 } else { self.rows }
    }

    /// # Errors
    /// XX000 when there is no such operand.
    pub(crate) fn get(&self, index: usize) -> SqlResult<Operand> {
        match self.values.get(index) {
            Some(ColumnarValue::Array(array)) => Ok(Operand { array: array.clone(), constant: false }),
            Some(ColumnarValue::Scalar(value)) => Ok(Operand { array: value.to_array()?, constant: true }),
            None => Err(SqlError::new(ErrorKind::Internal, "an operand is missing")),
        }
    }

    /// Digits behind the point that the values of an operand are all shown with; `None` for as many as each needs.
    pub(crate) fn shown_scale(&self, index: usize) -> Option<i8> {
        match self.type_of(index) {
            SqlType::Numeric(declared) => declared.map(|(_, scale)| scale),
            _ => Some(0),
        }
    }

    /// Each value of the only operand by `compute`.
    pub(crate) fn map<A, R>(&self, compute: impl Fn(A::Native) -> SqlResult<R::Native>) -> SqlResult<ArrayRef>
    where
        A: ArrowPrimitiveType,
        R: ArrowPrimitiveType,
    {
        let operand = self.get(0)?;
        let values = operand.primitive::<A>()?;
        Ok(Arc::new(values.try_unary::<_, R, _>(|value| compute(value).map_err(external))?))
    }

    /// Each pair of values of the two operands by `compute`.
    pub(crate) fn zip<A, B, R>(
        &self,
        compute: impl Fn(A::Native, B::Native) -> SqlResult<R::Native>,
    ) -> SqlResult<ArrayRef>
    where
        A: ArrowPrimitiveType,
        B: ArrowPrimitiveType,
        R: ArrowPrimitiveType,
    {
        Ok(Arc::new(pairs::<A, B, R>(&self.get(0)?, &self.get(1)?, compute)?))
    }

    /// As [`Operands::zip`] where no pair is refused; this can be vectorised.
    pub(crate) fn zip_all<A, B, R>(&self, compute: impl Fn(A::Native, B::Native) -> R::Native) -> SqlResult<ArrayRef>
    where
        A: ArrowPrimitiveType,
        B: ArrowPrimitiveType,
        R: ArrowPrimitiveType,
    {
        let (left_operand, right_operand) = (self.get(0)?, self.get(1)?);
        let (left, right) = (left_operand.primitive::<A>()?, right_operand.primitive::<B>()?);
        let result: PrimitiveArray<R> = match (left_operand.constant, right_operand.constant) {
            (true, false) if left.is_null(0) => PrimitiveArray::new_null(right.len()),
            (true, false) => {
                let left = left.value(0);
                right.unary(|right| compute(left, right))
            }
            (false, true) if right.is_null(0) => PrimitiveArray::new_null(left.len()),
            (false, true) => {
                let right = right.value(0);
                left.unary(|left| compute(left, right))
            }
            _ => binary(left, right, compute)?,
        };
        Ok(Arc::new(result))
    }
}

impl Operand {
    /// The operand in another Arrow type that holds all its values.
    ///
    /// # Errors
    /// 22003 when it does not.
    pub(crate) fn cast(self, data_type: &DataType) -> SqlResult<Self> {
        if self.array.data_type() == data_type {
            return Ok(self);
        }
        let options = arrow::compute::CastOptions { safe: false, ..Default::default() };
        let array = arrow::compute::cast_with_options(&self.array, data_type, &options)?;
        Ok(Self { array, constant: self.constant })
    }

    /// As Arrow's kernels take it.
    pub(crate) fn datum(self) -> Box<dyn Datum> {
        if self.constant { Box::new(Scalar::new(self.array)) } else { Box::new(self.array) }
    }

    pub(crate) fn primitive<T: ArrowPrimitiveType>(&self) -> SqlResult<&PrimitiveArray<T>> {
        self.array.as_primitive_opt::<T>().ok_or_else(|| {
            let message = format!("an operand is {} and not {}", self.array.data_type(), T::DATA_TYPE);
            SqlError::new(ErrorKind::Internal, message)
        })
    }

    /// The place of a row's value in the array.
    pub(crate) fn place(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }
}

/// Each pair of values of two operands by `compute`.
pub(super) fn pairs<A, B, R>(
    left_operand: &Operand,
    right_operand: &Operand,
    compute: impl Fn(A::Native, B::Native) -> SqlResult<R::Native>,
) -> SqlResult<PrimitiveArray<R>>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
    R: ArrowPrimitiveType,
{
    let (left, right) = (left_operand.primitive::<A>()?, right_operand.primitive::<B>()?);
    Ok(match (left_operand.constant, right_operand.constant) {
        (true, false) if left.is_null(0) => PrimitiveArray::new_null(right.len()),
        (true, false) => {
            let left = left.value(0);
            right.try_unary(|right| compute(left, right).map_err(external))?
        }
        (false, true) if right.is_null(0) => PrimitiveArray::new_null(left.len()),
        (false, true) => {
            let right = right.value(0);
            left.try_unary(|left| compute(left, right).map_err(external))?
        }
        _ => try_binary(left, right, |left, right| compute(left, right).map_err(external))?,
    })
}

fn external(error: Box<SqlError>) -> ArrowError {
    ArrowError::ExternalError(error)
}

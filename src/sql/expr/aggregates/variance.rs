//! Variance and standard deviation of integers and numerics: exact sums, one division (`numeric_stddev_internal`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef, Int64Type, i256};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use crate::sql::error::SqlResult;
use crate::sql::expr::kernels::{Number, overflow};
use crate::sql::expr::typed::{Shape, ValueType};
use crate::sql::types::BARE_NUMERIC_PRECISION;

/// Digits behind the point of the result.
const SCALE: u8 = 36;

/// What is computed of how far the values are from their average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::sql::expr) struct Deviation {
    /// The standard deviation, the root of the variance.
    pub root: bool,
    /// Of the values themselves, not of what they are a sample of.
    pub population: bool,
}

/// The aggregate, for values of one scale.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::sql::expr) struct Variance {
    name: &'static str,
    deviation: Deviation,
    /// Digits behind the point of the values.
    scale: u8,
    signature: Signature,
}

impl Variance {
    pub fn new(name: &'static str, deviation: Deviation, values: Shape) -> Self {
        Self { name, deviation, scale: values.scale, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn result() -> ValueType {
        Shape { whole: BARE_NUMERIC_PRECISION - SCALE, scale: SCALE, fixed: false }.value_type()
    }
}

impl AggregateUDFImpl for Variance {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(Self::result().data_type)
    }

    fn return_field(&self, _arg_fields: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(Self::result().field(self.name, true)))
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Sums {
            deviation: self.deviation,
            scale: self.scale,
            count: 0,
            sum: i256::ZERO,
            squares: i256::ZERO,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |state: &str, data_type| Arc::new(Field::new(format!("{}[{state}]", args.name), data_type, true));
        Ok(vec![field("count", DataType::Int64), field("sum", long()), field("squares", long())])
    }
}

/// The digits of a sum, whatever their scale.
fn long() -> DataType {
    DataType::Decimal256(BARE_NUMERIC_PRECISION, 0)
}

#[derive(Debug)]
struct Sums {
    deviation: Deviation,
    scale: u8,
    count: i64,
    sum: i256,
    squares: i256,
}

impl Sums {
    fn add(&mut self, value: i256, sign: i64) -> SqlResult<()> {
        let square = value.checked_mul(value).ok_or_else(overflow)?;
        self.count += sign;
        let (sum, squares) = if sign > 0 {
            (self.sum.checked_add(value), self.squares.checked_add(square))
        } else {
            (self.sum.checked_sub(value), self.squares.checked_sub(square))
        };
        self.sum = sum.ok_or_else(overflow)?;
        self.squares = squares.ok_or_else(overflow)?;
        Ok(())
    }

    fn add_all(&mut self, values: &[ArrayRef], sign: i64) -> Result<()> {
        let Some(values) = values.first() else { return internal_err!("a variance of nothing") };
        let decimals = cast(values, &DataType::Decimal256(BARE_NUMERIC_PRECISION, self.scale.cast_signed()))?;
        for value in decimals.as_primitive::<Decimal256Type>().iter().flatten() {
            self.add(value, sign).map_err(|error| DataFusionError::External(error))?;
        }
        Ok(())
    }

    fn result(&self) -> SqlResult<Option<i256>> {
        let least = if self.deviation.population { 1 } else { 2 };
        if self.count < least {
            return Ok(None);
        }
        let count = i256::from_i128(self.count.into());
        let of_squares = count.checked_mul(self.squares).ok_or_else(overflow)?;
        let square_of = self.sum.checked_mul(self.sum).ok_or_else(overflow)?;
        let difference = of_squares.checked_sub(square_of).ok_or_else(overflow)?;
        if difference <= i256::ZERO {
            return Ok(Some(i256::ZERO));
        }
        let divisor = if self.deviation.population { self.count } else { self.count - 1 };
        let divisor = count.checked_mul(i256::from_i128(divisor.into())).ok_or_else(overflow)?;
        let scale = (2 * self.scale).cast_signed();
        let (dividend, divisor) = (Number::new(difference, scale, Some(scale)), Number::new(divisor, 0, Some(0)));
        if self.deviation.root {
            return dividend.root_of_quotient(divisor, SCALE.into()).map(Some);
        }
        dividend.divided_by(divisor, SCALE.into()).map(Some)
    }
}

impl Accumulator for Sums {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add_all(values, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add_all(values, -1)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [counts, sums, squares] = states else { return internal_err!("a variance has three sums") };
        let (counts, sums) = (counts.as_primitive::<Int64Type>(), sums.as_primitive::<Decimal256Type>());
        let squares = squares.as_primitive::<Decimal256Type>();
        for row in (0..counts.len()).filter(|row| !counts.is_null(*row)) {
            self.count += counts.value(row);
            let sum = self.sum.checked_add(sums.value(row));
            let squares = self.squares.checked_add(squares.value(row));
            let (Some(sum), Some(squares)) = (sum, squares) else {
                return Err(DataFusionError::External(overflow()));
            };
            (self.sum, self.squares) = (sum, squares);
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let digits = |value| ScalarValue::Decimal256(Some(value), BARE_NUMERIC_PRECISION, 0);
        Ok(vec![ScalarValue::Int64(Some(self.count)), digits(self.sum), digits(self.squares)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.result().map_err(|error| DataFusionError::External(error))?;
        Ok(ScalarValue::Decimal256(value, BARE_NUMERIC_PRECISION, SCALE.cast_signed()))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::output::write_decimal;
    use arrow::array::Int32Array;

    fn computed(values: &[i32], root: bool, population: bool) -> Option<String> {
        let deviation = Deviation { root, population };
        let mut sums = Sums { deviation, scale: 0, count: 0, sum: i256::ZERO, squares: i256::ZERO };
        sums.update_batch(&[Arc::new(Int32Array::from(values.to_vec()))]).unwrap();
        let value = sums.result().unwrap()?;
        let mut text = String::new();
        write_decimal(&mut text, value, SCALE.cast_signed(), true).unwrap();
        Some(text)
    }

    /// Each was asked of PostgreSQL 15.
    #[test]
    fn deviations_have_the_digits_that_postgresql_gives_them() {
        assert_eq!(computed(&[1, 2, 4], false, false).unwrap(), "2.3333333333333333");
        assert_eq!(computed(&[1, 2, 4], false, true).unwrap(), "1.5555555555555556");
        assert_eq!(computed(&[1, 2, 4], true, false).unwrap(), "1.5275252316519467");
        assert_eq!(computed(&[1, 2, 4], true, true).unwrap(), "1.2472191289246471");
        assert_eq!(computed(&[7], false, true).unwrap(), "0");
        assert_eq!(computed(&[7], false, false), None);
    }

    #[test]
    fn values_can_leave_again() {
        let deviation = Deviation { root: false, population: false };
        let mut sums = Sums { deviation, scale: 0, count: 0, sum: i256::ZERO, squares: i256::ZERO };
        let batch = |values: Vec<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(values))] };
        sums.update_batch(&batch(vec![100, 1, 2, 4])).unwrap();
        sums.retract_batch(&batch(vec![100])).unwrap();
        assert_eq!((sums.count, sums.sum, sums.squares), (3, i256::from_i128(7), i256::from_i128(21)));
    }
}

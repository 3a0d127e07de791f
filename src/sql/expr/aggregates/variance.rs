//! Variance and standard deviation of integers and numerics: exact sums, one division (`numeric_stddev_internal`).

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef, Int64Type, i256};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::BARE_NUMERIC_PRECISION;

use crate::expr::kernels::{Number, overflow};
use crate::expr::typed::{Shape, ValueType};

/// Digits behind the point of the result, unless the squares of the values have more.
const SCALE: u8 = 36;
/// No result has more.
const SCALE_MAX: u8 = 40;

/// Digits of a value that are computed with, and how many of them behind the point in any case. A quotient may have more.
const VALUE_DIGITS: u8 = 32;
const VALUE_SCALE: u8 = 20;

/// Digits behind the point of the result for values of a scale.
fn result_scale(scale: u8) -> u8 {
    (2 * scale).clamp(SCALE, SCALE_MAX)
}

/// What is computed of how far the values are from their average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Deviation {
    /// The standard deviation, the root of the variance.
    pub root: bool,
    /// Of the values themselves, not of what they are a sample of.
    pub population: bool,
}

/// The aggregate, for values of one scale.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Variance {
    name: &'static str,
    deviation: Deviation,
    /// Digits behind the point of the values.
    scale: u8,
    /// All of these digits are shown, zeros too.
    fixed: bool,
    signature: Signature,
}

impl Variance {
    pub(crate) fn new(name: &'static str, deviation: Deviation, values: Shape) -> Self {
        // The squares of a million values of so many digits have room.
        let most = VALUE_SCALE.max(VALUE_DIGITS.saturating_sub(values.whole));
        let signature = Signature::any(1, Volatility::Immutable);
        Self { name, deviation, scale: values.scale.min(most), fixed: values.fixed, signature }
    }

    fn result(&self) -> ValueType {
        let scale = result_scale(self.scale);
        Shape { whole: BARE_NUMERIC_PRECISION - scale, scale, fixed: false }.quotient_type()
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
        Ok(self.result().data_type)
    }

    fn return_field(&self, _arg_fields: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(self.result().field(self.name, true)))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let sums = Sums::new(self.deviation, self.scale, self.fixed);
        Ok(if args.is_distinct { Box::new(Distinct { sums, seen: BTreeSet::new() }) } else { Box::new(sums) })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |state: &str, data_type| Arc::new(Field::new(format!("{}[{state}]", args.name), data_type, true));
        if args.is_distinct {
            return Ok(vec![field("distinct", DataType::List(Arc::new(Field::new_list_field(long(), true))))]);
        }
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
    fixed: bool,
    count: i64,
    sum: i256,
    squares: i256,
}

impl Sums {
    fn new(deviation: Deviation, scale: u8, fixed: bool) -> Self {
        Self { deviation, scale, fixed, count: 0, sum: i256::ZERO, squares: i256::ZERO }
    }

    /// The values of a batch, in digits of the scale that all of them have.
    fn values(&self, values: &[ArrayRef]) -> Result<PrimitiveArray<Decimal256Type>> {
        let Some(values) = values.first() else { return internal_err!("a variance of nothing") };
        let decimals = cast(values, &DataType::Decimal256(BARE_NUMERIC_PRECISION, self.scale.cast_signed()))?;
        Ok(decimals.as_primitive().clone())
    }

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
        for value in self.values(values)?.iter().flatten() {
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
        let dividend = Number::new(difference, scale, self.fixed.then_some(scale));
        let divisor = Number::new(divisor, 0, Some(0));
        if self.deviation.root {
            return dividend.root_of_quotient(divisor, result_scale(self.scale).into()).map(Some);
        }
        dividend.divided_by(divisor, result_scale(self.scale).into()).map(Some)
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
        Ok(ScalarValue::Decimal256(value, BARE_NUMERIC_PRECISION, result_scale(self.scale).cast_signed()))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// Values that count once, however often they are there.
#[derive(Debug)]
struct Distinct {
    sums: Sums,
    seen: BTreeSet<i256>,
}

impl Distinct {
    fn add_all(&mut self, values: &PrimitiveArray<Decimal256Type>) -> Result<()> {
        for value in values.iter().flatten() {
            if self.seen.insert(value) {
                self.sums.add(value, 1).map_err(|error| DataFusionError::External(error))?;
            }
        }
        Ok(())
    }
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.sums.values(values)?;
        self.add_all(&values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first().and_then(|states| states.as_list_opt::<i32>()) else {
            return internal_err!("distinct values are merged with something else");
        };
        lists.iter().flatten().try_for_each(|list| self.add_all(list.as_primitive()))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let digit = |value: &i256| ScalarValue::Decimal256(Some(*value), BARE_NUMERIC_PRECISION, 0);
        let values: Vec<ScalarValue> = self.seen.iter().map(digit).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &long()))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.sums.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.seen.len() * size_of::<i256>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int32Array;
    use tablegate_types::output::{ShownDigits, write_decimal};

    fn computed(values: &[i32], root: bool, population: bool) -> Option<String> {
        let deviation = Deviation { root, population };
        let mut sums = Sums::new(deviation, 0, true);
        sums.update_batch(&[Arc::new(Int32Array::from(values.to_vec()))]).unwrap();
        let value = sums.result().unwrap()?;
        let mut text = String::new();
        write_decimal(&mut text, value, SCALE.cast_signed(), ShownDigits::Needed).unwrap();
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
    fn distinct_values_count_once_wherever_they_come_from() {
        let distinct = || Distinct {
            sums: Sums::new(Deviation { root: false, population: true }, 0, true),
            seen: BTreeSet::new(),
        };
        let batch = |values: Vec<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(values))] };
        let (mut one, mut two) = (distinct(), distinct());
        one.update_batch(&batch(vec![1, 1, 2])).unwrap();
        two.update_batch(&batch(vec![2, 4])).unwrap();
        let state: Vec<ArrayRef> = two.state().unwrap().iter().map(|part| part.to_array().unwrap()).collect();
        one.merge_batch(&state).unwrap();
        assert_eq!((one.sums.count, one.sums.sum), (3, i256::from_i128(7)));
    }

    #[test]
    fn values_can_leave_again() {
        let deviation = Deviation { root: false, population: false };
        let mut sums = Sums::new(deviation, 0, true);
        let batch = |values: Vec<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(values))] };
        sums.update_batch(&batch(vec![100, 1, 2, 4])).unwrap();
        sums.retract_batch(&batch(vec![100])).unwrap();
        assert_eq!((sums.count, sums.sum, sums.squares), (3, i256::from_i128(7), i256::from_i128(21)));
    }
}

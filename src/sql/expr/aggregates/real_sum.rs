//! `sum` of `real` values: PostgreSQL adds them up as they are, and not in double precision.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use crate::sql::error::{ErrorKind, SqlError};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::sql::expr) struct RealSum {
    signature: Signature,
}

impl Default for RealSum {
    fn default() -> Self {
        Self { signature: Signature::exact(vec![DataType::Float32], Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for RealSum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float32)
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Sum::default()))
    }

    /// What leaves a frame is taken off again, which is exact only with more digits.
    fn create_sliding_accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SlidingSum::default()))
    }
}

#[derive(Debug, Default)]
struct Sum {
    sum: Option<f32>,
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in reals(values)? {
            let sum = self.sum.map_or(value, |sum| sum + value);
            let was_finite = value.is_finite() && self.sum.is_none_or(f32::is_finite);
            self.sum = Some(finite(sum, was_finite)?);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float32(self.sum))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

#[derive(Debug, Default)]
struct SlidingSum {
    sum: f64,
    count: u64,
}

impl Accumulator for SlidingSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in reals(values)? {
            self.sum += f64::from(value);
            self.count += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in reals(values)? {
            self.sum -= f64::from(value);
            self.count -= 1;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("the sums of a frame are not merged")
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        #[expect(clippy::cast_possible_truncation, reason = "it is rounded to the type of the values")]
        let sum = (self.count > 0).then_some(self.sum as f32);
        Ok(ScalarValue::Float32(sum.map(|sum| finite(sum, self.sum.is_finite())).transpose()?))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

fn reals(values: &[ArrayRef]) -> Result<impl Iterator<Item = f32>> {
    let Some(values) = values.first().and_then(|values| values.as_primitive_opt::<Float32Type>()) else {
        return internal_err!("a sum of reals is given something else");
    };
    Ok(values.iter().flatten())
}

fn finite(sum: f32, must_be: bool) -> Result<f32> {
    if must_be && !sum.is_finite() {
        let overflow = SqlError::new(ErrorKind::NumericOutOfRange, "value out of range: overflow");
        return Err(DataFusionError::External(overflow));
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Float32Array;
    use std::sync::Arc;

    fn batch(values: &[f32]) -> Vec<ArrayRef> {
        vec![Arc::new(Float32Array::from(values.to_vec()))]
    }

    #[test]
    fn reals_are_added_as_reals() {
        let mut sum = Sum::default();
        assert_eq!(sum.evaluate().unwrap(), ScalarValue::Float32(None));
        sum.update_batch(&batch(&[16_777_216.0, 1.0, 1.0])).unwrap();
        assert_eq!(sum.evaluate().unwrap(), ScalarValue::Float32(Some(16_777_216.0)));
        assert!(sum.update_batch(&batch(&[f32::MAX, f32::MAX])).is_err());
    }

    #[test]
    fn a_frame_forgets_what_has_left_it() {
        let mut sum = SlidingSum::default();
        sum.update_batch(&batch(&[1e10, 0.5])).unwrap();
        sum.retract_batch(&batch(&[1e10])).unwrap();
        assert_eq!(sum.evaluate().unwrap(), ScalarValue::Float32(Some(0.5)));
        sum.retract_batch(&batch(&[0.5])).unwrap();
        assert_eq!(sum.evaluate().unwrap(), ScalarValue::Float32(None));
    }
}

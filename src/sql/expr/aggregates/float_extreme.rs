//! `min` and `max` of floats in groups: NaN is greater than any number, where the engine lets the last value win that it is
//! compared with.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, AsArray, BooleanArray, PrimitiveArray};
use arrow::compute::nullif;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float32Type, Float64Type};
use datafusion::common::{Result, internal_err};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct FloatExtreme {
    is_greatest: bool,
    signature: Signature,
}

impl FloatExtreme {
    pub(crate) fn new(is_greatest: bool) -> Self {
        let floats = vec![DataType::Float32, DataType::Float64];
        Self { is_greatest, signature: Signature::uniform(1, floats, Volatility::Immutable) }
    }

    /// The engine's, which does right with the values of one group.
    fn of_one_group(&self) -> Arc<AggregateUDF> {
        if self.is_greatest { max_udaf() } else { min_udaf() }
    }
}

impl AggregateUDFImpl for FloatExtreme {
    fn name(&self) -> &str {
        if self.is_greatest { "max" } else { "min" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Float64))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.of_one_group().accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.of_one_group().create_sliding_accumulator(args)
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let wanted = if self.is_greatest { Ordering::Greater } else { Ordering::Less };
        match args.return_field.data_type() {
            DataType::Float32 => Ok(Box::new(Extremes::<Float32Type> { wanted, values: Vec::new() })),
            DataType::Float64 => Ok(Box::new(Extremes::<Float64Type> { wanted, values: Vec::new() })),
            other => internal_err!("{other} is no float"),
        }
    }
}

/// The best value of each group.
struct Extremes<T: ArrowPrimitiveType> {
    wanted: Ordering,
    values: Vec<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> GroupsAccumulator for Extremes<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.values.resize(total_num_groups, None);
        let Some(values) = values.first().and_then(|values| values.as_primitive_opt::<T>()) else {
            return internal_err!("values are not of the type of their aggregate");
        };
        let is_asked = |row: usize| opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        for (row, group) in group_indices.iter().enumerate().filter(|(row, _)| values.is_valid(*row) && is_asked(*row))
        {
            let value = values.value(row);
            let best = &mut self.values[*group];
            if best.is_none_or(|best| value.compare(best) == self.wanted) {
                *best = Some(value);
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = emit_to.take_needed(&mut self.values);
        Ok(Arc::new(values.into_iter().collect::<PrimitiveArray<T>>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    /// A value is the state of a group of one row.
    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Some(filter) = opt_filter else { return Ok(values.to_vec()) };
        let is_left_out: BooleanArray = filter.iter().map(|is_asked| Some(is_asked != Some(true))).collect();
        values.iter().map(|values| Ok(nullif(values, &is_left_out)?)).collect()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<Option<T::Native>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Float64Array;

    #[test]
    fn nan_is_greater_than_any_number() {
        let rows: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(1.0), None, Some(f64::NAN), Some(-2.0)]));
        let of = |wanted| {
            let mut extremes = Extremes::<Float64Type> { wanted, values: Vec::new() };
            extremes.update_batch(std::slice::from_ref(&rows), &[0, 0, 1, 0, 0], None, 2).unwrap();
            let best = extremes.evaluate(EmitTo::All).unwrap();
            let best = best.as_primitive::<Float64Type>().clone();
            assert!(best.is_null(1));
            best.value(0)
        };
        assert_eq!(of(Ordering::Less), -2.0);
        assert!(of(Ordering::Greater).is_nan());
    }
}

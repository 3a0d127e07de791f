//! `sum` of bigint values, which is a numeric: they are added up as they are, without a decimal made of each.

use std::mem::size_of;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Field, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

/// Digits of the sum: those of a bigint, and ten for how many are added.
const DIGITS: u8 = 29;

/// The sum of bigint values. Not for DISTINCT.
pub(in crate::expr) fn sum_of_bigints() -> Arc<AggregateUDF> {
    let signature = Signature::exact(vec![DataType::Int64], Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(SumOfBigints { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SumOfBigints {
    signature: Signature,
}

impl AggregateUDFImpl for SumOfBigints {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(DIGITS, 0))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return internal_err!("bigint values are not added up once each here");
        }
        Ok(Box::new(Total::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |state, data_type| Arc::new(Field::new(format!("{}[{state}]", args.name), data_type, true));
        Ok(vec![field("sum", DataType::Decimal128(DIGITS, 0)), field("count", DataType::Int64)])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Totals::default()))
    }
}

/// The sum of a group, and of how many values.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    sum: i128,
    count: i64,
}

impl Total {
    /// Of so many values no sum is too large.
    fn add(&mut self, value: i64) {
        self.sum += i128::from(value);
        self.count += 1;
    }

    fn combine(&mut self, sum: i128, count: i64) {
        self.sum = self.sum.wrapping_add(sum);
        self.count += count;
    }

    fn of(values: &Int64Array) -> Self {
        let mut total = Self::default();
        if values.null_count() == 0 {
            values.values().iter().for_each(|value| total.sum += i128::from(*value));
            total.count = i64::try_from(values.len()).unwrap_or(i64::MAX);
        } else {
            values.iter().flatten().for_each(|value| total.add(value));
        }
        total
    }

    /// The sum of no values is NULL.
    fn value(&self) -> Option<i128> {
        (self.count > 0).then_some(self.sum)
    }
}

fn column<T: ArrowPrimitiveType>(columns: &[ArrayRef], index: usize) -> Result<&PrimitiveArray<T>> {
    match columns.get(index).and_then(|column| column.as_primitive_opt::<T>()) {
        Some(column) => Ok(column),
        None => internal_err!("a sum of bigint values is given something else"),
    }
}

fn decimals(values: impl Iterator<Item = Option<i128>>) -> Result<ArrayRef> {
    Ok(Arc::new(values.collect::<Decimal128Array>().with_precision_and_scale(DIGITS, 0)?))
}

fn states(totals: &[Total]) -> Result<Vec<ArrayRef>> {
    let counts: Int64Array = totals.iter().map(|total| Some(total.count)).collect();
    Ok(vec![decimals(totals.iter().map(|total| Some(total.sum)))?, Arc::new(counts)])
}

impl Accumulator for Total {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Total { sum, count } = Total::of(column::<Int64Type>(values, 0)?);
        self.combine(sum, count);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Total { sum, count } = Total::of(column::<Int64Type>(values, 0)?);
        self.combine(-sum, -count);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (sums, counts) = (column::<Decimal128Type>(states, 0)?, column::<Int64Type>(states, 1)?);
        sums.values().iter().zip(counts.values()).for_each(|(sum, count)| self.combine(*sum, *count));
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Decimal128(Some(self.sum), DIGITS, 0), ScalarValue::Int64(Some(self.count))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Decimal128(self.value(), DIGITS, 0))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}

/// Many groups.
#[derive(Debug, Default)]
struct Totals(Vec<Total>);

impl GroupsAccumulator for Totals {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let values = column::<Int64Type>(values, 0)?;
        self.0.resize(total_num_groups, Total::default());
        if values.null_count() == 0 && opt_filter.is_none() {
            for (value, group) in values.values().iter().zip(group_indices) {
                self.0[*group].add(*value);
            }
            return Ok(());
        }
        for (row, group) in group_indices.iter().enumerate() {
            let passes = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if passes && values.is_valid(row) {
                self.0[*group].add(values.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        decimals(emit_to.take_needed(&mut self.0).iter().map(Total::value))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        states(&emit_to.take_needed(&mut self.0))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        let (sums, counts) = (column::<Decimal128Type>(values, 0)?, column::<Int64Type>(values, 1)?);
        self.0.resize(total_num_groups, Total::default());
        for ((sum, count), group) in sums.values().iter().zip(counts.values()).zip(group_indices) {
            self.0[*group].combine(*sum, *count);
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows: Vec<usize> = (0..column::<Int64Type>(values, 0)?.len()).collect();
        let mut each = Totals::default();
        each.update_batch(values, &rows, opt_filter, rows.len())?;
        states(&each.0)
    }

    fn size(&self) -> usize {
        self.0.capacity() * size_of::<Total>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(values: &[Option<i64>]) -> Vec<ArrayRef> {
        vec![Arc::new(Int64Array::from(values.to_vec()))]
    }

    #[test]
    fn groups_keep_apart_and_merge() {
        let mut groups = Totals::default();
        groups.update_batch(&batch(&[Some(i64::MAX), Some(2), Some(i64::MAX)]), &[0, 1, 0], None, 2).unwrap();
        let filter = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
        let values = batch(&[Some(-1), Some(1), Some(1), None]);
        groups.update_batch(&values, &[1, 1, 2, 2], Some(&filter), 3).unwrap();
        let state = groups.convert_to_state(&values, Some(&filter)).unwrap();
        groups.merge_batch(&state, &[1, 1, 2, 2], 3).unwrap();
        let sums = groups.evaluate(EmitTo::All).unwrap();
        let sums: Vec<Option<i128>> = sums.as_primitive::<Decimal128Type>().iter().collect();
        assert_eq!(sums, [Some(2 * i128::from(i64::MAX)), Some(0), None]);
    }

    #[test]
    fn what_leaves_a_frame_is_taken_off() {
        let mut total = Total::default();
        total.update_batch(&batch(&[Some(5), None, Some(7)])).unwrap();
        total.retract_batch(&batch(&[Some(5), None])).unwrap();
        assert_eq!(total.evaluate().unwrap(), ScalarValue::Decimal128(Some(7), DIGITS, 0));
        total.retract_batch(&batch(&[Some(7)])).unwrap();
        assert_eq!(total.evaluate().unwrap(), ScalarValue::Decimal128(None, DIGITS, 0));
    }
}

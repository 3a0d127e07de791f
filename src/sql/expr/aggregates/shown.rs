//! One value of each group, for values that are grouped by their keys: rows, documents, arrays.
//!
//! The values of new groups are copied out of each batch together. A value on its own, as the engine's aggregate keeps it, is a part of its
//! batch and keeps all of that, of each group.

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array, new_null_array};
use arrow::compute::{interleave, take};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility};

/// The first value that comes, NULL too.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Shown {
    signature: Signature,
}

impl Shown {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Shown {
    fn name(&self) -> &'static str {
        "shown"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        match arg_fields.first() {
            Some(value) => Ok(value.as_ref().clone().with_name(self.name()).with_nullable(true).into()),
            None => internal_err!("one value of nothing"),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let state = |value: &FieldRef| {
            value.as_ref().clone().with_name(format_state_name(args.name, "value")).with_nullable(true).into()
        };
        Ok(args.input_fields.iter().map(state).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneValue(ValueOfEach::new(args.return_type().clone()))))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(ValueOfEach::new(args.return_type().clone())))
    }
}

/// The values of all groups.
#[derive(Debug)]
struct ValueOfEach {
    /// One NULL, for groups of which nothing came, and then values of groups that were new in a batch.
    chunks: Vec<ArrayRef>,
    /// By group: the chunk and the place in it.
    places: Vec<(usize, usize)>,
}

/// Of a group of which nothing came.
const NOTHING: (usize, usize) = (0, 0);

impl ValueOfEach {
    fn new(data_type: DataType) -> Self {
        Self { chunks: vec![new_null_array(&data_type, 1)], places: Vec::new() }
    }

    fn add(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let [values] = values else { return internal_err!("one value is shown of each row") };
        self.places.resize(total, NOTHING);
        let is_wanted = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        let mut new: Vec<u64> = Vec::new();
        for (row, group) in groups.iter().enumerate() {
            if self.places[*group] == NOTHING && is_wanted(row) {
                self.places[*group] = (self.chunks.len(), new.len());
                new.push(row as u64);
            }
        }
        if !new.is_empty() {
            self.chunks.push(take(values, &UInt64Array::from(new), None)?);
        }
        Ok(())
    }

    fn values(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let places = emit_to.take_needed(&mut self.places);
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(|chunk| &**chunk).collect();
        Ok(interleave(&chunks, &places)?)
    }
}

impl GroupsAccumulator for ValueOfEach {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.add(values, group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.values(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.values(emit_to)?])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.add(values, group_indices, None, total_num_groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], _opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        Ok(values.to_vec())
    }

    fn size(&self) -> usize {
        let of_chunk = |chunk: &ArrayRef| chunk.to_data().get_slice_memory_size().unwrap_or_default();
        let of_places = self.places.capacity() * size_of::<(usize, usize)>();
        size_of_val(self) + of_places + self.chunks.iter().map(of_chunk).sum::<usize>()
    }
}

/// The value of the only group.
#[derive(Debug)]
struct OneValue(ValueOfEach);

impl Accumulator for OneValue {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len().min(1));
        self.0.add(values, &vec![0; rows], None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.places.resize(1, NOTHING);
        ScalarValue::try_from_array(&self.0.values(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn each_group_shows_the_first_value_that_came() {
        let batch = |values: &[Option<i32>]| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(values.to_vec()))] };
        let mut shown = ValueOfEach::new(DataType::Int32);
        shown.update_batch(&batch(&[Some(1), Some(2), Some(3)]), &[0, 1, 0], None, 2).unwrap();
        let filter = BooleanArray::from(vec![false, true, true]);
        shown.update_batch(&batch(&[Some(4), None, Some(6)]), &[3, 2, 1], Some(&filter), 4).unwrap();
        let first = shown.evaluate(EmitTo::First(1)).unwrap();
        assert_eq!(first.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(1)]);
        shown.merge_batch(&batch(&[Some(7), Some(8)]), &[2, 1], 3).unwrap();
        let rest = shown.evaluate(EmitTo::All).unwrap();
        assert_eq!(rest.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(2), None, Some(7)]);
    }
}

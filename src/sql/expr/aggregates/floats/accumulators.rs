//! The ways to go through the rows of an aggregate of double precision: one group, many groups, a frame, distinct rows.

use std::collections::{BTreeSet, VecDeque};
use std::mem::size_of;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Float64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use tablegate_types::error::{SqlError, SqlResult};

use super::sums::{PARTS, Row, Sums};

/// What an aggregate gives of its sums; `None` for NULL.
pub(super) type Finish<S> = fn(&S) -> Option<f64>;

/// How the result is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output<S> {
    pub finish: Finish<S>,
    /// `real`, which holds what is finished, instead of double precision.
    pub real: bool,
}

impl<S: Sums> Output<S> {
    #[expect(clippy::cast_possible_truncation, reason = "sums of reals are rounded to it already")]
    fn value(&self, sums: &S) -> ScalarValue {
        let value = (self.finish)(sums);
        if self.real { ScalarValue::Float32(value.map(|value| value as f32)) } else { ScalarValue::Float64(value) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "sums of reals are rounded to it already")]
    fn values(&self, sums: &[S]) -> ArrayRef {
        let values = sums.iter().map(self.finish);
        if self.real {
            Arc::new(values.map(|value| value.map(|value| value as f32)).collect::<Float32Array>())
        } else {
            Arc::new(values.collect::<Float64Array>())
        }
    }
}

fn raised(error: Box<SqlError>) -> DataFusionError {
    DataFusionError::External(error)
}

/// The arguments of rows.
struct Arguments<'a> {
    first: &'a Float64Array,
    second: &'a Float64Array,
}

impl<'a> Arguments<'a> {
    fn of<S: Sums>(values: &'a [ArrayRef]) -> Result<Self> {
        let column = |index: usize| values.get(index).and_then(|values| values.as_primitive_opt::<Float64Type>());
        match (column(0), column(S::ARGUMENTS - 1)) {
            (Some(first), Some(second)) => Ok(Self { first, second }),
            _ => internal_err!("an aggregate of floats is given something else"),
        }
    }

    /// The row at a place; `None` when an argument is NULL.
    fn row(&self, place: usize) -> Option<Row> {
        let is_there = self.first.is_valid(place) && self.second.is_valid(place);
        is_there.then(|| [self.first.value(place), self.second.value(place)])
    }

    /// The values of a function of one argument, where none is NULL.
    fn all_of_one<S: Sums>(&self) -> Option<&'a [f64]> {
        (S::ARGUMENTS == 1 && self.first.null_count() == 0).then(|| &self.first.values()[..])
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        (0..self.first.len()).filter_map(|place| self.row(place))
    }
}

/// The sums that are the rows of state columns.
fn merged<S: Sums>(states: &[ArrayRef]) -> Result<Vec<S>> {
    let columns: Option<Vec<&Float64Array>> =
        states.iter().map(|column| column.as_primitive_opt::<Float64Type>()).collect();
    let Some(columns) = columns.filter(|columns| columns.len() == S::WIDTH) else {
        return internal_err!("sums of floats are merged with something else");
    };
    let rows = columns.first().map_or(0, |column| column.len());
    let sums = (0..rows).map(|row| {
        let mut parts = [0.0; PARTS];
        for (part, column) in parts.iter_mut().zip(&columns) {
            *part = column.value(row);
        }
        S::of_parts(parts)
    });
    Ok(sums.collect())
}

/// One group.
#[derive(Debug)]
pub(super) struct Group<S> {
    sums: S,
    output: Output<S>,
}

impl<S: Sums> Group<S> {
    pub(super) fn new(output: Output<S>) -> Self {
        Self { sums: S::default(), output }
    }
}

impl<S: Sums> Accumulator for Group<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let arguments = Arguments::of::<S>(values)?;
        match arguments.all_of_one::<S>() {
            Some(values) => values.iter().try_for_each(|value| self.sums.add([*value; 2])),
            None => arguments.rows().try_for_each(|row| self.sums.add(row)),
        }
        .map_err(raised)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        merged::<S>(states)?.iter().try_for_each(|other| self.sums.combine(other)).map_err(raised)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let parts = self.sums.parts();
        Ok(parts.iter().take(S::WIDTH).map(|part| ScalarValue::Float64(Some(*part))).collect())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.output.value(&self.sums))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}

/// Many groups.
#[derive(Debug)]
pub(super) struct Groups<S> {
    sums: Vec<S>,
    output: Output<S>,
}

impl<S: Sums> Groups<S> {
    pub(super) fn new(output: Output<S>) -> Self {
        Self { sums: Vec::new(), output }
    }
}

fn columns<S: Sums>(sums: &[S]) -> Vec<ArrayRef> {
    let column = |part: usize| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(sums.iter().map(|sums| sums.parts()[part])))
    };
    (0..S::WIDTH).map(column).collect()
}

/// Whether a filter, of which NULL is no, lets a row through.
fn passes(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

impl<S: Sums> GroupsAccumulator for Groups<S> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let arguments = Arguments::of::<S>(values)?;
        self.sums.resize(total_num_groups, S::default());
        if let (Some(values), None) = (arguments.all_of_one::<S>(), opt_filter) {
            let mut rows = values.iter().zip(group_indices);
            return rows.try_for_each(|(value, group)| self.sums[*group].add([*value; 2])).map_err(raised);
        }
        for (row, group) in group_indices.iter().enumerate().filter(|(row, _)| passes(opt_filter, *row)) {
            if let Some(values) = arguments.row(row) {
                self.sums[*group].add(values).map_err(raised)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(self.output.values(&emit_to.take_needed(&mut self.sums)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(columns(&emit_to.take_needed(&mut self.sums)))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.sums.resize(total_num_groups, S::default());
        for (other, group) in merged::<S>(values)?.iter().zip(group_indices) {
            self.sums[*group].combine(other).map_err(raised)?;
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let arguments = Arguments::of::<S>(values)?;
        let of_row = |row: usize| -> SqlResult<S> {
            let mut sums = S::default();
            if let (true, Some(values)) = (passes(opt_filter, row), arguments.row(row)) {
                sums.add(values)?;
            }
            Ok(sums)
        };
        let sums: Vec<S> = (0..arguments.first.len()).map(of_row).collect::<SqlResult<_>>().map_err(raised)?;
        Ok(columns(&sums))
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<S>()
    }
}

/// A frame whose rows leave it in the order in which they came. Its sums are made anew for each row, as in PostgreSQL:
/// what has been added to a float cannot be taken off again.
#[derive(Debug)]
pub(super) struct Frame<S> {
    rows: VecDeque<Option<Row>>,
    output: Output<S>,
}

impl<S: Sums> Frame<S> {
    pub(super) fn new(output: Output<S>) -> Self {
        Self { rows: VecDeque::new(), output }
    }
}

impl<S: Sums> Accumulator for Frame<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let arguments = Arguments::of::<S>(values)?;
        self.rows.extend((0..arguments.first.len()).map(|place| arguments.row(place)));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let leaving = values.first().map_or(0, |values| values.len()).min(self.rows.len());
        self.rows.drain(..leaving);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("the sums of a frame are not merged")
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the sums of a frame are not merged")
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sums = S::default();
        self.rows.iter().flatten().try_for_each(|row| sums.add(*row)).map_err(raised)?;
        Ok(self.output.value(&sums))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.rows.capacity() * size_of::<Option<Row>>()
    }
}

/// Distinct rows, which are added up in their order.
#[derive(Debug)]
pub(super) struct Distinct<S> {
    rows: BTreeSet<[u64; 2]>,
    output: Output<S>,
}

impl<S: Sums> Distinct<S> {
    pub(super) fn new(output: Output<S>) -> Self {
        Self { rows: BTreeSet::new(), output }
    }

    fn sorted(&self) -> impl Iterator<Item = Row> {
        self.rows.iter().map(|row| row.map(of_order))
    }
}

/// The type of the only state column: the rows one after the other.
pub(super) fn distinct_state() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

const SIGN: u64 = 1 << 63;

/// A number for each value, in PostgreSQL's order: -0 is 0, NaN the greatest.
fn order(value: f64) -> u64 {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits = if value.is_nan() { f64::NAN.to_bits() & !SIGN } else { value.to_bits() };
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn of_order(order: u64) -> f64 {
    f64::from_bits(if order & SIGN == 0 { !order } else { order & !SIGN })
}

impl<S: Sums> Accumulator for Distinct<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let arguments = Arguments::of::<S>(values)?;
        self.rows.extend(arguments.rows().map(|row| row.map(order)));
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first().and_then(|states| states.as_list_opt::<i32>()) else {
            return internal_err!("distinct rows are merged with something else");
        };
        for list in lists.iter().flatten() {
            let values = list.as_primitive::<Float64Type>();
            self.rows.extend(values.values().chunks_exact(2).map(|row| [order(row[0]), order(row[1])]));
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = Float64Array::from_iter_values(self.sorted().flatten());
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        let list = ListArray::try_new(item, OffsetBuffer::from_lengths([values.len()]), Arc::new(values), None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sums = S::default();
        self.sorted().try_for_each(|row| sums.add(row)).map_err(raised)?;
        Ok(self.output.value(&sums))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.rows.len() * size_of::<[u64; 2]>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sums::Total;
    use super::*;

    const SUM: Output<Total> = Output { finish: |total| (total.count > 0.0).then_some(total.sum), real: false };

    fn batch(values: &[f64]) -> Vec<ArrayRef> {
        vec![Arc::new(Float64Array::from(values.to_vec()))]
    }

    fn float(value: f64) -> ScalarValue {
        ScalarValue::Float64(Some(value))
    }

    #[test]
    fn a_frame_forgets_what_has_left_it() {
        let mut frame = Frame::new(SUM);
        frame.update_batch(&batch(&[f64::INFINITY, 1e300, 0.5])).unwrap();
        frame.retract_batch(&batch(&[f64::INFINITY, 1e300])).unwrap();
        assert_eq!(frame.evaluate().unwrap(), float(0.5));
        frame.retract_batch(&batch(&[0.5])).unwrap();
        assert_eq!(frame.evaluate().unwrap(), ScalarValue::Float64(None));
    }

    #[test]
    fn distinct_rows_count_once_wherever_they_come_from() {
        let (mut one, mut two) = (Distinct::new(SUM), Distinct::new(SUM));
        one.update_batch(&batch(&[2.0, 2.0, -1.0, 0.0])).unwrap();
        two.update_batch(&batch(&[2.0, 4.0, -0.0])).unwrap();
        let state: Vec<ArrayRef> = two.state().unwrap().iter().map(|part| part.to_array().unwrap()).collect();
        one.merge_batch(&state).unwrap();
        assert_eq!((one.evaluate().unwrap(), one.rows.len()), (float(5.0), 4));
        let ordered = [f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 7.0, f64::INFINITY, f64::NAN];
        assert!(ordered.map(order).is_sorted());
        assert_eq!(ordered.map(|value| of_order(order(value)).to_bits()), ordered.map(f64::to_bits));
    }

    #[test]
    fn groups_keep_apart_and_merge() {
        let filter = BooleanArray::from(vec![Some(true), Some(true), None, Some(false)]);
        let mut groups = Groups::new(SUM);
        let values = batch(&[1.0, 2.0, 4.0, 8.0]);
        groups.update_batch(&values, &[0, 1, 0, 2], Some(&filter), 3).unwrap();
        let state = groups.convert_to_state(&values, Some(&filter)).unwrap();
        groups.merge_batch(&state, &[2, 1, 1, 1], 3).unwrap();
        let sums = groups.evaluate(EmitTo::All).unwrap();
        assert_eq!(sums.as_primitive::<Float64Type>().values(), &[1.0, 4.0, 1.0]);
    }
}

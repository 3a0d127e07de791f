//! Lists that become rows, a few thousand items at a time: the engine makes all rows of a batch at once, however long its lists
//! are.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::unnest::UnnestExec;
use futures::{StreamExt, stream};

use crate::passing::{Batches, Passing, PassingExec, Plan};

/// Most items that become rows of one batch.
const ITEMS: usize = 8192;

/// The plan, with the lists cut that its uppermost operator makes rows of.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn with_short_lists(plan: Plan) -> Result<Plan> {
    let Some(unnest) = plan.downcast_ref::<UnnestExec>() else { return Ok(plan) };
    // Lists within lists are not counted by their items.
    let columns: Vec<usize> = unnest.list_column_indices().iter().map(|list| list.index_in_input_schema).collect();
    let schema = unnest.input().schema();
    let is_list = |column: &usize| matches!(schema.field(*column).data_type(), DataType::List(_));
    if unnest.list_column_indices().iter().any(|list| list.depth != 1) || !columns.iter().all(is_list) {
        return Ok(plan);
    }
    PassingExec::below(plan, ShortLists { columns: columns.into() })
}

/// Rows with long lists are given several times, each time with the next items.
#[derive(Debug)]
struct ShortLists {
    columns: Arc<[usize]>,
}

impl Passing for ShortLists {
    fn name(&self) -> &'static str {
        "ShortListsExec"
    }

    fn begin(&self, input: &Plan, partition: usize, context: Arc<TaskContext>) -> Result<Batches> {
        let columns = Arc::clone(&self.columns);
        let rows = input.execute(partition, context)?.flat_map(move |batch| match batch {
            Ok(batch) => stream::iter(Pieces::of(batch, &columns)).left_stream(),
            failed => stream::iter([failed]).right_stream(),
        });
        Ok(rows.boxed())
    }
}

/// The pieces of a batch that are still to be given.
struct Pieces {
    batch: RecordBatch,
    columns: Arc<[usize]>,
    /// The first row that is not given, and how many items of it are.
    row: usize,
    given: usize,
}

impl Pieces {
    fn of(batch: RecordBatch, columns: &Arc<[usize]>) -> Self {
        Self { batch, columns: Arc::clone(columns), row: 0, given: 0 }
    }

    fn list(&self, column: usize) -> Option<&ListArray> {
        self.batch.column(column).as_list_opt::<i32>()
    }

    /// How many rows the lists of a row become, at least one.
    fn items(&self, row: usize) -> usize {
        let lists = self.columns.iter().filter_map(|column| self.list(*column));
        let length =
            |list: &ListArray| if list.is_null(row) { 0 } else { usize::try_from(list.value_length(row)).unwrap_or(0) };
        lists.map(length).max().unwrap_or(0).max(1)
    }

    /// The next items of a row whose lists are too long.
    fn part_of_row(&self) -> Result<RecordBatch> {
        let columns = self.batch.columns().iter().enumerate().map(|(place, column)| match self.list(place) {
            Some(list) if self.columns.contains(&place) => part(list, self.row, self.given),
            _ => Ok(column.slice(self.row, 1)),
        });
        Ok(RecordBatch::try_new(self.batch.schema(), columns.collect::<Result<_>>()?)?)
    }
}

/// A list of one row: so many of its items are left out, and at most [`ITEMS`] of those behind them are in it.
fn part(list: &ListArray, row: usize, left_out: usize) -> Result<ArrayRef> {
    let field = match list.data_type() {
        DataType::List(field) => Arc::clone(field),
        other => return internal_err!("a list is {other}"),
    };
    let (first, end) = (list.value_offsets()[row], list.value_offsets()[row + 1]);
    let within = |items: usize| first.saturating_add(i32::try_from(items).unwrap_or(i32::MAX)).min(end);
    let ends = vec![within(left_out), within(left_out.saturating_add(ITEMS))];
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    let nulls = list.nulls().map(|nulls| nulls.slice(row, 1));
    Ok(Arc::new(ListArray::try_new(field, offsets, Arc::clone(list.values()), nulls)?))
}

impl Iterator for Pieces {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.batch.num_rows();
        if self.row == rows {
            return None;
        }
        let first = self.items(self.row);
        if first > ITEMS {
            let part = self.part_of_row();
            self.given += ITEMS;
            if self.given >= first {
                (self.row, self.given) = (self.row + 1, 0);
            }
            return Some(part);
        }
        let (begin, mut items) = (self.row, 0);
        while self.row < rows && items + self.items(self.row) <= ITEMS {
            items += self.items(self.row);
            self.row += 1;
        }
        Some(Ok(self.batch.slice(begin, self.row - begin)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use arrow::datatypes::{Field, Int32Type, Schema};

    use super::*;

    /// Of lists in two columns, beside the number of their row.
    fn batch(lists: [Vec<Option<usize>>; 2]) -> RecordBatch {
        let list = |lengths: &Vec<Option<usize>>| {
            let lists =
                lengths.iter().map(|length| length.map(|length| (0..length).map(|item| i32::try_from(item).ok())));
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)) as ArrayRef
        };
        let rows = Int32Array::from_iter_values(0..i32::try_from(lists[0].len()).unwrap());
        let columns = [Arc::new(rows) as ArrayRef, list(&lists[0]), list(&lists[1])];
        let field =
            |(place, column): (usize, &ArrayRef)| Field::new(place.to_string(), column.data_type().clone(), true);
        let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), columns.to_vec()).unwrap()
    }

    /// The rows that lists become, as the engine makes them: the number of the row, and the items.
    fn unnested(batch: &RecordBatch) -> Vec<(i32, Option<i32>, Option<i32>)> {
        let numbers = batch.column(0).as_primitive::<Int32Type>();
        let lists = [1, 2].map(|column| batch.column(column).as_list::<i32>());
        let items = |row: usize| {
            lists.map(|list| {
                if list.is_null(row) { vec![] } else { list.value(row).as_primitive::<Int32Type>().values().to_vec() }
            })
        };
        let rows = (0..batch.num_rows()).flat_map(|row| {
            let [left, right] = items(row);
            let number = numbers.value(row);
            (0..left.len().max(right.len()))
                .map(move |place| (number, left.get(place).copied(), right.get(place).copied()))
                .collect::<Vec<_>>()
        });
        rows.collect()
    }

    #[test]
    fn long_lists_become_the_same_rows_in_pieces() {
        let long = [
            vec![Some(3), Some(3 * ITEMS + 5), None, Some(ITEMS), Some(0), Some(ITEMS + 1)],
            vec![Some(ITEMS - 1), Some(ITEMS), Some(2 * ITEMS), None, None, Some(ITEMS + 1)],
        ];
        let whole = batch(long);
        for whole in [whole.clone(), whole.slice(1, 4)] {
            let pieces: Vec<RecordBatch> =
                Pieces::of(whole.clone(), &Arc::from([1, 2])).collect::<Result<_>>().unwrap();
            let rows: Vec<_> = pieces.iter().map(unnested).collect();
            assert!(rows.iter().all(|rows| rows.len() <= ITEMS));
            assert_eq!(rows.concat(), unnested(&whole));
            let empty = |batch: &RecordBatch| batch.column(0).as_primitive::<Int32Type>().values().contains(&4);
            assert!(pieces.iter().any(empty), "a row without items is handed on: the engine may make one of it");
        }
    }

    #[test]
    fn short_lists_stay_together() {
        let whole = batch([vec![Some(1); 100], vec![None; 100]]);
        let pieces: Vec<_> = Pieces::of(whole.clone(), &Arc::from([1, 2])).collect::<Result<_>>().unwrap();
        assert_eq!(pieces, [whole]);
    }
}

//! The side that is sorted: within each key by the column that is in ranges.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::Array;
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use arrow::row::{Row, RowConverter, Rows, SortField};
use datafusion::common::{DataFusionError, Result, internal_err, resources_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use futures::StreamExt;
use tokio::task::yield_now;

use super::keys::{Keys, comparable};
use super::told::Extremes;
use crate::own_rows::own_rows;

/// Rows that are sorted without a pause: a few milliseconds.
const RUN: usize = 1 << 16;

/// The first bytes of a value as a number, and the row that has it: most comparisons need no more.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    prefix: u64,
    key: u32,
    row: u32,
}

/// What the rows are sorted by.
pub(super) struct Order<'a> {
    /// Those that the other side has too; none where all rows are of one key.
    pub on: &'a [Arc<dyn PhysicalExpr>],
    /// The column that is in ranges, and what rows with the same value of it are sorted by.
    pub by: &'a [PhysicalSortExpr],
    pub keys: Option<Keys>,
}

/// All rows of the side.
pub(super) struct Sorted {
    pub rows: RecordBatch,
    keys: Option<Keys>,
    /// Sorted; without rows that can have no partners.
    entries: Vec<Entry>,
    /// Where the entries of a key begin, and behind the last one their number.
    begins: Vec<usize>,
    values: Values,
}

/// The values of the column, encoded so that their bytes are in the order that is wanted.
struct Values {
    converter: RowConverter,
    rows: Rows,
    /// Bytes before those of the value itself, the same for all that are not NULL.
    skipped: usize,
    is_descending: bool,
}

impl Values {
    fn new(by: &PhysicalSortExpr, schema: &Schema) -> Result<Self> {
        let data_type = by.expr.data_type(schema)?;
        let skipped = usize::from(data_type.is_primitive());
        let converter = RowConverter::new(vec![SortField::new_with_options(data_type, by.options)])?;
        let rows = converter.empty_rows(0, 0);
        Ok(Self { converter, rows, skipped, is_descending: by.options.descending })
    }

    fn prefix(&self, row: Row<'_>) -> u64 {
        let bytes = row.as_ref().get(self.skipped..).unwrap_or_default();
        let mut prefix = [0; 8];
        let length = bytes.len().min(prefix.len());
        prefix[..length].copy_from_slice(&bytes[..length]);
        u64::from_be_bytes(prefix)
    }
}

impl Sorted {
    /// Takes all rows.
    ///
    /// # Errors
    /// Those of the rows, and 53200 where they do not fit into the memory of queries.
    pub(super) async fn of(
        Order { on, by, mut keys }: Order<'_>,
        extremes: &mut Extremes,
        mut input: SendableRecordBatchStream,
        memory: &MemoryReservation,
    ) -> Result<Self> {
        let schema = input.schema();
        let mut batches = Vec::new();
        let [ranged, ties @ ..] = by else { return internal_err!("a range is of a column") };
        let mut values = Values::new(ranged, &schema)?;
        let mut behind = Ties::new(ties, &schema)?;
        let mut entries: Vec<Entry> = Vec::new();
        let mut known = 0;
        while let Some(batch) = input.next().await.transpose()? {
            let (batch, bytes) = own_rows(&batch).map_err(|error| DataFusionError::External(error))?;
            // Once more when they are put together; and for each row whether it had a partner.
            memory.try_grow(2 * bytes + batch.num_rows() * (2 * size_of::<Entry>() + size_of::<i64>()))?;
            extremes.add(&batch)?;
            let column = comparable(ranged.expr.evaluate(&batch)?.into_array(batch.num_rows())?);
            let first = values.rows.num_rows();
            values.converter.append(&mut values.rows, &[Arc::clone(&column)])?;
            if let Some(behind) = &mut behind {
                behind.add(&batch)?;
            }
            let numbers = keys.as_mut().map(|keys| keys.add(on, &batch)).transpose()?;
            for place in 0..batch.num_rows() {
                let key = numbers.as_ref().map_or(Some(0), |numbers| numbers[place]);
                if let (Some(key), false) = (key, column.is_null(place)) {
                    let row = u32::try_from(first + place)
                        .map_err(|_| resources_datafusion_err!("a side of a join has more than 2^32 rows"))?;
                    let prefix = values.prefix(values.rows.row(first + place));
                    entries.push(Entry { prefix, key, row });
                }
            }
            let held = values.rows.size() + behind.as_ref().map_or(0, Ties::size) + keys.as_ref().map_or(0, Keys::size);
            memory.try_grow(held.saturating_sub(known))?;
            known = known.max(held);
            batches.push(batch);
        }
        let rows = concat_batches(&schema, &batches)?;
        drop(batches);
        let (mut entries, begins) = by_key(entries, keys.as_ref().map_or(1, Keys::len));
        sort(&mut entries, &begins, &values, behind.as_ref()).await;
        Ok(Self { rows, keys, entries, begins, values })
    }

    pub(super) fn keys(&self) -> Option<&Keys> {
        self.keys.as_ref()
    }

    /// How many rows can have partners.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries that have the key of each row; none for a key that there is none of.
    pub(super) fn of_keys(&self, on: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<Range<usize>>> {
        let Some(keys) = &self.keys else { return Ok(vec![0..self.entries.len(); batch.num_rows()]) };
        let span = |number: Option<u32>| match number {
            Some(number) => self.begins[number as usize]..self.begins[number as usize + 1],
            None => 0..0,
        };
        Ok(keys.find(on, batch)?.into_iter().map(span).collect())
    }

    /// Of entries with one key those whose value has this relation to the row of [`Sorted::encode`].
    pub(super) fn within(&self, span: Range<usize>, op: Operator, value: Row<'_>) -> Range<usize> {
        let prefix = self.values.prefix(value);
        let compared = |entry: &Entry| {
            entry.prefix.cmp(&prefix).then_with(|| self.values.rows.row(entry.row as usize).cmp(&value))
        };
        let until = |is_before: &dyn Fn(Ordering) -> bool| {
            span.start + self.entries[span.clone()].partition_point(|entry| is_before(compared(entry)))
        };
        // The greatest is the first where the order is descending.
        let op = if self.values.is_descending { op.swap().unwrap_or(op) } else { op };
        match op {
            Operator::Gt => until(&Ordering::is_le)..span.end,
            Operator::GtEq => until(&Ordering::is_lt)..span.end,
            Operator::Lt => span.start..until(&Ordering::is_lt),
            _ => span.start..until(&Ordering::is_le),
        }
    }

    /// Values of the other side as [`Sorted::within`] takes them.
    pub(super) fn encode(&self, values: &Arc<dyn Array>) -> Result<Rows> {
        Ok(self.values.converter.convert_columns(&[comparable(Arc::clone(values))])?)
    }

    /// The row of an entry.
    pub(super) fn row(&self, entry: usize) -> u32 {
        self.entries[entry].row
    }
}

/// What rows with the same value are sorted by.
struct Ties {
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    converter: RowConverter,
    rows: Rows,
}

impl Ties {
    fn new(by: &[PhysicalSortExpr], schema: &Schema) -> Result<Option<Self>> {
        if by.is_empty() {
            return Ok(None);
        }
        let field =
            |sort: &PhysicalSortExpr| Ok(SortField::new_with_options(sort.expr.data_type(schema)?, sort.options));
        let converter = RowConverter::new(by.iter().map(field).collect::<Result<_>>()?)?;
        let rows = converter.empty_rows(0, 0);
        Ok(Some(Self { exprs: by.iter().map(|sort| Arc::clone(&sort.expr)).collect(), converter, rows }))
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = evaluate_expressions_to_arrays(&self.exprs, batch)?;
        Ok(self.converter.append(&mut self.rows, &columns)?)
    }

    fn size(&self) -> usize {
        self.rows.size()
    }
}

/// The entries of each key together, and where they begin.
fn by_key(entries: Vec<Entry>, keys: usize) -> (Vec<Entry>, Vec<usize>) {
    if keys <= 1 {
        let begins = vec![0, entries.len()];
        return (entries, begins);
    }
    let mut begins = vec![0; keys + 1];
    entries.iter().for_each(|entry| begins[entry.key as usize + 1] += 1);
    for key in 0..keys {
        begins[key + 1] += begins[key];
    }
    let mut next = begins.clone();
    let mut placed = vec![Entry::default(); entries.len()];
    for entry in entries {
        placed[next[entry.key as usize]] = entry;
        next[entry.key as usize] += 1;
    }
    (placed, begins)
}

/// Sorts the entries of each key, with a pause now and then. Many of them are sorted by pieces, which a stable sort then puts
/// together quickly.
async fn sort(entries: &mut [Entry], begins: &[usize], values: &Values, ties: Option<&Ties>) {
    let compared = |left: &Entry, right: &Entry| {
        let by_value = || values.rows.row(left.row as usize).cmp(&values.rows.row(right.row as usize));
        let by_ties = || match ties {
            Some(ties) => ties.rows.row(left.row as usize).cmp(&ties.rows.row(right.row as usize)),
            None => Ordering::Equal,
        };
        left.prefix.cmp(&right.prefix).then_with(by_value).then_with(by_ties)
    };
    let mut sorted = 0;
    for (&begin, &end) in begins.iter().zip(begins.iter().skip(1)) {
        let of_key = &mut entries[begin..end];
        if of_key.len() > RUN {
            for run in of_key.chunks_mut(RUN) {
                run.sort_by(compared);
                yield_now().await;
            }
        }
        of_key.sort_by(compared);
        sorted += of_key.len();
        if sorted >= RUN {
            sorted = 0;
            yield_now().await;
        }
    }
}

//! The columns a scan asks for, out of a segment's: the same buffers wherever the type is the same.
//!
//! If a segment cannot show a column exactly as rows would (one with values of several types, for example), the rows
//! are read instead: they also give the right error for a value that does not fit.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder, new_null_array};
use arrow::buffer::ScalarBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, TimestampMicrosecondType, UInt8Type};
use tablegate_store::model::limits::DOUBLE_EXACT_INTEGER_MAX;
use tablegate_store::model::{ETag, EdmDateTime, EdmType, PropertyName};
use tablegate_store::table::{ColumnType, DerivedColumn, ScanColumn, ScanColumns, texts_of_rows};

use super::super::key_bytes;
use super::Segment;
use super::derived::kept_type;
use super::file::{PARTITION_KEY, PROPERTIES, ROW_KEY, TICK, TIMESTAMP};
use super::manifest::{BatchMeta, Extremes};

/// How a column is made.
enum Source {
    Partition,
    ETag,
    /// The physical column as it is.
    Same(usize),
    /// The physical column, its values widened to this type.
    Widened(usize, ColumnType),
    Nulls(ColumnType),
    /// The texts of a physical column, by their rows in the batch that another one holds.
    Dictionary {
        rows: usize,
        texts: usize,
    },
    /// Made of these.
    Derived(Arc<DerivedColumn>, Vec<Source>),
}

/// The columns of some rows of a batch; `None` when its rows are to be read instead.
pub(super) fn assemble(
    segment: &Segment,
    batch: usize,
    columns: &ScanColumns,
    rows: &Range<usize>,
) -> Option<Vec<ArrayRef>> {
    // First whether it can be done, by what is known of the batch.
    let sources: Option<Vec<Source>> = columns.columns().iter().map(|column| source(segment, batch, column)).collect();
    sources?.into_iter().map(|source| make(segment, batch, source, rows)).collect()
}

/// Whether all of that is in memory as it is, and its keys too: then nothing has to be read, compared with its checksum, or
/// made.
pub(super) fn is_at_hand(segment: &Segment, batch: usize, columns: &ScanColumns) -> bool {
    let has = |column| segment.has_array(batch, column);
    let is_there = |column: &ScanColumn| match source(segment, batch, column) {
        Some(Source::Same(column)) => has(column),
        Some(Source::Partition | Source::Nulls(_)) => true,
        Some(Source::ETag | Source::Widened(..) | Source::Dictionary { .. } | Source::Derived(..)) | None => false,
    };
    has(PARTITION_KEY) && has(ROW_KEY) && columns.columns().iter().all(is_there)
}

fn make(segment: &Segment, batch: usize, source: Source, rows: &Range<usize>) -> Option<ArrayRef> {
    match source {
        Source::Partition => partitions(segment, batch, rows),
        Source::ETag => etags(segment, batch, rows),
        Source::Same(column) => Some(segment.array(batch, column)?.slice(rows.start, rows.len())),
        Source::Widened(column, wanted) => {
            cast(&segment.array(batch, column)?.slice(rows.start, rows.len()), &wanted.arrow()).ok()
        }
        Source::Nulls(wanted) => Some(new_null_array(&wanted.arrow(), rows.len())),
        Source::Dictionary { rows: kept, texts } => {
            let kept = segment.array(batch, kept)?.slice(rows.start, rows.len());
            texts_of_rows(kept.as_primitive_opt()?.clone(), Arc::clone(segment.array(batch, texts)?)).ok()
        }
        Source::Derived(column, inputs) => {
            let inputs = inputs.into_iter().map(|input| make(segment, batch, input, rows));
            column.derive(&inputs.collect::<Option<Vec<_>>>()?).ok()
        }
    }
}

fn source(segment: &Segment, batch: usize, column: &ScanColumn) -> Option<Source> {
    Some(match column {
        ScanColumn::PartitionKey => Source::Partition,
        ScanColumn::RowKey => Source::Same(ROW_KEY),
        ScanColumn::Timestamp => Source::Same(TIMESTAMP),
        ScanColumn::ETag => Source::ETag,
        ScanColumn::Property { name, column_type } => property(segment, batch, name, *column_type)?,
        ScanColumn::EdmTypeOf(_) => return None,
        ScanColumn::Derived(column) => {
            let kept = kept(segment, batch, column);
            if let Some(kept) = kept.filter(|_| !column.is_dictionary()) {
                return Some(Source::Same(kept));
            }
            let inputs = column.inputs().iter().map(|input| source(segment, batch, input));
            let inputs = inputs.collect::<Option<Vec<_>>>()?;
            match (kept, inputs.as_slice()) {
                (Some(rows), [Source::Same(texts)]) => Source::Dictionary { rows, texts: *texts },
                _ => Source::Derived(Arc::clone(column), inputs),
            }
        }
    })
}

/// Where the batch has the column made already. Where all of it is NULL, it may be that it could not be made.
fn kept(segment: &Segment, batch: usize, column: &DerivedColumn) -> Option<usize> {
    let meta = &segment.meta;
    let (place, field) = meta.kept.fields().find(column.id())?;
    let index = PROPERTIES + meta.columns.len() + place;
    (*field.data_type() == kept_type(column) && has_values(meta.batches.get(batch)?, index)).then_some(index)
}

fn property(segment: &Segment, batch: usize, name: &PropertyName, wanted: ColumnType) -> Option<Source> {
    let batch = segment.meta.batches.get(batch)?;
    let columns = segment.meta.columns.iter().enumerate().filter(|(_, column)| column.name == *name);
    let columns = columns.map(|(index, column)| (PROPERTIES + index, column.edm_type));
    let mut with_values = columns.filter(|(index, _)| has_values(batch, *index));
    let Some((index, stored)) = with_values.next() else { return Some(Source::Nulls(wanted)) };
    if with_values.next().is_some() {
        return None;
    }
    if ColumnType::of(stored) == wanted {
        return Some(Source::Same(index));
    }
    let widens = match (stored, wanted) {
        (EdmType::Int32, ColumnType::Int64 | ColumnType::Double) => true,
        (EdmType::Int64, ColumnType::Double) => is_exact_in_doubles(&batch.columns.get(index)?.extremes),
        _ => false,
    };
    widens.then_some(Source::Widened(index, wanted))
}

fn has_values(batch: &BatchMeta, column: usize) -> bool {
    batch.columns.get(column).is_none_or(|column| column.nulls < batch.rows)
}

pub(super) fn is_exact_in_doubles(extremes: &Extremes) -> bool {
    let Extremes::Integers(least, greatest) = extremes else { return false };
    [least, greatest].iter().all(|value| value.unsigned_abs() <= DOUBLE_EXACT_INTEGER_MAX)
}

/// Each run's text as often as it occurs.
fn partitions(segment: &Segment, batch: usize, rows: &Range<usize>) -> Option<ArrayRef> {
    if rows.is_empty() {
        return Some(new_null_array(&DataType::Utf8, 0));
    }
    let runs = segment.array(batch, PARTITION_KEY)?.as_run_opt::<Int32Type>()?;
    let (ends, texts) = (runs.run_ends(), runs.values().as_string_opt::<i32>()?);
    let mut builder = StringBuilder::with_capacity(rows.len(), rows.len() * 16);
    let (mut row, mut run) = (rows.start, ends.get_physical_index(rows.start));
    while row < rows.end {
        let end = usize::try_from(*ends.values().get(run)?).ok()?.min(rows.end);
        let text = texts.value(run);
        (row..end).for_each(|_| builder.append_value(text));
        (row, run) = (end, run + 1);
    }
    Some(Arc::new(builder.finish()))
}

fn etags(segment: &Segment, batch: usize, rows: &Range<usize>) -> Option<ArrayRef> {
    let micros = segment.array(batch, TIMESTAMP)?.as_primitive_opt::<TimestampMicrosecondType>()?;
    let ticks = segment.array(batch, TICK)?.as_primitive_opt::<UInt8Type>()?;
    let mut builder = StringBuilder::with_capacity(rows.len(), rows.len() * 44);
    for row in rows.clone() {
        let all = micros.value(row).checked_mul(10)?.checked_add(ticks.value(row).into())?;
        ETag::write_of_timestamp(EdmDateTime::from_unix_ticks(all)?, &mut builder).ok()?;
        builder.append_value("");
    }
    Some(Arc::new(builder.finish()))
}

/// The keys of a batch.
pub(super) struct Keys {
    /// Of each partition of the batch: its text, and where it ends.
    partitions: StringArray,
    ends: ScalarBuffer<i32>,
    rows: StringArray,
}

impl Keys {
    /// `None` when the segment is damaged.
    pub(super) fn of(segment: &Segment, batch: usize) -> Option<Self> {
        let runs = segment.array(batch, PARTITION_KEY)?.as_run_opt::<Int32Type>()?;
        let partitions = runs.values().as_string_opt::<i32>()?.clone();
        let ends = runs.run_ends().inner().clone();
        let rows = segment.array(batch, ROW_KEY)?.as_string_opt::<i32>()?.clone();
        let is_whole = ends.len() == partitions.len() && ends.last().is_none_or(|end| place(*end) == rows.len());
        is_whole.then_some(Self { partitions, ends, rows })
    }

    /// The partition of a row.
    fn run_of(&self, row: usize) -> usize {
        self.ends.partition_point(|end| place(*end) <= row)
    }

    /// The first of these rows that is not before the bytes, an end of a span.
    pub(super) fn at_end(&self, rows: Range<usize>, bytes: &[u8]) -> usize {
        first_not(rows, |row| {
            let run = self.run_of(row);
            key_bytes::compare(self.partitions.value(run), self.rows.value(row), bytes) == Ordering::Less
        })
    }

    /// The first of these rows that is not before the key, and whether it has that key. First the partition is looked up,
    /// of which a batch has few, then the row within. Soonest found is what is near the first row.
    pub(super) fn at_key(&self, rows: Range<usize>, (partition, row_key): (&str, &str)) -> (usize, bool) {
        let runs = self.run_of(rows.start)..self.ends.len();
        let run = first_not(runs, |run| self.partitions.value(run) < partition);
        let start = run.checked_sub(1).map_or(0, |before| place(self.ends[before]));
        if run == self.ends.len() || self.partitions.value(run) != partition {
            return (start.clamp(rows.start, rows.end), false);
        }
        let within = start.clamp(rows.start, rows.end)..place(self.ends[run]).clamp(rows.start, rows.end);
        let end = within.end;
        let at = first_not(within, |row| self.rows.value(row) < row_key);
        (at, at < end && self.rows.value(at) == row_key)
    }
}

/// Ends of runs are never negative.
fn place(end: i32) -> usize {
    usize::try_from(end).unwrap_or_default()
}

/// The first of these numbers for which it does not hold, where it holds for all before that one: looked for from the
/// first one on in steps that grow.
fn first_not(numbers: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (numbers.start, numbers.end);
    let mut step = 1;
    while to - from > step {
        if !holds(from + step) {
            to = from + step;
            break;
        }
        from += step + 1;
        step *= 2;
    }
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

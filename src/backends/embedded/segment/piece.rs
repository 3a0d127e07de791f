//! A span of keys read from a segment, with what was written since laid over it.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, MutableArrayData, make_array};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use tablegate_store::table::{Predicate, ScanColumns, StoreError};

use super::super::engine::Engine;
use super::super::key_bytes::ByteSpan;
use super::super::reader::View;
use super::super::rows::RowColumns;
use super::assemble::{Keys, assemble, is_at_hand};
use super::changes::Changes;
use super::delta::Delta;
use super::own::own;
use super::recent::Recent;
use super::{Segment, prune};

/// A span within the span of one segment.
pub(in crate::embedded) struct Piece {
    segment: Arc<Segment>,
    span: ByteSpan,
    /// What the scan is for: batches of which it is not true are left out.
    predicate: Option<Predicate>,
    /// The batch that is read next, or is being read.
    batch: usize,
    /// Behind the last batch up to which everything written since was taken: those from here on were left out.
    taken: usize,
    /// What was written since; looked up when the piece is first read.
    changes: Option<Changes>,
    current: Option<Current>,
}

/// A batch that is being read.
struct Current {
    columns: Vec<ArrayRef>,
    /// Where the columns begin in the batch.
    start: usize,
    /// The rows that are still to come, as rows of the batch.
    rows: Range<usize>,
    /// Where something was written between its rows.
    keys: Option<Keys>,
    /// Which columns that leaves as they are, row by row; none where that is not known.
    untouched: Box<[bool]>,
}

/// What comes next.
pub(in crate::embedded) enum Step {
    /// These batches, none of them empty.
    Batches(Vec<RecordBatch>),
    /// What the rows of this span hold.
    Rows(ByteSpan),
    Done,
}

impl Piece {
    pub(in crate::embedded) fn new(segment: &Arc<Segment>, span: ByteSpan, predicate: Option<Predicate>) -> Self {
        let batch = segment.meta.batches.partition_point(|batch| batch.last < span.from);
        Self { segment: Arc::clone(segment), span, predicate, batch, taken: batch, changes: None, current: None }
    }

    /// Whether all of it that is asked for is in memory, in one batch, and nothing was written since: reading it then does
    /// not wait for anything.
    pub(in crate::embedded) fn is_at_hand(&self, columns: &ScanColumns) -> bool {
        let batch = self.segment.meta.batches.get(self.batch);
        batch.is_some_and(|batch| self.span.to <= batch.last)
            && self.segment.is_clean()
            && is_at_hand(&self.segment, self.batch, columns)
    }

    /// Whether it is known that nothing comes any more.
    pub(in crate::embedded) fn is_at_end(&self) -> bool {
        let next = self.segment.meta.batches.get(self.batch);
        self.current.is_none()
            && self.changes.as_ref().is_some_and(Changes::is_empty)
            && next.is_none_or(|next| self.span.to <= next.first)
    }

    pub(in crate::embedded) fn into_span(self) -> ByteSpan {
        self.span
    }

    /// Goes on. Batches have at most `batch_rows` rows; what is beyond `rows_left` in all is not asked for.
    /// `written` builds the rows that were written since, and is empty before and after.
    ///
    /// # Errors
    /// As [`tablegate_store::table::TableReader::scan`]'s stream.
    pub(in crate::embedded) fn step(
        &mut self,
        view: &View,
        engine: &Engine,
        written: &mut RowColumns,
        batch_rows: usize,
        rows_left: usize,
    ) -> Result<Step, StoreError> {
        if self.changes.is_none() {
            self.changes = Some(self.changes(view, engine, written)?);
        }
        loop {
            if self.current.is_none() {
                match self.begin_batch(engine, written)? {
                    Begun::Batch => {}
                    Begun::Rows(span) => return Ok(Step::Rows(span)),
                    Begun::NoBatch => return self.rest(engine, written, batch_rows.min(rows_left)),
                }
            }
            let Some(current) = &mut self.current else { continue };
            if current.keys.is_none() {
                let batches = current.cut_all(written.schema(), batch_rows, rows_left);
                self.end_batch();
                if !batches.is_empty() {
                    return Ok(Step::Batches(batches));
                }
                continue;
            }
            let merged = self.merge_all(engine, written, batch_rows, rows_left)?;
            if !merged.is_empty() {
                return Ok(Step::Batches(merged));
            }
        }
    }

    /// What was written into the span since.
    fn changes(&self, view: &View, engine: &Engine, asked: &RowColumns) -> Result<Changes, StoreError> {
        if self.segment.is_clean() {
            return Ok(Changes::Streamed(Delta::empty()));
        }
        let end = self.segment.meta.batches.partition_point(|batch| batch.first < self.span.to);
        if let Some(written) = Recent::of(&self.segment, end - self.batch, view, engine, asked) {
            return Ok(Changes::kept(written, &self.span));
        }
        Delta::new(view, engine, &self.span, self.segment.meta.number).map(Changes::Streamed)
    }

    /// Looks up what is to be read of the next batch.
    fn begin_batch(&mut self, engine: &Engine, written: &RowColumns) -> Result<Begun, StoreError> {
        let segment = Arc::clone(&self.segment);
        let changes = self.changes.as_mut().expect("made before the first batch is begun");
        let (meta, is_written) = loop {
            let Some(meta) = segment.meta.batches.get(self.batch).filter(|meta| meta.first < self.span.to) else {
                return Ok(Begun::NoBatch);
            };
            let is_written = changes.is_within(engine, meta)?;
            if self.predicate.as_ref().is_none_or(|predicate| prune::may_hold(&segment.meta, meta, predicate)) {
                break (meta, is_written);
            }
            // What was written between its rows comes with the next batch that is read, or at the end.
            self.batch += 1;
            if !is_written {
                self.taken = self.batch;
            }
        };
        // Where all columns are as they were, all rows are.
        let untouched: Option<Box<[bool]>> = changes.untouched(self.batch).map(Into::into);
        let is_as_before = untouched.as_ref().is_some_and(|columns| columns.iter().all(|untouched| *untouched));
        if is_as_before {
            changes.pass(self.batch);
        }
        let is_written = is_written && !is_as_before;
        let is_cut = meta.first < self.span.from || self.span.to <= meta.last;
        let keys = match is_written || is_cut {
            true => match Keys::of(&segment, self.batch) {
                None => return Ok(Begun::Rows(self.rows_instead(engine)?)),
                keys => keys,
            },
            false => None,
        };
        let rows = match &keys {
            Some(keys) => {
                let from = keys.at_end(0..meta.rows, &self.span.from);
                from..keys.at_end(from..meta.rows, &self.span.to)
            }
            None => 0..meta.rows,
        };
        let Some(columns) = assemble(&segment, self.batch, written.columns(), &rows) else {
            return Ok(Begun::Rows(self.rows_instead(engine)?));
        };
        let (keys, untouched) = (keys.filter(|_| is_written), untouched.unwrap_or_default());
        self.current = Some(Current { columns, start: rows.start, rows, keys, untouched });
        Ok(Begun::Batch)
    }

    fn end_batch(&mut self) {
        self.current = None;
        self.batch += 1;
        self.taken = self.batch;
    }

    /// The part of the span that ends with this batch and begins behind the last one that was done with: rows hold what was
    /// written there too.
    fn rows_instead(&mut self, engine: &Engine) -> Result<ByteSpan, StoreError> {
        let behind = |key: &Vec<u8>| [key.as_slice(), &[0]].concat();
        let batches = &self.segment.meta.batches;
        let before = self.taken.checked_sub(1).and_then(|index| batches.get(index));
        let from = before.map(|batch| behind(&batch.last)).unwrap_or_default().max(self.span.from.clone());
        let last = batches.get(self.batch).map(|batch| behind(&batch.last));
        let to = last.unwrap_or_else(|| self.span.to.clone()).min(self.span.to.clone());
        self.changes.as_mut().expect("made before the first batch is begun").skip_to(engine, &to)?;
        self.batch += 1;
        self.taken = self.batch;
        Ok(ByteSpan { from, to })
    }

    /// The rest of the batch, with the writes between its rows. All at once: the caller comes from another thread each
    /// time.
    fn merge_all(
        &mut self,
        engine: &Engine,
        written: &mut RowColumns,
        batch_rows: usize,
        mut rows_left: usize,
    ) -> Result<Vec<RecordBatch>, StoreError> {
        let mut merged = Vec::new();
        while self.current.is_some() && rows_left > 0 {
            if let Some(batch) = self.merge(engine, written, batch_rows.min(rows_left))? {
                rows_left -= batch.num_rows();
                merged.push(batch);
            }
        }
        Ok(merged)
    }

    /// The next rows of the batch with what was written between them; `None` when nothing of that is left.
    fn merge(
        &mut self,
        engine: &Engine,
        written: &mut RowColumns,
        most: usize,
    ) -> Result<Option<RecordBatch>, StoreError> {
        let (Some(current), Some(changes)) = (&mut self.current, &mut self.changes) else { return Ok(None) };
        let meta = &self.segment.meta.batches[self.batch];
        let keys = current.keys.as_ref().expect("something was written there");
        let mut runs = Runs::default();
        let mut is_at_end = false;
        let start = current.rows.start - current.start;
        while runs.rows < most && !written.is_full(most) {
            let is_last = !changes.is_within(engine, meta)?;
            let (at, is_there) = match is_last {
                true => (current.rows.end, false),
                false => changes.place(engine, self.batch, keys, current.rows.clone())?,
            };
            let taken = (at - current.rows.start).min(most - runs.rows);
            runs.take(Side::Segment, current.rows.start - current.start, taken);
            current.rows.start += taken;
            if current.rows.start < at || runs.rows == most {
                break;
            }
            if is_last {
                is_at_end = true;
                break;
            }
            // The new version stands for the one in the segment.
            current.rows.start += usize::from(is_there);
            if let Some(row) = changes.take(written)? {
                runs.take(Side::Written, row, 1);
            }
        }
        let batch = runs.assemble(current, start, changes.rows(written)?, written.schema())?;
        if is_at_end {
            self.end_batch();
        }
        Ok(batch)
    }

    /// What was written behind the last row of the segment.
    fn rest(&mut self, engine: &Engine, written: &mut RowColumns, most: usize) -> Result<Step, StoreError> {
        let Some(changes) = &mut self.changes else { return Ok(Step::Done) };
        let mut runs = Runs::default();
        while runs.rows < most && !written.is_full(most) && changes.has_next(engine)? {
            if let Some(row) = changes.take(written)? {
                runs.take(Side::Written, row, 1);
            }
        }
        // One run at most: all rows are of one side.
        let rows = changes.rows(written)?.zip(runs.list.first());
        let batch = rows.map(|(rows, (_, run))| {
            let rows = rows.slice(run.start, run.len());
            record_batch(rows.schema_ref(), rows.columns().to_vec(), rows.num_rows())
        });
        Ok(batch.map_or(Step::Done, |batch| Step::Batches(vec![batch])))
    }
}

enum Begun {
    Batch,
    Rows(ByteSpan),
    NoBatch,
}

impl Current {
    /// All that is left, in batches: no value is copied.
    fn cut_all(&mut self, schema: &SchemaRef, batch_rows: usize, rows_left: usize) -> Vec<RecordBatch> {
        let end = self.rows.end.min(self.rows.start.saturating_add(rows_left));
        let starts = (self.rows.start..end).step_by(batch_rows.max(1));
        let cut = |start: usize| {
            let rows = (end - start).min(batch_rows.max(1));
            let columns = self.columns.iter().map(|column| column.slice(start - self.start, rows)).collect();
            record_batch(schema, columns, rows)
        };
        starts.map(cut).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Segment,
    Written,
}

/// Which rows follow each other, from which side.
#[derive(Default)]
struct Runs {
    list: Vec<(Side, Range<usize>)>,
    rows: usize,
}

impl Runs {
    fn take(&mut self, side: Side, start: usize, rows: usize) {
        if rows == 0 {
            return;
        }
        self.rows += rows;
        match self.list.last_mut() {
            Some((last, range)) if *last == side && range.end == start => range.end += rows,
            _ => self.list.push((side, start..start + rows)),
        }
    }

    /// `start` is where the first row would be in the batch if nothing were written.
    fn assemble(
        &self,
        current: &Current,
        start: usize,
        written: Option<RecordBatch>,
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>, StoreError> {
        let columns = match (self.list.as_slice(), &written) {
            ([], _) => return Ok(None),
            ([(Side::Segment, rows)], _) => {
                current.columns.iter().map(|column| column.slice(rows.start, rows.len())).collect()
            }
            ([(Side::Written, rows)], Some(written)) => written.slice(rows.start, rows.len()).columns().to_vec(),
            (runs, _) => {
                let merge = |(index, column): (usize, &ArrayRef)| {
                    if current.untouched.get(index) == Some(&true) {
                        return Ok(column.slice(start, self.rows));
                    }
                    let written = written.as_ref().map(|written: &RecordBatch| written.column(index));
                    merged(column, written, runs, self.rows)
                };
                let columns = current.columns.iter().enumerate().map(merge).collect::<Result<_, ArrowError>>();
                // Both sides end long before their offsets do.
                columns.map_err(|error| StoreError::Unavailable(format!("rows were not merged: {error}")))?
            }
        };
        Ok(Some(record_batch(schema, columns, self.rows)))
    }
}

/// These runs of both sides, one behind the other: so many rows.
fn merged(
    segment: &ArrayRef,
    written: Option<&ArrayRef>,
    runs: &[(Side, Range<usize>)],
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    let source = |side: &Side| usize::from(*side == Side::Written);
    if let DataType::Dictionary(..) = segment.data_type() {
        // A dictionary has the texts of a whole batch: no more of them than occur are copied.
        let sources: Vec<&dyn Array> = [Some(segment), written].into_iter().flatten().map(AsRef::as_ref).collect();
        let places = runs.iter().flat_map(|(side, range)| range.clone().map(move |row| (source(side), row)));
        return interleave(&sources, &places.collect::<Vec<_>>());
    }
    let sources = [Some(segment.to_data()), written.map(|written| written.to_data())];
    let mut merged = MutableArrayData::new(sources.iter().flatten().collect(), false, rows);
    for (side, range) in runs {
        merged.try_extend(source(side), range.start, range.end)?;
    }
    Ok(make_array(merged.freeze()))
}

/// The same array over buffers of its own length, because queries reserve memory by the length of buffers.
fn record_batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let columns = columns.into_iter().map(own).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
    batch.expect("the columns were made for the schema, all of one length")
}

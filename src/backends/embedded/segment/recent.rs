//! What was written into a segment's span since it was made, kept as columns from one scan to the next.
//!
//! Reading the delta, finding the place of each of its rows in the segment and decoding it takes longer than everything
//! else a scan does. The result is valid until the span is written to again, so a scan of much of a segment keeps it
//! for the scans that follow.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::record_batch::RecordBatch;
use tablegate_store::table::{ScanColumns, StoreError};

use super::super::engine::Engine;
use super::super::key_bytes::ByteSpan;
use super::super::reader::View;
use super::super::rows::RowColumns;
use super::Segment;
use super::assemble::Keys;
use super::delta::{Delta, Entry};
use super::untouched::{Untouched, untouched};

/// More entries than these are read anew by each scan.
const MOST_ENTRIES: u64 = 1 << 16;
/// So are more bytes of rows.
const MOST_BYTES: usize = 32 << 20;
/// For so many different sets of columns they are kept: for those that were asked for last.
const MOST_SETS: usize = 4;
/// It is worth it for a scan of at least this part of a segment's batches.
const LEAST_PART: usize = 8;

/// What a segment keeps of its delta. Empty until it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    /// It is what is seen after this commit.
    commit: u64,
    entries: Arc<[Placed]>,
    sets: Vec<(ScanColumns, Decoded)>,
}

/// The entries as a set of columns shows them.
#[derive(Debug, Clone)]
pub(super) struct Decoded {
    /// The rows among them; `None` where all are deletions.
    pub(super) rows: Option<RecordBatch>,
    /// What they leave as it is, by batch.
    pub(super) untouched: Arc<[Untouched]>,
}

/// An entry of the delta and where it belongs.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) entry: Entry,
    /// The first batch that does not end before it; behind the last one where all do.
    pub(super) batch: usize,
    /// The first row of that batch that is not before it.
    pub(super) row: usize,
    /// Whether that row has its key.
    pub(super) is_there: bool,
    /// How many of the entries before it are rows, and not deletions.
    pub(super) rows_before: usize,
}

/// All that was written into a segment's span, as one moment sees it.
pub(super) struct Written {
    pub(super) entries: Arc<[Placed]>,
    pub(super) decoded: Decoded,
}

impl Recent {
    /// What was written into the span of the segment, for a scan of these batches of it; `None` where each scan is to read
    /// that itself. `asked` says what is asked for.
    pub(super) fn of(
        segment: &Segment,
        batches: usize,
        view: &View,
        engine: &Engine,
        asked: &RowColumns,
    ) -> Option<Written> {
        if batches * LEAST_PART < segment.meta.batches.len() || segment.dirty() > MOST_ENTRIES {
            return None;
        }
        let mut kept = segment.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is younger than one of both moments is not seen in both.
        let is_same = |kept: &Kept| segment.written_at() <= kept.commit.min(view.commit);
        if !kept.as_ref().is_some_and(is_same) {
            let entries = read(segment, view, engine).ok()??;
            *kept = Some(Kept { commit: view.commit, entries: entries.into(), sets: Vec::new() });
        }
        kept.as_mut()?.written(segment, asked)
    }

    /// For how many sets of columns something is kept.
    #[cfg(test)]
    pub(super) fn sets(&self) -> usize {
        self.0.lock().unwrap().as_ref().map_or(0, |kept| kept.sets.len())
    }
}

impl Kept {
    fn written(&mut self, segment: &Segment, asked: &RowColumns) -> Option<Written> {
        let known = self.sets.iter().position(|(columns, _)| columns == asked.columns());
        let set = match known {
            Some(place) => self.sets.remove(place),
            None => (asked.columns().clone(), decode(segment, &self.entries, asked).ok()??),
        };
        let decoded = set.1.clone();
        self.sets.truncate(MOST_SETS - 1);
        self.sets.insert(0, set);
        Some(Written { entries: Arc::clone(&self.entries), decoded })
    }
}

/// All entries that a view sees, with their places; `None` when there are too many, or a batch cannot be read.
fn read(segment: &Segment, view: &View, engine: &Engine) -> Result<Option<Vec<Placed>>, StoreError> {
    let meta = &segment.meta;
    let all = ByteSpan { from: meta.span.from.clone(), to: meta.span.to.clone() };
    let mut delta = Delta::new(view, engine, &all, meta.number)?;
    let (mut entries, mut bytes, mut rows_before) = (Vec::<Placed>::new(), 0, 0);
    let (mut batch, mut keys, mut row) = (0, None, 0);
    while delta.peek(engine)?.is_some() {
        let Some(entry) = delta.take() else { break };
        while meta.batches.get(batch).is_some_and(|batch| *batch.last < *entry.key) {
            (batch, keys, row) = (batch + 1, None, 0);
        }
        let mut is_there = false;
        if let Some(of_batch) = meta.batches.get(batch) {
            let Some(keys) = keys.take().or_else(|| Keys::of(segment, batch)).map(|found| &*keys.insert(found)) else {
                return Ok(None);
            };
            (row, is_there) = keys.at_key(row..of_batch.rows, entry.keys()?);
        }
        bytes += entry.row().map_or(0, <[u8]>::len);
        if entries.len() as u64 >= MOST_ENTRIES || bytes > MOST_BYTES {
            return Ok(None);
        }
        let is_row = entry.row().is_some();
        entries.push(Placed { entry, batch, row, is_there, rows_before });
        rows_before += usize::from(is_row);
    }
    Ok(Some(entries))
}

/// The entries as the columns that are asked for; `None` when they are too large for one batch.
fn decode(segment: &Segment, entries: &[Placed], asked: &RowColumns) -> Result<Option<Decoded>, StoreError> {
    let mut columns = asked.another(entries.len());
    for placed in entries {
        if let Some(row) = placed.entry.row() {
            if columns.is_full(usize::MAX) {
                return Ok(None);
            }
            columns.push(&placed.entry.key, row)?;
        }
    }
    let rows = columns.take()?;
    let untouched = rows.as_ref().map(|rows| untouched(segment, entries, rows, asked.columns()));
    Ok(Some(Decoded { rows, untouched: untouched.unwrap_or_default().into() }))
}

//! Which columns of a batch are as they were, whatever was written between its rows since.
//!
//! An UPDATE sets a column or two. Scans that ask for others get the segment's own buffers, as if nothing had been written.

use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::kernels::cmp::not_distinct;
use arrow::compute::take;
use arrow::record_batch::RecordBatch;
use tablegate_store::table::ScanColumns;

use super::Segment;
use super::assemble::assemble;
use super::recent::Placed;

/// What is known of a batch in which each row that was written stands for one that is there, and none was deleted.
#[derive(Debug)]
pub(super) struct Untouched {
    pub(super) batch: usize,
    /// Of each column that is asked for, whether the rows that were written have the values of those they stand for.
    pub(super) columns: Box<[bool]>,
}

/// The batches of which this can be said, in their order. `rows` are those among the entries.
pub(super) fn untouched(
    segment: &Segment,
    entries: &[Placed],
    rows: &RecordBatch,
    asked: &ScanColumns,
) -> Vec<Untouched> {
    let of_batch = |placed: &[Placed]| {
        let first = placed.first()?;
        if !placed.iter().all(|placed| placed.is_there && placed.entry.row().is_some()) {
            return None;
        }
        let all = 0..segment.meta.batches.get(first.batch)?.rows;
        let before = assemble(segment, first.batch, asked, &all)?;
        let places = UInt64Array::from_iter_values(placed.iter().map(|placed| placed.row as u64));
        let after = rows.slice(first.rows_before, placed.len());
        let columns = before.iter().zip(after.columns()).map(|(before, after)| is_same(before, &places, after));
        Some(Untouched { batch: first.batch, columns: columns.collect() })
    };
    entries.chunk_by(|a, b| a.batch == b.batch).filter_map(of_batch).collect()
}

/// Whether the values in these places are those. Types that do not compare are taken for changed.
fn is_same(before: &ArrayRef, places: &UInt64Array, after: &ArrayRef) -> bool {
    let before = take(before, places, None);
    let same = before.and_then(|before| not_distinct(&before, after));
    same.is_ok_and(|same| same.true_count() == after.len())
}

//! Where a scan of many rows is split, so that several threads share it: between batches of segments, and at samples of other rows.

use tablegate_store::model::EntityKey;
use tablegate_store::table::KeyRange;

use super::super::key_bytes::{self, ByteSpan};
use super::super::meta::TableMeta;

/// A part is worth it with so many times the rows that are few.
const PART_IS_MANY_TIMES_FEW: u64 = 16;

/// The keys at which all parts but the first begin. They are the same whenever the same view is asked, and the parts have
/// about as many rows each, as far as is known of those without a segment.
pub(in crate::embedded) fn split(table: &TableMeta, ranges: &[KeyRange], parts: usize) -> Vec<EntityKey> {
    let spans: Vec<ByteSpan> = ranges.iter().flat_map(|range| long_spans(table.number, range)).collect();
    let is_read = |run: &Run<'_>| {
        let next = spans.partition_point(|span| span.to.as_slice() <= run.first);
        spans.get(next).is_some_and(|span| span.from.as_slice() <= run.last)
    };
    let segments = &table.segments;
    let mut runs: Vec<Run<'_>> = batches_of(table).chain(sampled_of(table)).filter(is_read).collect();
    runs.sort_by_key(|run| run.first);
    let rows: u64 = runs.iter().map(|run| run.rows).sum();
    let worth = rows / (segments.few_rows as u64 * PART_IS_MANY_TIMES_FEW).max(1);
    let parts = worth.min(parts as u64);
    let (mut keys, mut before) = (Vec::new(), 0);
    for run in runs {
        let begun = keys.len() as u64 + 1;
        if begun < parts && before > 0 && before >= begun * rows / parts {
            // If the bytes are not those of a key, the scan is not split here; the part before takes these rows.
            let key = key_bytes::parse(run.first);
            keys.extend(key.and_then(|(partition, row)| EntityKey::parse(partition, row).ok()));
        }
        before += run.rows;
    }
    keys
}

/// Rows that follow each other, about so many: a scan is split before them.
struct Run<'a> {
    first: &'a [u8],
    last: &'a [u8],
    rows: u64,
}

fn batches_of(table: &TableMeta) -> impl Iterator<Item = Run<'_>> {
    let batches = table.segments.list().iter().flat_map(|segment| &segment.meta.batches);
    batches.map(|batch| Run { first: &batch.first, last: &batch.last, rows: batch.rows as u64 })
}

/// Rows without a segment, as many for each sample of them.
fn sampled_of(table: &TableMeta) -> impl Iterator<Item = Run<'_>> {
    let samples: Vec<&[u8]> = table.samples.keys().filter(|key| table.segments.find(key).is_none()).collect();
    let entities = table.size.get().map_or(0, |size| size.entities);
    let rows = entities.saturating_sub(table.segments.rows()) / (samples.len() as u64).max(1);
    samples.into_iter().map(move |key| Run { first: key, last: key, rows })
}

/// The spans that a scan reads from end to end; points, and rows that are looked for in many partitions, are few.
fn long_spans(table: u32, range: &KeyRange) -> Vec<ByteSpan> {
    if range.has_all_rows() {
        return vec![key_bytes::of_partitions(table, &range.partitions)];
    }
    let Some(partition) = range.partitions.as_point() else { return Vec::new() };
    let long = range.rows.iter().filter(|rows| rows.as_point().is_none());
    long.map(|rows| key_bytes::of_rows(table, partition, rows)).collect()
}

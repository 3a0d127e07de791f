//! Where a scan of many rows is split, so that several threads share it: between batches of segments.

use tablegate_store::model::EntityKey;
use tablegate_store::table::KeyRange;

use super::super::key_bytes::{self, ByteSpan};
use super::super::meta::TableMeta;
use super::manifest::BatchMeta;

/// A part is worth it with so many times the rows that are few.
const PART_IS_MANY_TIMES_FEW: u64 = 16;

/// The keys at which all parts but the first begin. They are the same whenever the same view is asked, and the parts have
/// about as many rows each, those without a segment aside.
pub(in crate::embedded) fn split(table: &TableMeta, ranges: &[KeyRange], parts: usize) -> Vec<EntityKey> {
    let spans: Vec<ByteSpan> = ranges.iter().flat_map(|range| long_spans(table.number, range)).collect();
    let is_read = |batch: &&BatchMeta| {
        let next = spans.partition_point(|span| span.to <= batch.first);
        spans.get(next).is_some_and(|span| span.from <= batch.last)
    };
    let segments = &table.segments;
    let batches: Vec<_> = segments.list().iter().flat_map(|segment| &segment.meta.batches).filter(is_read).collect();
    let rows: u64 = batches.iter().map(|batch| batch.rows as u64).sum();
    let worth = rows / (segments.few_rows as u64 * PART_IS_MANY_TIMES_FEW).max(1);
    let parts = worth.min(parts as u64);
    let (mut keys, mut before) = (Vec::new(), 0);
    for batch in batches {
        let begun = keys.len() as u64 + 1;
        if begun < parts && before > 0 && before >= begun * rows / parts {
            // If the bytes are not those of a key, the scan is not split here; the part before takes these rows.
            let key = key_bytes::parse(&batch.first);
            keys.extend(key.and_then(|(partition, row)| EntityKey::parse(partition, row).ok()));
        }
        before += batch.rows as u64;
    }
    keys
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

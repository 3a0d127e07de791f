//! How long a table's partitions are: whether looking for a few rows in each of them is worth it.

use tablegate_store::model::Span;
use tablegate_store::table::{KeyRange, StoreError};

use super::analyze::damaged_key;
use super::key_bytes::{self, ByteSpan};
use super::meta::TableMeta;
use super::reader::View;
use super::segment::split::split;

/// Places in the table at which rows are looked at: its beginning, and where it is split in as many parts.
const PLACES: usize = 3;

/// How many rows partitions have on average, where a few rows are looked at; `most` where a partition has as many or more. `None` of
/// an empty table.
///
/// # Errors
/// [`StoreError::Unavailable`].
pub(super) fn rows_of_a_partition(view: &View, table: &TableMeta, most: usize) -> Result<Option<usize>, StoreError> {
    let engine = view.engine()?;
    let all = key_bytes::of_partitions(table.number, &Span::ALL);
    let parts = split(table, &[KeyRange::all()], PLACES);
    let inside = parts.iter().map(|key| key_bytes::of_entity(table.number, key));
    let (mut rows, mut partitions) = (0, 0);
    for from in std::iter::once(all.from.clone()).chain(inside) {
        let span = ByteSpan { from, to: all.to.clone() };
        let mut last: Option<String> = None;
        for row in view.range(&engine, &span)?.take(most) {
            let key = engine.guarded(|| row.key())?;
            let (partition, _) = key_bytes::parse(&key).ok_or_else(|| damaged_key(table, &key))?;
            rows += 1;
            if last.as_deref() != Some(partition) {
                partitions += 1;
                last = Some(partition.to_owned());
            }
        }
        // One partition, as far as was looked.
        if rows == partitions * most {
            break;
        }
    }
    Ok((partitions > 0).then(|| rows / partitions))
}

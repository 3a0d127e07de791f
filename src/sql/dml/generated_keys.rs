//! Keys of rows whose table has none: RowKeys in the order of insertion.
//!
//! They are UUIDs of version 7, which begin with the time and a counter. Those of one batch are counted on from the first:
//! its last 32 bits are random, and the highest of them is cleared, so that counting never reaches what tells batches
//! apart. So a batch asks once for random numbers, and keys ascend within a batch and from batch to batch.

use tablegate_store::model::{EntityKey, EntityKeys};
use tablegate_types::error::SqlResult;
use uuid::Uuid;

/// Bits of the first RowKey that are cleared, to leave room for the others.
const ROOM: u128 = 1 << 31;
/// Most RowKeys that are counted on from one.
const BATCH_MAX: usize = 1 << 31;

/// The keys of new rows in this partition.
///
/// # Errors
/// 22023 for a partition that is no PartitionKey.
pub(crate) fn generated_keys(partition: &str, rows: usize) -> SqlResult<EntityKeys> {
    let mut keys = EntityKeys::with_capacity(rows);
    let (mut next, mut text) = (0, Uuid::encode_buffer());
    for row in 0..rows {
        next = if row % BATCH_MAX == 0 { first() } else { next + 1 };
        keys.push(partition, Uuid::from_u128(next).simple().encode_lower(&mut text))?;
    }
    Ok(keys)
}

/// The key of one new row.
///
/// # Errors
/// As [`generated_keys`].
pub(super) fn generated_key(partition: &str) -> SqlResult<EntityKey> {
    Ok(EntityKey::parse(partition, Uuid::from_u128(first()).simple().encode_lower(&mut Uuid::encode_buffer()))?)
}

fn first() -> u128 {
    Uuid::now_v7().as_u128() & !ROOM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_within_a_batch_and_from_batch_to_batch() {
        let mut last = String::new();
        for batch in 0..200 {
            let keys = generated_keys("p", 1 + batch % 3 * 500).unwrap();
            for (partition, row) in keys.pairs() {
                assert!(partition == "p" && row > last.as_str(), "{row} follows {last}");
                let uuid = Uuid::parse_str(row).unwrap();
                assert_eq!((uuid.get_version_num(), uuid.get_variant()), (7, uuid::Variant::RFC4122));
                last = row.to_owned();
            }
            let one = generated_key("p").unwrap();
            assert!(one.row.as_str() > last.as_str());
            last = one.row.as_str().to_owned();
        }
    }
}

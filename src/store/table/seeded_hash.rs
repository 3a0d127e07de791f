//! Hashes of entities' keys and of texts, for tables that live no longer than the process.

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh64::xxh64;

use crate::model::EntityKey;

/// A hash function with a random seed, so that clients cannot choose keys that collide.
#[derive(Debug, Clone, Copy)]
pub struct SeededHash {
    seed: u64,
}

impl Default for SeededHash {
    fn default() -> Self {
        Self { seed: RandomState::new().hash_one(0) }
    }
}

impl SeededHash {
    pub fn of(self, key: &EntityKey) -> u64 {
        self.of_pair(key.as_pair())
    }

    /// As [`SeededHash::of`], of PartitionKey and RowKey.
    pub fn of_pair(self, (partition, row): (&str, &str)) -> u64 {
        xxh64(row.as_bytes(), xxh64(partition.as_bytes(), self.seed))
    }

    /// The hash of a text that is not an entity key.
    pub fn of_bytes(self, bytes: &[u8]) -> u64 {
        xxh64(bytes, self.seed)
    }
}

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
        xxh64(key.row.as_str().as_bytes(), xxh64(key.partition.as_str().as_bytes(), self.seed))
    }

    /// The hash of a text that is not an entity key.
    pub fn of_bytes(self, bytes: &[u8]) -> u64 {
        xxh64(bytes, self.seed)
    }
}

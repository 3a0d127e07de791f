//! The `$batch` body of an entity group transaction: its exact length, computed the same way for every store.

use super::Operation;
use crate::model::TableName;

/// Bytes around the operations: opening and closing boundaries.
pub const ENVELOPE_BYTES: usize = 256;

/// Bytes one operation adds to the body.
pub fn operation_bytes(_table: &TableName, operation: &Operation) -> usize {
    operation.entity().map_or(512, |entity| 512 + entity.stored_size())
}

//! What every store's commit needs: rising Timestamps, and the rule of groups that no key occurs twice.

use std::collections::HashSet;

use super::{Batch, GroupError};
use crate::model::{Clock, EdmDateTime};

/// Gives out Timestamps, each later than all before it even where the clock stands still or goes back.
pub struct Stamps<'a> {
    pub clock: &'a dyn Clock,
    pub last: EdmDateTime,
}

impl Stamps<'_> {
    /// The Timestamp of the next entity that is written.
    pub fn next_timestamp(&mut self) -> EdmDateTime {
        self.last = self.clock.now().max(self.last.next_tick());
        self.last
    }

    /// The Timestamp of one more entity of the same moment: the clock is not asked again.
    pub fn following(&mut self) -> EdmDateTime {
        self.last = self.last.next_tick();
        self.last
    }
}

/// # Errors
/// [`GroupError::DuplicateKey`] when two batches hold the same key of the same table.
pub fn check_disjoint(batches: &[Batch]) -> Result<(), GroupError> {
    let mut seen = HashSet::new();
    for batch in batches {
        for operation in batch.operations() {
            if !seen.insert((batch.table(), operation.key())) {
                return Err(GroupError::DuplicateKey { table: batch.table().clone(), key: operation.key().clone() });
            }
        }
    }
    Ok(())
}

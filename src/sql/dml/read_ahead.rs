//! Rows that a statement looks at one after the other, read before it comes to them, many at a time: where each takes a request.

use std::collections::HashMap;

use futures::TryStreamExt;
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_types::error::SqlResult;

use super::writes::Writes;

/// So many rows are read ahead: they are in memory together.
pub(super) const ROWS_AHEAD: usize = 64;

/// What was read ahead. Where it is outdated by the time that it is written, its version says so.
#[derive(Debug, Default)]
pub(super) struct ReadAhead(HashMap<EntityKey, Option<StoredEntity>>);

impl ReadAhead {
    /// What was there under a key, if that was read.
    pub(super) fn get(&self, key: &EntityKey) -> Option<Option<StoredEntity>> {
        self.0.get(key).cloned()
    }
}

impl Writes<'_> {
    /// Whether rows are read ahead: not where locks bind everybody. There a row is looked at when it is locked, and that takes no
    /// request.
    pub(super) fn reads_ahead(&self) -> bool {
        self.claims().is_none()
    }

    /// Reads the rows that are looked at next, [`ROWS_AHEAD`] at most.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn read_ahead(&mut self, keys: impl Iterator<Item = EntityKey>) -> SqlResult<()> {
        if !self.reads_ahead() {
            return Ok(());
        }
        let keys: Vec<EntityKey> = keys.collect();
        let read: Vec<_> = self.reads.get_each(&self.relation.stored, &keys).try_collect().await?;
        self.ahead = ReadAhead(keys.into_iter().zip(read).collect());
        Ok(())
    }

    /// The same of a row that was read in another way.
    pub(super) fn has_read(&mut self, stored: &StoredEntity) {
        if self.reads_ahead() {
            self.ahead = ReadAhead([(stored.entity.key.clone(), Some(stored.clone()))].into());
        }
    }
}

//! Rows that a statement looks at one after the other, read before it comes to them, many at a time: where each takes a request.

use std::collections::HashMap;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_types::error::SqlResult;

use super::writes::Writes;

/// So many rows are read ahead: they are in memory together.
pub(super) const ROWS_AHEAD: usize = 64;
/// So many of them are asked for at the same time.
const AT_ONCE: usize = 16;

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
    /// Reads the rows that are looked at next, [`ROWS_AHEAD`] at most; nothing where locks bind everybody: there a row is looked at
    /// when it is locked, and that takes no request.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn read_ahead(&mut self, keys: impl Iterator<Item = EntityKey>) -> SqlResult<()> {
        if self.claims().is_some() {
            return Ok(());
        }
        let (reads, table) = (&self.reads, &self.relation.stored);
        let read = |key: EntityKey| async move { Ok((key.clone(), reads.get(table, &key).await?)) }.boxed();
        let requests: Vec<BoxFuture<'_, SqlResult<_>>> = keys.map(read).collect();
        self.ahead = ReadAhead(stream::iter(requests).buffer_unordered(AT_ONCE).try_collect().await?);
        Ok(())
    }

    /// The same of a row that was read in another way.
    pub(super) fn has_read(&mut self, stored: &StoredEntity) {
        if self.claims().is_none() {
            self.ahead = ReadAhead([(stored.entity.key.clone(), Some(stored.clone()))].into());
        }
    }
}

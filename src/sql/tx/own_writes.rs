//! A transaction's writes to one table, as its own reads see them.

use std::sync::Arc;

use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_store::table::{Direction, KeyRange, ObservedSchema};
use tablegate_types::error::SqlResult;

use super::layers::{Entries, Moment};
use super::net_write::NetWrite;

/// The writes to one table as they were when a statement began: shared with the transaction, not copied.
#[derive(Debug, Clone)]
pub(crate) struct OwnWrites {
    writes: Moment<Arc<NetWrite>>,
    observed: Arc<ObservedSchema>,
}

/// Written entities and what was done to them.
pub(crate) type OwnEntries = Entries<Arc<NetWrite>>;

impl OwnWrites {
    pub(super) fn new(writes: Moment<Arc<NetWrite>>, observed: Arc<ObservedSchema>) -> Self {
        Self { writes, observed }
    }

    /// What they show of an open table's properties: undeclared columns have these types too.
    pub(crate) fn observed(&self) -> &Arc<ObservedSchema> {
        &self.observed
    }

    /// The entity as the transaction left it: `None` when it did not touch it, `Some(None)` when it deleted it.
    ///
    /// # Errors
    /// When what was collected cannot be read back.
    pub(crate) fn get(&self, key: &EntityKey) -> SqlResult<Option<Option<StoredEntity>>> {
        self.writes.get(key).map(|write| write.image(key)).transpose()
    }

    /// Whether the transaction has written or deleted the entity.
    pub(crate) fn has(&self, key: &EntityKey) -> bool {
        self.writes.get(key).is_some()
    }

    /// At least as many as there are written entities in the ranges; none where there are none.
    pub(crate) fn count_at_most(&self, ranges: &[KeyRange]) -> usize {
        self.writes.count_at_most(ranges)
    }

    /// The written entities in ranges that are ascending and disjoint by partition, in the order of a scan.
    pub(crate) fn range(&self, ranges: &[KeyRange], direction: Direction) -> OwnEntries {
        self.writes.range(ranges, direction)
    }
}

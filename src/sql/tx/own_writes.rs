//! A transaction's writes to one table, as its own reads see them.

use std::sync::{Arc, OnceLock};

use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_store::table::{Direction, KeyRange, ObservedSchema};
use tablegate_types::error::SqlResult;

use super::column_writes::ColumnWrites;
use super::layers::{Entries, Moment};
use super::net_write::NetWrite;

/// The writes to one table as they were when a statement began: shared with the transaction, not copied.
#[derive(Debug, Clone)]
pub(crate) struct OwnWrites {
    writes: Moment<Arc<NetWrite>>,
    /// What was written as columns.
    columns: ColumnWrites,
    /// Both together, once somebody has asked.
    all: OnceLock<Moment<Arc<NetWrite>>>,
    observed: Arc<ObservedSchema>,
}

/// Written entities and what was done to them.
pub(crate) type OwnEntries = Entries<Arc<NetWrite>>;

impl OwnWrites {
    pub(super) fn new(writes: Moment<Arc<NetWrite>>, columns: ColumnWrites, observed: Arc<ObservedSchema>) -> Self {
        Self { writes, columns, all: OnceLock::new(), observed }
    }

    fn all(&self) -> &Moment<Arc<NetWrite>> {
        match self.columns.is_empty() {
            true => &self.writes,
            false => self.all.get_or_init(|| self.columns.below(self.writes.clone())),
        }
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
        self.all().get(key).map(|write| write.image(key)).transpose()
    }

    /// Whether the transaction has written or deleted the entity.
    pub(crate) fn has(&self, key: &EntityKey) -> bool {
        self.all().get(key).is_some()
    }

    /// At least as many as there are written entities in the ranges; none where there are none.
    pub(crate) fn count_at_most(&self, ranges: &[KeyRange]) -> usize {
        self.all().count_at_most(ranges)
    }

    /// The written entities in ranges that are ascending and disjoint by partition, in the order of a scan.
    pub(crate) fn range(&self, ranges: &[KeyRange], direction: Direction) -> OwnEntries {
        self.all().range(ranges, direction)
    }
}

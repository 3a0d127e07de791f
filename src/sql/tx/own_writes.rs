//! A transaction's writes to one table, as its own reads see them.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_store::table::{Direction, KeyRange, ObservedSchema};
use tablegate_types::error::SqlResult;

use super::column_entries::ColumnEntries;
use super::column_writes::ColumnWrites;
use super::layers::Moment;
use super::net_write::NetWrite;
use super::own_entries::OwnEntries;

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

/// Whoever wants more ranges than so many is given rows, which are found by few comparisons each, be it that they are made for that.
const MOST_RANGES_OF_COLUMNS: usize = 64;

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
        self.written(key).map(|write| write.image(key)).transpose()
    }

    /// Whether the transaction has written or deleted the entity.
    pub(crate) fn has(&self, key: &EntityKey) -> bool {
        self.written(key).is_some()
    }

    fn written(&self, key: &EntityKey) -> Option<Arc<NetWrite>> {
        self.writes.get(key).cloned().or_else(|| self.columns.get(key))
    }

    /// At least as many as there are written entities in the ranges; none where there are none.
    pub(crate) fn count_at_most(&self, ranges: &[KeyRange]) -> usize {
        match self.are_read_as_columns(ranges) {
            true => self.writes.count_at_most(ranges) + self.columns.count_at_most(ranges),
            false => self.all().count_at_most(ranges),
        }
    }

    /// The written entities in ranges that are ascending and disjoint by partition, in the order of a scan.
    pub(crate) fn range(&self, ranges: &[KeyRange], direction: Direction) -> OwnEntries {
        let (rows, windows) = match self.are_read_as_columns(ranges) {
            true => (&self.writes, Arc::clone(self.columns.windows())),
            false => (self.all(), Arc::default()),
        };
        OwnEntries::new(rows.range(ranges, direction), ColumnEntries::new(windows, ranges, direction), direction)
    }

    fn are_read_as_columns(&self, ranges: &[KeyRange]) -> bool {
        ranges.len() <= MOST_RANGES_OF_COLUMNS && self.all.get().is_none()
    }

    /// The names of all properties that entities may have been given.
    ///
    /// # Errors
    /// When what was collected cannot be read back.
    pub(crate) fn properties(&self) -> SqlResult<HashSet<String>> {
        let of_columns = self.columns.windows().iter().flat_map(|window| window.entities().columns());
        let mut names: HashSet<String> = of_columns.map(|(name, _)| name.as_str().to_owned()).collect();
        for (key, write) in self.writes.iter() {
            let image = write.image(&key)?;
            let written = image.iter().flat_map(|image| image.entity.properties.iter());
            names.extend(written.map(|(name, _)| name.as_str().to_owned()));
        }
        Ok(names)
    }
}

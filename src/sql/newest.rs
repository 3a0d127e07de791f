//! Rows that had changed before a statement locked them, as they are now: what it looks at again.
//!
//! In READ COMMITTED a statement reads one snapshot, and a row may have changed between that and its lock. PostgreSQL
//! then evaluates the statement once more for the newest version of that row alone (EvalPlanQual). Here the statement's
//! plan runs once more, with such rows in the place of the table that they were found in; the scans of that table know
//! that they are meant by its number. Everything else is read as the statement's snapshot has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_store::model::StoredEntity;
use tablegate_store::table::{Direction, KeyRange};

use crate::tx::{Entries, Layers};

/// A table of a statement that locks rows of it, by its number in the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TargetNumber(pub usize);

impl TargetNumber {
    /// The one table that a change locks rows of.
    pub(crate) const OF_CHANGE: Self = Self(0);
}

/// The rows that a statement looks at again, of each of its tables that it locks rows of.
#[derive(Debug, Default)]
pub(crate) struct NewestRows {
    tables: BTreeMap<TargetNumber, Layers<Arc<StoredEntity>>>,
}

/// Rows of a table that is looked at again.
pub(crate) type NewestEntries = Entries<Arc<StoredEntity>>;

impl NewestRows {
    /// These rows of a table.
    pub(crate) fn of_table(table: TargetNumber, rows: impl IntoIterator<Item = StoredEntity>) -> Self {
        let mut newest = Self::default();
        rows.into_iter().for_each(|row| newest.add(table, Arc::new(row)));
        newest
    }

    pub(crate) fn add(&mut self, table: TargetNumber, row: Arc<StoredEntity>) {
        self.tables.entry(table).or_default().insert(row.entity.key.clone(), row);
    }

    /// The rows of a table in ranges that are ascending and disjoint by partition, in the order of a scan. None of a table
    /// of which no row was given.
    pub(crate) fn range(&self, table: TargetNumber, ranges: &[KeyRange], direction: Direction) -> NewestEntries {
        self.tables.get(&table).map(Layers::moment).unwrap_or_default().range(ranges, direction)
    }
}

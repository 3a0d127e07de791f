//! Emptying a table at once: it gets a number that no rows are under.

use std::sync::Arc;

use tablegate_store::model::TableName;
use tablegate_store::table::{StoreError, TableSize};

use super::apply::find;
use super::commit::Committer;

impl Committer {
    /// Removes all rows of a table, if none was written behind this commit: how many they were, as they are counted.
    pub(super) fn clear(&mut self, name: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        self.check_usable()?;
        let table = Arc::clone(find(&self.live.tables, name)?);
        if table.changed() > unchanged_since {
            return Ok(None);
        }
        let rows = table.size.get().map_or(0, |size| size.entities);
        let mut live = self.live.next();
        let empty = table.renumbered(live.take_number(name, &self.engine)?);
        self.replace(&table, empty, TableSize::default(), live, self.engine.batch())?;
        Ok(Some(rows))
    }
}

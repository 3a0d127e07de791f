//! Emptying a table at once: it gets a number that no rows are under.

use tablegate_store::model::TableName;
use tablegate_store::table::{Emptied, StoreError};

use super::apply::find;
use super::commit::Committer;

impl Committer {
    /// Removes all rows of a table, if none was written behind this commit: how many they were, as they are counted.
    pub(super) fn clear(&mut self, name: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        self.check_usable()?;
        let rows = find(&self.live.tables, name)?.size.get().map_or(0, |size| size.entities);
        let Some(emptied) = self.emptied(&[Emptied { table: name.clone(), unchanged_since }])? else { return Ok(None) };
        let checked = self.begin_on(&emptied.live, &emptied.before, 0).finish();
        self.write(checked)?;
        emptied.condemn_segments();
        Ok(Some(rows))
    }
}

//! Large writes into the spans of segments.
//!
//! Once a good part of a segment's rows was written since it was made, scans read the rows, and it is made anew. What is noted in the
//! delta until then is written for nothing, and is as much as the rows themselves. The worker that looks after segments sees it
//! once a second, when a statement has written hundreds of thousands of rows; so the commit thread looks before each window.

use tablegate_store::model::TableName;
use tablegate_store::table::StoreError;

use super::commit::Committer;
use super::encoded_keys::EncodedKeys;
use super::segment::install::GivingUp;

impl Committer {
    /// Gives up the segments of a table that are overwritten once the rows of these windows are written.
    ///
    /// # Errors
    /// What writing that down meets.
    pub(super) fn give_up_outdated(&mut self, table: &TableName, windows: &[&EncodedKeys]) -> Result<(), StoreError> {
        let Some(meta) = self.live.tables.get(table) else { return Ok(()) };
        for segment in meta.segments.outdated_by(windows) {
            self.give_up_segment(&GivingUp { table: table.clone(), segment })?;
        }
        Ok(())
    }
}

//! What a block writes to a table that is empty, written ahead of its commit.
//!
//! The columns are kept all the same: the block reads them, may change them, and may go back to before them. If at the commit they
//! still are all that it writes to the table, and nobody else has written to it, the rows only have to be made the table's
//! ([`tablegate_store::table::StagedRows::seal`]); else the columns are committed as if nothing had been written ahead.

use std::sync::Arc;

use tablegate_store::model::TableName;
use tablegate_store::table::{EntityWindow, NewEntities, SealedRows, StagedRows, StoreError, TableStore};

use super::ahead::Ahead;
use super::column_writes::ColumnWrites;

/// Nothing is written ahead of fewer windows: they are as soon written at the commit.
const LEAST_WINDOWS: usize = 2;

/// The windows of one table that are written ahead, if any are.
#[derive(Debug, Default)]
pub(super) struct AheadOfCommit(Option<Begun>);

struct Begun {
    ahead: Ahead,
    /// So many of the table's windows were handed over.
    windows: usize,
}

impl AheadOfCommit {
    /// The last window of `columns`, which are all that is written to the table, has just come, and has new rows.
    pub(super) async fn push(&mut self, store: &Arc<dyn TableStore>, table: &TableName, columns: &ColumnWrites) {
        let windows = columns.windows();
        let goes_on = match &self.0 {
            Some(begun) => begun.windows + 1 == windows.len(),
            None => windows.len() == LEAST_WINDOWS && columns.are_new(),
        };
        if !goes_on {
            // What came between was not handed over.
            self.0 = None;
            return;
        }
        let begin = || Begun { ahead: Ahead::begin(Arc::clone(store), table.clone()), windows: 0 };
        let begun = self.0.get_or_insert_with(begin);
        for new in windows[begun.windows..].iter().filter_map(|window| window.entities().as_new()) {
            begun.push(new.clone()).await;
        }
    }

    /// Whether all of the columns are written ahead, or will be.
    pub(super) fn has_all(&self, columns: &ColumnWrites) -> bool {
        self.0.as_ref().is_some_and(|begun| begun.windows == columns.windows().len() && begun.ahead.goes_on())
    }

    /// The rows of these windows, which are all that was written ahead, to be kept until a group has made them the table's; `None` where they could not be, or the
    /// table is not empty.
    pub(super) async fn finish(
        self,
        table: &TableName,
        windows: &[EntityWindow],
    ) -> Option<(Box<dyn StagedRows>, SealedRows)> {
        let Begun { ahead, .. } = self.0?;
        let log = |error: &StoreError| tracing::debug!(%error, "rows are not written ahead");
        let written = ahead.finish().await.inspect_err(log).ok().flatten()?;
        let number = written.seal().await.inspect_err(log).ok()?;
        let add = |(egts, rows), window: &EntityWindow| (egts + window.transactions(), rows + window.len());
        let extent = windows.iter().fold((0, 0), add);
        Some((written, SealedRows { table: table.clone(), number, extent }))
    }
}

impl Begun {
    async fn push(&mut self, new: NewEntities) {
        self.windows += 1;
        self.ahead.push(new).await;
    }
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Begun").field("windows", &self.windows).finish_non_exhaustive()
    }
}

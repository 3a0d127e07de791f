//! What becomes of temporary tables: ON COMMIT, DISCARD TEMP.
//!
//! They end with their session by themselves: only the session's state refers to their stored tables
//! (`catalog/scratch`).

use std::sync::Arc;

use tablegate_types::error::SqlResult;

use super::{Position, Session};
use crate::catalog::{CatalogView, StagedCatalog};
use crate::syntax::OnCommit;
use crate::tx::{Collected, WriteSet};
use crate::views::{self, Needed};

impl Session {
    /// A transaction is about to commit: does what ON COMMIT says of its temporary tables.
    pub(super) async fn end_temporary(&mut self, collected: &mut Collected) -> SqlResult<()> {
        if self.own.is_empty() && !collected.catalog.has_temporary() {
            return Ok(());
        }
        let (_, catalog) = self.engine.catalog().view(&collected.catalog, &self.own);
        let Collected { writes, catalog: staged, .. } = collected;
        for table in catalog.declarations().filter(|table| table.place.is_temporary()) {
            let stored = table.relation()?.stored;
            match table.on_commit {
                OnCommit::PreserveRows => {}
                OnCommit::Drop => drop_table(&catalog, table.oid, staged, writes)?,
                OnCommit::DeleteRows => {
                    writes.forget(&stored);
                    // Rows get past the collected writes only where a statement fills a stored table that it has made.
                    if staged.has_made(&stored) {
                        let mut emptied = table.clone();
                        staged.keep(self.engine.catalog().make_next(&mut emptied).await?);
                        staged.put(emptied)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// DISCARD TEMP: drops all temporary tables, sequences and views.
    pub(super) async fn discard_temporary(&mut self, position: Position) -> SqlResult<()> {
        let catalog = self.reads().catalog.clone();
        let stored: Vec<_> = {
            let own = catalog.declarations().filter(|table| table.place.is_temporary());
            own.map(|table| Ok(table.relation()?.stored)).collect::<SqlResult<_>>()?
        };
        stored.iter().for_each(|stored| self.transaction.writes_mut().forget(stored));
        let staged = self.transaction.catalog_mut();
        for table in catalog.declarations().filter(|table| table.place.is_temporary()) {
            staged.remove(table.placed_name());
        }
        for sequence in catalog.sequences().filter(|sequence| sequence.place.is_temporary()) {
            staged.remove_sequence(sequence.placed_name());
        }
        for view in catalog.views().filter(|view| view.place.is_temporary()) {
            staged.remove_view(view.placed_name());
        }
        self.settle(position).await
    }
}

/// Drops a table with its sequences, and the views that read it.
fn drop_table(catalog: &CatalogView, oid: u32, staged: &mut StagedCatalog, writes: &mut WriteSet) -> SqlResult<()> {
    let Some(table) = catalog.declarations().find(|table| table.oid == oid) else { return Ok(()) };
    writes.forget(&table.relation()?.stored);
    staged.remove(table.placed_name());
    for sequence in catalog.sequences_of(oid).map(Arc::as_ref) {
        staged.remove_sequence(sequence.placed_name());
    }
    for dependent in views::dependents_of(catalog, &[Needed::table(oid, &table.name)]) {
        staged.remove_view(dependent.view.placed_name());
    }
    Ok(())
}

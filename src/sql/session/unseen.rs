//! Writing to tables that the open transaction has made: nobody else sees them before COMMIT.
//!
//! So no rule of entity group transactions is asked of their rows, and there may be as many as there are. Large statements
//! write them at once; those of small ones are collected, and written when they have become many or the transaction
//! commits. What is written goes with the stored table, which is dropped unless the transaction commits, be it by the next
//! start of the server. Where a savepoint came after the table, rows are collected only: going back to it must not find
//! them written.

use std::sync::Arc;

use tablegate_types::error::SqlResult;

use super::Session;
use super::change::Unit;
use super::commit::write_all;
use crate::dml::PreparedDml;
use crate::place::StoredTable;
use crate::progress::Report;
use crate::relation::Relation;
use crate::tx::{EgtWriter, WriteSet};

/// So many collected operations are written before the next statement.
const COLLECTED_MAX: usize = 5_000;

impl Session {
    /// Whether rows of this table may be written while the transaction goes on: its statements read what was written last,
    /// of such a table also where they read one snapshot of all others.
    pub(super) fn may_write_at_once(&self, relation: &Relation) -> bool {
        self.transaction.may_write_at_once(&relation.stored)
    }

    /// Writes what was collected for tables that nobody else sees, where the statement needs it or it is much.
    pub(super) async fn make_room(&mut self, dml: &PreparedDml, unit: Unit) -> SqlResult<()> {
        if unit == Unit::Unseen {
            self.write_collected(&dml.relation().stored.clone()).await?;
        }
        if self.transaction.writes().unseen_operations() < COLLECTED_MAX {
            return Ok(());
        }
        for table in self.transaction.writes().unseen_tables() {
            if self.transaction.may_write_at_once(&table) {
                self.write_collected(&table).await?;
            }
        }
        Ok(())
    }

    /// Writes what was collected for one table.
    pub(super) async fn write_collected(&mut self, table: &StoredTable) -> SqlResult<()> {
        let Some((relation, operations)) = self.transaction.writes_mut().take(table) else { return Ok(()) };
        let mut writer = self.unseen_writer(&relation, "COMMIT")?;
        write_all(&mut writer, operations).await
    }

    /// Writes what was collected for all of them: the transaction commits, and they are about to be seen.
    pub(super) async fn write_unseen(&self, writes: &mut WriteSet) -> SqlResult<()> {
        for table in writes.unseen_tables() {
            let Some((relation, operations)) = writes.take(&table) else { continue };
            let mut writer = self.unseen_writer(&relation, "COMMIT")?;
            write_all(&mut writer, operations).await?;
        }
        Ok(())
    }

    /// Writes rows of a table that nobody else sees.
    ///
    /// # Errors
    /// 0A000 for a table of a place without a store.
    pub(super) fn unseen_writer(&self, relation: &Arc<Relation>, command: &'static str) -> SqlResult<EgtWriter> {
        let store = self.engine.stores().at(relation.place())?.clone();
        let writer = EgtWriter::new(store, relation.clone()).unseen(self.engine.held_back());
        Ok(writer.with_report(Report { unfinished: None, ..self.report(relation, command) }))
    }
}

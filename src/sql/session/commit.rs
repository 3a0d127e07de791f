//! Committing what the statements of a transaction have collected.

use std::sync::Arc;

use super::Session;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::relation::Relation;
use crate::sql::tx::{EgtCount, EgtWriter, WriteSet, commit_error};
use crate::table::{Batch, CommitError};

impl Session {
    /// Commits the collected writes of an implicit transaction, as several EGTs where needed.
    pub(super) async fn commit_split(&mut self, writes: WriteSet) -> SqlResult<()> {
        let mut total = EgtCount::default();
        for (table, operations) in writes.into_operations() {
            let relation = self.relation_of(&table).await?;
            let mut writer = EgtWriter::new(self.engine.store().clone(), relation);
            for operation in operations {
                writer.push(operation).await?;
            }
            writer.finish().await?;
            total.egts += writer.committed().egts;
            total.rows += writer.committed().rows;
        }
        self.tell_about_split(total);
        Ok(())
    }

    /// Commits a block: one EGT, as the rules have seen to.
    pub(super) async fn commit_block(&mut self, writes: WriteSet) -> SqlResult<()> {
        for (table, operations) in writes.into_operations() {
            let relation = self.relation_of(&table).await?;
            let mut builder = Batch::builder(table);
            for operation in operations {
                builder.push(operation).map_err(|(_, error)| error)?;
            }
            if builder.is_empty() {
                continue;
            }
            let committed = self.engine.store().commit(builder.build()?).await;
            committed.map_err(|error: CommitError| commit_error(&relation, error))?;
        }
        Ok(())
    }

    /// The relation behind a stored table, for messages.
    async fn relation_of(&self, table: &crate::model::TableName) -> SqlResult<Arc<Relation>> {
        let reader = self.engine.store().reader();
        let relations = self.engine.catalog().relations(&*reader).await?;
        relations
            .into_iter()
            .find(|r| r.stored == *table)
            .ok_or_else(|| SqlError::new(ErrorKind::UndefinedTable, format!("table \"{table}\" was dropped meanwhile")))
    }
}

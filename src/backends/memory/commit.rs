//! Commits in two steps: everything is checked against what is stored, then everything is written. Each key occurs once
//! in a commit, so no operation can depend on another one of the same commit.

use std::sync::Arc;

use tablegate_store::model::{ETag, EntityKey, StoredEntity, TableName};
use tablegate_store::table::{Batch, CommitError, Operation, Rejection, Stamps, Written};

use super::{Tables, find};

/// A batch that was checked and can be written.
pub(super) struct PlannedBatch {
    table: TableName,
    changes: Vec<Change>,
}

enum Change {
    Put(StoredEntity),
    Remove(EntityKey),
}

impl PlannedBatch {
    /// # Errors
    /// As [`tablegate_store::table::TableStore::commit`].
    pub(super) fn new(tables: &Tables, batch: Batch, stamps: &mut Stamps<'_>) -> Result<Self, CommitError> {
        let table = batch.table().clone();
        let stored = find(tables, &table)?;
        let mut changes = Vec::with_capacity(batch.operations().len());
        for (index, operation) in batch.into_operations().into_iter().enumerate() {
            let key = operation.key().clone();
            let change = plan_operation(operation, stored.get(&key).map(Arc::as_ref), stamps);
            changes.push(change.map_err(|reason| CommitError::Rejected { index, key, reason })?);
        }
        Ok(Self { table, changes })
    }

    /// Writes it, as this commit.
    pub(super) fn apply(self, tables: &mut Tables, commit: u64) -> Vec<Written> {
        let Some(table) = tables.get_mut(&self.table) else { return Vec::new() };
        let table = Arc::make_mut(table);
        table.note_change(commit);
        let apply = |change| match change {
            Change::Put(stored) => {
                let written = Written::Entity { etag: stored.etag.clone(), timestamp: stored.timestamp };
                table.put(stored);
                written
            }
            Change::Remove(key) => {
                table.remove(&key);
                Written::Deleted
            }
        };
        self.changes.into_iter().map(apply).collect()
    }
}

fn plan_operation(
    operation: Operation,
    stored: Option<&StoredEntity>,
    stamps: &mut Stamps<'_>,
) -> Result<Change, Rejection> {
    operation.check_precondition(stored.map(|stored| &stored.etag))?;
    let key = operation.key().clone();
    let properties = stored.filter(|_| operation.is_merge()).map(|stored| stored.entity.properties.clone());
    Ok(match operation.into_result(properties)? {
        Some(entity) => {
            let timestamp = stamps.next_timestamp();
            Change::Put(StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) })
        }
        None => Change::Remove(key),
    })
}

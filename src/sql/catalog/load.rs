//! Reading the catalogue when the store is opened, and finishing or undoing what a crash interrupted.

use std::sync::Arc;

use futures::StreamExt;

use super::access::{ACCESSES, Access};
use super::comments::{COMMENTS, SharedComments};
use super::sequence::{SEQUENCES, Sequence};
use super::state::State;
use super::stored::{DOOMED, doom_key, doomed_of_entity};
use super::views::{VIEWS, View};
use super::{Shared, catalog_table, declaration};
use crate::model::{Span, StoredEntity, TableName};
use crate::sql::catalog::Declaration;
use crate::sql::error::SqlResult;
use crate::sql::place::StoredTable;
use crate::table::{
    Direction, IfMatch, KeyRange, Operation, ScanColumn, ScanColumns, ScanRequest, ScanStats, TableReader,
};

impl Shared {
    /// # Errors
    /// When the store cannot be read or an entry is damaged.
    pub(super) async fn load(&self) -> SqlResult<()> {
        let table = catalog_table()?;
        let reader = self.store.reader();
        let stored: Vec<TableName> = reader.list_tables().await?;
        if !stored.contains(&table) {
            return Ok(self.store.create_table(&table).await?);
        }
        let mut state = State::default();
        let mut doomed = Vec::new();
        for entity in entries(&*reader, &table, declaration::DECLARATIONS).await? {
            let mut declaration = Declaration::of_entity(&entity)?;
            let replaced = declaration.doomed.take();
            doomed.extend(replaced.and_then(|name| TableName::parse(&name).ok()));
            if stored.contains(&declaration.stored_name()?) {
                state.add(declaration, Some(entity.etag))?;
            } else {
                // Somebody dropped the table behind the gateway's back.
                self.write_entry(Operation::Delete(entity.entity.key, IfMatch::Any)).await?;
            }
        }
        for entity in entries(&*reader, &table, SEQUENCES).await? {
            let (sequence, _) = Sequence::of_entity(&entity)?;
            if state.lacks_owner_of(&sequence) {
                self.write_entry(Operation::Delete(entity.entity.key, IfMatch::Any)).await?;
            } else {
                state.sequences.insert(sequence.placed_name(), Arc::new(sequence));
            }
        }
        for entity in entries(&*reader, &table, VIEWS).await? {
            let view = View::of_entity(&entity)?;
            state.views.insert(view.placed_name(), Arc::new(view));
        }
        for entity in entries(&*reader, &table, ACCESSES).await? {
            let access = Access::of_entity(&entity)?;
            state.accesses.insert(access.oid, Arc::new(access));
        }
        for entity in entries(&*reader, &table, COMMENTS).await? {
            state.comments = Arc::new(SharedComments::of_entity(&entity)?);
        }
        for entity in entries(&*reader, &table, DOOMED).await? {
            let name = doomed_of_entity(&entity)?;
            if state.owner_of(&StoredTable::public(name.clone())).is_some() {
                self.write_entry(Operation::Delete(doom_key(&name)?, IfMatch::Any)).await?;
            } else {
                doomed.push(name);
            }
        }
        state.doomed.extend(doomed.iter().cloned());
        self.start_oids_at(state.next_oid());
        self.change_state(|current| *current = state);
        for name in &doomed {
            self.sweep(name).await;
        }
        Ok(())
    }
}

/// The entries of one kind.
async fn entries(reader: &dyn TableReader, table: &TableName, partition: &str) -> SqlResult<Vec<StoredEntity>> {
    let request = ScanRequest {
        table: table.clone(),
        ranges: Arc::new([KeyRange { partitions: Span::point(partition), rows: Arc::new([Span::ALL]) }]),
        columns: Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, ScanColumn::RowKey])),
        direction: Direction::Forward,
        limit: None,
        batch_rows: 1024,
        stats: Arc::new(ScanStats::default()),
    };
    let mut keys = Vec::new();
    let mut batches = reader.scan(request)?;
    while let Some(batch) = batches.next().await {
        keys.extend(crate::sql::dml::keys_of_batch(&batch?)?);
    }
    let mut entries = Vec::with_capacity(keys.len());
    for key in keys {
        entries.extend(reader.get(table, &key).await?);
    }
    Ok(entries)
}

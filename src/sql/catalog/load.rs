//! Reading the catalogue: when the store is opened, which finishes or undoes what a crash interrupted, and what its entries
//! say at any time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tablegate_store::model::{EntityKey, StoredEntity, TableName};
use tablegate_store::table::{IfMatch, Operation, StoreError};
use tablegate_types::error::SqlResult;
use uuid::Uuid;

use super::access::{ACCESSES, Access};
use super::announced::Changing;
use super::comments::{COMMENTS, SharedComments};
use super::entries::Entries;
use super::sequence::{SEQUENCES, Sequence};
use super::state::State;
use super::stored::{DOOMED, doom_key, doomed_of_entity};
use super::views::{VIEWS, View};
use super::{FIRST_OID, OIDS_PER_TABLE, Shared, catalog_table, declaration};
use crate::catalog::{DATABASE, Declaration};

/// The age in microseconds from which on a doomed stored table is dropped: by then no transaction of another gateway
/// can still be making it.
const ABANDONED_MICROS: i64 = 3_600_000_000;
/// Gateways that share a catalogue start their OIDs that many blocks apart, by chance.
const OID_OFFSETS: u32 = 4096;

/// What was read.
pub(super) struct Read {
    pub state: State,
    /// Entries about what is not there any more.
    obsolete: Vec<EntityKey>,
    /// Stored tables that are to be dropped.
    doomed: Vec<TableName>,
    /// Names of dropped tables that are still reserved, because the gateway that dropped them did not free them.
    rested: Vec<TableName>,
}

impl Shared {
    /// # Errors
    /// When the store cannot be read or an entry is damaged.
    pub(super) async fn load(&self) -> SqlResult<()> {
        let table = catalog_table()?;
        let reader = self.store.reader();
        let stored: Vec<TableName> = reader.list_tables().await?;
        if !stored.contains(&table) {
            // What is mounted gets a catalogue when there is something to declare.
            if self.place.is_mount() {
                self.start_oids_at(FIRST_OID + if self.is_alone() { 0 } else { random_offset() });
                return Ok(());
            }
            match self.store.create_table(&table).await {
                // Another gateway was faster.
                Err(StoreError::TableExists(_)) => {}
                Ok(()) | Err(StoreError::ReadOnly) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        let is_alone = self.is_alone();
        let mut entries = self.entries.lock().await;
        entries.renew(&*reader, &table).await?;
        // Tables that others make and declare meanwhile are in one of the two lists only.
        let read = self.read(&entries, is_alone.then_some(&*stored))?;
        drop(entries);
        if is_alone && self.common.stores.check_writable(self.place).is_ok() {
            for key in read.obsolete {
                self.write_entry(Operation::Delete(key, IfMatch::Any)).await?;
            }
        }
        let offset = if is_alone { 0 } else { random_offset() };
        self.start_oids_at(read.state.next_oid(self.place) + offset);
        self.change_state(|current| *current = read.state);
        self.has_table.store(true, Ordering::Relaxed);
        if self.common.stores.check_writable(self.place).is_err() {
            return Ok(());
        }
        for name in &read.doomed {
            self.sweep(name).await;
        }
        for name in &read.rested {
            self.reprieve(name).await?;
        }
        Ok(())
    }

    /// Whether this gateway is the only one that changes the catalogue.
    pub(super) fn is_alone(&self) -> bool {
        self.store.promises().sole_writer
    }

    /// What the entries say; `stored` are the tables that there are, where that can be compared.
    pub(super) fn read(&self, entries: &Entries, stored: Option<&[TableName]>) -> SqlResult<Read> {
        let before = self.state();
        let mut state = State::default();
        let (mut obsolete, mut doomed, mut rested) = (Vec::new(), Vec::new(), Vec::new());
        for entity in entries.of(declaration::DECLARATIONS) {
            let mut declaration = Declaration::of_entity(self.place, entity)?;
            if let Some(replaced) = declaration.doomed.take().and_then(|name| TableName::parse(&name).ok()) {
                state.doomed.insert(self.stored_as(&replaced));
                doomed.extend(Some(replaced).filter(|_| self.is_abandoned(entity)));
            }
            let known =
                before.tables.get(&declaration.placed_name()).filter(|t| t.version.as_ref() == Some(&entity.etag));
            let is_stored = |name: &TableName| stored.is_none_or(|stored| stored.contains(name));
            if let Some(known) = known {
                state.tables.insert(declaration.placed_name(), Arc::clone(known));
            } else if is_stored(&declaration.stored_name()?) {
                state.add(declaration, Some(entity.etag.clone()), Changing::of_entity(entity))?;
            } else {
                // Somebody dropped the table behind the gateway's back.
                obsolete.push(entity.entity.key.clone());
            }
        }
        for entity in entries.of(SEQUENCES) {
            let (sequence, _) = Sequence::of_entity(self.place, entity)?;
            if state.lacks_owner_of(&sequence) {
                obsolete.push(entity.entity.key.clone());
                continue;
            }
            // Values are reserved for a declaration, and it stays the same one while they are counted.
            let known = before.sequences.get(&sequence.placed_name()).filter(|known| ***known == sequence).cloned();
            state.sequences.insert(sequence.placed_name(), known.unwrap_or_else(|| Arc::new(sequence)));
        }
        for entity in entries.of(VIEWS) {
            let view = View::of_entity(self.place, entity)?;
            state.views.insert(view.placed_name(), Arc::new(view));
        }
        for entity in entries.of(ACCESSES) {
            let access = Access::of_entity(self.place, entity)?;
            // The database is this server's own, whatever is mounted.
            if self.place.is_mount() && access.oid == DATABASE {
                continue;
            }
            state.accesses.insert(access.oid, Arc::new(access));
        }
        for entity in entries.of(COMMENTS) {
            // Those on schemas and databases are of names that this server gives.
            if self.place.is_mount() {
                continue;
            }
            state.comments = Arc::new(SharedComments::of_entity(entity)?);
        }
        for entity in entries.of(DOOMED) {
            let (name, is_dropped) = doomed_of_entity(entity)?;
            if state.owner_of(&self.stored_as(&name)).is_some() {
                obsolete.push(doom_key(&name)?);
                continue;
            }
            match (is_dropped, self.is_abandoned(entity)) {
                // Whatever has the name now, it is not what was dropped.
                (true, true) => rested.push(name),
                (false, true) => {
                    state.doomed.insert(self.stored_as(&name));
                    doomed.push(name);
                }
                (_, false) => {
                    state.doomed.insert(self.stored_as(&name));
                }
            }
        }
        Ok(Read { state, obsolete, doomed, rested })
    }

    /// Whether the gateway that wrote the entry can no longer be working on it.
    pub(super) fn is_abandoned(&self, entity: &StoredEntity) -> bool {
        self.is_alone() || entity.timestamp.unix_micros() < self.common.clock.now().unix_micros() - ABANDONED_MICROS
    }
}

fn random_offset() -> u32 {
    let [a, b, ..] = *Uuid::new_v4().as_bytes();
    u32::from(u16::from_le_bytes([a, b])) % OID_OFFSETS * OIDS_PER_TABLE
}

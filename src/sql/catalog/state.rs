//! What is declared at one moment, by place and SQL name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tablegate_store::model::{ETag, TableName};
use tablegate_types::error::SqlResult;

use super::access::Access;
use super::announced::Changing;
use super::comments::SharedComments;
use super::declaration::Declaration;
use super::found::is_found_oid;
use super::scratch::ScratchTable;
use super::sequence::Sequence;
use super::staged::OwnCounter;
use super::views::View;
use super::{FIRST_OID, OIDS_PER_TABLE, oids};
use crate::place::{Place, PlacedName, StoredTable};
use crate::relation::Relation;

/// Everything declared, and the stored tables that must not be shown.
#[derive(Debug, Default, Clone)]
pub(super) struct State {
    /// Of what is committed: another number after each change. Of what a session sees over it: see [`super::overlaid`].
    pub version: u64,
    pub tables: DeclaredTables,
    pub sequences: BTreeMap<PlacedName, Arc<Sequence>>,
    pub views: BTreeMap<PlacedName, Arc<View>>,
    /// Owners and grants, by the OID of the object; none for an object that no user made and on which nothing was
    /// granted.
    pub accesses: BTreeMap<u32, Arc<Access>>,
    pub comments: Arc<SharedComments>,
    /// Stored tables that wait to be dropped, and those of transactions that have not committed.
    pub doomed: BTreeSet<StoredTable>,
    /// Where the sequences stand that count in one session alone.
    pub counters: BTreeMap<PlacedName, OwnCounter>,
    /// The stored tables of temporary ones: each is there as long as a state knows it.
    pub scratch: BTreeMap<TableName, Arc<ScratchTable>>,
}

pub(super) type DeclaredTables = BTreeMap<PlacedName, Arc<DeclaredTable>>;

/// A declaration with the relation it describes.
#[derive(Debug)]
pub(super) struct DeclaredTable {
    pub declaration: Declaration,
    pub relation: Arc<Relation>,
    /// The version of its entry; none while it is not committed.
    pub version: Option<ETag>,
    /// That it is being changed.
    pub changing: Option<Changing>,
}

impl DeclaredTable {
    /// # Errors
    /// XX001 when the declaration contradicts itself.
    pub(super) fn new(declaration: Declaration, version: Option<ETag>) -> SqlResult<Self> {
        let relation = Arc::new(declaration.relation()?);
        Ok(Self { declaration, relation, version, changing: None })
    }
}

impl State {
    /// # Errors
    /// XX001 when the declaration contradicts itself.
    pub(super) fn add(
        &mut self,
        declaration: Declaration,
        version: Option<ETag>,
        changing: Option<Changing>,
    ) -> SqlResult<()> {
        let name = declaration.placed_name();
        let table = DeclaredTable { changing, ..DeclaredTable::new(declaration, version)? };
        self.tables.insert(name, Arc::new(table));
        Ok(())
    }

    /// The table of this name: exactly, else one that was found in the store, which minds no case, and is declared since.
    pub(super) fn find(&self, name: &PlacedName) -> Option<&Arc<DeclaredTable>> {
        self.tables.get(name).or_else(|| {
            let is_it = |(known, table): &(&PlacedName, &Arc<DeclaredTable>)| {
                known.place == name.place
                    && is_found_oid(table.declaration.oid)
                    && known.name.eq_ignore_ascii_case(&name.name)
            };
            self.tables.iter().find(is_it).map(|(_, table)| table)
        })
    }

    pub(super) fn owner_of(&self, stored: &StoredTable) -> Option<&Arc<DeclaredTable>> {
        self.tables.values().find(|t| t.relation.stored == *stored)
    }

    /// Whether a stored table is somebody's, or on its way in or out: then it is not to be found.
    pub(super) fn knows(&self, stored: &StoredTable) -> bool {
        self.doomed.contains(stored) || self.owner_of(stored).is_some()
    }

    /// With what another store's catalogue declares.
    pub(super) fn add_all(&mut self, other: &Self) {
        // Each only grows, so their sum is another number after a change of either.
        self.version += other.version;
        let Self { version: _, tables, sequences, views, accesses, comments: _, doomed, counters, scratch } = other;
        self.tables.extend(tables.iter().map(|(name, table)| (name.clone(), table.clone())));
        self.sequences.extend(sequences.iter().map(|(name, sequence)| (name.clone(), sequence.clone())));
        self.views.extend(views.iter().map(|(name, view)| (name.clone(), view.clone())));
        self.accesses.extend(accesses.iter().map(|(oid, access)| (*oid, access.clone())));
        self.doomed.extend(doomed.iter().cloned());
        self.counters.extend(counters.iter().map(|(name, counter)| (name.clone(), counter.clone())));
        self.scratch.extend(scratch.iter().map(|(name, table)| (name.clone(), table.clone())));
    }

    pub(super) fn table_by_oid(&self, oid: u32) -> Option<&Arc<DeclaredTable>> {
        self.tables.values().find(|t| t.declaration.oid == oid)
    }

    /// Whether a table, a sequence or a view has this OID.
    pub(super) fn has_oid(&self, oid: u32) -> bool {
        let is_view = || self.views.values().any(|v| v.oid == oid);
        self.table_by_oid(oid).is_some() || self.sequences.values().any(|s| s.oid == oid) || is_view()
    }

    /// Tables, sequences and views share their names.
    pub(super) fn has_name(&self, name: &PlacedName) -> bool {
        self.tables.contains_key(name) || self.sequences.contains_key(name) || self.views.contains_key(name)
    }

    /// Whether a table is found by this name.
    pub(super) fn has_like(&self, name: &PlacedName) -> bool {
        self.find(name).is_some()
    }

    /// Whether the sequence belongs to a table that is not there.
    pub(super) fn lacks_owner_of(&self, sequence: &Sequence) -> bool {
        sequence.owner.as_ref().is_some_and(|owner| self.table_by_oid(owner.table).is_none())
    }

    /// The first OID that nothing in this place's store has. Found tables have theirs elsewhere, and keep them when they
    /// are declared.
    pub(super) fn next_oid(&self, place: Place) -> u32 {
        let tables = self.tables.values().map(|t| t.declaration.oid);
        // What was granted on something that is gone must not be found by what comes after it.
        let granted = self.accesses.keys().copied();
        let others = self.views.values().map(|v| v.oid).chain(self.sequences.values().map(|s| s.oid));
        let stored = tables.chain(granted).chain(others).map(|oid| oids::stored(place, oid));
        let last = stored.filter(|oid| *oid >= FIRST_OID && !is_found_oid(*oid)).max();
        last.map_or(FIRST_OID, |oid| oid + OIDS_PER_TABLE)
    }
}

//! What a transaction has changed in the catalogue and not committed: its session sees it, others do not.
//!
//! Stored tables cannot be staged, so a new one is made at once, doomed until the transaction commits (`stored`); one
//! that is given up stays until then. Everything else is entries, which commit together with the transaction's rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tablegate_store::model::{ETag, TableName};
use tablegate_store::table::{IfMatch, Operation};
use tablegate_types::error::SqlResult;

use super::access::{self, Access};
use super::announced::Announcement;
use super::claims::Claim;
use super::comments::SharedComments;
use super::declaration::Declaration;
use super::found::found_oid;
use super::overlaid::Overlaid;
use super::scratch::{ScratchTable, is_temporary_oid};
use super::sequence::{Sequence, SequenceState};
use super::state::{DeclaredTable, State};
use super::stored::{FreshTable, MadeTable, doom_entity, doom_key};
use super::views::View;
use crate::place::{Place, PlacedName, StoredTable};

/// Where a sequence stands that only one transaction sees. What it gave out is not taken back by a savepoint.
pub(crate) type OwnCounter = Arc<Mutex<SequenceState>>;

/// A transaction's changes of the catalogue. Cloning it makes a savepoint.
#[derive(Debug, Clone, Default)]
pub struct StagedCatalog {
    /// By place and SQL name; `None` where it is gone.
    tables: BTreeMap<PlacedName, Option<Arc<DeclaredTable>>>,
    sequences: BTreeMap<PlacedName, Option<Arc<Sequence>>>,
    views: BTreeMap<PlacedName, Option<Arc<View>>>,
    /// Those on schemas and databases, where the transaction changed one.
    comments: Option<Arc<SharedComments>>,
    /// Where the sequences stand that are new or start again: they count in this transaction alone.
    counters: BTreeMap<PlacedName, OwnCounter>,
    /// The versions of the entries of sequences that got another name, or count otherwise: none may have given out values since.
    moved: BTreeMap<PlacedName, ETag>,
    /// Where sequences stood when they were told to count otherwise: as long as they stand there, others may draw from them.
    recounted: BTreeMap<PlacedName, SequenceState>,
    /// Owners and grants, by the OID of the object.
    accesses: BTreeMap<u32, Arc<Access>>,
    /// Found tables that are dropped or moved elsewhere.
    given_up: BTreeSet<StoredTable>,
    fresh: Vec<Arc<FreshTable>>,
    /// Stored tables of new temporary ones.
    scratch: BTreeMap<TableName, Arc<ScratchTable>>,
    claims: Vec<Arc<Claim>>,
    /// What was committed under the claimed names when they were claimed. Changes are made to that: what another gateway
    /// has committed there since may be known by the time of the commit, and is not to be written over.
    seen: BTreeMap<PlacedName, Seen>,
    /// That others know of changes before they are committed.
    announcements: Vec<Arc<Announcement>>,
    overlaid: Overlaid,
}

#[derive(Debug, Clone)]
struct Seen {
    table: Option<Arc<DeclaredTable>>,
    sequence: Option<Arc<Sequence>>,
}

impl StagedCatalog {
    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        let tables_stay = self.tables.is_empty() && self.sequences.is_empty() && self.given_up.is_empty();
        tables_stay && self.views.is_empty() && self.accesses.is_empty() && self.comments.is_none()
    }

    /// The places whose catalogues it changes, those of temporary tables not among them.
    pub fn places(&self) -> BTreeSet<Place> {
        let named = self.tables.keys().chain(self.sequences.keys()).chain(self.views.keys()).map(|name| name.place);
        let granted = self.accesses.iter().filter(|(oid, _)| !is_temporary_oid(**oid)).map(|(_, access)| access.place);
        let shared = self.comments.iter().map(|_| Place::Public);
        let given_up = self.given_up.iter().map(|stored| stored.place);
        named.chain(granted).chain(given_up).chain(shared).filter(|place| !place.is_temporary()).collect()
    }

    /// Whether there is nothing, neither to commit nor to give up.
    pub fn is_untouched(&self) -> bool {
        let has_made_nothing = self.fresh.is_empty() && self.scratch.is_empty() && self.counters.is_empty();
        self.is_empty() && has_made_nothing && self.claims.is_empty()
    }

    /// Whether temporary tables are among what it changes.
    pub fn has_temporary(&self) -> bool {
        self.tables.keys().any(|name| name.place.is_temporary())
    }

    /// Where the rows of the tables are that it declares.
    pub fn stored_tables(&self) -> impl Iterator<Item = &StoredTable> {
        self.tables.values().flatten().map(|table| &table.relation.stored)
    }

    /// Declares a table, or declares it anew.
    ///
    /// # Errors
    /// XX001 when the declaration contradicts itself.
    pub fn put(&mut self, declaration: Declaration) -> SqlResult<()> {
        self.overlaid = Overlaid::default();
        let name = declaration.placed_name();
        self.tables.insert(name, Some(Arc::new(DeclaredTable::new(declaration, None)?)));
        Ok(())
    }

    /// Takes away a declaration.
    pub fn remove(&mut self, name: PlacedName) {
        self.overlaid = Overlaid::default();
        self.tables.insert(name, None);
    }

    /// Declares a sequence anew: it goes on where it stands.
    pub fn put_sequence(&mut self, sequence: Sequence) {
        self.overlaid = Overlaid::default();
        self.sequences.insert(sequence.placed_name(), Some(Arc::new(sequence)));
    }

    /// Declares a sequence that is new, or that begins again from this state.
    pub fn start_sequence(&mut self, sequence: Sequence, state: SequenceState) {
        self.overlaid = Overlaid::default();
        self.recounted.remove(&sequence.placed_name());
        self.counters.insert(sequence.placed_name(), Arc::new(Mutex::new(state)));
        self.put_sequence(sequence);
    }

    /// A sequence that counts in the store counts otherwise, in this transaction first, from where it stands in this version of its entry.
    pub fn recount_sequence(&mut self, version: ETag, sequence: Sequence, state: SequenceState) {
        let name = sequence.placed_name();
        self.moved.insert(name.clone(), version);
        self.start_sequence(sequence, state);
        self.recounted.insert(name, state);
    }

    /// A sequence that counts in the store goes on under another name, from where it stands in this version of its entry.
    pub fn move_sequence(&mut self, from: PlacedName, version: ETag, to: Sequence, state: SequenceState) {
        self.remove_sequence(from.clone());
        self.moved.insert(from, version);
        self.start_sequence(to, state);
    }

    pub fn remove_sequence(&mut self, name: PlacedName) {
        self.overlaid = Overlaid::default();
        self.counters.remove(&name);
        self.sequences.insert(name, None);
    }

    /// Declares a view, or declares it anew.
    pub fn put_view(&mut self, view: View) {
        self.overlaid = Overlaid::default();
        self.views.insert(view.placed_name(), Some(Arc::new(view)));
    }

    pub fn remove_view(&mut self, name: PlacedName) {
        self.overlaid = Overlaid::default();
        self.views.insert(name, None);
    }

    /// Says who owns an object and what is granted on it.
    pub fn put_access(&mut self, place: Place, mut access: Access) {
        self.overlaid = Overlaid::default();
        access.place = place;
        self.accesses.insert(access.oid, Arc::new(access));
    }

    /// Puts these in the place of all comments on schemas and databases.
    pub fn put_comments(&mut self, comments: SharedComments) {
        self.overlaid = Overlaid::default();
        self.comments = Some(Arc::new(comments));
    }

    /// The state that a sequence of this transaction is committed with.
    fn state_of(&self, sequence: &Sequence) -> Option<SequenceState> {
        let counter = self.counters.get(&sequence.placed_name())?;
        Some(*counter.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A found table is no more what its name means.
    pub fn give_up(&mut self, stored: StoredTable) {
        self.overlaid = Overlaid::default();
        self.given_up.insert(stored);
    }

    /// Keeps a stored table that was made for this transaction until it ends.
    pub(crate) fn keep(&mut self, made: MadeTable) {
        self.overlaid = Overlaid::default();
        match made {
            MadeTable::Fresh(fresh) => self.fresh.push(Arc::new(fresh)),
            MadeTable::Scratch(scratch) => {
                self.scratch.insert(scratch.name().clone(), Arc::new(scratch));
            }
        }
    }

    /// Whether a stored table was made for this transaction.
    pub fn has_made(&self, stored: &StoredTable) -> bool {
        match stored.place {
            Place::Public | Place::Mount(_) => self.fresh.iter().any(|fresh| fresh.stored() == stored),
            Place::Temporary(_) => self.scratch.contains_key(&stored.name),
        }
    }

    /// Keeps the right to change what a name means, as it is in this state, until the transaction ends.
    pub(super) fn hold_of(&mut self, claim: Claim, base: &State) {
        self.overlaid = Overlaid::default();
        let name = claim.name().clone();
        let seen = Seen { table: base.tables.get(&name).cloned(), sequence: base.sequences.get(&name).cloned() };
        self.seen.entry(name).or_insert(seen);
        self.claims.push(Arc::new(claim));
    }

    /// The table of this number as it was when its name was claimed.
    pub(super) fn seen_table(&self, oid: u32) -> Option<Arc<DeclaredTable>> {
        self.seen.values().filter_map(|seen| seen.table.clone()).find(|table| table.declaration.oid == oid)
    }

    /// Keeps an announcement until the transaction ends.
    pub(crate) fn keep_announcement(&mut self, announcement: Announcement) {
        self.announcements.push(Arc::new(announcement));
    }

    pub(super) fn has_announced(&self, oid: u32) -> bool {
        self.announcements.iter().any(|announcement| announcement.table() == oid)
    }

    /// # Errors
    /// 40001 when other gateways may not heed one of them any more.
    pub(super) fn check_announcements(&self) -> SqlResult<()> {
        self.announcements.iter().try_for_each(|announcement| announcement.check_holds())
    }

    /// The version that the entry of a table must have: the one that was seen, or what this gateway's announcements have made
    /// of it since.
    fn version_before(base: &State, known: Option<&Arc<DeclaredTable>>, gateway: &str) -> IfMatch {
        let current = known.and_then(|known| {
            base.tables.get(&known.declaration.placed_name()).filter(|current| current.stands_as(known, gateway))
        });
        current.or(known).and_then(|table| table.version.clone()).map_or(IfMatch::Any, IfMatch::ETag)
    }

    /// The table that a change of this name is a change of.
    fn table_before<'a>(&'a self, base: &'a State, name: &PlacedName) -> Option<&'a Arc<DeclaredTable>> {
        self.seen.get(name).map_or_else(|| base.tables.get(name), |seen| seen.table.as_ref())
    }

    fn sequence_before<'a>(&'a self, base: &'a State, name: &PlacedName) -> Option<&'a Arc<Sequence>> {
        self.seen.get(name).map_or_else(|| base.sequences.get(name), |seen| seen.sequence.as_ref())
    }

    /// Whether no other transaction can change what the name means: this one has locked it, or it is a temporary object
    /// of this session.
    pub fn holds(&self, name: &PlacedName) -> bool {
        name.place.is_temporary() || self.claims.iter().any(|claim| claim.name() == name)
    }

    /// What the transaction sees over what is committed.
    pub(super) fn over(&self, base: Arc<State>) -> Arc<State> {
        if self.is_empty() { base } else { self.overlaid.over(&base, |base| self.applied_to(base)) }
    }

    /// The changes that all sessions see, and those of temporary tables. A commit of the first keeps the second.
    pub(crate) fn split(self) -> (Self, Self) {
        fn parted<T>(all: BTreeMap<PlacedName, T>) -> [BTreeMap<PlacedName, T>; 2] {
            let (temporary, public) = all.into_iter().partition(|(name, _)| name.place.is_temporary());
            [public, temporary]
        }
        let [tables, own_tables] = parted(self.tables);
        let [sequences, own_sequences] = parted(self.sequences);
        let [views, own_views] = parted(self.views);
        let [counters, own_counters] = parted(self.counters);
        let (own_accesses, accesses) = self.accesses.into_iter().partition(|(oid, _)| is_temporary_oid(*oid));
        let temporary = Self {
            tables: own_tables,
            sequences: own_sequences,
            views: own_views,
            counters: own_counters,
            accesses: own_accesses,
            scratch: self.scratch,
            ..Self::default()
        };
        let scratch = BTreeMap::new();
        let overlaid = Overlaid::default();
        (Self { tables, sequences, views, counters, accesses, scratch, overlaid, ..self }, temporary)
    }

    /// The state after the changes, and the stored tables that no table of it uses any more.
    pub(super) fn applied_to(&self, base: &State) -> State {
        let mut state = base.clone();
        apply(&mut state.tables, &self.tables);
        apply(&mut state.sequences, &self.sequences);
        apply(&mut state.views, &self.views);
        state.accesses.extend(self.accesses.iter().map(|(oid, access)| (*oid, access.clone())));
        for oid in self.oids_before(base) {
            if !state.has_oid(oid) {
                state.accesses.remove(&oid);
            }
        }
        state.comments = self.comments.clone().unwrap_or(state.comments);
        let dropped = self.dropped(base, &state);
        state.doomed.extend(dropped);
        state.counters.extend(self.counters.iter().map(|(name, counter)| (name.clone(), counter.clone())));
        let State { tables, sequences, counters, scratch, .. } = &mut state;
        counters.retain(|name, _| sequences.contains_key(name));
        scratch.extend(self.scratch.iter().map(|(name, table)| (name.clone(), table.clone())));
        let owned: BTreeSet<&TableName> = tables.values().map(|table| &table.relation.stored.name).collect();
        scratch.retain(|name, _| owned.contains(name));
        state
    }

    /// The OIDs of everything that the transaction changes, as it was.
    fn oids_before(&self, base: &State) -> Vec<u32> {
        let tables = self.tables.keys().filter_map(|name| base.tables.get(name)).map(|t| t.declaration.oid);
        let sequences = self.sequences.keys().filter_map(|name| base.sequences.get(name)).map(|s| s.oid);
        let views = self.views.keys().filter_map(|name| base.views.get(name)).map(|v| v.oid);
        tables.chain(sequences).chain(views).chain(self.given_up.iter().map(found_oid)).collect()
    }

    /// Stored tables that the transaction makes superfluous.
    fn dropped(&self, base: &State, after: &State) -> Vec<StoredTable> {
        let replaced = self.tables.keys().filter_map(|name| self.table_before(base, name));
        let replaced = replaced.map(|table| table.relation.stored.clone());
        let replaced = replaced.filter(|stored| !stored.place.is_temporary());
        replaced.chain(self.given_up.iter().cloned()).filter(|stored| after.owner_of(stored).is_none()).collect()
    }

    /// What it means for entries and stored tables that this gateway commits it.
    ///
    /// # Errors
    /// 54000 when an entry is too large to be kept.
    pub(super) fn changes(&self, base: &State, gateway: &str) -> SqlResult<Changes> {
        let mut after = self.applied_to(base);
        let dropped = self.dropped(base, &after);
        let adopted: Vec<Arc<FreshTable>> =
            self.fresh.iter().filter(|fresh| after.owner_of(fresh.stored()).is_some()).cloned().collect();
        for fresh in &adopted {
            after.doomed.remove(fresh.stored());
        }
        let dooms = dropped.iter().map(|stored| Ok(Operation::InsertOrReplace(doom_entity(&stored.name)?)));
        let reprieves =
            adopted.iter().map(|fresh| Ok(Operation::Delete(doom_key(&fresh.stored().name)?, IfMatch::Any)));
        let mut steps = [
            dooms.collect::<SqlResult<Vec<_>>>()?,
            self.declared(base, gateway)?,
            reprieves.collect::<SqlResult<_>>()?,
        ];
        for (oid, access) in base.accesses.iter().filter(|(oid, _)| !after.accesses.contains_key(oid)) {
            steps[0].push(Operation::Delete(access::key_of(access.place, *oid)?, IfMatch::Any));
        }
        for oid in self.accesses.keys() {
            if let Some(access) = after.accesses.get(oid) {
                steps[1].push(Operation::InsertOrReplace(access.to_entity()?));
            }
        }
        // From now on these sequences count in the store, for all sessions.
        after.counters.clear();
        Ok(Changes { after, steps, adopted, dropped })
    }

    /// The entries of tables, sequences and views as they become.
    fn declared(&self, base: &State, gateway: &str) -> SqlResult<Vec<Operation>> {
        let mut operations = Vec::new();
        for (name, staged) in &self.sequences {
            let version = || self.moved.get(name).cloned().map_or(IfMatch::Any, IfMatch::ETag);
            operations.extend(match (self.sequence_before(base, name), staged) {
                (None, None) => None,
                (None, Some(new)) => {
                    let state = self.state_of(new).unwrap_or_else(|| new.initial());
                    Some(Operation::Insert(new.to_entity(state)?))
                }
                (Some(old), Some(new)) => Some(match self.state_of(new) {
                    // Dropped and made again: the entry's old properties are not the new one's.
                    Some(state) if old.oid != new.oid => Operation::Replace(new.to_entity(state)?, version()),
                    Some(state) if self.recounted.get(name) != Some(&state) => {
                        Operation::Merge(new.to_entity(state)?, version())
                    }
                    // How far its values are given out is not the transaction's to change.
                    _ => Operation::Merge(new.definition()?, IfMatch::Any),
                }),
                (Some(old), None) => Some(Operation::Delete(old.entity_key()?, version())),
            });
        }
        for (name, staged) in &self.tables {
            let known = self.table_before(base, name);
            let version = || Self::version_before(base, known, gateway);
            operations.extend(match (known, staged) {
                (None, None) => None,
                (None, Some(new)) => Some(Operation::Insert(new.declaration.to_entity()?)),
                (Some(_), Some(new)) => Some(Operation::Replace(new.declaration.to_entity()?, version())),
                (Some(old), None) => Some(Operation::Delete(old.declaration.entity_key()?, version())),
            });
        }
        for (name, staged) in &self.views {
            operations.extend(match (base.views.get(name), staged) {
                (None, None) => None,
                (None, Some(new)) => Some(Operation::Insert(new.to_entity()?)),
                (Some(_), Some(new)) => Some(Operation::Replace(new.to_entity()?, IfMatch::Any)),
                (Some(old), None) => Some(Operation::Delete(old.entity_key()?, IfMatch::Any)),
            });
        }
        if let Some(comments) = &self.comments {
            operations.push(Operation::InsertOrReplace(comments.to_entity()?));
        }
        Ok(operations)
    }
}

fn apply<T>(all: &mut BTreeMap<PlacedName, Arc<T>>, staged: &BTreeMap<PlacedName, Option<Arc<T>>>) {
    for (name, entry) in staged {
        match entry {
            Some(entry) => all.insert(name.clone(), entry.clone()),
            None => all.remove(name),
        };
    }
}

/// What a commit does to the catalogue.
pub(super) struct Changes {
    pub after: State,
    /// Operations in an order in which a crash between any two leaves nothing that cannot be finished or undone: doom
    /// what is dropped, declare, reprieve what is new.
    pub steps: [Vec<Operation>; 3],
    /// Stored tables that are declared from now on.
    pub adopted: Vec<Arc<FreshTable>>,
    /// Stored tables that nothing needs any more.
    pub dropped: Vec<StoredTable>,
}

//! Which tables, sequences and views there are: those that were declared, and tables that are simply found in the store.
//!
//! Declarations are entries in a stored table of the gateway's own and cached here; the columns of found tables follow
//! the store's observed schema. Where other gateways use the same store, their changes are read every second; two
//! changes of one entry are told apart by its version. Each store, the server's own and the mounted ones, keeps its own
//! catalogue (`parts`). The OIDs of a mounted store are translated, so that no two objects of this server have the same
//! one (`oids`).
//!
//! ```text
//! Catalog         what is committed; makes stored tables, commits changes
//! CatalogView     what one statement sees: the committed state with its transaction's changes over it
//! StagedCatalog   a transaction's changes: entries, written in the same commit as its rows
//! SessionCatalog  temporary tables, sequences and views: over what is committed, for their session alone
//! ```
//!
//! A sequence that belongs to a table counts only while that table is declared.

mod access;
mod announced;
mod claims;
mod comments;
mod commit;
mod contact;
mod declaration;
mod entries;
mod entry;
mod fence;
mod found;
mod load;
mod oids;
mod others;
mod overlaid;
mod parts;
mod scratch;
mod sequence;
mod sequence_names;
mod session;
mod staged;
mod state;
mod stored;
mod view;
mod view_definition;
mod view_text;
mod views;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use tablegate_store::model::{Clock, EntityKey, TableName, own_tables};
use tablegate_store::table::{
    Batch, BatchError, CommitError, Operation, Rejection, StoreError, TableReader, TableStore,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::mpsc;
use uuid::Uuid;

use self::claims::Claims;
use self::contact::Contact;
use self::entries::Entries;
use self::others::Strangers;
use self::parts::Parts;
use self::scratch::OwnNumbers;
use self::state::{DeclaredTables, State};
use self::view::ObservedRelations;
use crate::mount::MountName;
use crate::place::{Place, PlacedName, Readers, StoredTable, Stores};
pub(crate) use access::Access;
pub use announced::Announcing;
pub(crate) use comments::{SharedComments, set_comment};
pub(super) use commit::StagedCommitError;
pub(crate) use declaration::{Declaration, DeclaredColumn, DeclaredKey, DeclaredKeyColumn, DeclaredPartition};
pub(crate) use entry::CATALOG_TABLE;
pub(crate) use found::derived_table_name;
pub(crate) use found::is_found_oid;
pub(crate) use found::why_another_name;
pub(crate) use oids::schema_oid;
pub(crate) use oids::{DATABASE, PUBLIC};
pub(crate) use sequence::{Sequence, SequenceOptions, SequenceOwner, SequenceState};
pub(crate) use sequence_names::{called, default_after_renaming, default_as_kept, default_as_shown, next_call};
pub(crate) use session::{Search, SessionCatalog};
pub(crate) use staged::StagedCatalog;
use stored::InTheMaking;
pub(crate) use stored::MadeTable;
pub(crate) use view::{CatalogMoment, CatalogView};
pub(crate) use view_definition::{Definition, marked};
pub(crate) use view_text::query_of;
pub(crate) use views::{View, ViewColumn, ViewUse};

/// First OID given to a declared table: PostgreSQL's own first for user objects.
pub(crate) const FIRST_OID: u32 = 16_384;
/// OIDs one table takes: its own, then those of its index, its row type and its other parts.
pub(crate) const OIDS_PER_TABLE: u32 = 512;

/// The catalogues of all stores that keep one.
pub struct Catalog {
    parts: Arc<Parts>,
    common: Arc<Common>,
}

/// The catalogue of one store: what outlives a client that leaves in the middle of a change.
struct Shared {
    /// The schema of everything in it.
    place: Place,
    common: Arc<Common>,
    /// Where the catalogue itself is.
    store: Arc<dyn TableStore>,
    /// Whether that has the table for it.
    has_table: AtomicBool,
    contact: Contact,
    /// What was read of the store.
    entries: tokio::sync::Mutex<Entries>,
    /// What is committed.
    state: RwLock<Arc<State>>,
    strangers: Strangers,
    /// When that was read, or known to be so.
    known_at: Mutex<Option<Instant>>,
    /// Names of tables that were dropped, since when.
    resting: Mutex<VecDeque<(Instant, TableName)>>,
    /// One change of entries and stored tables at a time.
    changes: tokio::sync::Mutex<()>,
    /// As the store numbers its objects.
    next_oid: AtomicU32,
}

/// What the catalogues of all stores share.
struct Common {
    stores: Stores,
    clock: Arc<dyn Clock>,
    observed: ObservedRelations,
    claims: Claims,
    /// Numbers of what only one session sees: its place, its objects, its stored tables.
    own: OwnNumbers,
    /// Tells this gateway from others, as long as it runs.
    gateway: String,
    announcing: Announcing,
    /// Stored tables of transactions that ended without committing, and those of temporary tables that are gone.
    discarded: mpsc::UnboundedSender<StoredTable>,
    in_the_making: InTheMaking,
}

impl Catalog {
    /// Reads the declarations, and finishes or undoes what a crash interrupted. A mounted store that cannot be reached
    /// is tried again until it can.
    ///
    /// # Errors
    /// When the store that the server is for cannot be read or an entry is damaged.
    pub async fn load(stores: Stores, clock: Arc<dyn Clock>, announcing: Announcing) -> SqlResult<Self> {
        let (discarded, received) = mpsc::unbounded_channel();
        let common = Arc::new(Common {
            stores,
            clock,
            observed: ObservedRelations::default(),
            claims: Claims::default(),
            own: OwnNumbers::default(),
            gateway: Uuid::new_v4().to_string(),
            announcing,
            discarded,
            in_the_making: InTheMaking::default(),
        });
        let parts = Arc::new(Parts::of(&common));
        parts.public.load().await?;
        tokio::spawn(stored::sweep_discarded(Arc::downgrade(&parts), received));
        if !parts.public.is_alone() {
            tokio::spawn(others::follow_others(Arc::downgrade(&parts.public)));
        }
        parts.open_mounts();
        Ok(Self { parts, common })
    }

    /// A view of the stores, and of the catalogue as a transaction with these changes sees it. The two fit: every table
    /// that the one declares is in the other.
    pub fn view(&self, staged: &StagedCatalog, own: &SessionCatalog) -> (Readers, CatalogView) {
        self.moment().view(staged, own)
    }

    /// The stores and the catalogue as they are now.
    pub fn moment(&self) -> CatalogMoment {
        CatalogMoment::now(&self.parts)
    }

    /// The schemas of the stores that are mounted.
    fn mounts(&self) -> Arc<[MountName]> {
        self.common.stores.mounts().iter().map(|mount| mount.name).collect()
    }

    /// # Errors
    /// 3F000 for a place whose store keeps no catalogue.
    fn part(&self, place: Place) -> SqlResult<&Arc<Shared>> {
        self.parts.at(place).ok_or_else(|| {
            let message = format!("schema \"{}\" does not exist", place.schema());
            SqlError::new(ErrorKind::UndefinedSchema, message)
        })
    }

    /// The version of what a transaction with these changes sees: see [`CatalogView::version`].
    pub fn version_with(&self, staged: &StagedCatalog, own: &SessionCatalog) -> u64 {
        if staged.is_empty() && own.is_empty() { self.version() } else { self.moment().version_with(staged, own) }
    }

    /// The version of what is committed: see [`CatalogView::version`].
    pub fn version(&self) -> u64 {
        self.parts.version()
    }

    /// Waits until no other transaction changes what a name means; from then on this one may, until it ends.
    ///
    /// # Errors
    /// 55P03 when that takes too long.
    pub(crate) async fn claim(&self, name: &PlacedName, staged: &mut StagedCatalog) -> SqlResult<()> {
        let claim = self.common.claims.take(name).await?;
        let base = self.parts.at(name.place).map(|shared| shared.state()).unwrap_or_default();
        staged.hold_of(claim, &base);
        Ok(())
    }

    /// Whether a table of the server's own store is on its way in or out.
    pub(crate) fn is_doomed(&self, table: &TableName) -> bool {
        let public = &self.parts.public;
        public.state().doomed.contains(&public.stored_as(table))
    }

    /// Whether a transaction that is open makes a table of the server's own store.
    pub(crate) fn is_being_made(&self, table: &TableName) -> bool {
        self.common.in_the_making.has(&self.parts.public.stored_as(table))
    }

    /// Whether a declared table has its rows there.
    pub(crate) fn is_declared_as(&self, stored: &StoredTable) -> bool {
        self.parts.at(stored.place).is_some_and(|shared| shared.state().owner_of(stored).is_some())
    }

    /// The number that locks of a table of the server's own store are known by, declared or found.
    pub(crate) fn oid_of_stored(&self, table: &TableName) -> u32 {
        let public = &self.parts.public;
        let stored = public.stored_as(table);
        public.state().owner_of(&stored).map_or_else(|| found::found_oid(&stored), |owner| owner.relation.oid)
    }

    /// The SQL name of a table of the server's own store, declared or found; `None` where something that is stored under
    /// another name has the one that it would be found by.
    pub(crate) fn name_of_stored(&self, table: &TableName) -> Option<String> {
        let public = &self.parts.public;
        let state = public.state();
        match state.owner_of(&public.stored_as(table)) {
            Some(owner) => Some(owner.relation.name.clone()),
            None => (!state.has_name(&PlacedName::public(table.as_str()))).then(|| table.as_str().to_owned()),
        }
    }

    /// An OID that nothing had before, and all of the block behind it.
    pub(crate) fn next_oid(&self, place: Place) -> u32 {
        match self.parts.at(place) {
            Some(shared) => oids::shown(place, shared.next_oid.fetch_add(OIDS_PER_TABLE, Ordering::Relaxed)),
            None => self.common.own.next_oid(),
        }
    }
}

impl Shared {
    fn new(place: Place, store: Arc<dyn TableStore>, common: &Arc<Common>) -> Self {
        Self {
            place,
            common: Arc::clone(common),
            store,
            has_table: AtomicBool::new(!place.is_mount()),
            contact: Contact::new(place),
            entries: tokio::sync::Mutex::default(),
            state: RwLock::default(),
            strangers: Strangers::default(),
            known_at: Mutex::default(),
            resting: Mutex::default(),
            changes: tokio::sync::Mutex::new(()),
            next_oid: AtomicU32::new(FIRST_OID),
        }
    }

    /// The store and its catalogue as they are now.
    fn moment(&self) -> (Arc<dyn TableReader>, Arc<State>) {
        loop {
            // A stored table is made before it is declared and dropped only after it was given up: so a reader made
            // while the declarations did not change has them all.
            let state = self.state();
            let reader = self.store.reader();
            if Arc::ptr_eq(&state, &self.state()) {
                return (reader, state);
            }
        }
    }

    /// A table of its store.
    fn stored_as(&self, name: &TableName) -> StoredTable {
        StoredTable::new(self.place, name.clone())
    }

    /// To be called before anything is written: what is mounted gets its catalogue then.
    ///
    /// # Errors
    /// 25006 for what is mounted read-only, 58030 for what was not reached yet; when the store fails.
    async fn open_for_writing(&self) -> SqlResult<()> {
        self.common.stores.check_writable(self.place)?;
        self.contact.wait().await?;
        if self.has_table.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.store.create_table(&catalog_table()?).await {
            Ok(()) => {}
            Err(StoreError::TableExists(_)) => self.check_shows_table().await?,
            Err(error) => return Err(error.into()),
        }
        self.has_table.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the table of the catalogue, which is said to be there, can be read: a server that gives others its store keeps its own.
    ///
    /// # Errors
    /// 0A000 when it cannot; when the store fails.
    async fn check_shows_table(&self) -> SqlResult<()> {
        let any = EntityKey::parse("", "")?;
        match self.store.reader().get(&catalog_table()?, &any).await {
            Err(StoreError::TableMissing(table)) => {
                let what = format!("changing what schema \"{}\" declares", self.place.schema());
                Err(SqlError::not_supported(what)
                    .with_detail(format!("Its store does not show table {table}, in which declarations are kept."))
                    .with_hint("Where the store is that of another server, run the statement there."))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change_state(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let (version, before) = (state.version + 1, state.tables.clone());
        let changed = Arc::make_mut(&mut state);
        change(changed);
        changed.version = version;
        self.tell_derived(&before, &changed.tables);
        self.strangers.clear();
    }

    /// Tells the store which columns tables are asked for whose declarations are not as they were.
    fn tell_derived(&self, before: &DeclaredTables, after: &DeclaredTables) {
        let is_in =
            |tables: &DeclaredTables, name, table| tables.get(name).is_some_and(|known| Arc::ptr_eq(known, table));
        for (_, table) in before.iter().filter(|(name, _)| !after.contains_key(name)) {
            self.store.keep_derived(&table.relation.stored.name, Vec::new());
        }
        for (_, table) in after.iter().filter(|(name, table)| !is_in(before, name, table)) {
            self.store.keep_derived(&table.relation.stored.name, table.relation.derived());
        }
    }

    fn start_oids_at(&self, first: u32) {
        self.next_oid.store(first, Ordering::Relaxed);
    }

    fn raise_oids_to(&self, first: u32) {
        self.next_oid.fetch_max(first, Ordering::Relaxed);
    }

    /// Writes one entry. One that is to be removed may be gone already.
    async fn write_entry(&self, operation: Operation) -> SqlResult<()> {
        let batch = Batch::single(catalog_table()?, operation).map_err(|error| too_large(&error))?;
        match self.store.commit(batch).await {
            Ok(_) | Err(CommitError::Rejected { reason: Rejection::EntityMissing, .. }) => Ok(()),
            Err(CommitError::Store(error)) => Err(error.into()),
            Err(CommitError::Rejected { reason, .. }) => Err(changed_meanwhile(&reason)),
        }
    }
}

fn catalog_table() -> SqlResult<TableName> {
    Ok(TableName::parse(CATALOG_TABLE)?)
}

/// Whether it is one of the gateway's own tables.
fn is_hidden(stored: &TableName) -> bool {
    own_tables::contains(stored)
}

fn changed_meanwhile(reason: &Rejection) -> Box<SqlError> {
    SqlError::new(ErrorKind::SerializationFailure, format!("the catalogue changed meanwhile: {reason}"))
        .with_hint("Run the transaction again.")
}

/// Another gateway has changed a table that was to be changed, or is changing it.
fn changed_meanwhile_by_another(table: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent DDL")
        .with_detail(format!("Table \"{table}\" is being changed by another gateway, or was."))
        .with_hint("Run the transaction again.")
}

fn too_large(error: &BatchError) -> Box<SqlError> {
    SqlError::new(ErrorKind::LimitExceeded, "the table's declaration is too large").with_detail(error.to_string())
}

/// The error for a name that a table, a sequence or a view has.
pub(super) fn duplicate_table(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::DuplicateTable, format!("relation \"{name}\" already exists"))
}

fn duplicate_stored(name: &str, stored: &TableName) -> Box<SqlError> {
    if name.eq_ignore_ascii_case(stored.as_str()) {
        return duplicate_table(name);
    }
    SqlError::new(ErrorKind::DuplicateTable, format!("the stored name \"{stored}\" for table \"{name}\" is taken"))
        .with_hint("Choose another with WITH (table = 'Name').")
}

//! Where tables are: each relation says its place, and what reads or writes it asks here for the store of that place.
//!
//! This is the one home that resolves a place to a store: [`Stores::at`], [`Readers::at`] and [`Readers::of`]. Besides the store that the
//! server is for there are the scratch store of temporary tables and those that were mounted, each behind a schema of its
//! own.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use tablegate_store::model::TableName;
use tablegate_store::table::{KeyRange, Sightings, TableReader, TableSize, TableStore};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::mount::{MountName, MountedStore};

/// A schema of tables, and the store behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The schema `public`: the store that the server is for.
    #[default]
    Public,
    /// The schema of this name: a store that was mounted under it.
    Mount(MountName),
    /// The schema `pg_temp_N` of the session with this number, which no other session sees: the scratch store.
    Temporary(u32),
}

impl Place {
    pub fn schema(self) -> Cow<'static, str> {
        match self {
            Place::Public => Cow::Borrowed("public"),
            Place::Mount(name) => Cow::Borrowed(name.as_str()),
            Place::Temporary(session) => Cow::Owned(format!("pg_temp_{session}")),
        }
    }

    /// Whether its rows obey the rules of the Table service: a transaction writes one entity group of them.
    pub fn has_rules(self) -> bool {
        match self {
            Place::Public | Place::Mount(_) => true,
            Place::Temporary(_) => false,
        }
    }

    /// Whether it is a store that was mounted.
    pub fn is_mount(self) -> bool {
        matches!(self, Place::Mount(_))
    }

    /// Whether only one session reads and writes there, and what is there ends with it.
    pub fn is_temporary(self) -> bool {
        matches!(self, Place::Temporary(_))
    }
}

/// The name of a table, a sequence or a view, and the place where it has that name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacedName {
    pub place: Place,
    /// SQL name, in its declared spelling or as it was asked for.
    pub name: String,
}

impl PlacedName {
    pub fn new(place: Place, name: &str) -> Self {
        Self { place, name: name.to_owned() }
    }

    pub fn public(name: &str) -> Self {
        Self::new(Place::Public, name)
    }

    /// Another name in the same place.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        Self::new(self.place, name)
    }
}

/// A stored table: its name in the store of its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredTable {
    pub place: Place,
    pub name: TableName,
}

impl StoredTable {
    pub fn new(place: Place, name: TableName) -> Self {
        Self { place, name }
    }

    /// In the store that the server is for.
    pub fn public(name: TableName) -> Self {
        Self::new(Place::Public, name)
    }
}

/// What its store knows it by.
impl Deref for StoredTable {
    type Target = TableName;

    fn deref(&self) -> &TableName {
        &self.name
    }
}

impl std::fmt::Display for StoredTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.name.fmt(f)
    }
}

/// The stores of all places. Cheap to clone.
#[derive(Clone)]
pub struct Stores {
    public: Arc<dyn TableStore>,
    scratch: Option<Arc<dyn TableStore>>,
    mounts: Arc<[MountedStore]>,
}

impl Stores {
    pub fn new(public: Arc<dyn TableStore>, scratch: Option<Arc<dyn TableStore>>, mounts: Vec<MountedStore>) -> Self {
        Self { public, scratch, mounts: mounts.into() }
    }

    /// The store that the server is for.
    pub fn public(&self) -> &Arc<dyn TableStore> {
        &self.public
    }

    /// Those that were mounted.
    pub fn mounts(&self) -> &[MountedStore] {
        &self.mounts
    }

    /// # Errors
    /// 0A000 for a place that this server has no store for.
    pub fn at(&self, place: Place) -> SqlResult<&Arc<dyn TableStore>> {
        match place {
            Place::Public => Ok(&self.public),
            Place::Mount(name) => self.mounted(name).map(|mount| &mount.store).ok_or_else(|| no_mount(name)),
            Place::Temporary(_) => self.scratch.as_ref().ok_or_else(no_scratch),
        }
    }

    /// Whether this server is the only one that writes there while it runs.
    pub fn has_sole_writer(&self, place: Place) -> bool {
        self.at(place).is_ok_and(|store| store.promises().sole_writer)
    }

    /// # Errors
    /// 25006 for a store that is mounted to be read only.
    pub fn check_writable(&self, place: Place) -> SqlResult<()> {
        let Place::Mount(name) = place else { return Ok(()) };
        match self.mounted(name) {
            Some(mount) if mount.read_only => Err(mounted_read_only(name)),
            _ => Ok(()),
        }
    }

    fn mounted(&self, name: MountName) -> Option<&MountedStore> {
        self.mounts.iter().find(|mount| mount.name == name)
    }
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scratch, mounts) = (self.scratch.is_some(), &self.mounts);
        f.debug_struct("Stores").field("scratch", &scratch).field("mounts", mounts).finish_non_exhaustive()
    }
}

/// What one statement reads of each store: one moment of it.
#[derive(Clone)]
pub struct Readers {
    public: Arc<dyn TableReader>,
    mounts: MountReaders,
    /// Made when it is first asked for. Until then nothing changes there: only the session itself writes to it, and what
    /// a statement reads it has opened before another one commits.
    scratch: OnceLock<Arc<dyn TableReader>>,
    stores: Stores,
    made: Option<Arc<MadeTables>>,
}

/// Stored tables that the open transaction has made, and a moment of them that is later than its snapshot: nobody else
/// writes to them, and what it has written there itself it must see.
pub struct MadeTables {
    tables: BTreeSet<StoredTable>,
    readers: Readers,
}

/// A reader of each store that is mounted.
pub type MountReaders = Vec<(MountName, Arc<dyn TableReader>)>;

impl Readers {
    pub fn new(public: Arc<dyn TableReader>, mounts: MountReaders, stores: Stores) -> Self {
        Self { public, mounts, scratch: OnceLock::new(), stores, made: None }
    }

    /// The same, but for these tables, which are read with others.
    #[must_use]
    pub fn reading_made(self, tables: BTreeSet<StoredTable>, readers: Readers) -> Self {
        Self { made: Some(Arc::new(MadeTables { tables, readers })), ..self }
    }

    /// Of the store that the server is for.
    pub fn public(&self) -> &dyn TableReader {
        &*self.public
    }

    /// How much a table holds, as its store estimates it. `None` if the store does not count it, and for a table that
    /// is not in its store yet, or not any more.
    pub fn size_of(&self, table: &StoredTable) -> Option<TableSize> {
        self.of(table).ok()?.estimate(table).ok().flatten()
    }

    /// Whether scans of all of a table can be split, by how it is kept now.
    pub fn splits(&self, table: &StoredTable) -> bool {
        self.of(table).is_ok_and(|reader| !reader.split(&table.name, &[KeyRange::all()], 2).is_empty())
    }

    /// About how many rows a partition of a table has, `most` for as many or more. `None` where its store cannot tell at once.
    pub fn partition_rows(&self, table: &StoredTable, most: usize) -> Option<usize> {
        self.of(table).ok()?.partition_rows(&table.name, most)
    }

    /// How what is observed of a table came to be known. Empty where its store sees every write.
    pub fn sightings_of(&self, table: &StoredTable) -> Arc<Sightings> {
        self.of(table).map(|reader| reader.sightings(table)).unwrap_or_default()
    }

    /// What this table is read with.
    ///
    /// # Errors
    /// 0A000 for a place that this server has no store for.
    pub fn of(&self, table: &StoredTable) -> SqlResult<&dyn TableReader> {
        match &self.made {
            Some(made) if made.tables.contains(table) => made.readers.at(table.place),
            _ => self.at(table.place),
        }
    }

    /// # Errors
    /// 0A000 for a place that this server has no store for.
    pub fn at(&self, place: Place) -> SqlResult<&dyn TableReader> {
        match place {
            Place::Public => Ok(&*self.public),
            Place::Mount(name) => {
                let reader = self.mounts.iter().find(|(of, _)| *of == name);
                reader.map(|(_, reader)| &**reader).ok_or_else(|| no_mount(name))
            }
            Place::Temporary(_) => {
                let store = self.stores.at(place)?;
                Ok(&**self.scratch.get_or_init(|| store.reader()))
            }
        }
    }
}

fn no_scratch() -> Box<SqlError> {
    SqlError::new(ErrorKind::FeatureNotSupported, "this server keeps no temporary tables")
        .with_detail("It was started without a scratch store.")
}

fn no_mount(name: MountName) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{name}\" does not exist"))
}

fn mounted_read_only(name: MountName) -> Box<SqlError> {
    SqlError::new(ErrorKind::ReadOnlyTransaction, format!("cannot write to schema \"{name}\": it is mounted read-only"))
        .with_hint("Mount it without read_only, or write to another schema.")
}

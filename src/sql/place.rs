//! Where tables are: each relation says its place, and what reads or writes it asks here for the store of that place.
//!
//! This is the one home that resolves a place to a store. Another store behind a schema of its own is another [`Place`]
//! and another arm in [`Stores::at`] and [`Readers::at`]; nothing else knows how many there are.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::error::{ErrorKind, SqlError, SqlResult};
use crate::model::TableName;
use crate::table::{Sightings, TableReader, TableSize, TableStore};

/// A schema of tables, and the store behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The schema `public`: the store that the server is for.
    #[default]
    Public,
    /// The schema `pg_temp_N` of the session with this number, which nobody else sees: the scratch store.
    Temporary(u32),
}

impl Place {
    pub fn schema(self) -> Cow<'static, str> {
        match self {
            Place::Public => Cow::Borrowed("public"),
            Place::Temporary(session) => Cow::Owned(format!("pg_temp_{session}")),
        }
    }

    /// Whether its rows obey the rules of the Table service: a transaction writes one entity group of them.
    pub fn has_rules(self) -> bool {
        match self {
            Place::Public => true,
            Place::Temporary(_) => false,
        }
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
}

impl Stores {
    pub fn new(public: Arc<dyn TableStore>, scratch: Option<Arc<dyn TableStore>>) -> Self {
        Self { public, scratch }
    }

    /// The store that the server is for, and that keeps its catalogue.
    pub fn public(&self) -> &Arc<dyn TableStore> {
        &self.public
    }

    /// # Errors
    /// 0A000 for a place that this server has no store for.
    pub fn at(&self, place: Place) -> SqlResult<&Arc<dyn TableStore>> {
        match place {
            Place::Public => Ok(&self.public),
            Place::Temporary(_) => self.scratch.as_ref().ok_or_else(no_scratch),
        }
    }

    /// Whether nobody else writes there while this server runs.
    pub fn has_sole_writer(&self, place: Place) -> bool {
        self.at(place).is_ok_and(|store| store.promises().sole_writer)
    }
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stores").field("scratch", &self.scratch.is_some()).finish_non_exhaustive()
    }
}

/// What one statement reads of each store: one moment of it.
pub struct Readers {
    public: Arc<dyn TableReader>,
    /// Made when it is first asked for. Until then nothing changes there: only the session itself writes to it, and what
    /// a statement reads it has opened before another one commits.
    scratch: OnceLock<Arc<dyn TableReader>>,
    stores: Stores,
}

impl Readers {
    pub fn new(public: Arc<dyn TableReader>, stores: Stores) -> Self {
        Self { public, scratch: OnceLock::new(), stores }
    }

    /// Of the store that the server is for.
    pub fn public(&self) -> &dyn TableReader {
        &*self.public
    }

    /// How much a table holds, as its store estimates it. `None` where nobody knows, and for a table that is not in its store
    /// yet, or not any more.
    pub fn size_of(&self, table: &StoredTable) -> Option<TableSize> {
        self.at(table.place).ok()?.estimate(table).ok().flatten()
    }

    /// How what is observed of a table came to be known. Empty where its store sees every write.
    pub fn sightings_of(&self, table: &StoredTable) -> Arc<Sightings> {
        self.at(table.place).map(|reader| reader.sightings(table)).unwrap_or_default()
    }

    /// # Errors
    /// 0A000 for a place that this server has no store for.
    pub fn at(&self, place: Place) -> SqlResult<&dyn TableReader> {
        match place {
            Place::Public => Ok(&*self.public),
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

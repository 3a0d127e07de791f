//! What a session has for itself in the catalogue: its temporary tables, with their sequences and views.
//!
//! None of it is written anywhere. It is looked up before what all sessions see, and a transaction's changes before
//! both.

use std::sync::Arc;

use super::overlaid::Overlaid;
use super::staged::StagedCatalog;
use super::state::State;
use super::{Catalog, declaration::Declaration};
use crate::mount::MountName;
use crate::place::{Place, PlacedName};

/// The temporary objects of one session.
#[derive(Debug, Clone)]
pub struct SessionCatalog {
    place: Place,
    state: Arc<State>,
    public_first: bool,
    mounts: Arc<[MountName]>,
    overlaid: Overlaid,
}

impl SessionCatalog {
    /// Of a new session, which has none yet.
    pub fn new(catalog: &Catalog) -> Self {
        Self { place: catalog.own_place(), mounts: catalog.mounts(), ..Self::none() }
    }

    /// Without a session.
    pub fn none() -> Self {
        Self {
            place: Place::Temporary(0),
            state: Arc::default(),
            public_first: false,
            mounts: Arc::default(),
            overlaid: Overlaid::default(),
        }
    }

    /// Where its objects are.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.state.tables.is_empty() && self.state.sequences.is_empty() && self.state.views.is_empty()
    }

    /// Says whether `search_path` looks for them behind the others.
    pub fn look_behind_public(&mut self, behind: bool) {
        if self.public_first != behind {
            self.public_first = behind;
            // Names mean others.
            self.overlaid = Overlaid::default();
        }
    }

    /// Takes a transaction's changes of temporary objects for committed.
    pub(crate) fn apply(&mut self, temporary: &StagedCatalog) {
        if !temporary.is_empty() {
            self.state = Arc::new(temporary.applied_to(&self.state));
            self.overlaid = Overlaid::default();
        }
    }

    /// Its tables.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.state.tables.values().map(|table| &table.declaration)
    }

    /// The names of its sequences and of its views.
    pub fn others(&self) -> (Vec<PlacedName>, Vec<PlacedName>) {
        (self.state.sequences.keys().cloned().collect(), self.state.views.keys().cloned().collect())
    }

    /// Lays them over the committed state that all sessions see.
    pub(super) fn over(&self, base: &Arc<State>) -> Arc<State> {
        if self.is_empty() {
            return base.clone();
        }
        self.overlaid.over(base, |base| {
            let mut state = base.clone();
            state.add_all(&self.state);
            state
        })
    }

    /// Where names without a schema are looked for.
    pub fn search(&self) -> Search {
        Search { temporary: self.place, public_first: self.public_first, mounts: self.mounts.clone() }
    }
}

/// Where names without a schema are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    temporary: Place,
    public_first: bool,
    mounts: Arc<[MountName]>,
}

impl Search {
    /// Whether it looks in the same places, but for where each session has its temporary objects.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.public_first, &self.mounts) == (other.public_first, &other.mounts)
    }
}

impl Default for Search {
    /// The search path outside of any session.
    fn default() -> Self {
        SessionCatalog::none().search()
    }
}

impl Search {
    /// The places in the order in which they are looked through. What is mounted is found under its schema alone.
    pub fn places(&self) -> [Place; 2] {
        match self.public_first {
            false => [self.temporary, Place::Public],
            true => [Place::Public, self.temporary],
        }
    }

    /// That of temporary objects.
    pub fn temporary(&self) -> Place {
        self.temporary
    }

    /// Those of the stores that are mounted.
    pub fn mounts(&self) -> impl Iterator<Item = Place> {
        self.mounts.iter().map(|name| Place::Mount(*name))
    }

    /// The place that a schema's name means; `None` where there is no such schema.
    pub fn place_of_schema(&self, schema: &str) -> Option<Place> {
        match schema {
            "public" => Some(Place::Public),
            "pg_temp" => Some(self.temporary),
            other => self.mounts().chain([self.temporary]).find(|place| place.schema() == other),
        }
    }
}

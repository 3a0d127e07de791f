//! Windows of columns as they are handed to the commit thread: as far made into bytes as it can be done without it.

use tablegate_store::model::{EdmDateTime, EntityKey, TableName};
use tablegate_store::table::{EntityWindow, KnownChange, KnownEntities};

use super::encoded::EncodedEntities;
use super::encoded_keys::EncodedKeys;

pub(super) enum EncodedWindow {
    New(EncodedEntities),
    Known(EncodedKnown),
}

/// Entities that are there, in the order of their transactions.
pub(super) struct EncodedKnown {
    pub(super) entities: KnownEntities,
    pub(super) keys: EncodedKeys,
    /// Of each row in that order: its place among the entities, and the version that it was read in. `None` for one
    /// that this store has never given to anything.
    pub(super) rows: Vec<(usize, Option<EdmDateTime>)>,
}

impl EncodedWindow {
    /// The values of new entities are only in their bytes then, but where they are to be kept.
    pub(super) fn new(window: EntityWindow, keeps_values: bool) -> Self {
        match window {
            EntityWindow::New(new) if keeps_values => EncodedWindow::New(EncodedEntities::keeping_values(new)),
            EntityWindow::New(new) => EncodedWindow::New(EncodedEntities::new(new)),
            EntityWindow::Known(known) => EncodedWindow::Known(EncodedKnown::new(known)),
        }
    }

    pub(super) fn into_window(self) -> EntityWindow {
        match self {
            EncodedWindow::New(new) => new.entities.into(),
            EncodedWindow::Known(known) => known.entities.into(),
        }
    }

    pub(super) fn table(&self) -> &TableName {
        match self {
            EncodedWindow::New(new) => new.entities.table(),
            EncodedWindow::Known(known) => known.entities.table(),
        }
    }

    pub(super) fn transactions(&self) -> usize {
        match self {
            EncodedWindow::New(new) => new.entities.transactions(),
            EncodedWindow::Known(known) => known.entities.transactions(),
        }
    }

    /// The place of an operation's entity among those that came.
    pub(super) fn place(&self, transaction: usize, operation: usize) -> Option<usize> {
        match self {
            EncodedWindow::New(new) => new.entities.transaction(transaction).nth(operation),
            EncodedWindow::Known(known) => known.entities.transaction(transaction).nth(operation),
        }
    }

    /// The key of a row on its own.
    pub(super) fn entity_key(&self, row: usize) -> EntityKey {
        match self {
            EncodedWindow::New(EncodedEntities { entities, .. }) => {
                let mut places = (0..entities.transactions()).flat_map(|index| entities.transaction(index));
                entities.keys().key(places.nth(row).unwrap_or_default())
            }
            EncodedWindow::Known(known) => known.entities.keys().key(known.rows[row].0),
        }
    }

    pub(super) fn keys(&self) -> &EncodedKeys {
        match self {
            EncodedWindow::New(new) => &new.rows.keys,
            EncodedWindow::Known(known) => &known.keys,
        }
    }

    pub(super) fn set_table(&mut self, number: u32) {
        match self {
            EncodedWindow::New(new) => new.rows.keys.set_table(number),
            EncodedWindow::Known(known) => known.keys.set_table(number),
        }
    }

    /// Whether it leaves more room on the disk than it takes.
    pub(super) fn frees_room(&self) -> bool {
        match self {
            EncodedWindow::New(_) => false,
            EncodedWindow::Known(known) => matches!(known.entities.change(), KnownChange::Delete),
        }
    }
}

impl EncodedKnown {
    fn new(entities: KnownEntities) -> Self {
        let mut keys = EncodedKeys::with_capacity(entities.len());
        let mut rows = Vec::with_capacity(entities.len());
        for place in (0..entities.transactions()).flat_map(|index| entities.transaction(index)) {
            let (partition, row) = entities.keys().pair(place);
            keys.push(partition, row);
            rows.push((place, entities.versions()[place].timestamp().ok()));
        }
        Self { entities, keys, rows }
    }
}

//! Insertions of a transaction that stay the columns they came as, until the store has them.
//!
//! Rows that are loaded in a block are many, and mostly nobody asks for one of them before the commit. Who does is shown
//! them as rows like all others that the transaction wrote: these are made once, and only then; their values stay where
//! they are.

use std::sync::{Arc, OnceLock};

use tablegate_store::model::{EdmDateTime, EntityKeys, Properties};
use tablegate_store::table::NewEntities;

use super::held_back_space::Taken;
use super::layers::Moment;
use super::net_write::NetWrite;
use super::spill::Kept;

/// Rows of one statement, or a part of them.
#[derive(Debug)]
pub(crate) struct ColumnWindow {
    entities: NewEntities,
    written: EdmDateTime,
    /// Given back when nobody needs the columns any longer.
    _taken: Taken,
}

/// What a transaction inserted into a table as columns. A copy shares them.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnWrites {
    windows: Arc<Vec<Arc<ColumnWindow>>>,
    /// The same row by row, once somebody has asked.
    rows: Arc<OnceLock<Moment<Arc<NetWrite>>>>,
}

impl ColumnWindow {
    pub(super) fn new(entities: NewEntities, written: EdmDateTime, taken: Taken) -> Self {
        Self { entities, written, _taken: taken }
    }

    pub(super) fn entities(&self) -> &NewEntities {
        &self.entities
    }

    /// The values of the row at a place.
    pub(super) fn properties(&self, place: usize) -> Properties {
        self.entities.entity(place).properties
    }

    fn keys(&self) -> &EntityKeys {
        self.entities.keys()
    }
}

impl ColumnWrites {
    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Adds rows, none of which the transaction has written before.
    pub(super) fn push(&mut self, window: ColumnWindow) {
        Arc::make_mut(&mut self.windows).push(Arc::new(window));
        self.rows = Arc::default();
    }

    pub(super) fn windows(&self) -> &[Arc<ColumnWindow>] {
        &self.windows
    }

    /// Whether somebody has asked for them row by row.
    pub(super) fn are_rows(&self) -> bool {
        self.rows.get().is_some()
    }

    /// All of them as rows.
    pub(super) fn rows(&self) -> &Moment<Arc<NetWrite>> {
        self.rows.get_or_init(|| {
            let mut rows = Vec::with_capacity(self.windows.iter().map(|window| window.keys().len()).sum());
            for window in &*self.windows {
                for (place, bytes) in window.entities.operations_bytes().into_iter().enumerate() {
                    let kept = Some(Kept::in_columns(Arc::clone(window), place));
                    let write = NetWrite { base: None, kept, written: window.written, bytes, replaces: false };
                    rows.push((window.keys().key(place), Arc::new(write)));
                }
            }
            if !rows.is_sorted_by(|one, next| one.0 < next.0) {
                rows.sort_unstable_by(|one, other| one.0.cmp(&other.0));
            }
            Moment::of(rows)
        })
    }
}

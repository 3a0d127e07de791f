//! The beginning of a statement that is committed as it goes, held back: as long as it is not long, all of it is
//! committed together or nothing.

use tablegate_store::model::EntityKey;
use tablegate_store::table::{Operation, SeededHash};

use super::in_flight::{Columns, Handed};

/// How much is held back at most, counted as rows take memory until they are written.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// What each row takes besides its values.
const ROW_BYTES: usize = 128;

/// Windows that wait for each other.
#[derive(Default)]
pub(super) struct HeldBack {
    windows: Vec<Handed>,
    bytes: usize,
}

impl HeldBack {
    pub(super) fn push(&mut self, window: Handed) {
        self.bytes += match &window {
            Handed::Egts(egts) => {
                let operations = egts.iter().flat_map(|egt| egt.batch.operations());
                let bytes =
                    |operation: &Operation| ROW_BYTES + operation.entity().map_or(0, |entity| entity.stored_size());
                operations.map(bytes).sum::<usize>()
            }
            Handed::Columns(Columns { window, .. }) => window.bytes() + ROW_BYTES * window.len(),
        };
        self.windows.push(window);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Whether it is too much to wait any longer.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    pub(super) fn into_windows(self) -> Vec<Handed> {
        self.windows
    }

    /// The first row, as they came, whose key came before: the key, and where the row was in the input.
    pub(super) fn first_twice(&self) -> Option<(EntityKey, u64)> {
        let rows = self.rows();
        if rows.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return None;
        }
        let hash = SeededHash::default();
        let mut hashed: Vec<(u64, u64, (&str, &str))> =
            rows.into_iter().map(|(pair, position)| (hash.of_pair(pair), position, pair)).collect();
        hashed.sort_unstable();
        let again =
            hashed.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].2 == pair[1].2).map(|pair| pair[1]);
        let (_, position, (partition, row)) = again.min_by_key(|(_, position, _)| *position)?;
        Some((EntityKey::parse(partition, row).ok()?, position))
    }

    /// Every row's key, and where it was in the input.
    pub(super) fn rows(&self) -> Vec<((&str, &str), u64)> {
        let mut rows = Vec::new();
        for window in &self.windows {
            match window {
                Handed::Egts(egts) => rows.extend(egts.iter().flat_map(|egt| {
                    let keys = egt.batch.operations().iter().map(|operation| operation.key().as_pair());
                    keys.zip(egt.positions.iter().copied())
                })),
                Handed::Columns(Columns { window, positions, .. }) => {
                    rows.extend(window.keys().pairs().zip(positions.iter().copied()));
                }
            }
        }
        rows
    }
}

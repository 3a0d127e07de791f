//! The beginning of a statement that is committed as it goes, held back: as long as it is not long, all of it is
//! committed together or nothing. What comes as columns is written ahead meanwhile, where the store can.

use std::sync::Arc;

use tablegate_store::model::{EntityKey, TableName};
use tablegate_store::table::{Operation, SeededHash, StagedRows, StoreError, TableStore};

use super::ahead::Ahead;
use super::held_back_space::{HeldBackSpace, Taken};
use super::in_flight::{Columns, Handed};
use super::only_ahead::OnlyAhead;

/// How much is held back at most, counted as rows take memory until they are written: less where many statements share
/// the memory.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// What each row takes besides its values, until all of them are written at once.
const ROW_BYTES: usize = 128;

/// Windows that wait for each other, on their way into one table.
pub(super) struct HeldBack {
    store: Arc<dyn TableStore>,
    table: TableName,
    windows: Vec<Handed>,
    space: Arc<HeldBackSpace>,
    taken: Taken,
    /// There is no memory left to hold back more.
    is_short: bool,
    /// What is written ahead: nothing as long as there is one window, which is as soon written at the end.
    ahead: Option<Ahead>,
}

impl HeldBack {
    pub(super) fn new(store: Arc<dyn TableStore>, table: TableName, space: &Arc<HeldBackSpace>) -> Self {
        let (space, taken) = (space.clone(), space.begin());
        Self { store, table, windows: Vec::new(), space, taken, is_short: false, ahead: None }
    }

    pub(super) async fn push(&mut self, window: Handed) {
        match (window.as_new(), &mut self.ahead) {
            (Some(new), Some(ahead)) => ahead.push(new.clone()).await,
            (Some(new), None)
                if self.windows.len() == 1 && self.windows.iter().all(|first| first.as_new().is_some()) =>
            {
                let mut ahead = Ahead::begin(self.store.clone(), self.table.clone());
                for new in self.windows.iter().filter_map(Handed::as_new).chain([new]) {
                    ahead.push(new.clone()).await;
                }
                self.ahead = Some(ahead);
            }
            (Some(_), None) => {}
            // All of them go one way.
            (None, _) => self.ahead = None,
        }
        let bytes = match &window {
            Handed::Egts(egts) => {
                let operations = egts.iter().flat_map(|egt| egt.batch.operations());
                let bytes =
                    |operation: &Operation| ROW_BYTES + operation.entity().map_or(0, |entity| entity.stored_size());
                operations.map(bytes).sum::<usize>()
            }
            Handed::Columns(Columns { window, .. }) => window.bytes() + ROW_BYTES * window.len(),
        };
        self.is_short |= !self.taken.add(bytes);
        self.windows.push(window);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Whether it is too much to wait any longer.
    pub(super) fn is_full(&self) -> bool {
        self.is_short || self.taken.bytes() >= BYTES_MAX
    }

    /// Whether the store takes the rows ahead: the table was empty.
    pub(super) fn is_written_ahead(&self) -> bool {
        self.ahead.as_ref().is_some_and(Ahead::goes_on)
    }

    /// All rows, where all of them are written ahead.
    pub(super) async fn written_ahead(&mut self) -> Option<Box<dyn StagedRows>> {
        let log = |error: &StoreError| tracing::debug!(%error, "rows are not written ahead");
        self.ahead.take()?.finish().await.inspect_err(log).ok().flatten()
    }

    /// Keeps them no longer, where they are all written ahead, and no key is there twice. Else they are to be committed.
    pub(super) fn let_go(&mut self) -> Option<OnlyAhead> {
        // Their memory is as good as free.
        self.taken = self.space.begin();
        let windows = self.windows.iter().filter_map(Handed::as_new);
        OnlyAhead::of(&mut self.ahead, windows, &self.space)
    }

    /// How many entity group transactions there are, and rows.
    pub(super) fn extent(&self) -> (usize, usize) {
        let of = |window: &Handed| match window {
            Handed::Egts(egts) => (egts.len(), egts.iter().map(|egt| egt.positions.len()).sum()),
            Handed::Columns(Columns { window, .. }) => (window.transactions(), window.len()),
        };
        let add = |sum: (usize, usize), more: (usize, usize)| (sum.0 + more.0, sum.1 + more.1);
        self.windows.iter().map(of).fold((0, 0), add)
    }

    /// What is to be committed, and what holds its memory until it is.
    pub(super) fn into_windows(self) -> (Vec<Handed>, Taken) {
        (self.windows, self.taken)
    }

    /// The first row, as they came, whose key came before: the key, and where the row was in the input.
    pub(super) fn first_twice(&self) -> Option<(EntityKey, u64)> {
        if self.rows().is_sorted_by(|one, next| one.0 < next.0) {
            return None;
        }
        let hash = SeededHash::default();
        let mut hashed: Vec<(u64, u64, (&str, &str))> =
            self.rows().map(|(pair, position)| (hash.of_pair(pair), position, pair)).collect();
        hashed.sort_unstable();
        let again =
            hashed.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].2 == pair[1].2).map(|pair| pair[1]);
        let (_, position, (partition, row)) = again.min_by_key(|(_, position, _)| *position)?;
        Some((EntityKey::parse(partition, row).ok()?, position))
    }

    /// Every row's key, and where it was in the input.
    pub(super) fn rows(&self) -> impl Iterator<Item = ((&str, &str), u64)> {
        self.windows.iter().flat_map(|window| {
            let (egts, columns) = match window {
                Handed::Egts(egts) => (egts.as_slice(), None),
                Handed::Columns(columns) => (&[][..], Some(columns)),
            };
            let of_egts = egts.iter().flat_map(|egt| {
                let keys = egt.batch.operations().iter().map(|operation| operation.key().as_pair());
                keys.zip(egt.positions.iter().copied())
            });
            let of_columns = columns
                .into_iter()
                .flat_map(|Columns { window, positions, .. }| window.keys().pairs().zip(positions.iter().copied()));
            of_egts.chain(of_columns)
        })
    }
}

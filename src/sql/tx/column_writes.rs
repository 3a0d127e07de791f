//! Writes of a transaction that stay the columns they came as, until the store has them.
//!
//! Rows that are loaded, changed or removed many at a time in a block are mostly not asked for before the commit. Who asks
//! for one is shown them as rows like all others that the transaction wrote: these are made once, and only then; their
//! values stay where they are.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use tablegate_store::model::{ETag, EdmDateTime, EntityKey, EntityKeys};
use tablegate_store::table::{Direction, EntityWindow, KeyRange, KnownChange, NewEntities, StoreError, TableStore};
use tablegate_types::error::SqlResult;

use super::column_entries::ColumnEntries;
use super::held_back_space::Taken;
use super::layers::Moment;
use super::net_write::NetWrite;
use super::spill::{self, Kept, Values};
use super::stretch::{Stretch, partition_point};

/// Where windows are put in order, so many rows make one.
const ORDERED_ROWS: usize = 8_192;
/// What each row takes besides its values, until all of them are written at once.
const ROW_BYTES: usize = 128;

/// Rows of one statement, or a part of them, all of them locked.
pub(crate) struct ColumnWindow {
    entities: EntityWindow,
    /// What each operation adds to the body of a transaction, by the places of keys: counted once.
    operations_bytes: Vec<usize>,
    written: EdmDateTime,
    /// The places of rows in the order of their keys, once somebody has asked. `None` where they came like that.
    order: OnceLock<Option<Vec<u32>>>,
    /// Where those are that are changed.
    store: Arc<dyn TableStore>,
    /// Given back when nobody needs the columns any longer.
    taken: Taken,
}

/// A key, as PartitionKey and RowKey.
type Pair<'k> = (&'k str, &'k str);

/// What a transaction wrote to a table as columns. A copy shares them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnWrites {
    windows: Arc<Vec<Arc<ColumnWindow>>>,
    /// The same row by row, once somebody has asked.
    rows: Arc<OnceLock<Moment<Arc<NetWrite>>>>,
    /// How many windows were searched for single rows.
    searched: Arc<AtomicUsize>,
    /// The rows of the first so many windows, which were asked for before the others came.
    earlier: Option<(usize, Moment<Arc<NetWrite>>)>,
}

impl ColumnWindow {
    /// What is kept of each row besides the entities.
    pub(crate) const OPERATION_BYTES: usize = size_of::<usize>();

    /// Of a store that commits groups, which looks up a row at once.
    pub(crate) fn new(entities: EntityWindow, written: EdmDateTime, store: Arc<dyn TableStore>, taken: Taken) -> Self {
        let operations_bytes = entities.operations_bytes();
        Self { entities, operations_bytes, written, order: OnceLock::new(), store, taken }
    }

    pub(super) fn entities(&self) -> &EntityWindow {
        &self.entities
    }

    /// When the transaction wrote them.
    pub(super) fn written(&self) -> EdmDateTime {
        self.written
    }

    /// The place of a row, which is so far in the order of keys.
    pub(super) fn place_in_order(&self, at: usize) -> usize {
        let order = self.order.get_or_init(|| self.order_of_keys());
        order.as_ref().map_or(at, |order| order[at] as usize)
    }

    /// The key of a row, which is so far in the order of keys.
    pub(super) fn pair_in_order(&self, at: usize) -> (&str, &str) {
        self.keys().pair(self.place_in_order(at))
    }

    /// Where the row of a key is.
    pub(super) fn place_of(&self, key: (&str, &str)) -> Option<usize> {
        let rows = self.keys().len();
        let is_beyond = |at: usize| self.pair_in_order(at) < key;
        // Windows that came in the order of keys are mostly beside it.
        if rows == 0 || is_beyond(rows - 1) || self.pair_in_order(0) > key {
            return None;
        }
        let at = partition_point(0..rows, is_beyond);
        (self.pair_in_order(at) == key).then(|| self.place_in_order(at))
    }

    /// Its first key, and its last.
    fn span(&self) -> Option<(Pair<'_>, Pair<'_>)> {
        let last = self.keys().len().checked_sub(1)?;
        Some((self.pair_in_order(0), self.pair_in_order(last)))
    }

    fn order_of_keys(&self) -> Option<Vec<u32>> {
        let keys = self.keys();
        if keys.pairs().is_sorted() {
            return None;
        }
        // A window has fewer rows than that, by far.
        let mut order: Vec<u32> = (0..u32::try_from(keys.len()).unwrap_or(u32::MAX)).collect();
        order.sort_unstable_by(|one, other| keys.pair(*one as usize).cmp(&keys.pair(*other as usize)));
        self.taken.note(order.len() * size_of::<u32>());
        Some(order)
    }

    pub(super) fn operations_bytes(&self) -> &[usize] {
        &self.operations_bytes
    }

    /// What it takes until it is committed.
    pub(super) fn bytes(&self) -> usize {
        self.entities.bytes() + ROW_BYTES * self.keys().len()
    }

    /// What the row at a place shall be.
    ///
    /// # Errors
    /// When the store cannot read the row that is changed.
    pub(super) fn values(&self, place: usize) -> SqlResult<Values> {
        let known = match &self.entities {
            EntityWindow::New(new) => return Ok(Values { after: new.entity(place).properties, patch: None }),
            EntityWindow::Known(known) => known,
        };
        let (key, patch) = known.operation(place).into_parts();
        let waits = || StoreError::Unsupported("looking up a row without waiting");
        let found = self.store.reader().get(known.table(), &key).now_or_never().ok_or_else(waits)??;
        // It is locked: the row is there as it was found.
        let mut after = found.map(|stored| stored.entity.properties).unwrap_or_default();
        after.merge(patch.clone());
        Ok(Values { after, patch: Some(patch) })
    }

    fn keys(&self) -> &EntityKeys {
        self.entities.keys()
    }

    /// Whether its rows are removed.
    fn removes(&self) -> bool {
        matches!(&self.entities, EntityWindow::Known(known) if matches!(known.change(), KnownChange::Delete))
    }

    /// Its rows with the versions that they are known in; none of new ones.
    fn versions(&self) -> impl Iterator<Item = (EntityKey, ETag)> {
        let versions = match &self.entities {
            EntityWindow::New(_) => &[],
            EntityWindow::Known(known) => known.versions(),
        };
        versions.iter().enumerate().map(|(place, version)| (self.keys().key(place), version.clone()))
    }

    /// All of them, in key order. Who asks for them is not refused: others have less memory then.
    fn rows(self: &Arc<Self>) -> Vec<(EntityKey, Arc<NetWrite>)> {
        let row = |place| (self.keys().key(place), Arc::new(self.write(place)));
        self.taken.note(self.keys().bytes() + spill::ROW_BYTES * self.keys().len());
        let mut rows: Vec<_> = (0..self.keys().len()).map(row).collect();
        if !rows.is_sorted_by(|one, next| one.0 < next.0) {
            rows.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        }
        rows
    }

    /// The row at a place, as if it was written on its own.
    pub(super) fn write(self: &Arc<Self>, place: usize) -> NetWrite {
        let in_columns = || Some(Kept::in_columns(Arc::clone(self), place));
        let (base, kept) = match &self.entities {
            EntityWindow::New(_) => (None, in_columns()),
            EntityWindow::Known(known) => match known.change() {
                KnownChange::Delete => (Some(known.versions()[place].clone()), None),
                KnownChange::Merge(_) => (Some(known.versions()[place].clone()), in_columns()),
            },
        };
        NetWrite {
            base,
            kept,
            written: self.written,
            bytes: self.operations_bytes[place],
            replaces: false,
            _memory: None,
        }
    }
}

impl ColumnWrites {
    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Adds rows, none of which the transaction has written before but to remove it.
    pub(super) fn push(&mut self, window: ColumnWindow) {
        if let Some(rows) = self.rows.get() {
            self.earlier = Some((self.windows.len(), rows.clone()));
        }
        // Copies of before have rows of their own.
        self.rows = Arc::default();
        self.searched = Arc::default();
        Arc::make_mut(&mut self.windows).push(Arc::new(window));
    }

    /// Puts others in the places of windows, which are told by their numbers, each once.
    pub(super) fn replace(&mut self, replaced: Vec<(usize, Vec<ColumnWindow>)>) {
        let (numbers, others): (BTreeSet<usize>, Vec<_>) = replaced.into_iter().unzip();
        let windows = self.windows.iter().enumerate().filter(|(number, _)| !numbers.contains(number));
        let windows = windows.map(|(_, window)| Arc::clone(window));
        let windows = windows.chain(others.into_iter().flatten().map(Arc::new)).collect();
        *self = Self { windows: Arc::new(windows), ..Self::default() };
    }

    /// What their values take of the memory of rows that are held back.
    pub(super) fn held_bytes(&self) -> usize {
        self.windows.iter().map(|window| window.taken.bytes()).sum()
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.windows.iter().map(|window| window.keys().len()).sum()
    }

    /// Whether so many rows are removed, and nothing else is written.
    pub(super) fn remove_alone(&self, rows: usize) -> bool {
        self.len() == rows && self.windows.iter().all(|window| window.removes())
    }

    /// The rows that are removed, with the versions they had.
    pub(super) fn removed(&self) -> impl Iterator<Item = (EntityKey, ETag)> {
        self.windows.iter().filter(|window| window.removes()).flat_map(|window| window.versions())
    }

    /// Whether all of them are new rows.
    pub(super) fn are_new(&self) -> bool {
        self.windows.iter().all(|window| window.entities.as_new().is_some())
    }

    pub(super) fn has_new(&self) -> bool {
        self.windows.iter().any(|window| window.entities.as_new().is_some())
    }

    pub(super) fn windows(&self) -> &Arc<Vec<Arc<ColumnWindow>>> {
        &self.windows
    }

    /// At least as many as there are rows in the ranges; none where there are none.
    pub(super) fn count_at_most(&self, ranges: &[KeyRange]) -> usize {
        let in_windows = |stretch: Stretch| {
            let in_window =
                |window: &Arc<ColumnWindow>| stretch.bounds(window.keys().len(), |at| window.pair_in_order(at)).len();
            self.windows.iter().map(in_window).sum::<usize>()
        };
        ranges.iter().flat_map(Stretch::of).map(in_windows).sum()
    }

    /// The columns, and the memory that they take as long as they are kept.
    pub(super) fn into_windows(self) -> Vec<(EntityWindow, Taken)> {
        let windows = Arc::unwrap_or_clone(self.windows).into_iter();
        let own = |window: Arc<ColumnWindow>| match Arc::try_unwrap(window) {
            Ok(ColumnWindow { entities, taken, .. }) => (entities, taken),
            // Counted where they are shared.
            Err(shared) => (shared.entities.clone(), shared.taken.of_nothing()),
        };
        windows.map(own).collect()
    }

    /// All of them as rows.
    pub(super) fn rows(&self) -> &Moment<Arc<NetWrite>> {
        self.rows.get_or_init(|| {
            let (windows, mut rows) = self.earlier.clone().unwrap_or_default();
            let removes = self.windows.iter().any(|window| window.removes());
            for window in self.windows.iter().skip(windows) {
                let mut new = window.rows();
                if removes && window.entities.as_new().is_some() {
                    new.iter_mut().for_each(|(key, write)| stand_in_place_of(rows.get(key), write));
                }
                rows.add(new);
            }
            rows
        })
    }

    /// All of them, with rows that were written one by one above them.
    pub(super) fn below(&self, rows: Moment<Arc<NetWrite>>) -> Moment<Arc<NetWrite>> {
        if self.is_empty() { rows } else { self.rows().with(&rows) }
    }

    /// The row of a key. All of them are made rows when so many were asked for that searching for these took longer.
    pub(super) fn get(&self, key: &EntityKey) -> Option<Arc<NetWrite>> {
        if self.is_empty() {
            return None;
        }
        let searched = self.searched.fetch_add(self.windows.len(), Ordering::Relaxed);
        if self.rows.get().is_some() || searched > self.len() {
            return self.rows().get(key).cloned();
        }
        let newest_first = self.windows.iter().rev();
        let mut found = newest_first.filter_map(|window| Some((window, window.place_of(key.as_pair())?)));
        let (window, place) = found.next()?;
        let mut write = Arc::new(window.write(place));
        // A new row may be in the place of one that is removed.
        if let Some((removed, place)) = found.next() {
            stand_in_place_of(Some(&Arc::new(removed.write(place))), &mut write);
        }
        Some(write)
    }

    /// Whether all of them are new rows, of which some windows have keys between those of others.
    pub(super) fn are_scattered(&self) -> bool {
        self.are_new() && self.spans().is_none()
    }

    /// The first key of each window, its last, and the number of the window, in the order of keys. `None` where one has keys between those of another.
    pub(super) fn spans(&self) -> Option<Vec<(Pair<'_>, Pair<'_>, usize)>> {
        let numbered = self.windows.iter().enumerate();
        let mut spans: Vec<_> =
            numbered.filter_map(|(number, window)| window.span().map(|(first, last)| (first, last, number))).collect();
        spans.sort_unstable();
        spans.windows(2).all(|pair| pair[0].1 < pair[1].0).then_some(spans)
    }

    /// All rows in the order of keys, by window and place, in parts that make a window each.
    pub(crate) fn in_order(&self) -> Vec<Vec<(usize, usize)>> {
        let mut rows = ColumnEntries::new(Arc::clone(&self.windows), &[KeyRange::all()], Direction::Forward);
        let mut parts = Vec::with_capacity(self.len() / ORDERED_ROWS + 1);
        loop {
            let part: Vec<_> = rows.by_ref().take(ORDERED_ROWS).collect();
            if part.is_empty() {
                return parts;
            }
            parts.push(part);
        }
    }

    /// Such rows as columns of their own, as old as the newest of all. `None` where they have not the same columns.
    pub(crate) fn gathered(&self, rows: &[(usize, usize)]) -> Option<(EntityWindow, EdmDateTime)> {
        let new = self.windows.iter().map(|window| window.entities.as_new()).collect::<Option<Vec<_>>>()?;
        let written = self.windows.iter().map(|window| window.written).max()?;
        Some((NewEntities::gathered(&new, rows)?.into(), written))
    }

    /// Those rows of which `is_above` is false; `None` where that cannot be told as columns.
    pub(super) fn without(&self, is_above: impl Fn(&EntityKey) -> bool) -> Option<Self> {
        let mut left = Self::default();
        let windows = Arc::make_mut(&mut left.windows);
        for window in &*self.windows {
            let keys = window.keys();
            let places: Vec<usize> = (0..keys.len()).filter(|place| !is_above(&keys.key(*place))).collect();
            if places.len() == keys.len() {
                windows.push(Arc::clone(window));
            } else if !places.is_empty() {
                let (entities, store) = (window.entities.some(&places)?, Arc::clone(&window.store));
                let taken = window.taken.of_nothing();
                windows.push(Arc::new(ColumnWindow::new(entities, window.written, store, taken)));
            }
        }
        Some(left)
    }
}

/// A new row under the key of one that is removed.
fn stand_in_place_of(removed: Option<&Arc<NetWrite>>, new: &mut Arc<NetWrite>) {
    let base = removed.and_then(|removed| removed.base.clone());
    if base.is_some()
        && let Some(new) = Arc::get_mut(new)
    {
        (new.base, new.replaces) = (base, true);
    }
}

impl std::fmt::Debug for ColumnWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ColumnWindow").field("rows", &self.keys().len()).finish_non_exhaustive()
    }
}

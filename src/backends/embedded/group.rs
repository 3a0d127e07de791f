//! Groups of windows of columns, and of transactions beside them: all of it is written, or nothing is.

use std::collections::HashSet;
use std::sync::Arc;

use hashbrown::HashTable;
use tablegate_store::model::TableName;
use tablegate_store::table::{
    Batch, CommitError, Emptied, GroupError, SealedRows, SeededHash, StoreError, TableSize, WriteGroup,
};

use super::apply::{Commit, Replaced, find};
use super::commit::Committer;
use super::encoded::EncodedEntities;
use super::encoded_window::EncodedWindow;
use super::insert::first_refused;
use super::key_bytes;
use super::meta::Live;

/// A group as it is handed to the commit thread.
pub(super) struct EncodedGroup {
    pub(super) windows: Vec<EncodedWindow>,
    pub(super) batches: Vec<Batch>,
    emptied: Vec<Emptied>,
    staged: Vec<SealedRows>,
    /// Those tables that new rows come to in the places of the removed ones.
    refilled: Vec<TableName>,
}

impl EncodedGroup {
    /// # Errors
    /// [`GroupError::DuplicateKey`] when the same key of the same table is there twice.
    pub(super) fn new(group: WriteGroup) -> Result<Self, GroupError> {
        let tables = group.emptied.iter().map(|emptied| emptied.table.clone());
        let refilled: Vec<TableName> = tables.filter(|table| group.refills(table)).collect();
        let WriteGroup { windows, batches, emptied, staged } = group;
        // Where a table is refilled all may have to be done row by row.
        let keeps_values = !refilled.is_empty();
        let windows = windows.into_iter().map(|window| EncodedWindow::new(window, keeps_values)).collect();
        let group = Self { windows, batches, emptied, staged, refilled };
        group.check_disjoint()?;
        Ok(group)
    }

    fn into_group(self) -> WriteGroup {
        let Self { windows, batches, emptied, staged, .. } = self;
        WriteGroup { windows: windows.into_iter().map(EncodedWindow::into_window).collect(), batches, emptied, staged }
    }

    /// How many rows the windows have.
    pub(super) fn rows(&self) -> usize {
        self.windows.iter().map(|window| window.keys().len()).sum()
    }

    /// Those that have windows, each once.
    fn tables(&self) -> Vec<&TableName> {
        let mut tables: Vec<&TableName> = self.windows.iter().map(EncodedWindow::table).collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    fn empties(&self, table: &TableName) -> bool {
        self.emptied.iter().any(|emptied| emptied.table == *table)
    }

    fn check_disjoint(&self) -> Result<(), GroupError> {
        tablegate_store::table::check_disjoint(&self.batches)?;
        self.tables().into_iter().try_for_each(|table| {
            let windows = self.windows.iter().filter(|window| window.table() == table);
            if !self.refilled.contains(table) {
                return self.check_disjoint_in(table, windows.collect());
            }
            let (removed, others) = windows.partition(|window| window.frees_room());
            self.check_disjoint_in(table, removed)?;
            self.check_disjoint_in(table, others)
        })
    }

    fn check_disjoint_in(&self, table: &TableName, windows: Vec<&EncodedWindow>) -> Result<(), GroupError> {
        let batches: Vec<&Batch> = self.batches.iter().filter(|batch| batch.table() == table).collect();
        if batches.is_empty() && are_apart(&windows) {
            return Ok(());
        }
        // As windows have keys until they know the table's number.
        let of_batches =
            || batches.iter().flat_map(|batch| batch.operations()).map(|o| key_bytes::of_entity(0, o.key()));
        let of_windows =
            || windows.iter().flat_map(|window| (0..window.keys().len()).map(|row| window.keys().get(row)));
        let (hash, mut hashes) = (SeededHash::default(), HashTable::with_capacity(self.rows()));
        let mut is_new = |key: &[u8]| {
            let hash = hash.of_bytes(key);
            let is_new = hashes.find(hash, |known| *known == hash).is_none();
            if is_new {
                hashes.insert_unique(hash, hash, |known| *known);
            }
            is_new
        };
        if of_windows().all(&mut is_new) && of_batches().all(|key| is_new(&key)) {
            return Ok(());
        }
        drop(hashes);
        // Two with one hash may be two keys.
        let mut seen = HashSet::new();
        for window in windows {
            for row in 0..window.keys().len() {
                if !seen.insert(window.keys().get(row)) {
                    return Err(GroupError::DuplicateKey { table: table.clone(), key: window.entity_key(row) });
                }
            }
        }
        for key in batches.iter().flat_map(|batch| batch.operations()).map(|operation| operation.key()) {
            if seen.contains(key_bytes::of_entity(0, key).as_slice()) {
                return Err(GroupError::DuplicateKey { table: table.clone(), key: key.clone() });
            }
        }
        Ok(())
    }
}

/// What is known when some tables have other numbers: those that are emptied none with rows, the others one under which rows were
/// written ahead.
pub(super) struct Renumbered {
    pub(super) live: Live,
    pub(super) before: Vec<Replaced>,
}

impl Renumbered {
    /// It is written.
    pub(super) fn condemn_segments(&self) {
        self.before.iter().for_each(|table| table.before.condemn_segments());
    }
}

/// Whether no two windows of a table reach into each other, so that no key can be in both.
fn are_apart(windows: &[&EncodedWindow]) -> bool {
    let mut spans: Vec<_> = windows.iter().filter_map(|window| window.keys().span()).collect();
    spans.sort_unstable();
    spans.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

impl Committer {
    pub(super) fn write_group(&mut self, mut group: EncodedGroup) -> Result<(), GroupError> {
        self.check_usable()?;
        for window in &mut group.windows {
            window.set_table(find(&self.live.tables, window.table())?.number);
        }
        for table in group.tables().into_iter().filter(|table| !group.empties(table)) {
            let of_table = group.windows.iter().filter(|window| window.table() == table);
            self.give_up_outdated(table, &of_table.map(EncodedWindow::keys).collect::<Vec<_>>())?;
        }
        let mut renumbered = self.emptied(&group.emptied)?;
        if !group.staged.is_empty() {
            renumbered = Some(self.with_staged(renumbered, &group.staged)?);
        }
        let before: &[Replaced] = renumbered.as_ref().map_or(&[], |renumbered| &renumbered.before);
        // Somebody has written to a table that is refilled since its rows were removed: it is about each row what becomes of it.
        if group.refilled.iter().any(|table| before.iter().all(|empty| empty.before.name != *table)) {
            let (batches, counting) =
                group.into_group().into_batches().map_err(|error| StoreError::Unavailable(error.to_string()))?;
            return self.commit_group(batches).map(drop).map_err(|error| counting.of_group(error));
        }
        let live = renumbered.as_ref().map_or(&self.live, |renumbered| &renumbered.live);
        let mut commit = self.begin_on(live, before, group.rows());
        let mut batches = 0;
        // New rows of one table after the other.
        let mut new: Vec<EncodedEntities> = Vec::new();
        for mut window in group.windows {
            let is_emptied = before.iter().any(|table| table.before.name == *window.table());
            if is_emptied {
                window.set_table(find(&live.tables, window.table())?.number);
            }
            let transactions = window.transactions();
            if new.first().is_some_and(|new| new.entities.table() != window.table()) {
                put_new(&mut commit, std::mem::take(&mut new))?;
            }
            let mut refused = match &window {
                EncodedWindow::New(new) => {
                    let keys = &new.rows.keys;
                    let Some(span) = keys.span() else { continue };
                    match self.probe.finds_nothing_between(&self.engine, keys.len(), span)? {
                        true => Vec::new(),
                        false => self.refused(new),
                    }
                }
                EncodedWindow::Known(_) if is_emptied => Vec::new(),
                EncodedWindow::Known(known) => commit.change(known)?,
            };
            if !refused.is_empty() {
                // What is told is about the first of the entities as they came.
                let place = |(index, error): &(usize, CommitError)| match error {
                    CommitError::Rejected { index: at, .. } => window.place(*index, *at),
                    CommitError::Store(_) => None,
                };
                refused.sort_by_key(place);
                let first = refused.into_iter().next();
                return first.map_or(Ok(()), |(index, error)| Err(error.in_group(batches + index)));
            }
            if let EncodedWindow::New(window) = window {
                new.push(window);
            }
            batches += transactions;
        }
        put_new(&mut commit, new)?;
        for (index, batch) in group.batches.into_iter().enumerate() {
            commit.add(batch).map_err(|error| error.in_group(batches + index))?;
        }
        let checked = commit.finish();
        self.write(checked)?;
        self.forget_published(&group.staged);
        renumbered.iter().for_each(Renumbered::condemn_segments);
        Ok(())
    }

    /// What is known when these tables are empty; `None` where there is none that is as it was.
    pub(super) fn emptied(&self, emptied: &[Emptied]) -> Result<Option<Renumbered>, StoreError> {
        let mut before = Vec::new();
        for Emptied { table, unchanged_since } in emptied {
            let table = find(&self.live.tables, table)?;
            if table.changed() <= *unchanged_since {
                before.push(Replaced { before: Arc::clone(table), size: TableSize::default() });
            }
        }
        if before.is_empty() {
            return Ok(None);
        }
        let mut live = self.still_live();
        for Replaced { before: table, .. } in &before {
            let empty = table.renumbered(live.take_number(&table.name, &self.engine)?);
            live.dropped.push(table.number);
            Arc::make_mut(&mut live.tables).insert(table.name.clone(), Arc::new(empty));
        }
        Ok(Some(Renumbered { live, before }))
    }

    /// What is known, to begin a commit on once it is changed.
    pub(super) fn still_live(&self) -> Live {
        Live { commit: self.live.commit, ..self.live.next() }
    }

    /// The transactions of a window under one of whose keys there is a row.
    fn refused(&self, new: &EncodedEntities) -> Vec<(usize, CommitError)> {
        let mut end = 0;
        let refused = |index| {
            let places = new.entities.transaction(index);
            let begin = end;
            end += places.len();
            let (at, reason) = first_refused(&self.engine, new, begin..end)?;
            let key = places.clone().nth(at).map(|place| new.entities.keys().key(place))?;
            Some((index, reason.of(at, key)))
        };
        (0..new.entities.transactions()).filter_map(refused).collect()
    }
}

/// Puts the new rows of windows of one table, which are known not to be there.
fn put_new(commit: &mut Commit<'_>, windows: Vec<EncodedEntities>) -> Result<(), GroupError> {
    let in_order = windows.windows(2).all(|pair| match (pair[0].rows.keys.span(), pair[1].rows.keys.span()) {
        (Some(one), Some(next)) => one.1 < next.0,
        _ => true,
    });
    if !in_order {
        return Ok(commit.put_merged(&windows)?);
    }
    // What is collected takes as much again: a window goes when it is.
    for window in windows {
        commit.insert(&window, true)?;
    }
    Ok(())
}

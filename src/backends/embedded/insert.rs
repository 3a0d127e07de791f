//! Windows of new entities: many entity group transactions of insertions that were handed over as columns.

use std::ops::Range;

use fjall::OwnedWriteBatch;
use tablegate_store::model::{EntityKey, TableName};
use tablegate_store::table::{CommitError, Refusals, Rejection, Stamps, StoreError};
use tokio::sync::oneshot;

use super::analyze::Recorders;
use super::apply::{Commit, Draft, find, notes_changes};
use super::commit::{Answer, Committer};
use super::encoded::{EncodedEntities, Finish};
use super::engine::Engine;
use super::meta::TableMeta;
use super::segment::delta;
use super::segment::install::Building;

impl Committer {
    pub(super) fn insert_window(&mut self, mut new: EncodedEntities) -> Refusals {
        match self.try_insert_window(&mut new) {
            Ok(refused) => refused,
            Err(error) => all_refused(new.entities.transactions(), Vec::new(), &error),
        }
    }

    fn try_insert_window(&mut self, new: &mut EncodedEntities) -> Result<Refusals, StoreError> {
        self.check_usable()?;
        let keys = &mut new.rows.keys;
        keys.set_table(find(&self.live.tables, new.entities.table())?.number);
        self.give_up_outdated(new.entities.table(), &[keys])?;
        let Some(span) = keys.span() else { return Ok(Refusals::new()) };
        let is_new = self.probe.finds_nothing_between(&self.engine, keys.len(), span)?;
        let mut commit = self.begin_of(keys.len());
        let refused = commit.insert(new, is_new)?;
        if commit.is_empty() {
            return Ok(refused);
        }
        let checked = commit.finish();
        match self.write(checked) {
            Ok(()) => Ok(refused),
            Err(error) => Ok(all_refused(new.entities.transactions(), refused, &error)),
        }
    }
}

impl<'s> Commit<'s> {
    /// Adds the transactions under whose keys there is nothing; `is_new` says that of all of them. Gives the others.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    pub(super) fn insert(&mut self, new: &EncodedEntities, is_new: bool) -> Result<Refusals, StoreError> {
        let (engine, mut refused) = (self.engine, Refusals::new());
        let mut put = self.new_rows(new.entities.table())?;
        let (mut finish, mut end) = (Finish::new(&new.rows), 0);
        for index in 0..new.entities.transactions() {
            let places = new.entities.transaction(index);
            let begin = end;
            end += places.len();
            if !is_new && let Some((at, reason)) = first_refused(engine, new, begin..end) {
                let key = places.clone().nth(at).map(|place| new.entities.keys().key(place));
                refused.extend(key.map(|key| (index, reason.of(at, key))));
                continue;
            }
            (begin..end).for_each(|row| put.row(new, &mut finish, row));
        }
        Ok(refused)
    }

    /// What puts new rows of a table into the write.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    pub(super) fn new_rows(&mut self, table: &TableName) -> Result<PutNew<'_, 's>, StoreError> {
        let live = self.live;
        let before = find(&live.tables, table)?;
        let Self { engine, recorders, building, stamps, writes, drafts, row: bytes, .. } = self;
        let draft = drafts.entry(before.number).or_insert_with(|| Draft::of(before));
        let (commit, wanted) = (live.commit + 1, recorders.want(before.number));
        Ok(PutNew { engine, recorders, building, stamps, writes, draft, bytes, before, commit, wanted, is_first: true })
    }
}

/// Puts new rows of one table into a write.
pub(super) struct PutNew<'c, 's> {
    engine: &'c Engine,
    recorders: &'c Recorders,
    building: &'c Building,
    stamps: &'c mut Stamps<'s>,
    writes: &'c mut OwnedWriteBatch,
    draft: &'c mut Draft,
    /// A row's bytes while they are made.
    bytes: &'c mut Vec<u8>,
    before: &'c TableMeta,
    /// The number of the write.
    commit: u64,
    /// Somebody wants to know what is written.
    wanted: bool,
    is_first: bool,
}

impl PutNew<'_, '_> {
    pub(super) fn row(&mut self, new: &EncodedEntities, finish: &mut Finish<'_>, row: usize) {
        let is_first = std::mem::take(&mut self.is_first);
        let timestamp = if is_first { self.stamps.next_timestamp() } else { self.stamps.following() };
        finish.put(row, &mut self.draft.table, timestamp, self.bytes);
        let properties = || self.draft.table.parse_row(self.bytes)?.properties();
        // What was made just now can be read.
        if self.wanted
            && let Ok(properties) = properties()
        {
            self.recorders.record(self.before.number, &properties);
        }
        let key = new.rows.keys.get(row);
        self.draft.table.sample(key);
        self.draft.growth.add(key.len(), None, Some(self.bytes.len()));
        if notes_changes(self.before, self.building, key, self.commit) {
            delta::put(key, self.commit, Some(self.bytes.as_slice()), self.engine, self.writes);
        }
        self.writes.insert(self.engine.rows_of(key), key, self.bytes.as_slice());
    }
}

/// Why a transaction is refused.
pub(super) enum Refused {
    Exists,
    Store(StoreError),
}

impl Refused {
    pub(super) fn of(self, index: usize, key: EntityKey) -> CommitError {
        match self {
            Refused::Exists => CommitError::Rejected { index, key, reason: Rejection::EntityExists },
            Refused::Store(error) => error.into(),
        }
    }
}

/// The first of some rows that may not be written.
pub(super) fn first_refused(
    engine: &Engine,
    new: &EncodedEntities,
    mut rows: Range<usize>,
) -> Option<(usize, Refused)> {
    let begin = rows.start;
    rows.find_map(|row| match engine.written_row(new.rows.keys.get(row)) {
        Ok(None) => None,
        Ok(Some(_)) => Some((row - begin, Refused::Exists)),
        Err(error) => Some((row - begin, Refused::Store(error))),
    })
}

/// That none of so many transactions is committed: those that were refused, and all others for one reason.
pub(super) fn all_refused(transactions: usize, refused: Refusals, error: &StoreError) -> Refusals {
    let mut refused = refused.into_iter().peekable();
    (0..transactions)
        .map(|index| refused.next_if(|(known, _)| *known == index).unwrap_or_else(|| (index, error.clone().into())))
        .collect()
}

/// Says whether the commits of a round are durable to one who waits for a window of them.
pub(super) fn answer_insertion(reply: oneshot::Sender<Refusals>, transactions: usize, refused: Refusals) -> Answer {
    Box::new(move |failure| {
        let outcome = match failure {
            Some(error) => all_refused(transactions, refused, error),
            None => refused,
        };
        // Who left does not want to know.
        let _ = reply.send(outcome);
    })
}

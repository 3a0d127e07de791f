//! Windows of new entities: many entity group transactions of insertions that were handed over as columns.

use std::ops::Range;

use tablegate_store::model::EntityKey;
use tablegate_store::table::{CommitError, Refusals, Rejection, StoreError};
use tokio::sync::oneshot;

use super::apply::{Commit, Draft, find, notes_changes};
use super::commit::{Answer, Committer};
use super::encoded::{EncodedEntities, Finish};
use super::engine::Engine;
use super::segment::delta;

impl Committer {
    pub(super) fn insert_window(&mut self, mut new: EncodedEntities) -> Refusals {
        match self.try_insert_window(&mut new) {
            Ok(refused) => refused,
            Err(error) => all_refused(new.entities.transactions(), Vec::new(), &error),
        }
    }

    fn try_insert_window(&mut self, new: &mut EncodedEntities) -> Result<Refusals, StoreError> {
        self.check_usable()?;
        let table = find(&self.live.tables, new.entities.table())?;
        let keys = &mut new.rows.keys;
        keys.set_table(table.number);
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

impl Commit<'_> {
    /// Adds the transactions under whose keys there is nothing; `is_new` says that of all of them. Gives the others.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    pub(super) fn insert(&mut self, new: &EncodedEntities, is_new: bool) -> Result<Refusals, StoreError> {
        let live = self.live;
        let before = find(&live.tables, new.entities.table())?;
        let Self { engine, recorders, building, stamps, writes, drafts, row: bytes, .. } = self;
        let draft = drafts.entry(before.number).or_insert_with(|| Draft::of(before));
        let (commit, wanted) = (live.commit + 1, recorders.want(before.number));
        let (mut finish, mut refused) = (Finish::new(&new.rows), Refusals::new());
        let (mut end, mut is_first) = (0, true);
        for index in 0..new.entities.transactions() {
            let places = new.entities.transaction(index);
            let begin = end;
            end += places.len();
            if !is_new && let Some((at, reason)) = first_refused(engine, new, begin..end) {
                let key = places.clone().nth(at).map(|place| new.entities.keys().key(place));
                refused.extend(key.map(|key| (index, reason.of(at, key))));
                continue;
            }
            for (row, place) in (begin..end).zip(places) {
                if wanted {
                    recorders.record(before.number, &new.entities.entity(place).properties);
                }
                let timestamp =
                    if std::mem::take(&mut is_first) { stamps.next_timestamp() } else { stamps.following() };
                finish.put(row, &mut draft.table, timestamp, bytes);
                let key = new.rows.keys.get(row);
                draft.growth.add(key.len(), None, Some(bytes.len()));
                if notes_changes(before, building, key, commit) {
                    delta::put(key, commit, Some(bytes.as_slice()), engine, writes);
                }
                writes.insert(&engine.rows, key, bytes.as_slice());
            }
        }
        Ok(refused)
    }
}

/// Why a transaction is refused.
enum Refused {
    Exists,
    Store(StoreError),
}

impl Refused {
    fn of(self, index: usize, key: EntityKey) -> CommitError {
        match self {
            Refused::Exists => CommitError::Rejected { index, key, reason: Rejection::EntityExists },
            Refused::Store(error) => error.into(),
        }
    }
}

/// The first of some rows that may not be written.
fn first_refused(engine: &Engine, new: &EncodedEntities, mut rows: Range<usize>) -> Option<(usize, Refused)> {
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

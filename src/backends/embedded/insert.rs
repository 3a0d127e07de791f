//! Windows of new entities: many entity group transactions of insertions that were handed over as columns.

use std::collections::HashSet;
use std::ops::Range;

use tablegate_store::model::EntityKey;
use tablegate_store::table::{CommitError, GroupError, InsertOutcome, Rejection, StoreError};
use tokio::sync::oneshot;

use super::apply::{Commit, Draft, find, notes_changes};
use super::commit::{Answer, Committer};
use super::encoded::EncodedEntities;
use super::engine::Engine;
use super::row::put_head;
use super::segment::delta;

impl Committer {
    pub(super) fn insert_window(&mut self, mut new: EncodedEntities) -> InsertOutcome {
        match self.try_insert_window(&mut new) {
            Ok(refused) => refused,
            Err(error) => all_refused(new.entities.transactions(), Vec::new(), &error),
        }
    }

    fn try_insert_window(&mut self, new: &mut EncodedEntities) -> Result<InsertOutcome, StoreError> {
        self.check_usable()?;
        let table = find(&self.live.tables, new.entities.table())?;
        new.set_table(table.number);
        let Some(span) = new.span() else { return Ok(InsertOutcome::new()) };
        let is_new = self.probe.finds_nothing_between(&self.engine, new.len(), span)?;
        let mut commit = self.begin_of(new.len());
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

impl Committer {
    /// All of the windows or nothing.
    pub(super) fn insert_group(&mut self, mut windows: Vec<EncodedEntities>) -> Result<(), GroupError> {
        self.check_usable()?;
        let mut commit = self.begin_of(windows.iter().map(EncodedEntities::len).sum());
        let mut batches = 0;
        for new in &mut windows {
            let table = find(&self.live.tables, new.entities.table())?;
            new.set_table(table.number);
            let Some(span) = new.span() else { continue };
            let is_new = self.probe.finds_nothing_between(&self.engine, new.len(), span)?;
            let mut refused = commit.insert(new, is_new)?;
            if !refused.is_empty() {
                // What is told is about the first of the entities as they came.
                let place = |(index, error): &(usize, CommitError)| match error {
                    CommitError::Rejected { index: at, .. } => new.entities.transaction(*index).nth(*at),
                    CommitError::Store(_) => None,
                };
                refused.sort_by_key(place);
                let first = refused.into_iter().next();
                return first.map_or(Ok(()), |(index, error)| Err(error.in_group(batches + index)));
            }
            batches += new.entities.transactions();
        }
        let checked = commit.finish();
        Ok(self.write(checked)?)
    }
}

impl Commit<'_> {
    /// Adds the transactions under whose keys there is nothing; `is_new` says that of all of them. Gives the others.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    fn insert(&mut self, new: &EncodedEntities, is_new: bool) -> Result<InsertOutcome, StoreError> {
        let live = self.live;
        let before = find(&live.tables, new.entities.table())?;
        let Self { engine, recorders, building, stamps, writes, drafts, row: bytes, .. } = self;
        let draft = drafts.entry(before.number).or_insert_with(|| Draft::of(before));
        let (commit, wanted) = (live.commit + 1, recorders.want(before.number));
        // The shapes of the forms that were met.
        let mut shapes: Vec<Option<Option<u32>>> = vec![None; new.forms.len()];
        let mut refused = InsertOutcome::new();
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
                let (encoded, values) = new.row(row);
                let form = &new.forms[encoded.form];
                let shape = *shapes[encoded.form].get_or_insert_with(|| {
                    for ((name, _), types) in form.properties.iter().zip(&form.types) {
                        draft.table.observe_types(name, *types);
                    }
                    draft.table.shape_of_columns(&form.properties, &form.signature)
                });
                if wanted {
                    recorders.record(before.number, &new.entities.entity(place).properties);
                }
                let timestamp =
                    if std::mem::take(&mut is_first) { stamps.next_timestamp() } else { stamps.following() };
                bytes.clear();
                put_head(bytes, timestamp, shape, encoded.is_wide);
                if shape.is_none() {
                    bytes.extend_from_slice(&form.signature);
                }
                bytes.extend_from_slice(values);
                let key = new.key(row);
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

/// # Errors
/// [`GroupError::DuplicateKey`] when two windows hold the same key of the same table.
pub(super) fn check_disjoint(windows: &[EncodedEntities]) -> Result<(), GroupError> {
    let spans = || windows.iter().filter_map(|new| Some((new.entities.table(), new.span()?)));
    if spans().zip(spans().skip(1)).all(|(one, other)| one.0 == other.0 && one.1.1 < other.1.0) {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for new in windows {
        for row in 0..new.len() {
            if !seen.insert((new.entities.table(), new.key(row))) {
                let (table, key) = (new.entities.table().clone(), new.entity_key(row));
                return Err(GroupError::DuplicateKey { table, key });
            }
        }
    }
    Ok(())
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
    rows.find_map(|row| match engine.written_row(new.key(row)) {
        Ok(None) => None,
        Ok(Some(_)) => Some((row - begin, Refused::Exists)),
        Err(error) => Some((row - begin, Refused::Store(error))),
    })
}

/// That none of so many transactions is committed: those that were refused, and all others for one reason.
pub(super) fn all_refused(transactions: usize, refused: InsertOutcome, error: &StoreError) -> InsertOutcome {
    let mut refused = refused.into_iter().peekable();
    (0..transactions)
        .map(|index| refused.next_if(|(known, _)| *known == index).unwrap_or_else(|| (index, error.clone().into())))
        .collect()
}

/// Says whether the commits of a round are durable to one who waits for a window of them.
pub(super) fn answer_insertion(
    reply: oneshot::Sender<InsertOutcome>,
    transactions: usize,
    refused: InsertOutcome,
) -> Answer {
    Box::new(move |failure| {
        let outcome = match failure {
            Some(error) => all_refused(transactions, refused, error),
            None => refused,
        };
        // Who left does not want to know.
        let _ = reply.send(outcome);
    })
}

//! Windows of entities that are known: rows that are removed, or get new values, where they still are in the version that
//! they were read in.

use fjall::Slice;
use tablegate_store::table::{CommitError, KnownChange, Refusals, Rejection, StoreError};

use super::apply::{Commit, Draft, damaged, find, notes_changes};
use super::encoded_window::EncodedKnown;
use super::look_up::LookUp;
use super::merging::{MergeError, Merging};
use super::segment::delta;

impl Commit<'_> {
    /// Adds what happens to the entities. Gives those transactions that have to be refused: then nothing of the commit may
    /// be written.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`]; when a row cannot be read.
    pub(super) fn change(&mut self, known: &EncodedKnown) -> Result<Refusals, StoreError> {
        let live = self.live;
        let before = find(&live.tables, known.entities.table())?;
        let Self { engine, recorders, building, stamps, writes, drafts, row: bytes, probe, .. } = self;
        let Draft { table, growth } = drafts.entry(before.number).or_insert_with(|| Draft::of(before));
        let columns = known.entities.change().columns();
        for (name, column) in columns {
            table.observe_types(name, column.types());
        }
        let recorders = recorders.want(before.number).then_some(*recorders);
        let mut merging = Merging::new(&known.entities, recorders);
        let mut rows = LookUp::new(engine, &known.keys, &probe.walks);
        let (commit, mut refused, mut row) = (live.commit + 1, Refusals::new(), 0);
        for index in 0..known.entities.transactions() {
            for at in 0..known.entities.transaction(index).len() {
                let (key, (place, version)) = (known.keys.get(row), known.rows[row]);
                row += 1;
                let entity_key = || known.entities.keys().key(place);
                let refuse = |reason| (index, CommitError::Rejected { index: at, key: entity_key(), reason });
                let Some(stored) = rows.next(key)? else {
                    refused.push(refuse(Rejection::EntityMissing));
                    continue;
                };
                let parsed = before.parse_row(&stored).map_err(|error| damaged(before, &entity_key(), error))?;
                if version != Some(parsed.timestamp) {
                    refused.push(refuse(Rejection::ETagMismatch));
                    continue;
                }
                let timestamp = if row == 1 { stamps.next_timestamp() } else { stamps.following() };
                bytes.clear();
                let after = match known.entities.change() {
                    KnownChange::Delete => None,
                    KnownChange::Merge(_) => {
                        match merging.merge(&parsed, place, timestamp, table, bytes) {
                            Ok(()) => {}
                            Err(MergeError::Rejected(reason)) => {
                                refused.push(refuse(reason));
                                continue;
                            }
                            Err(MergeError::Damaged(error)) => return Err(damaged(before, &entity_key(), error)),
                        }
                        Some(bytes.as_slice())
                    }
                };
                growth.add(key.len(), Some(stored.len()), after.map(<[u8]>::len));
                if notes_changes(before, building, key, commit) {
                    delta::put(key, commit, after, engine, writes);
                }
                match after {
                    Some(after) => writes.insert(engine.rows_of(key), key, after),
                    None => writes.remove(engine.rows_of(key), Slice::from(key)),
                }
            }
        }
        rows.finish();
        Ok(refused)
    }
}

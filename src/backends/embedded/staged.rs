//! Rows that are written ahead for a table that is empty: under a number of their own, which no table has yet.
//!
//! Until they are published the number is one of a dropped table: a crash, or nobody caring for them any more, leaves rows
//! that are removed in time. Publishing gives the table their number, and its old one is that of a dropped table then.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use tablegate_store::model::{Span, TableName};
use tablegate_store::table::{NewEntities, StagedRows, StoreError, TableSize};
use tokio::sync::{mpsc, oneshot};

use super::apply::{Checked, find};
use super::commit::{Committer, Job};
use super::encoded::EncodedEntities;
use super::key_bytes;
use super::meta::{Live, TableMeta, put_next_number};
use super::segment::manifest;
use super::size::{Growth, put_size};

/// What was written ahead for a table.
pub(super) struct Staged {
    /// The table as it was.
    base: Arc<TableMeta>,
    /// The table as it is to be.
    table: TableMeta,
    growth: Growth,
    /// Whether anybody still cares.
    held: Weak<()>,
}

impl Committer {
    /// Begins to take rows for a table: their number. `None` where it is not known to be empty.
    pub(super) fn stage(&mut self, name: &TableName, held: Weak<()>) -> Result<Option<u32>, StoreError> {
        self.check_usable()?;
        let base = Arc::clone(find(&self.live.tables, name)?);
        if !self.is_empty(&base)? {
            return Ok(None);
        }
        let mut live = self.live.next();
        let number = live.take_number()?;
        let table = base.renumbered(number);
        let mut writes = self.engine.batch();
        table.put_staged(live.next_number, &self.engine, &mut writes);
        live.put_head(&self.engine, &mut writes);
        self.write(Checked { writes, live, sizes: Vec::new() })?;
        self.staged.push(Staged { base, table, growth: Growth::default(), held });
        Ok(Some(number))
    }

    pub(super) fn write_staged(&mut self, number: u32, mut new: EncodedEntities) -> Result<(), StoreError> {
        self.check_usable()?;
        let place = self.staged.iter().position(|staged| staged.table.number == number).ok_or_else(forgotten)?;
        new.keys.set_table(number);
        let staged = &self.staged[place];
        let mut commit = self.begin_of(new.keys.len());
        commit.insert_into(&staged.table, &new, true);
        let draft = commit.take_draft(number);
        let checked = commit.finish();
        self.write(checked)?;
        if let Some(draft) = draft {
            let staged = &mut self.staged[place];
            (staged.table, staged.growth) = (draft.table, staged.growth.and(draft.growth));
        }
        Ok(())
    }

    /// Gives the table the rows, if it still is what it was. Whatever comes of it, they are staged no longer.
    pub(super) fn publish_staged(&mut self, number: u32) -> Result<bool, StoreError> {
        self.check_usable()?;
        let place = self.staged.iter().position(|staged| staged.table.number == number).ok_or_else(forgotten)?;
        let Staged { base, table, growth, .. } = self.staged.swap_remove(place);
        let is_unchanged = self.live.tables.get(&base.name).is_some_and(|now| Arc::ptr_eq(now, &base));
        if !is_unchanged || !self.is_empty(&base)? {
            self.live.dropped.push(number);
            return Ok(false);
        }
        let live = self.live.next();
        self.replace(&base, table, growth.of(TableSize::default()), live)?;
        Ok(true)
    }

    /// Another table of its name, which holds so much, takes the place of one, whose rows are removed in time.
    pub(super) fn replace(
        &mut self,
        base: &TableMeta,
        table: TableMeta,
        size: TableSize,
        mut live: Live,
    ) -> Result<(), StoreError> {
        let mut writes = self.engine.batch();
        base.put_replaced(&table, &self.engine, &mut writes);
        put_next_number(live.next_number, &self.engine, &mut writes);
        manifest::put_dropped(base, &self.engine, &mut writes);
        put_size(table.number, size, &self.engine, &mut writes);
        live.put_head(&self.engine, &mut writes);
        live.dropped.push(base.number);
        table.note_change(live.commit);
        let sizes = vec![(Arc::clone(&table.size), size)];
        Arc::make_mut(&mut live.tables).insert(base.name.clone(), Arc::new(table));
        self.write(Checked { writes, live, sizes })?;
        // Readers that still use the segments keep their files until they are done.
        base.segments.list().iter().for_each(|segment| segment.condemn());
        Ok(())
    }

    /// What nobody cares for any more is removed like the rows of a dropped table.
    pub(super) fn forget_staged(&mut self) {
        let dropped = &mut self.live.dropped;
        self.staged.retain(|staged| {
            let is_held = staged.held.strong_count() > 0;
            if !is_held {
                dropped.push(staged.table.number);
            }
            is_held
        });
    }

    /// Whether the table has no row, and nobody is busy with what it had.
    fn is_empty(&self, table: &TableMeta) -> Result<bool, StoreError> {
        // A program that does not know of counts may have written: they are no proof.
        let counts_none = table.size.get().is_some_and(|size| size.entities == 0);
        let span = key_bytes::of_partitions(table.number, &Span::ALL);
        let is_idle = !self.recorders.want(table.number);
        Ok(counts_none && is_idle && self.engine.has_no_rows(&span.from, &span.to)?)
    }
}

/// The store was opened anew in between.
fn forgotten() -> StoreError {
    StoreError::Unavailable("writing failed before".to_owned())
}

/// The rows under a number, for who writes them.
pub(super) struct EmbeddedRows {
    /// Held weakly: a store that is closed does not wait for them.
    pub(super) jobs: mpsc::WeakSender<Job>,
    pub(super) number: u32,
    pub(super) _held: Arc<()>,
}

impl EmbeddedRows {
    async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Job) -> Result<T, StoreError> {
        let jobs = self.jobs.upgrade().ok_or(StoreError::ShuttingDown)?;
        super::ask(&jobs, job).await?
    }
}

#[async_trait]
impl StagedRows for EmbeddedRows {
    async fn write(&self, entities: NewEntities) -> Result<(), StoreError> {
        let encoded = Box::new(EncodedEntities::new(entities));
        self.ask(|reply| Job::WriteStaged(self.number, encoded, reply)).await
    }

    async fn publish(&self) -> Result<bool, StoreError> {
        self.ask(|reply| Job::PublishStaged(self.number, reply)).await
    }
}

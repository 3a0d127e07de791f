//! Rows that are written ahead for a table that is empty: under a number of their own, which no table has yet.
//!
//! Until they are published the number is one of a dropped table: a crash, or nobody caring for them any more, leaves rows
//! that are removed in time. Publishing gives the table their number, and its old one is that of a dropped table then. Where
//! the table got rows of others meanwhile, those that were written ahead are inserted into it one by one ([`super::unpublished`]).

use std::convert::Infallible;
use std::sync::{Arc, Weak};

use fjall::OwnedWriteBatch;
use tablegate_store::model::{Span, TableName};
use tablegate_store::table::{GroupError, SealedRows, StoreError, TableSize};

use super::apply::{Checked, Replaced, find};
use super::commit::Committer;
use super::group::Renumbered;
use super::key_bytes;
use super::meta::{Live, TableMeta, put_next_number};
use super::size::put_size;
use super::staging::{Filling, Staging, Writer, forgotten};

/// What is written ahead for a table.
pub(super) struct Staged {
    /// The table as it was.
    base: Arc<TableMeta>,
    /// That of the rows.
    number: u32,
    /// Whether anybody still cares.
    held: Weak<Writer>,
    /// All of it, where no more comes: nothing of it waits to be written.
    sealed: Option<Filling>,
}

impl Committer {
    /// Begins to take rows for a table. `None` where it is not known to be empty.
    pub(super) fn stage(&mut self, name: &TableName) -> Result<Option<Staging>, StoreError> {
        self.check_usable()?;
        let base = Arc::clone(find(&self.live.tables, name)?);
        if !self.is_empty(&base)? {
            return Ok(None);
        }
        let mut live = self.live.next();
        let number = live.take_loaded_number(&self.engine)?;
        let table = base.renumbered(number);
        let mut writes = self.engine.batch();
        table.put_staged(live.next_number, &self.engine, &mut writes);
        live.put_head(&self.engine, &mut writes);
        self.write(Checked { writes, live, sizes: Vec::new() })?;
        let writer = Arc::new(self.staging_writer());
        self.staged.push(Staged { base, number, held: Arc::downgrade(&writer), sealed: None });
        Ok(Some(Staging { writer, filling: Filling::new(table, self.live.last) }))
    }

    /// Gives the table the rows, if it still is what it was, and then they are staged no longer; else gives back what is to
    /// be done with.
    pub(super) fn publish_staged(&mut self, mut filling: Box<Filling>) -> Result<Option<Box<Filling>>, StoreError> {
        self.check_usable()?;
        let number = filling.table.number;
        let base = Arc::clone(&self.staged_under(number)?.base);
        if !self.is_still_empty(&base)? {
            return Ok(Some(filling));
        }
        self.staged.retain(|staged| staged.number != number);
        let mut writes = self.engine.batch();
        let put = |key: &[u8], row: &[u8]| {
            writes.insert(self.engine.rows_of(key), key, row);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = filling.take(self.clock(), put);
        let Filling { table, growth, last, .. } = *filling;
        let live = Live { last: last.max(self.live.last), ..self.live.next() };
        self.replace(&base, table, growth.of(TableSize::default()), live, writes)?;
        Ok(None)
    }

    /// No more comes of what is written ahead.
    pub(super) fn seal_staged(&mut self, filling: Box<Filling>) -> Result<(), StoreError> {
        self.check_usable()?;
        let number = filling.table.number;
        let staged = self.staged.iter_mut().find(|staged| staged.number == number).ok_or_else(forgotten)?;
        staged.sealed = Some(*filling);
        Ok(())
    }

    /// What is known when sealed rows are their tables', besides others that have new numbers.
    pub(super) fn with_staged(
        &self,
        others: Option<Renumbered>,
        sealed: &[SealedRows],
    ) -> Result<Renumbered, GroupError> {
        let mut all = others.unwrap_or_else(|| Renumbered { live: self.still_live(), before: Vec::new() });
        for SealedRows { table: name, number, .. } in sealed {
            let Staged { base, sealed, .. } = self.staged_under(*number)?;
            let filling = sealed.as_ref().ok_or_else(forgotten)?;
            if !self.is_still_empty(base)? {
                return Err(GroupError::NotEmpty { table: name.clone() });
            }
            all.live.last = all.live.last.max(filling.last);
            all.live.dropped.push(base.number);
            Arc::make_mut(&mut all.live.tables).insert(base.name.clone(), Arc::new(filling.table.clone()));
            let size = filling.growth.of(TableSize::default());
            all.before.push(Replaced { before: Arc::clone(base), size });
        }
        Ok(all)
    }

    /// These are their tables' now.
    pub(super) fn forget_published(&mut self, sealed: &[SealedRows]) {
        self.staged.retain(|staged| sealed.iter().all(|published| published.number != staged.number));
    }

    fn staged_under(&self, number: u32) -> Result<&Staged, StoreError> {
        self.staged.iter().find(|staged| staged.number == number).ok_or_else(forgotten)
    }

    /// Whether a table is what it was, and nothing is in it.
    fn is_still_empty(&self, base: &Arc<TableMeta>) -> Result<bool, StoreError> {
        let is_unchanged = self.live.tables.get(&base.name).is_some_and(|now| Arc::ptr_eq(now, base));
        Ok(is_unchanged && self.is_empty(base)?)
    }

    /// Another table of its name, which holds so much, takes the place of one, whose rows are removed in time, together
    /// with some writes.
    pub(super) fn replace(
        &mut self,
        base: &TableMeta,
        table: TableMeta,
        size: TableSize,
        mut live: Live,
        mut writes: OwnedWriteBatch,
    ) -> Result<(), StoreError> {
        base.put_replaced(&table, &self.engine, &mut writes);
        put_next_number(live.next_number, &self.engine, &mut writes);
        put_size(table.number, size, &self.engine, &mut writes);
        live.put_head(&self.engine, &mut writes);
        live.dropped.push(base.number);
        table.note_change(live.commit);
        let sizes = vec![(Arc::clone(&table.size), size)];
        Arc::make_mut(&mut live.tables).insert(base.name.clone(), Arc::new(table));
        self.write(Checked { writes, live, sizes })?;
        base.condemn_segments();
        Ok(())
    }

    /// What nobody cares for any more is removed like the rows of a dropped table.
    pub(super) fn forget_staged(&mut self) {
        let dropped = &mut self.live.dropped;
        self.staged.retain(|staged| {
            let is_held = staged.held.strong_count() > 0;
            if !is_held {
                dropped.push(staged.number);
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

//! What the commit thread does for segments: it notes what is written while one is made, installs it, trims the delta.

use std::sync::{Arc, Weak};

use fjall::{OwnedWriteBatch, Slice};
use tablegate_store::model::TableName;
use tablegate_store::table::StoreError;

use super::super::apply::Checked;
use super::super::engine::Engine;
use super::super::key_bytes::ByteSpan;
use super::super::meta::{Live, TableMeta};
use super::{Segment, delta, manifest};

/// A span whose segment is being made: held by who makes it.
#[derive(Debug)]
pub(in crate::embedded) struct Recorded {
    span: ByteSpan,
}

/// The span whose segment is being made, if there is one: there is one at a time.
#[derive(Debug, Default)]
pub(in crate::embedded) struct Building(Weak<Recorded>);

impl Building {
    pub(in crate::embedded) fn start(&mut self, span: ByteSpan) -> Arc<Recorded> {
        let recorded = Arc::new(Recorded { span });
        self.0 = Arc::downgrade(&recorded);
        recorded
    }

    /// Whether what is written under this key has to be noted.
    pub(in crate::embedded) fn holds(&self, key: &[u8]) -> bool {
        // Most of the time there is none: asked without counting references.
        self.0.strong_count() > 0
            && self.0.upgrade().is_some_and(|r| r.span.from.as_slice() <= key && key < r.span.to.as_slice())
    }

    fn is(&self, recorded: &Arc<Recorded>) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(recorded))
    }
}

/// Segments whose files are complete, on the disk and in their folder.
pub(in crate::embedded) struct Install {
    pub(super) recorded: Arc<Recorded>,
    pub(super) table: TableName,
    pub(super) table_number: u32,
    /// Whose place they take.
    pub(super) removed: Option<Arc<Segment>>,
    pub(super) added: Vec<Arc<Segment>>,
    pub(super) few_rows: usize,
}

impl Install {
    /// # Errors
    /// [`StoreError::Unavailable`] when not all that was written meanwhile was noted, or the table is another one.
    pub(in crate::embedded) fn check(
        &self,
        building: &Building,
        engine: &Engine,
        live: &Live,
    ) -> Result<Checked, StoreError> {
        let table = live.tables.get(&self.table).filter(|table| table.number == self.table_number);
        let Some(table) = table.filter(|_| building.is(&self.recorded)) else {
            return Err(StoreError::Unavailable(format!("the table \"{}\" changed under its new segment", self.table)));
        };
        let mut writes = engine.batch();
        if let Some(removed) = &self.removed {
            manifest::remove(removed, engine, &mut writes);
        }
        for segment in &self.added {
            manifest::put(segment, engine, &mut writes);
        }
        let mut after = TableMeta::clone(table);
        after.segments = Arc::new(table.segments.with(self.removed.as_ref(), &self.added, self.few_rows));
        Arc::make_mut(&mut after.samples).retain(|key| after.segments.find(key).is_none());
        let mut live = Live { has_segments: true, ..live.next() };
        Arc::make_mut(&mut live.tables).insert(self.table.clone(), Arc::new(after));
        live.put_head(engine, &mut writes);
        Ok(Checked { writes, live, sizes: Vec::new() })
    }
}

/// A segment that is not followed any more.
pub(in crate::embedded) struct GivingUp {
    pub(in crate::embedded) table: TableName,
    pub(in crate::embedded) segment: Arc<Segment>,
}

impl GivingUp {
    /// `None` when it is in force no more.
    pub(in crate::embedded) fn check(&self, engine: &Engine, live: &Live) -> Option<Checked> {
        let is_it = |other: &Arc<Segment>| Arc::ptr_eq(other, &self.segment);
        live.tables.get(&self.table).filter(|table| table.segments.list().iter().any(is_it))?;
        let mut writes = engine.batch();
        manifest::put_given_up(&self.segment, engine, &mut writes);
        let live = live.next();
        live.put_head(engine, &mut writes);
        Some(Checked { writes, live, sizes: Vec::new() })
    }

    /// It is written: what is committed from now on may leave the segment alone.
    pub(in crate::embedded) fn put_in_force(&self) {
        self.segment.give_up();
    }
}

/// Entries of the delta that no reader needs that starts from now on, with the commits that wrote them.
pub(in crate::embedded) struct Trim(pub(super) Vec<(Slice, u64)>);

impl Trim {
    /// Of nothing: it has a view published that is newer than all that was written up to now.
    pub(in crate::embedded) fn renewing_view() -> Self {
        Self(Vec::new())
    }

    /// Removes those that were not written again.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the engine cannot read its files.
    pub(in crate::embedded) fn check(&self, engine: &Engine) -> Result<OwnedWriteBatch, StoreError> {
        let mut writes = engine.batch();
        for (key, commit) in &self.0 {
            let found = engine.guarded(|| engine.delta.get(key))?;
            if found.as_deref().and_then(delta::commit_of) == Some(*commit) {
                writes.remove(&engine.delta, key.clone());
            }
        }
        Ok(writes)
    }
}

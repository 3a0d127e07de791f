//! Rows that come as columns, many at a time: locked, and handed over.

use std::sync::Arc;

use tablegate_bind::query::LockStrength;
use tablegate_store::model::EntityKeys;
use tablegate_store::table::{Batch, EntityWindow, KnownChange, Operation};
use tablegate_types::error::SqlResult;

use super::{EgtWriter, add_to_footprint};
use crate::batches::pack;
use crate::tx::claims::Claims;
use crate::tx::in_flight::{Columns, Egt, Handed};

impl EgtWriter {
    /// Takes many rows, and hands them over. False where they are to be pushed one by one: somebody else has locked one of
    /// them. `positions` says where in the input each was; else they follow each other.
    ///
    /// # Errors
    /// As [`EgtWriter::push`].
    pub(crate) async fn push_columns(&mut self, window: EntityWindow, positions: Option<&[u64]>) -> SqlResult<bool> {
        if self.in_flight.has_stopped() {
            self.drain().await?;
        }
        self.flush().await?;
        let count = window.len() as u64;
        let positions = match positions {
            Some(positions) => positions.to_vec(),
            None => (self.position..self.position + count).collect(),
        };
        if self.only_ahead.as_mut().is_some_and(|ahead| !window.as_new().is_some_and(|new| ahead.takes(new))) {
            self.commit_only_ahead(window.as_new().zip(Some(&positions))).await?;
        }
        let mut locks = None;
        if self.locks_windows() {
            locks = self.lock_window(window.keys(), strength_of(&window)).await?;
            if locks.is_none() {
                return Ok(false);
            }
        }
        self.position = positions.last().map_or(self.position, |last| last + 1);
        self.send_columns(Columns { window, positions, locks }).await?;
        Ok(true)
    }

    async fn send_columns(&mut self, columns: Columns) -> SqlResult<()> {
        if let Some(footprint) = &mut self.footprint {
            let window = &columns.window;
            footprint.add_rows(&self.relation, window.keys(), &window.operations_bytes());
        }
        self.show();
        self.hand_over(Handed::Columns(columns)).await
    }

    /// Whether each window has locks of its own, from before it is written until it is.
    fn locks_windows(&self) -> bool {
        self.held_back.is_none() && self.only_ahead.is_none() && self.binds_everybody()
    }

    /// Locks the rows of a window, for what is handed over with these locks; `None` where somebody else has one of them.
    ///
    /// # Errors
    /// As [`EgtWriter::push`], of what was handed over before.
    async fn lock_window(&mut self, keys: &EntityKeys, strength: LockStrength) -> SqlResult<Option<Arc<Claims>>> {
        let lock = |writer: &Self| {
            let mut claims = writer.claims.as_ref()?.of_next_transaction();
            claims.lock_rows(&writer.relation, keys.pairs(), strength).then(|| Arc::new(claims))
        };
        let locked = lock(self);
        if locked.is_some() || !self.in_flight.is_running() {
            return Ok(locked);
        }
        // The windows that are under way have their rows until they are written, and what they only looked at: this statement would
        // wait for itself.
        self.drain().await?;
        Ok(lock(self))
    }

    /// Locks rows that are looked at before it is known what becomes of them: [`EgtWriter::push_locked`] takes them next. `None`
    /// where they are to be locked one by one.
    pub(crate) async fn lock_ahead(&mut self, keys: &EntityKeys) -> SqlResult<Option<Arc<Claims>>> {
        if !self.takes_known() || !self.locks_windows() {
            return Ok(None);
        }
        self.flush().await?;
        self.lock_window(keys, LockStrength::Update).await
    }

    /// Takes rows that are locked by [`EgtWriter::lock_ahead`]: those of windows, and operations beside them.
    ///
    /// # Errors
    /// As [`EgtWriter::push`].
    pub(crate) async fn push_locked(
        &mut self,
        windows: Vec<EntityWindow>,
        mut operations: Vec<Operation>,
        locks: &Arc<Claims>,
    ) -> SqlResult<()> {
        if self.in_flight.has_stopped() {
            self.drain().await?;
        }
        for window in windows {
            let positions = vec![self.position; window.len()];
            self.send_columns(Columns { window, positions, locks: Some(Arc::clone(locks)) }).await?;
        }
        operations.sort_unstable_by(|one, other| one.key().cmp(other.key()));
        let batches = pack(&self.relation.stored, operations.into_iter().map(Ok))?;
        if batches.is_empty() {
            return Ok(());
        }
        if let Some(footprint) = &mut self.footprint {
            batches.iter().for_each(|batch| add_to_footprint(footprint, &self.relation, batch));
        }
        let egt = |batch: Batch| {
            let positions = smallvec::smallvec![self.position; batch.operations().len()];
            Egt { batch, positions, locks: Some(Arc::clone(locks)) }
        };
        let egts = batches.into_iter().map(egt).collect();
        self.show();
        self.hand_over(Handed::Egts(egts)).await
    }
}

/// How strongly the rows of a window are locked.
fn strength_of(window: &EntityWindow) -> LockStrength {
    match window {
        EntityWindow::Known(known) => match known.change() {
            KnownChange::Merge(_) => LockStrength::NoKeyUpdate,
            KnownChange::Delete => LockStrength::Update,
        },
        EntityWindow::New(_) => LockStrength::Update,
    }
}

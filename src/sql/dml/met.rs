//! The rows that a change finds are locked, and compared with what was found: some may have changed in between.

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;
use tablegate_bind::query::LockStrength;
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_types::error::SqlResult;

use super::update::etags_of;
use super::writes::Writes;
use crate::batches::{all_keys_of_batch, keys_of_batch};
use crate::tx::{Found, changed_since_snapshot};

/// Rows that had changed before they were locked.
#[derive(Debug, Default)]
pub(super) struct MetChanges {
    /// Those that are still there, as they are now.
    pub newest: Vec<StoredEntity>,
    pub gone: Vec<EntityKey>,
}

impl MetChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.newest.is_empty() && self.gone.is_empty()
    }

    pub(super) fn absorb(&mut self, other: Self) {
        self.newest.extend(other.newest);
        self.gone.extend(other.gone);
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &EntityKey> {
        self.newest.iter().map(|row| &row.entity.key).chain(&self.gone)
    }
}

impl Writes<'_> {
    /// Locks the rows of a batch that begins with their keys and versions. Gives those that are as they were found, and
    /// what has become of the others. What is committed as it comes is locked when it is, unless it met changes before.
    ///
    /// # Errors
    /// 55P03, 40P01 when a row cannot be locked; 40001 when it changed since the snapshot that a transaction reads.
    pub(super) async fn lock_found(
        &mut self,
        batch: RecordBatch,
        strength: LockStrength,
    ) -> SqlResult<(RecordBatch, MetChanges)> {
        let mut met = MetChanges::default();
        if !self.locks_early() || batch.num_rows() == 0 {
            return Ok((batch, met));
        }
        let versions = etags_of(&batch)?;
        let keys = all_keys_of_batch(&batch)?;
        if self.hold_found(&keys, &versions, strength)? {
            return Ok((batch, met));
        }
        let keys = keys_of_batch(&batch)?;
        let mut is_kept = vec![true; keys.len()];
        for (row, (key, version)) in keys.into_iter().zip(versions).enumerate() {
            // Found again: whatever found it first has changed it.
            if self.has_changed(&key) {
                continue;
            }
            let Some(now) = self.lock_and_see(&key, &version, strength).await? else {
                self.note_own_row();
                continue;
            };
            is_kept[row] = now.as_ref().is_some_and(|now| now.etag == version);
            if is_kept[row] {
                continue;
            }
            if self.keeps_snapshot() {
                let found = if now.is_some() { Found::Changed } else { Found::Gone };
                return Err(changed_since_snapshot(&self.relation, &key, found));
            }
            match now {
                Some(now) => met.newest.push(now),
                None => met.gone.push(key),
            }
        }
        if met.is_empty() {
            return Ok((batch, met));
        }
        Ok((filter_record_batch(&batch, &BooleanArray::from(is_kept))?, met))
    }
}

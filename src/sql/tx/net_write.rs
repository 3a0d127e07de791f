//! The net effect of a transaction on one entity, however many of its statements wrote it.

use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryReservation;
use tablegate_store::model::{ETag, EdmDateTime, Entity, EntityKey, StoredEntity};
use tablegate_store::table::{IfMatch, Operation};
use tablegate_types::error::SqlResult;

use super::spill::{Kept, Values};

/// The net effect on one entity.
#[derive(Debug)]
pub(crate) struct NetWrite {
    /// The stored version it was read with; `None` when the entity was not there.
    pub(super) base: Option<ETag>,
    /// What it shall be; `None` when it shall be gone.
    pub(super) kept: Option<Kept>,
    /// When the transaction wrote it: shown as its Timestamp until it commits.
    pub(super) written: EdmDateTime,
    /// What its operation takes in the `$batch` body.
    pub(super) bytes: usize,
    /// The stored entity was deleted, and this one inserted in its place: another row.
    pub(super) replaces: bool,
    /// What it takes besides its values. `None` where that is not counted, or with the columns that it is in.
    pub(super) _memory: Option<MemoryReservation>,
}

impl NetWrite {
    /// An insertion that was taken back: nothing is to be done.
    pub(super) fn is_nothing(&self) -> bool {
        self.base.is_none() && self.kept.is_none()
    }

    /// The operation that does this. Its values are copied only where somebody still reads them.
    ///
    /// # Errors
    /// When its values cannot be read back.
    pub(crate) fn into_operation(write: Arc<Self>, key: EntityKey) -> SqlResult<Operation> {
        let (base, values) = match Arc::try_unwrap(write) {
            Ok(Self { base, kept, .. }) => (base, kept.map(Kept::into_values)),
            Err(shared) => (shared.base.clone(), shared.kept.as_ref().map(Kept::values)),
        };
        Ok(operation(key, base, values.transpose()?))
    }

    /// The entity as the transaction left it; `None` when it deleted it.
    ///
    /// # Errors
    /// When its values cannot be read back.
    pub(crate) fn image(&self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        let Some(kept) = &self.kept else { return Ok(None) };
        Ok(Some(StoredEntity {
            entity: Entity::new(key.clone(), kept.after()?),
            timestamp: self.written,
            etag: self.base.clone().unwrap_or_else(|| ETag::of_timestamp(self.written)),
        }))
    }
}

/// The operation that turns the stored version `base` into the values. With neither a version nor values it would be a
/// Delete of any version; no operation is made of such an entry, so that case does not occur.
pub(super) fn operation(key: EntityKey, base: Option<ETag>, values: Option<Values>) -> Operation {
    let if_match = |base: Option<ETag>| base.map_or(IfMatch::Any, IfMatch::ETag);
    match (base, values) {
        (None, Some(Values { after, .. })) => Operation::Insert(Entity::new(key, after)),
        (base, Some(Values { patch: Some(patch), .. })) => Operation::Merge(Entity::new(key, patch), if_match(base)),
        (base, Some(Values { after, patch: None })) => Operation::Replace(Entity::new(key, after), if_match(base)),
        (base, None) => Operation::Delete(key, if_match(base)),
    }
}

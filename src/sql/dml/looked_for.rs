//! Rows under many keys at once: locked, and looked for, before it is known what becomes of each.
//!
//! So goes INSERT .. ON CONFLICT of many rows. Those that are not there and those that are changed go to the store as columns;
//! where a property goes, which no columns say, as single operations beside them.

use std::sync::Arc;

use tablegate_store::model::limits::EGT_MAX_OPERATIONS;
use tablegate_store::model::{Entity, EntityKeys, StoredEntity};
use tablegate_store::table::{EntityWindow, IfMatch, KnownEntities, Operation};
use tablegate_types::error::SqlResult;

use super::rows::RowsToWrite;
use super::writes::{Change, WriteMode, Writes};
use crate::tx::Claims;

/// What keeps others out of the rows until they are written; `None` in a block, which keeps them out to its end.
pub(super) struct LookedFor(Option<Arc<Claims>>);

impl Writes<'_> {
    /// Locks many rows and looks for them: what is there under each key. `None` where they have to be locked one by one.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn look_for(
        &mut self,
        keys: &EntityKeys,
    ) -> SqlResult<Option<(Vec<Option<StoredEntity>>, LookedFor)>> {
        // A transaction that reads one snapshot may not see what is there.
        if keys.len() <= EGT_MAX_OPERATIONS || self.relation.open || self.keeps_snapshot() {
            return Ok(None);
        }
        let locks = match &mut self.mode {
            WriteMode::Direct(writer) => match writer.lock_ahead(keys).await? {
                Some(locks) => Some(locks),
                None => return Ok(None),
            },
            WriteMode::OneEgt(_) => return Ok(None),
            WriteMode::Block(_) | WriteMode::Implicit(_) => None,
        };
        if locks.is_none() && !self.hold_new(keys)? {
            return Ok(None);
        }
        Ok(Some((self.stored(keys).await?, LookedFor(locks))))
    }

    /// What is there under each of these keys, which are locked.
    async fn stored(&mut self, keys: &EntityKeys) -> SqlResult<Vec<Option<StoredEntity>>> {
        let Some(claims) = self.claims() else { return Ok(vec![None; keys.len()]) };
        let first = claims.first_present(&self.relation, keys).await?.unwrap_or(keys.len());
        let mut stored = vec![None; first];
        for place in first..keys.len() {
            self.pace.give_way().await;
            // The transaction has written none of them: it had locked those.
            let Some(claims) = self.claims() else { break };
            stored.push(claims.now(&self.relation, &keys.key(place)).await?);
        }
        Ok(stored)
    }

    /// Adds rows that were looked for and not found.
    ///
    /// # Errors
    /// As [`Writes::insert`], but for 23505.
    pub(super) async fn insert_looked_for(&mut self, rows: &RowsToWrite, looked_for: &LookedFor) -> SqlResult<()> {
        let entities = rows.new_entities(&self.relation);
        match (&mut self.mode, &looked_for.0) {
            (WriteMode::Direct(writer), Some(locks)) => {
                let (mut windows, mut operations) = (Vec::new(), Vec::new());
                match entities {
                    Some(entities) => windows.push(EntityWindow::New(entities)),
                    None => {
                        let inserted = (0..rows.len()).map(|row| Ok(Operation::Insert(rows.entity(row)?)));
                        operations = inserted.collect::<SqlResult<_>>()?;
                    }
                }
                writer.push_locked(windows, operations, locks).await
            }
            _ => {
                if let Some(entities) = entities
                    && self.collect(entities.into())?
                {
                    return Ok(());
                }
                for row in 0..rows.len() {
                    self.insert_absent(rows.entity(row)?).await?;
                }
                Ok(())
            }
        }
    }

    /// Changes rows that were looked for and found.
    ///
    /// # Errors
    /// As [`Writes::update`].
    pub(super) async fn change_looked_for(
        &mut self,
        known: Option<KnownEntities>,
        changes: Vec<(&StoredEntity, Change)>,
        looked_for: &LookedFor,
    ) -> SqlResult<()> {
        match (&mut self.mode, &looked_for.0) {
            (WriteMode::Direct(writer), Some(locks)) => {
                let windows = known.map(EntityWindow::Known).into_iter().collect();
                let operations = changes.into_iter().map(|(base, change)| operation(base, change));
                writer.push_locked(windows, operations.collect::<SqlResult<_>>()?, locks).await
            }
            _ => {
                if let Some(known) = known
                    && !self.collect(known.clone().into())?
                {
                    for place in 0..known.len() {
                        let (key, set) = known.operation(place).into_parts();
                        let change = Change { set, removed: Vec::new() };
                        self.update(&key, &known.versions()[place], change).await?;
                    }
                }
                for (base, change) in changes {
                    self.update(&base.entity.key, &base.etag, change).await?;
                }
                Ok(())
            }
        }
    }
}

/// What makes a change of an entity that was read.
fn operation(base: &StoredEntity, change: Change) -> SqlResult<Operation> {
    let (key, version) = (base.entity.key.clone(), IfMatch::ETag(base.etag.clone()));
    let operation = if change.removed.is_empty() {
        Operation::Merge(Entity::new(key, change.set), version)
    } else {
        let mut after = base.entity.properties.clone();
        change.removed.iter().for_each(|name| after.remove(name.as_str()));
        after.merge(change.set);
        Operation::Replace(Entity::new(key, after), version)
    };
    if let Some(entity) = operation.entity() {
        entity.check()?;
    }
    Ok(operation)
}

//! Blocks of values: reserved in the store, given out from memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt, stream};
use tablegate_store::model::{ETag, Entity, StoredEntity, TableName};
use tablegate_store::table::{Batch, CommitError, IfMatch, Operation, Rejection};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::time::timeout;

use super::counting::{advance, advance_by, check_within, exhausted};
use crate::catalog::{CATALOG_TABLE, Sequence, SequenceOptions, SequenceState};
use crate::place::Stores;

/// Values reserved at once, unless CACHE or a statement asks for more: so many are lost by a crash.
const BLOCK: u64 = 64;
/// A store that does not answer holds up the end of the server for so long.
const GIVING_BACK: Duration = Duration::from_secs(5);
const GIVEN_BACK_AT_ONCE: usize = 16;

/// The sequences that are kept in stores, shared by all sessions.
pub(crate) struct Sequences {
    stores: Stores,
    /// What is reserved and not given out yet, by the sequence's OID.
    blocks: Mutex<HashMap<u32, Arc<BlockCell>>>,
}

type BlockCell = tokio::sync::Mutex<Option<Block>>;

/// Values that are reserved: those after `state`, as many as `left`.
#[derive(Debug)]
struct Block {
    /// The declaration it was reserved under: after ALTER SEQUENCE there is another.
    sequence: Arc<Sequence>,
    options: SequenceOptions,
    state: SequenceState,
    left: u64,
    /// Where the store's entry stands since.
    reserved: SequenceState,
}

impl Block {
    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        self.state = advance(&self.options, self.state)?;
        Some(self.state.last)
    }
}

impl Sequences {
    pub(crate) fn new(stores: Stores) -> Self {
        Self { stores, blocks: Mutex::default() }
    }

    /// The next values of a sequence.
    ///
    /// # Errors
    /// 2200H at the sequence's end, 42P01 when it was dropped meanwhile, and what the store meets.
    pub(crate) async fn next_values(&self, sequence: &Arc<Sequence>, count: usize) -> SqlResult<Vec<i64>> {
        self.stores.check_writable(sequence.place)?;
        let cell = self.cell(sequence);
        let mut block = cell.lock().await;
        if block.as_ref().is_some_and(|block| !Arc::ptr_eq(&block.sequence, sequence)) {
            *block = None;
        }
        let mut values = Vec::with_capacity(count);
        loop {
            if let Some(block) = block.as_mut() {
                values.extend(std::iter::from_fn(|| block.next()).take(count - values.len()));
            }
            if values.len() == count {
                return Ok(values);
            }
            let missing = u64::try_from(count - values.len()).unwrap_or(u64::MAX);
            // Whatever becomes of the reservation, an old block is used up.
            *block = None;
            *block = Some(self.reserve(sequence, missing).await?);
        }
    }

    /// setval: the sequence goes on from here.
    ///
    /// # Errors
    /// 22003 for a value outside the sequence's bounds, and as [`Sequences::next_values`].
    pub(crate) async fn set(&self, sequence: &Arc<Sequence>, state: SequenceState) -> SqlResult<()> {
        self.stores.check_writable(sequence.place)?;
        let cell = self.cell(sequence);
        let mut block = cell.lock().await;
        let (definition, _, _) = self.stored(sequence).await?;
        check_within(&definition, state.last)?;
        *block = None;
        let patch = Entity::new(sequence.entity_key()?, state.to_properties()?);
        self.commit(sequence, Operation::Merge(patch, IfMatch::Any)).await.map(|_| ())
    }

    /// Where a sequence stands: the last value that was given out here, else that was reserved.
    ///
    /// # Errors
    /// As [`Sequences::next_values`].
    pub(crate) async fn state(&self, sequence: &Arc<Sequence>) -> SqlResult<SequenceState> {
        let cell = self.cell(sequence);
        let block = cell.lock().await;
        match &*block {
            Some(block) if Arc::ptr_eq(&block.sequence, sequence) => Ok(block.state),
            _ => Ok(self.stored(sequence).await?.1),
        }
    }

    /// Where a sequence stands in the store, and in which version of its entry.
    ///
    /// # Errors
    /// 42P01 when it was dropped meanwhile, and what the store meets.
    pub(crate) async fn stored_state(&self, sequence: &Sequence) -> SqlResult<(SequenceState, ETag)> {
        self.stored(sequence).await.map(|(_, state, stored)| (state, stored.etag))
    }

    /// Gives the values back that are reserved and not given out, unless somebody reserved others behind them.
    ///
    /// # Errors
    /// What the store meets. The values are lost then, as after a crash.
    pub(crate) async fn give_back(&self, oid: u32) -> SqlResult<()> {
        let cell = self.blocks.lock().unwrap_or_else(PoisonError::into_inner).get(&oid).cloned();
        let Some(cell) = cell else { return Ok(()) };
        let mut block = cell.lock().await;
        let Some(Block { sequence, state, reserved, .. }) = block.take() else { return Ok(()) };
        let (_, stored_state, stored) = self.stored(&sequence).await?;
        if stored_state == reserved && state != reserved {
            let patch = Entity::new(sequence.entity_key()?, state.to_properties()?);
            self.commit(&sequence, Operation::Merge(patch, IfMatch::ETag(stored.etag))).await?;
        }
        Ok(())
    }

    /// The same for all sequences, before the store is closed: as far as it takes no longer than [`GIVING_BACK`].
    pub(crate) async fn give_all_back(&self) {
        let oids: Vec<u32> = self.blocks.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect();
        let all = stream::iter(oids).for_each_concurrent(GIVEN_BACK_AT_ONCE, |oid| async move {
            if let Err(error) = self.give_back(oid).await {
                tracing::warn!(%error, "values of a sequence were not given back");
            }
        });
        if timeout(GIVING_BACK, all).await.is_err() {
            tracing::warn!("values of sequences were not given back: the store does not answer");
        }
    }

    fn cell(&self, sequence: &Sequence) -> Arc<BlockCell> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).entry(sequence.oid).or_default().clone()
    }

    /// Reserves a block, under the condition that no other gateway reserved one since the sequence was read.
    async fn reserve(&self, sequence: &Arc<Sequence>, at_least: u64) -> SqlResult<Block> {
        loop {
            let (definition, state, stored) = self.stored(sequence).await?;
            let options = definition.options;
            let cache = u64::try_from(options.cache).unwrap_or(1);
            let (left, reserved) = advance_by(&options, state, at_least.max(cache).max(BLOCK));
            if left == 0 {
                return Err(exhausted(&sequence.name, &options));
            }
            let patch = Entity::new(sequence.entity_key()?, reserved.to_properties()?);
            if self.commit(sequence, Operation::Merge(patch, IfMatch::ETag(stored.etag))).await? {
                return Ok(Block { sequence: sequence.clone(), options, state, left, reserved });
            }
        }
    }

    async fn stored(&self, sequence: &Sequence) -> SqlResult<(Sequence, SequenceState, StoredEntity)> {
        let reader = self.stores.at(sequence.place)?.reader();
        let stored = reader.get(&TableName::parse(CATALOG_TABLE)?, &sequence.entity_key()?).await?;
        let stored = stored.ok_or_else(|| missing(sequence))?;
        let (definition, state) = Sequence::of_entity(sequence.place, &stored)?;
        // Another sequence of the same name is not this one.
        if definition.oid == sequence.oid { Ok((definition, state, stored)) } else { Err(missing(sequence)) }
    }

    /// Whether it was done; not when the entry changed meanwhile.
    async fn commit(&self, sequence: &Sequence, operation: Operation) -> SqlResult<bool> {
        let batch = Batch::single(TableName::parse(CATALOG_TABLE)?, operation)?;
        match self.stores.at(sequence.place)?.commit(batch).await {
            Ok(_) => Ok(true),
            Err(CommitError::Rejected { reason: Rejection::ETagMismatch, .. }) => Ok(false),
            Err(CommitError::Rejected { .. }) => Err(missing(sequence)),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }
}

fn missing(sequence: &Sequence) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{}\" does not exist", sequence.name))
}

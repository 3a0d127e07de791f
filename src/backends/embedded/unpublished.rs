//! Reads rows that were written ahead while they are in no table yet.

use std::collections::HashSet;

use tablegate_store::model::{Entity, EntityKey, Span};
use tablegate_store::table::{Batch, BatchBuilder, NewEntities, Operation, StoreError};

use super::analyze::{damaged_key, damaged_row};
use super::engine::Engine;
use super::key_bytes::{self, ByteSpan};
use super::meta::TableMeta;
use super::staging::Filling;

/// Most rows that are read at a time: some milliseconds of the commit thread's time.
const ROWS_AT_ONCE: usize = 2_500;
/// Bytes of rows after which no further ones are read.
const BYTES_AT_ONCE: usize = 8 << 20;

/// The place of the first entity whose key is that of a row that was written, or waits to be.
///
/// # Errors
/// [`StoreError::Damaged`] when the engine cannot read its files.
pub(super) fn first_known(
    engine: &Engine,
    filling: &Filling,
    entities: &NewEntities,
) -> Result<Option<usize>, StoreError> {
    let waiting: HashSet<&[u8]> =
        filling.waiting.iter().flat_map(|rows| (0..rows.keys.len()).map(|row| rows.keys.get(row))).collect();
    for (place, (partition, row)) in entities.keys().pairs().enumerate() {
        let key = key_bytes::of_row(filling.table.number, partition, row);
        if waiting.contains(key.as_slice()) || engine.written_row(&key)?.is_some() {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// All rows that were written under a number, as insertions, in the order of their keys.
pub(super) struct Unpublished {
    table: TableMeta,
    left: ByteSpan,
}

impl Unpublished {
    /// Of a table as it was to be.
    pub(super) fn new(table: TableMeta) -> Self {
        let left = key_bytes::of_partitions(table.number, &Span::ALL);
        Self { table, left }
    }

    /// The next entity group transactions; none when there are no more.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn next(&mut self, engine: &Engine) -> Result<Vec<Batch>, StoreError> {
        let mut rows = engine.rows_in(&self.left);
        let (mut batches, mut bytes, mut count) = (Vec::new(), 0, 0);
        let mut open = self.builder();
        while bytes < BYTES_AT_ONCE
            && count < ROWS_AT_ONCE
            && let Some((key, value)) = engine.guarded(|| rows.next().map(fjall::Guard::into_inner).transpose())?
        {
            (bytes, count) = (bytes + value.len(), count + 1);
            if let Err((operation, _)) = open.push(Operation::Insert(self.entity(&key, &value)?)) {
                batches.push(std::mem::replace(&mut open, self.builder()).build().map_err(illegal)?);
                open.push(operation).map_err(|(_, error)| illegal(error))?;
            }
            self.left.from = [&*key, &[0]].concat();
        }
        if count > 0 {
            batches.push(open.build().map_err(illegal)?);
        }
        Ok(batches)
    }

    fn builder(&self) -> BatchBuilder {
        Batch::builder(self.table.name.clone())
    }

    fn entity(&self, key: &[u8], row: &[u8]) -> Result<Entity, StoreError> {
        let damaged = |error| damaged_row(&self.table, key, error);
        let properties = self.table.parse_row(row).map_err(damaged)?.properties().map_err(damaged)?;
        let pair = key_bytes::parse(key).and_then(|(partition, row)| EntityKey::parse(partition, row).ok());
        Ok(Entity::new(pair.ok_or_else(|| damaged_key(&self.table, key))?, properties))
    }
}

/// Rows that were taken are legal.
fn illegal(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

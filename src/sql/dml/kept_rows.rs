//! Rows that a statement keeps in memory until it is done, within the memory that queries may use.

use arrow::record_batch::RecordBatch;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::{StreamExt, stream};
use tablegate_types::error::SqlResult;

use crate::outcome::RowStream;
use crate::own_rows::own_rows;
use crate::plan::Planner;

/// Batches of rows, accounted for as long as they live.
pub(super) struct KeptRows {
    batches: Vec<RecordBatch>,
    memory: MemoryReservation,
}

impl KeptRows {
    /// None yet, kept for this purpose.
    pub(super) fn new(planner: &Planner<'_>, purpose: &str) -> Self {
        Self { batches: Vec::new(), memory: planner.engine.memory(purpose) }
    }

    /// # Errors
    /// 53200 when they are more than queries may hold.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> SqlResult<()> {
        let (rows, bytes) = own_rows(batch)?;
        self.memory.try_grow(bytes)?;
        self.batches.push(rows);
        Ok(())
    }

    /// All rows of a stream.
    ///
    /// # Errors
    /// The errors of the stream, and as [`KeptRows::push`].
    pub(super) async fn of(planner: &Planner<'_>, purpose: &str, mut stream: RowStream) -> SqlResult<Self> {
        let mut rows = Self::new(planner, purpose);
        while let Some(batch) = stream.next().await {
            rows.push(&batch?)?;
        }
        Ok(rows)
    }

    /// How many rows they are.
    pub(super) fn count(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// The rows as a stream, at whose end their memory is given back.
    pub(super) fn into_stream(self) -> RowStream {
        held(Box::pin(stream::iter(self.batches).map(Ok)), self.memory)
    }

    /// The rows, and the memory they are accounted in: to be held while they are used.
    pub(super) fn into_parts(self) -> (Vec<RecordBatch>, MemoryReservation) {
        (self.batches, self.memory)
    }
}

/// A stream that reads rows in memory: they are accounted for until it ends.
pub(super) fn held(stream: RowStream, memory: MemoryReservation) -> RowStream {
    Box::pin(stream.inspect(move |_batch| {
        let _in_use = &memory;
    }))
}

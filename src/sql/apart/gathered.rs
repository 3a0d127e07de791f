//! The beginning of the rows of an aggregation, which is read before it is known how many there are.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::record_batch::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlanProperties;
use futures::{StreamExt, stream};

use crate::own_rows::own_rows;
use crate::passing::{Batches, Passing, Plan};

/// The part of the memory of queries that the beginning may take: what the engine keeps of it takes up to twenty times as much.
const PART: usize = 256;
/// It takes no more where there is very much memory.
const BYTES_MOST: usize = 64 << 20;

/// All rows of one input, as far as they were read.
pub(super) struct Beginning {
    partitions: Vec<(Vec<RecordBatch>, Option<SendableRecordBatchStream>)>,
    memory: Arc<MemoryReservation>,
    bytes: Arc<AtomicUsize>,
}

impl Beginning {
    /// Reads the input until it ends, or there is more of it than a part of the memory.
    ///
    /// # Errors
    /// Those of the input.
    pub(super) async fn read(input: &Plan, context: &Arc<TaskContext>) -> Result<Self> {
        let pool = context.memory_pool();
        let most = match pool.memory_limit() {
            MemoryLimit::Finite(all) => (all / PART).min(BYTES_MOST),
            MemoryLimit::Infinite | MemoryLimit::Unknown => BYTES_MOST,
        };
        let memory = Arc::new(MemoryConsumer::new("the beginning of an aggregation").register(pool));
        let taken = Arc::new(AtomicUsize::new(0));
        let read = |partition: usize| {
            let rows = input.execute(partition, Arc::clone(context))?;
            let (taken, memory) = (Arc::clone(&taken), Arc::clone(&memory));
            Ok(SpawnedTask::spawn(read(rows, taken, most, memory)))
        };
        // All of them are read at the same time.
        let count = input.output_partitioning().partition_count();
        let reading = (0..count).map(read).collect::<Result<Vec<_>>>()?;
        let mut partitions = Vec::with_capacity(count);
        for partition in reading {
            let ended = partition.join_unwind().await;
            partitions.push(ended.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??);
        }
        Ok(Self { partitions, memory, bytes: taken })
    }

    /// Whether it is all.
    pub(super) fn is_all(&self) -> bool {
        self.partitions.iter().all(|(_, rest)| rest.is_none())
    }

    /// What a row of it takes, about.
    pub(super) fn row_bytes(&self) -> usize {
        let rows = self.partitions.iter().flat_map(|(first, _)| first).map(RecordBatch::num_rows).sum::<usize>();
        self.bytes.load(Ordering::Relaxed).div_ceil(rows.max(1))
    }

    /// The rows of each partition, from the first on.
    pub(super) fn into_rows(self) -> Vec<Batches> {
        let memory = self.memory;
        let rows = self.partitions.into_iter().map(|(first, rest)| {
            let memory = Arc::clone(&memory);
            let first = stream::iter(first).map(move |batch| {
                let _held = &memory;
                Ok(batch)
            });
            match rest {
                Some(rest) => first.chain(rest).boxed(),
                None => first.boxed(),
            }
        });
        rows.collect()
    }
}

async fn read(
    mut rows: SendableRecordBatchStream,
    taken: Arc<AtomicUsize>,
    most: usize,
    memory: Arc<MemoryReservation>,
) -> Result<(Vec<RecordBatch>, Option<SendableRecordBatchStream>)> {
    let mut first = Vec::new();
    while taken.load(Ordering::Relaxed) <= most {
        let Some(batch) = rows.next().await.transpose()? else { return Ok((first, None)) };
        let (batch, bytes) = own_rows(&batch).map_err(|error| DataFusionError::External(error))?;
        first.push(batch);
        // With no room for more it goes the way of those that are many.
        let more = if memory.try_grow(bytes).is_ok() { bytes } else { most + 1 };
        taken.fetch_add(more, Ordering::Relaxed);
    }
    Ok((first, Some(rows)))
}

/// Where the rows of an aggregation go by: when they were read already, it gives those.
#[derive(Default)]
pub(super) struct Gathered {
    rows: Mutex<HashMap<usize, Batches>>,
}

impl Gathered {
    /// These are the rows of each partition.
    pub(super) fn set(&self, rows: Vec<Batches>) {
        *self.rows() = rows.into_iter().enumerate().collect();
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<usize, Batches>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gathered")
    }
}

/// The node that stands for them in a plan.
#[derive(Debug)]
pub(super) struct Gather(pub Arc<Gathered>);

impl Gather {
    pub(super) const NAME: &'static str = "GatherExec";
}

impl Passing for Gather {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn begin(&self, _input: &Plan, partition: usize, _context: Arc<TaskContext>) -> Result<Batches> {
        match self.0.rows().remove(&partition) {
            Some(rows) => Ok(rows),
            None => internal_err!("the rows of an aggregation were not read"),
        }
    }
}

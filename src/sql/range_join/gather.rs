//! The rows that have to be there before the first row comes out: those of the sorted side, and where it is read behind the
//! other one, that one's too.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::TryStreamExt;

use super::join::RangeJoin;
use super::sorted::{Order, Sorted};
use super::told::{Extremes, Told};
use crate::own_rows::own_rows;

/// What it is read for.
pub(super) struct Gathering {
    pub join: Arc<RangeJoin>,
    pub told: Option<Told>,
    /// More keys than so many are not told.
    pub keys_max: usize,
    pub memory: MemoryReservation,
}

/// All that was read.
pub(super) struct Gathered {
    pub sorted: Sorted,
    /// The rows of the other side, where it was read first.
    pub probing: Vec<RecordBatch>,
    _memory: MemoryReservation,
}

impl Gathering {
    /// Reads the sorted side, and the other one before it where that is given.
    ///
    /// # Errors
    /// Those of the inputs, and 53200 where their rows do not fit into the memory of queries.
    pub(super) async fn gathered(
        self,
        input: SendableRecordBatchStream,
        probing: Option<SendableRecordBatchStream>,
    ) -> Result<Gathered> {
        let probing = match probing {
            Some(input) => self.taken(input).await?,
            None => Vec::new(),
        };
        let side = self.join.terms.sorted;
        let schema = input.schema();
        let told = self.told.as_ref().filter(|_| self.join.read_first == side);
        let mut extremes = extremes_for(told, &schema)?;
        let (on, by) = (self.join.on_of(side), self.join.sorted_by());
        let order = Order { on: &on, by: &by, keys: self.join.keys(side, &schema)? };
        let sorted = Sorted::of(order, &mut extremes, input, &self.memory).await?;
        if let Some(told) = told {
            told.tell(sorted.keys(), extremes, self.keys_max)?;
        }
        Ok(Gathered { sorted, probing, _memory: self.memory })
    }

    /// All rows of the side that is not sorted, which have told the other one what they ask for.
    async fn taken(&self, mut input: SendableRecordBatchStream) -> Result<Vec<RecordBatch>> {
        let (side, schema) = (self.join.probing(), input.schema());
        let on = self.join.on_of(side);
        let mut keys = self.join.keys(side, &schema)?;
        let told = self.told.as_ref();
        let mut extremes = extremes_for(told, &schema)?;
        let mut rows = Vec::new();
        while let Some(batch) = input.try_next().await? {
            let (batch, bytes) = own_rows(&batch).map_err(|error| DataFusionError::External(error))?;
            self.memory.try_grow(bytes)?;
            extremes.add(&batch)?;
            if let Some(keys) = keys.as_mut().filter(|keys| keys.len() <= self.keys_max) {
                keys.add(&on, &batch)?;
            }
            rows.push(batch);
        }
        if let Some(told) = told {
            told.tell(keys.as_ref(), extremes, self.keys_max)?;
        }
        Ok(rows)
    }
}

/// What is to be shown the rows of a side that has this to tell, or nothing.
fn extremes_for(told: Option<&Told>, schema: &Schema) -> Result<Extremes> {
    told.map_or_else(|| Ok(Extremes::default()), |told| told.extremes(schema))
}

//! What makes the rows of a node take turns with those of others.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use futures::StreamExt;
use tablegate_types::interrupt::Interrupt;

use super::stream::Turns;
use crate::passing::{Batches, Passing, Plan};

/// The rows are given as they are.
#[derive(Debug)]
pub(super) struct InTurns {
    pub interrupt: Interrupt,
}

impl Passing for InTurns {
    fn name(&self) -> &'static str {
        "TurnsExec"
    }

    fn begin(&self, input: &Plan, partition: usize, context: Arc<TaskContext>) -> Result<Batches> {
        let rows = Turns::new(input.execute(partition, context)?);
        let interrupt = self.interrupt.clone();
        let part = interrupt.part();
        // Tasks of the engine's own go on until they next give way; here they meet an error instead.
        let rows = rows.map(move |batch| {
            // Dropped behind the rows, and so behind what they hold.
            let _held = &part;
            let batch = batch?;
            interrupt.check().map(|()| batch).map_err(|error| DataFusionError::External(error))
        });
        Ok(rows.boxed())
    }
}

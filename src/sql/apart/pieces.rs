//! Rows on their way into a sort: a few at a time, which take no more memory than their own.
//!
//! A sort has to have room for all rows that it is given at once, and counts the buffers that they are cut from.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use futures::{StreamExt, stream};

use crate::own_rows::own_rows;
use crate::passing::{Batches, Passing, Plan};

/// So many rows are given at a time.
#[derive(Debug)]
pub(super) struct Pieces {
    pub rows: usize,
}

impl Passing for Pieces {
    fn name(&self) -> &'static str {
        "PiecesExec"
    }

    fn begin(&self, input: &Plan, partition: usize, context: Arc<TaskContext>) -> Result<Batches> {
        let rows = self.rows;
        let pieces = input.execute(partition, context)?.flat_map(move |batch| match batch {
            Ok(batch) => stream::iter(pieces(batch, rows)).left_stream(),
            failed => stream::iter([failed]).right_stream(),
        });
        Ok(pieces.boxed())
    }
}

fn pieces(batch: RecordBatch, rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
    let all = batch.num_rows();
    (0..all).step_by(rows).map(move |first| {
        let piece = own_rows(&batch.slice(first, rows.min(all - first)));
        piece.map(|(piece, _)| piece).map_err(|error| DataFusionError::External(error))
    })
}

//! Memory of operators of the engine's that keep all of their rows and do not say so: those of window functions.
//!
//! Such an operator stands between two nodes, which share a reservation: the one below it reserves what it hands to it, the one
//! above it keeps the reservation as long as there are results. The operator puts all of its rows together and adds columns to
//! them, so they are counted twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::windows::WindowAggExec;
use futures::StreamExt;

use crate::passing::{Batches, Passing, PassingExec, Plan};

/// How often the rows are there at the same time.
const COPIES: usize = 2;
/// Bytes of each value that a window function gives.
const RESULT_BYTES: usize = 8;

/// The plan, with what its uppermost operator keeps counted, if it does not count it itself.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn accounted(plan: Plan) -> Result<Plan> {
    let Some(window) = plan.downcast_ref::<WindowAggExec>() else { return Ok(plan) };
    let shared = Arc::new(Shared { result_bytes: RESULT_BYTES * window.window_expr().len(), ..Shared::default() });
    let plan = PassingExec::below(plan, Accounted { side: Side::Below, shared: Arc::clone(&shared) })?;
    Ok(PassingExec::above(plan, Accounted { side: Side::Above, shared }))
}

/// What each partition that is being run has reserved.
#[derive(Debug, Default)]
struct Shared {
    reservations: Mutex<HashMap<usize, Arc<MemoryReservation>>>,
    /// Of one row's results.
    result_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// One of the two nodes.
#[derive(Debug)]
struct Accounted {
    side: Side,
    shared: Arc<Shared>,
}

impl Passing for Accounted {
    fn name(&self) -> &'static str {
        "AccountedExec"
    }

    fn begin(&self, input: &Plan, partition: usize, context: Arc<TaskContext>) -> Result<Batches> {
        let reservations = || self.shared.reservations.lock().unwrap_or_else(PoisonError::into_inner);
        match self.side {
            Side::Above => {
                let consumer = MemoryConsumer::new("rows of window functions");
                let reservation = Arc::new(consumer.register(context.memory_pool()));
                reservations().insert(partition, Arc::clone(&reservation));
                let rows = input.execute(partition, context)?;
                let rows = rows.map(move |batch| {
                    let _held = &reservation;
                    batch
                });
                Ok(rows.boxed())
            }
            Side::Below => {
                let Some(reservation) = reservations().remove(&partition) else {
                    return internal_err!("nobody counts the rows of a window");
                };
                let result_bytes = self.shared.result_bytes;
                let rows = input.execute(partition, context)?.map(move |batch| {
                    let batch = batch?;
                    let results = COPIES * result_bytes * batch.num_rows();
                    reservation.try_grow(COPIES * get_record_batch_memory_size(&batch) + results)?;
                    Ok(batch)
                });
                Ok(rows.boxed())
            }
        }
    }
}

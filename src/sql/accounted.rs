//! Memory of operators of the engine's that keep all of their rows and do not say so: those of window functions.
//!
//! Such an operator stands between two nodes, which share a reservation: the one below it reserves what it hands to it, the one
//! above it keeps the reservation as long as there are results. The operator puts all of its rows together and adds columns to
//! them, so they are counted twice.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

type Plan = Arc<dyn ExecutionPlan>;

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
    let below = AccountedExec { input: Arc::clone(window.input()), side: Side::Below, shared: Arc::clone(&shared) };
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    let input = plan.replace_children(vec![Arc::new(below)], options)?;
    Ok(Arc::new(AccountedExec { input, side: Side::Above, shared }))
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

/// Gives the rows of its input, as they are.
#[derive(Debug)]
pub(crate) struct AccountedExec {
    input: Plan,
    side: Side,
    shared: Arc<Shared>,
}

impl DisplayAs for AccountedExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountedExec")
    }
}

impl ExecutionPlan for AccountedExec {
    fn name(&self) -> &'static str {
        "AccountedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, mut children: Vec<Plan>, _options: ReplaceChildrenOptions) -> Result<Plan> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self { input, side: self.side, shared: Arc::clone(&self.shared) })),
            _ => internal_err!("rows that are counted have one input"),
        }
    }

    /// The trait asks for it still.
    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reservations = || self.shared.reservations.lock().unwrap_or_else(PoisonError::into_inner);
        match self.side {
            Side::Above => {
                let consumer = MemoryConsumer::new("rows of window functions");
                let reservation = Arc::new(consumer.register(context.memory_pool()));
                reservations().insert(partition, Arc::clone(&reservation));
                let rows = self.input.execute(partition, context)?;
                let rows = rows.map(move |batch| {
                    let _held = &reservation;
                    batch
                });
                Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
            }
            Side::Below => {
                let Some(reservation) = reservations().remove(&partition) else {
                    return internal_err!("nobody counts the rows of a window");
                };
                let result_bytes = self.shared.result_bytes;
                let rows = self.input.execute(partition, context)?.map(move |batch| {
                    let batch = batch?;
                    let results = COPIES * result_bytes * batch.num_rows();
                    reservation.try_grow(COPIES * get_record_batch_memory_size(&batch) + results)?;
                    Ok(batch)
                });
                Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
            }
        }
    }
}

//! Where in a plan rows take turns: behind every node that may give many for few, or has no input to wait for.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use tablegate_types::interrupt::Interrupt;

use super::condition::Condition;
use super::exec::InTurns;
use crate::accounted::accounted;
use crate::divided::divided;
use crate::passing::{PassingExec, Plan, with_children};
use crate::short_batches::with_short_batches;
use crate::short_lists::with_short_lists;

/// The plan whose work takes turns with that of others, and ends when the interrupt is raised. Nothing is to be done to
/// the plan after this.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn in_turns(plan: &Plan, interrupt: &Interrupt) -> Result<Plan> {
    let children = plan.children();
    let below = children.iter().map(|child| in_turns(child, interrupt)).collect::<Result<Vec<_>>>()?;
    let plan = match below.is_empty() {
        true => Arc::clone(plan),
        // A node whose rows take turns has the properties of the node itself.
        false => with_children(Arc::clone(plan), below)?,
    };
    if let Some(divided) = divided(&plan)? {
        // It may give many batches for one.
        return Ok(PassingExec::above(divided, InTurns { interrupt: interrupt.clone() }));
    }
    if passes_on(&plan) {
        return Ok(plan);
    }
    let plan = with_short_batches(with_short_lists(accounted(with_condition(plan, interrupt)?)?)?)?;
    Ok(PassingExec::above(plan, InTurns { interrupt: interrupt.clone() }))
}

/// Whether a node gives at most one batch for each that it is given, so that the pauses of its input are its own.
fn passes_on(plan: &Plan) -> bool {
    plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<UnionExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<CooperativeExec>()
}

/// A join that asks more of its pairs than that they are equal compares many of them for one batch, or none at all.
fn with_condition(plan: Plan, interrupt: &Interrupt) -> Result<Plan> {
    let in_turn = |filter: &JoinFilter| {
        let condition = Condition::new(Arc::clone(filter.expression()), interrupt.clone());
        let columns = filter.column_indices().to_vec();
        JoinFilter::new(Arc::new(condition), columns, Arc::clone(filter.schema()))
    };
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let Some(filter) = join.filter().map(in_turn) else { return Ok(plan) };
        return Ok(Arc::new(NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter)).build()?));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let Some(filter) = join.filter().map(in_turn) else { return Ok(plan) };
        return HashJoinExecBuilder::from(join).with_filter(Some(filter)).build_exec();
    }
    Ok(plan)
}

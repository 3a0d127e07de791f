//! Functions that may wait (`nextval`, `setval`, locks, `pg_sleep`) are called as PostgreSQL calls them: row by row, in each
//! row from left to right, for sorted rows in their order, and for queries under UNION ALL, or rows of VALUES, one after the
//! other.
//!
//! Left alone, the engine calls them before rows are sorted, for many rows one function and then the next, and on all
//! threads at once: the same numbers are given out then, but not to the rows that PostgreSQL gives them to.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;

use super::exec::CallsExec;
use super::outputs::OutputsExec;
use super::union::InTurnExec;

/// The first rule of all: those behind it may spread rows over threads, but not below such a call.
#[derive(Debug)]
pub(crate) struct CallsInOrder;

impl PhysicalOptimizerRule for CallsInOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = |node: Arc<dyn ExecutionPlan>| match in_order(&node)? {
            Some(replaced) => Ok(Transformed::yes(replaced)),
            None => Ok(Transformed::no(node)),
        };
        plan.transform_up(replaced).data()
    }

    fn name(&self) -> &'static str {
        "calls_in_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn in_order(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(calls) = CallsExec::of(node)? {
        return Ok(Some(Arc::new(calls)));
    }
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return after_sort(sort);
    }
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        return over_results(projection);
    }
    if node.is::<UnionExec>() && has_calls(node) {
        return Ok(Some(Arc::new(InTurnExec::one_by_one(node.clone()))));
    }
    Ok(None)
}

/// A projection of what calls gave. It may ask for the last number of a sequence beside calls that take further ones
/// (`nextval('s'), currval('s')`), and show a call with another one in its arguments, which the engine does not know again.
fn over_results(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(calls) = projection.input().downcast_ref::<CallsExec>() else { return Ok(None) };
    let mut outputs = projection.expr().to_vec();
    for output in &mut outputs {
        let result = |part: Arc<dyn PhysicalExpr>| match calls.result_of(&part) {
            Some(column) => Ok(Transformed::yes(column)),
            None => Ok(Transformed::no(part)),
        };
        output.expr = output.expr.clone().transform_up(result).data()?;
    }
    let asks = |part: &Arc<dyn PhysicalExpr>| {
        let function = part.downcast_ref::<ScalarFunctionExpr>();
        Ok(function.is_some_and(|function| matches!(function.name(), "currval" | "lastval")))
    };
    let asks_last = outputs.iter().any(|output| output.expr.exists(asks).unwrap_or(true));
    let input: Arc<dyn ExecutionPlan> = match asks_last {
        true => Arc::new(calls.row_by_row()?),
        false => projection.input().clone(),
    };
    Ok(Some(Arc::new(OutputsExec::new(ProjectionExec::try_new(outputs, input)?))))
}

/// Whether something in the plan may wait.
fn has_calls(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<CallsExec>() || plan.children().into_iter().any(has_calls)
}

/// The sort, below which calls are made of rows that are sorted already; `None` where there are no calls, or the rows
/// are sorted by what they give. The sort stays in the plan, because nodes above rely on its order; it only finds its
/// input sorted.
fn after_sort(sort: &SortExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut keys: Vec<PhysicalSortExpr> = sort.expr().iter().cloned().collect();
    let mut projections = Vec::new();
    let mut node = sort.input();
    while let Some(projection) = OutputsExec::projection_of(node) {
        for key in &mut keys {
            key.expr = below(&key.expr, projection.expr())?;
        }
        projections.push(node);
        node = projection.input();
    }
    let Some(calls) = node.downcast_ref::<CallsExec>() else { return Ok(None) };
    let input = calls.input();
    if !keys.iter().all(|key| is_of(&input.schema(), &key.expr)) {
        return Ok(None);
    }
    let Some(keys) = LexOrdering::new(keys) else { return Ok(None) };
    let sorted = SortExec::new(keys.clone(), input.clone()).with_fetch(sort.fetch());
    let mut plan: Arc<dyn ExecutionPlan> = Arc::new(calls.over_sorted(Arc::new(sorted), keys)?);
    for projection in projections.into_iter().rev() {
        plan = replaced(projection.clone(), plan)?;
    }
    Ok(Some(replaced(Arc::new(sort.clone()), plan)?))
}

fn replaced(node: Arc<dyn ExecutionPlan>, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    node.replace_children(vec![input], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// An expression over what a projection gives, over what it is made of.
fn below(expr: &Arc<dyn PhysicalExpr>, projection: &[ProjectionExpr]) -> Result<Arc<dyn PhysicalExpr>> {
    let replaced = |part: Arc<dyn PhysicalExpr>| match part.downcast_ref::<Column>() {
        Some(column) if column.index() < projection.len() => {
            let expr = projection[column.index()].expr.clone();
            Ok(Transformed::new(expr, true, TreeNodeRecursion::Jump))
        }
        _ => Ok(Transformed::no(part)),
    };
    expr.clone().transform_down(replaced).data()
}

/// Whether an expression is made of these columns alone, and gives the same value whenever it is asked.
fn is_of(columns: &Schema, expr: &Arc<dyn PhysicalExpr>) -> bool {
    !is_volatile(expr) && collect_columns(expr).iter().all(|column| column.index() < columns.fields().len())
}

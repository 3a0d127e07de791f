//! INTERSECT ALL and EXCEPT ALL count how often a row is there.
//!
//! DataFusion plans them as semi and anti joins that only ask whether a row is on the other side. With the copies of each
//! row numbered on both sides, and the number compared too, the same joins count: the third copy meets a third copy.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder};
use tablegate_types::error::SqlResult;

/// Column names that no query can have: they hold a control character.
const LEFT_COPY: &str = "\u{1}left copy";
const RIGHT_COPY: &str = "\u{1}right copy";

/// Makes the set operations with ALL in a plan, and in its sub-queries, count.
///
/// # Errors
/// When DataFusion refuses the joins.
pub(super) fn counted(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let counted = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(join) if is_all(&join) => Ok(Transformed::yes(count(join)?)),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(counted.data)
}

/// Before it is optimized a plan has such joins only for set operations. Without ALL the left side is distinct, and
/// where it is distinct anyway there is nothing to count.
fn is_all(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && !matches!(&*join.left, LogicalPlan::Distinct(_))
}

fn count(join: Join) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = join.left.schema().columns().into_iter().map(Expr::Column).collect();
    let (left_by, right_by): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let mut on = join.on;
    on.push((Expr::Column(Column::from_name(LEFT_COPY)), Expr::Column(Column::from_name(RIGHT_COPY))));
    let joined = Join::try_new(
        Arc::new(with_copy_numbers(&join.left, left_by, LEFT_COPY)?),
        Arc::new(with_copy_numbers(&join.right, right_by, RIGHT_COPY)?),
        on,
        join.filter,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    LogicalPlanBuilder::from(LogicalPlan::Join(joined)).project(columns)?.build()
}

/// The rows of a plan, and for each which it is of those that are equal in what they are joined by.
fn with_copy_numbers(plan: &Arc<LogicalPlan>, by: Vec<Expr>, name: &str) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let number = row_number().partition_by(by).build()?;
    let numbered = number.schema_name().to_string();
    let copy = Expr::Column(Column::from_name(numbered)).alias(name);
    let all = columns.into_iter().chain([copy]).collect::<Vec<_>>();
    LogicalPlanBuilder::from(Arc::clone(plan)).window([number])?.project(all)?.build()
}

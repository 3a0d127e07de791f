//! Conditions go below what is computed about rows: `FROM events e, LATERAL (..) x WHERE e.id <= 20` asks the sub-query about the
//! events that are wanted, and not about all of them, of which the others are left out afterwards.
//!
//! The engine puts conditions where they belong when a sub-query is a join already, whose answers are for all rows of its other side.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Distinct, Expr, JoinType, LogicalPlan};

use super::correlation::refers_to;
use super::{contains_subquery, pieces};
use crate::expr::{may_fail, unaliased};

/// The plan with the conditions of its filters as far down as they may go.
pub(super) fn filtered_early(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::Filter(filter) = node else { return Ok(Transformed::no(node)) };
        let conditions = split_conjunction_owned(filter.predicate);
        let (free, bound): (Vec<_>, Vec<_>) = conditions.into_iter().partition(may_be_moved);
        let rows = below(free, Arc::unwrap_or_clone(filter.input))?;
        pieces::filter(rows, bound).map(Transformed::yes)
    })
    .data()
}

/// Whether it makes no difference of which rows a condition is asked, and how often.
fn may_be_moved(condition: &Expr) -> bool {
    let is_of_outside = |part: &Expr| Ok(matches!(part, Expr::OuterReferenceColumn(..)));
    !contains_subquery(condition)
        && !condition.is_volatile()
        && !may_fail(condition)
        && !condition.exists(is_of_outside).unwrap_or(true)
}

/// The rows of a plan that meet the conditions.
fn below(conditions: Vec<Expr>, mut plan: LogicalPlan) -> Result<LogicalPlan> {
    if conditions.is_empty() {
        return Ok(plan);
    }
    let mut rest = Vec::new();
    match &mut plan {
        LogicalPlan::Filter(filter) => put_into(&mut filter.input, conditions)?,
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => put_into(&mut sort.input, conditions)?,
        LogicalPlan::Distinct(Distinct::All(input)) => put_into(input, conditions)?,
        LogicalPlan::SubqueryAlias(alias) => {
            let (names, input) = (Arc::clone(&alias.schema), Arc::clone(alias.input.schema()));
            let inner =
                |column: &Column| Some(Column::from(input.qualified_field(names.maybe_index_of_column(column)?)));
            let moved;
            (moved, rest) = renamed(conditions, &|column| inner(column).map(Expr::Column))?;
            put_into(&mut alias.input, moved)?;
        }
        LogicalPlan::Projection(projection) => {
            let (names, exprs) = (Arc::clone(&projection.schema), projection.expr.clone());
            let inner = |column: &Column| match unaliased(exprs.get(names.maybe_index_of_column(column)?)?) {
                column @ Expr::Column(_) => Some(column.clone()),
                _ => None,
            };
            let moved;
            (moved, rest) = renamed(conditions, &inner)?;
            put_into(&mut projection.input, moved)?;
        }
        LogicalPlan::Join(join) if matches!(join.join_type, JoinType::Inner | JoinType::Left) => {
            let is_of = |side: &LogicalPlan, condition: &Expr| {
                condition.column_refs().iter().all(|column| side.schema().has_column(column))
            };
            let (left, others): (Vec<_>, Vec<_>) =
                conditions.into_iter().partition(|condition| is_of(&join.left, condition));
            put_into(&mut join.left, left)?;
            let takes_right = join.join_type == JoinType::Inner && !refers_to(&join.right, join.left.schema())?;
            let right;
            (right, rest) = others.into_iter().partition(|condition| takes_right && is_of(&join.right, condition));
            put_into(&mut join.right, right)?;
        }
        _ => rest = conditions,
    }
    pieces::filter(plan, rest)
}

fn put_into(input: &mut Arc<LogicalPlan>, conditions: Vec<Expr>) -> Result<()> {
    if !conditions.is_empty() {
        *input = Arc::new(below(conditions, input.as_ref().clone())?);
    }
    Ok(())
}

/// The conditions of which each column has another name inside, by these names, and those of which one has none.
fn renamed(conditions: Vec<Expr>, inner: &dyn Fn(&Column) -> Option<Expr>) -> Result<(Vec<Expr>, Vec<Expr>)> {
    let (moved, rest): (Vec<_>, Vec<_>) = conditions
        .into_iter()
        .partition(|condition| condition.column_refs().into_iter().all(|column| inner(column).is_some()));
    let rename = |condition: Expr| {
        condition.transform(|part| {
            Ok(match &part {
                Expr::Column(column) => match inner(column) {
                    Some(inside) => Transformed::yes(inside),
                    None => Transformed::no(part),
                },
                _ => Transformed::no(part),
            })
        })
    };
    Ok((moved.into_iter().map(|condition| rename(condition).data()).collect::<Result<_>>()?, rest))
}

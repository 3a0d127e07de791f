//! Joins of which only the first partners of each row are wanted: `row_number() OVER (PARTITION BY .. ORDER BY q.ts DESC) <= n`
//! above them. It is what LIMIT in a sub-query becomes, and what people write themselves.
//!
//! The numbers and the condition stay. If all pairs of a row are numbered together, and the order is one of the sorted
//! side's columns, no pair behind the first n of its row can have a number up to n; so the join gives those only. It is the
//! same with the least and the greatest value of the column that is in ranges.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, split_conjunction};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowUDFExpr};

use super::exec::RangeJoinExec;
use super::rule::ways_of;
use crate::passing::{Plan, over_children};

type Expr = Arc<dyn PhysicalExpr>;

/// Which partners are wanted.
#[derive(Debug, Clone)]
pub(super) struct First {
    /// Over the sorted side; the column that is in ranges comes first.
    pub order: Vec<PhysicalSortExpr>,
    pub rows: usize,
}

/// The node above a join that gives no more rows than it makes use of; `None` where it says nothing of the kind.
pub(super) fn below(plan: &Plan) -> Result<Option<Plan>> {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return of_extreme(plan, aggregate);
    }
    let Some(filter) = plan.downcast_ref::<FilterExec>() else { return Ok(None) };
    for conjunct in split_conjunction(filter.predicate()) {
        if let Some((column, rows)) = least(conjunct)
            && let Some(input) = numbered(filter.input(), column, rows)?
        {
            return over_children(Arc::clone(plan), vec![input]).map(Some);
        }
    }
    Ok(None)
}

/// The least or the greatest of a column, of groups of rows: `(SELECT max(q.ts) FROM q WHERE q.ts <= t.ts)`. Each row of a
/// group needs its first partner only.
fn of_extreme(plan: &Plan, aggregate: &AggregateExec) -> Result<Option<Plan>> {
    let groups = aggregate.group_expr();
    let ([function, others @ ..], true) = (aggregate.aggr_expr(), groups.is_single()) else { return Ok(None) };
    let is_plain = matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::Single);
    if !is_plain || !others.is_empty() || aggregate.filter_expr().iter().any(Option::is_some) {
        return Ok(None);
    }
    let descending = match function.fun().name() {
        "max" => true,
        "min" => false,
        _ => return Ok(None),
    };
    let arguments = function.expressions();
    let [of] = arguments.as_slice() else { return Ok(None) };
    let order = PhysicalSortExpr::new(Arc::clone(of), SortOptions { descending, nulls_first: descending });
    let within = groups.expr().iter().map(|(expr, _)| Arc::clone(expr)).collect();
    let input = limited(aggregate.input(), within, vec![order], 1)?;
    input.map(|input| over_children(Arc::clone(plan), vec![input])).transpose()
}

/// A column, and how much it is at most.
fn least(conjunct: &Expr) -> Option<(usize, usize)> {
    let compared = conjunct.downcast_ref::<BinaryExpr>()?;
    let is_literal = |expr: &Expr| expr.is::<Literal>();
    let (column, op, value) = match is_literal(compared.left()) {
        true => (compared.right(), compared.op().swap()?, compared.left()),
        false => (compared.left(), *compared.op(), compared.right()),
    };
    let column = cast_or_not(column)?;
    let value = match value.downcast_ref::<Literal>()?.value() {
        ScalarValue::Int64(Some(value)) => usize::try_from(*value).ok()?,
        ScalarValue::Int32(Some(value)) => usize::try_from(*value).ok()?,
        ScalarValue::UInt64(Some(value)) => usize::try_from(*value).ok()?,
        _ => return None,
    };
    let rows = match op {
        Operator::Eq | Operator::LtEq => value,
        Operator::Lt => value.saturating_sub(1),
        _ => return None,
    };
    Some((column.index(), rows))
}

/// The column that this is, or is cast of: numbers of rows are unsigned until they are cast.
fn cast_or_not(expr: &Expr) -> Option<&Column> {
    expr.downcast_ref::<CastExpr>().map_or(expr, CastExpr::expr).downcast_ref::<Column>()
}

/// The plan, in which this column is a number of rows of which no more than so many are wanted.
fn numbered(plan: &Plan, column: usize, rows: usize) -> Result<Option<Plan>> {
    let input = match plan.children().as_slice() {
        [input] => Plan::clone(input),
        _ => return Ok(None),
    };
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let Some(below) = projection.expr().get(column).and_then(|e| cast_or_not(&e.expr)) else { return Ok(None) };
        let below = numbered(&input, below.index(), rows)?;
        return below.map(|below| over_children(Arc::clone(plan), vec![below])).transpose();
    }
    let windows = match plan.downcast_ref::<BoundedWindowAggExec>() {
        Some(windows) => windows.window_expr(),
        None => match plan.downcast_ref::<WindowAggExec>() {
            Some(windows) => windows.window_expr(),
            None => return Ok(None),
        },
    };
    // Others would be computed of fewer rows.
    let [window] = windows else { return Ok(None) };
    if column != input.schema().fields().len() || !is_row_number(window) {
        return Ok(None);
    }
    let below = limited(&input, window.partition_by().to_vec(), window.order_by().to_vec(), rows)?;
    below.map(|below| over_children(Arc::clone(plan), vec![below])).transpose()
}

fn is_row_number(window: &Arc<dyn WindowExpr>) -> bool {
    let Some(standard) = window.as_any().downcast_ref::<StandardWindowExpr>() else { return false };
    let function = standard.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>();
    function.is_some_and(|function| function.fun().name() == "row_number")
}

/// The plan with a join below that gives so many partners of each row only, if rows are numbered within rows of one side in an
/// order of the other.
fn limited(plan: &Plan, within: Vec<Expr>, order: Vec<PhysicalSortExpr>, rows: usize) -> Result<Option<Plan>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let below = |expr: &Expr| {
            let replaced = |expr: Expr| match expr.downcast_ref::<Column>() {
                Some(column) => Ok(Transformed::yes(Arc::clone(&projection.expr()[column.index()].expr))),
                None => Ok(Transformed::no(expr)),
            };
            Arc::clone(expr).transform_up(replaced).data()
        };
        let within = within.iter().map(&below).collect::<Result<_>>()?;
        let order = order.iter().map(|sort| Ok(PhysicalSortExpr::new(below(&sort.expr)?, sort.options)));
        let input = limited(projection.input(), within, order.collect::<Result<_>>()?, rows)?;
        return input.map(|input| over_children(Arc::clone(plan), vec![input])).transpose();
    }
    let cut = |join: RangeJoinExec| {
        first_of(&join, &within, &order, rows).map(|first| Arc::new(join.with_first(first)) as Plan)
    };
    Ok(ways_of(plan)?.into_iter().find_map(cut))
}

fn first_of(join: &RangeJoinExec, within: &[Expr], order: &[PhysicalSortExpr], rows: usize) -> Option<First> {
    let ranged = join.join();
    let (sorted, probing) = (ranged.terms.sorted, ranged.probing());
    if ranged.terms.residual.is_some() || ranged.gives.of_side(sorted).is_some() || !ranged.gives.pairs {
        return None;
    }
    let side_of = |column: &Column| ranged.columns[column.index()].side;
    // What is equal on both sides tells rows of one from each other as well as those of the other.
    let is_of_probing = |column: &Column| {
        let at = &ranged.columns[column.index()];
        let is_it = |expr: &Expr| expr.downcast_ref::<Column>().is_some_and(|column| column.index() == at.index);
        let is_key = |(left, right): &(Expr, Expr)| is_it(if sorted == JoinSide::Left { left } else { right });
        at.side == probing || ranged.gives.of_side(probing).is_none() && ranged.on.iter().any(is_key)
    };
    if !within.iter().all(|expr| collect_columns(expr).iter().all(is_of_probing)) {
        return None;
    }
    let mut placed = Vec::with_capacity(order.len());
    for sort in order {
        let used = collect_columns(&sort.expr);
        if used.is_empty() {
            continue;
        }
        if used.iter().any(|column| side_of(column) != sorted) {
            return None;
        }
        let below = |expr: Expr| match expr.downcast_ref::<Column>() {
            Some(column) => {
                let index = ranged.columns[column.index()].index;
                Ok(Transformed::yes(Arc::new(Column::new(column.name(), index)) as Expr))
            }
            None => Ok(Transformed::no(expr)),
        };
        placed.push(PhysicalSortExpr::new(Arc::clone(&sort.expr).transform_up(below).data().ok()?, sort.options));
    }
    let leads = placed.first()?.expr.downcast_ref::<Column>()?.index() == ranged.terms.column.index();
    leads.then_some(First { order: placed, rows })
}

//! Rows of a sorted sub-query keep their order in what is computed from them: `SELECT json_agg(x) FROM (SELECT ...
//! ORDER BY y) x` and `SELECT a * 2 FROM (SELECT ... ORDER BY y) x`.
//!
//! SQL does not promise it; PostgreSQL does it, and programs rely on it. The engine spreads over its threads whatever is
//! computed of sorted rows. So what the sub-query is sorted by goes up with its rows, and becomes the order of the
//! aggregate, or that of the result.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::{AggregateFunction, Sort as SortExpr};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, Filter, Limit, LogicalPlan, Projection, Sort, SubqueryAlias};
use tablegate_types::error::SqlResult;

use crate::expr::sorts_itself;

/// Rows, and the columns of theirs that they are sorted by: the last ones.
struct Sorted {
    plan: LogicalPlan,
    directions: Vec<Direction>,
}

#[derive(Clone, Copy)]
struct Direction {
    asc: bool,
    nulls_first: bool,
}

/// Gives the result of a plan, and the lists in it and its sub-queries, the order of what they are made of.
///
/// # Errors
/// When DataFusion refuses the plan.
pub(super) fn kept(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let kept = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.iter().any(has_list) => in_order(aggregate),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(of_result(kept.data)?)
}

/// The engine keeps the order of a sort at the top, and above it that of columns that only change their places.
fn of_result(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !computes_of_sorted(&plan) {
        return Ok(plan);
    }
    let Some(sorted) = sorted(&plan)? else { return Ok(plan) };
    let own = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let sort = Sort { expr: sorted.order(), input: Arc::new(sorted.plan), fetch: None };
    Ok(LogicalPlan::Projection(Projection::try_new(own, Arc::new(LogicalPlan::Sort(sort)))?))
}

/// Whether something is computed above a sort.
fn computes_of_sorted(plan: &LogicalPlan) -> bool {
    let computes = |expr: &Expr| !matches!(expr.clone().unalias_nested().data, Expr::Column(_));
    match plan {
        LogicalPlan::Projection(projection) => {
            (projection.expr.iter().any(computes) && is_sorted(&projection.input))
                || computes_of_sorted(&projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => computes_of_sorted(&alias.input),
        LogicalPlan::Filter(filter) => is_sorted(&filter.input),
        LogicalPlan::Limit(limit) => computes_of_sorted(&limit.input),
        _ => false,
    }
}

fn is_sorted(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Projection(projection) => is_sorted(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_sorted(&alias.input),
        LogicalPlan::Filter(filter) => is_sorted(&filter.input),
        LogicalPlan::Limit(limit) => is_sorted(&limit.input),
        _ => false,
    }
}

impl Sorted {
    fn order(&self) -> Vec<SortExpr> {
        let columns = self.plan.schema().columns();
        let keys = columns[columns.len() - self.directions.len()..].iter().cloned().map(Expr::Column);
        keys.zip(&self.directions).map(|(key, d)| key.sort(d.asc, d.nulls_first)).collect()
    }
}

fn in_order(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let Some(sorted) = sorted(&aggregate.input)? else {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    };
    let order = sorted.order();
    let lists = aggregate.aggr_expr.into_iter().map(|expr| ordered_by(expr, &order)).collect::<Result<_>>()?;
    let aggregate = Aggregate::try_new(Arc::new(sorted.plan), aggregate.group_expr, lists)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
}

/// A list of values as they come.
fn is_list(function: &AggregateFunction) -> bool {
    let params = &function.params;
    let is_list = matches!(function.func.name(), "array_agg" | "string_agg") && !sorts_itself(&function.func);
    is_list && params.order_by.is_empty() && !params.distinct
}

fn has_list(expr: &Expr) -> bool {
    expr.exists(|e| Ok(matches!(e, Expr::AggregateFunction(function) if is_list(function)))).unwrap_or(false)
}

fn ordered_by(expr: Expr, order: &[SortExpr]) -> Result<Expr> {
    let name = NamePreserver::new_for_projection().save(&expr);
    let ordered = expr.transform(|e| {
        Ok(match e {
            Expr::AggregateFunction(mut function) if is_list(&function) => {
                function.params.order_by = order.to_vec();
                Transformed::yes(Expr::AggregateFunction(function))
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(name.restore(ordered.data))
}

/// The rows with what they are sorted by; `None` if they have no order, if their sort keys hold sub-queries, or if a
/// node is above the sort through which its keys are not carried.
fn sorted(plan: &LogicalPlan) -> Result<Option<Sorted>> {
    Ok(match plan {
        LogicalPlan::Sort(sort) => with_keys(sort)?,
        LogicalPlan::Projection(projection) => sorted(&projection.input)?
            .map(|input| {
                let columns = input.plan.schema().columns();
                let keys = columns[columns.len() - input.directions.len()..].iter().cloned().map(Expr::Column);
                let exprs = projection.expr.iter().cloned().chain(keys).collect();
                let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input.plan))?);
                Ok::<_, datafusion::error::DataFusionError>(Sorted { plan, directions: input.directions })
            })
            .transpose()?,
        LogicalPlan::SubqueryAlias(alias) => match sorted(&alias.input)? {
            None => None,
            Some(input) => {
                let alias = SubqueryAlias::try_new(Arc::new(input.plan), alias.alias.clone())?;
                Some(Sorted { plan: LogicalPlan::SubqueryAlias(alias), ..input })
            }
        },
        LogicalPlan::Filter(filter) => match sorted(&filter.input)? {
            None => None,
            Some(input) => {
                let filter = Filter::try_new(filter.predicate.clone(), Arc::new(input.plan))?;
                Some(Sorted { plan: LogicalPlan::Filter(filter), ..input })
            }
        },
        LogicalPlan::Limit(limit) => sorted(&limit.input)?.map(|input| {
            let limit = Limit { input: Arc::new(input.plan), ..limit.clone() };
            Sorted { plan: LogicalPlan::Limit(limit), ..input }
        }),
        _ => None,
    })
}

/// The sorted rows, with the keys as columns behind their own.
fn with_keys(sort: &Sort) -> Result<Option<Sorted>> {
    // The keys would be computed a second time here, which costs too much where they hold sub-queries.
    if sort.expr.iter().any(|key| key.expr.exists(|e| Ok(is_of_other_rows(e))).unwrap_or(true)) {
        return Ok(None);
    }
    let own = sort.input.schema().columns().into_iter().map(Expr::Column);
    let keys = sort.expr.iter().enumerate().map(|(index, key)| key.expr.clone().alias(key_name(index)));
    let projection = Projection::try_new(own.chain(keys).collect(), Arc::new(LogicalPlan::Sort(sort.clone())))?;
    let directions = sort.expr.iter().map(|key| Direction { asc: key.asc, nulls_first: key.nulls_first });
    Ok(Some(Sorted { plan: LogicalPlan::Projection(projection), directions: directions.collect() }))
}

fn is_of_other_rows(expr: &Expr) -> bool {
    use Expr::{Exists, InSubquery, OuterReferenceColumn, ScalarSubquery, SetComparison};
    matches!(expr, ScalarSubquery(_) | Exists(_) | InSubquery(_) | SetComparison(_) | OuterReferenceColumn(..))
}

/// A name that no column of a query has.
fn key_name(index: usize) -> String {
    format!("\u{1}order {index}")
}

//! The clauses behind FROM: WHERE, the list, DISTINCT, ORDER BY, LIMIT.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::logical_expr::{Distinct as Once, Expr, Filter, Limit, LogicalPlan, Projection, Sort, SortExpr};
use tablegate_bind::BoundQuery;
use tablegate_bind::expr::{BoundExpr, ExprKind};
use tablegate_bind::query::bound::{Distinct, SortItem};
use tablegate_types::error::SqlResult;

use super::level::{Around, Level};
use super::{Lowering, formed};
use crate::syntax::unique_names;

/// `provolatile` of functions whose value is another one each time.
const VOLATILE: u8 = b'v';

impl Lowering<'_> {
    pub(super) fn select(&self, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        let query = level.query;
        if has_other_clauses(query) {
            return Ok(None);
        }
        let mut plan = formed!(self.from(level));
        let around = Around::new(self, level, plan.schema().clone());
        if let Some(filter) = &query.filter {
            let predicate = formed!(around.condition(filter));
            plan = self.forms.node(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?))?;
        }
        let mut exprs = formed!(around.exprs(query.targets.iter().map(|target| &target.expr)));
        let is_grouped = query.has_aggregates || !query.grouping.keys.is_empty() || query.having.is_some();
        if is_grouped {
            let having = match &query.having {
                Some(having) => Some(formed!(around.condition(having))),
                None => None,
            };
            (plan, exprs) = formed!(self.grouped(plan, exprs, having, &query.grouping.keys));
        }
        let (plan, exprs) = self.over_windows(plan, exprs)?;
        let plan = formed!(self.listed(plan, exprs, query));
        self.limited(plan, level)
    }

    /// The list, sorted: what is only sorted by is left out again.
    fn listed(&self, plan: LogicalPlan, exprs: Vec<Expr>, query: &BoundQuery) -> SqlResult<Option<LogicalPlan>> {
        let is_sorted_by = |number: usize| query.order.iter().any(|item| item.target == number);
        // What else is hidden was grouped by, or is of a window.
        let kept: Vec<usize> =
            (0..exprs.len()).filter(|number| !query.targets[*number].is_hidden || is_sorted_by(*number)).collect();
        let labels: Vec<String> = query.results().map(|target| target.name.clone()).collect();
        let mut names = unique_names(&labels).into_iter();
        let mut listed = Vec::with_capacity(kept.len());
        for (number, expr) in exprs.into_iter().enumerate().filter(|(number, _)| kept.contains(number)) {
            listed.push(match query.targets[number].is_hidden {
                true => expr.alias(format!("sorted by#{number}")),
                false => called(expr, names.next().unwrap_or_default()),
            });
        }
        let mut plan = self.forms.node(LogicalPlan::Projection(Projection::try_new(listed, Arc::new(plan))?))?;
        if matches!(query.distinct, Distinct::All) {
            plan = self.forms.node(LogicalPlan::Distinct(Once::All(Arc::new(plan))))?;
        }
        let column_of = |target: usize| kept.iter().position(|number| *number == target);
        let order = query.order.iter().map(|item| Some(SortItem { target: column_of(item.target)?, ..*item }));
        let Some(order) = order.collect::<Option<Vec<_>>>() else { return Ok(None) };
        plan = self.sorted(plan, &order)?;
        if kept.len() == labels.len() {
            return Ok(Some(plan));
        }
        let schema = plan.schema();
        let shown = kept.iter().enumerate().filter(|(_, number)| !query.targets[**number].is_hidden);
        let columns = shown.map(|(at, _)| Expr::Column(Column::from(schema.qualified_field(at)))).collect::<Vec<_>>();
        self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?)).map(Some)
    }

    /// Sorted by columns, whose numbers stand for the targets.
    pub(super) fn sorted(&self, plan: LogicalPlan, order: &[SortItem]) -> SqlResult<LogicalPlan> {
        if order.is_empty() {
            return Ok(plan);
        }
        let schema = plan.schema();
        let key = |item: &SortItem| SortExpr {
            expr: Expr::Column(Column::from(schema.qualified_field(item.target))),
            asc: !item.descending,
            nulls_first: item.nulls_first,
        };
        let expr = order.iter().map(key).collect();
        self.forms.node(LogicalPlan::Sort(Sort { expr, input: Arc::new(plan), fetch: None }))
    }

    pub(super) fn limited(&self, plan: LogicalPlan, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        let query = level.query;
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(Some(plan));
        }
        let around = Around::new(self, level, plan.schema().clone());
        let count = |expr: &Option<BoundExpr>| match expr {
            Some(expr) => Ok(around.expr(expr)?.map(|expr| Some(Box::new(expr)))),
            None => SqlResult::Ok(Some(None)),
        };
        let (skip, fetch) = (formed!(count(&query.offset)), formed!(count(&query.limit)));
        self.forms.node(LogicalPlan::Limit(Limit { skip, fetch, input: Arc::new(plan) })).map(Some)
    }
}

/// An expression under a name.
pub(super) fn called(expr: Expr, name: String) -> Expr {
    match &expr {
        Expr::Column(column) if column.name == name => expr,
        _ => expr.alias(name),
    }
}

/// Clauses that have no form here yet.
fn has_other_clauses(query: &BoundQuery) -> bool {
    !query.row_marks.is_empty()
        || !query.grouping.sets.is_empty()
        || matches!(query.distinct, Distinct::On(_))
        || query.with_ties
        || query.targets.is_empty()
        || query.targets.iter().any(|target| target.expr.gives_rows())
        || [&query.limit, &query.offset].into_iter().flatten().any(asks_query)
}

fn asks_query(expr: &BoundExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, ExprKind::SubQuery { .. }))
}

/// Whether a query, or one inside of it, calls a function whose value is another one each time.
pub(super) fn is_volatile(query: &BoundQuery) -> bool {
    let calls = |expr: &BoundExpr| {
        expr.any(&mut |part| matches!(&part.kind, ExprKind::Call { function, .. } if function.volatility == VOLATILE))
    };
    let mut found = false;
    query.for_each_expr(&mut |expr| found |= calls(expr));
    query.for_each_read_query(&mut |inner| found |= is_volatile(inner));
    found || query.sub_queries.iter().any(is_volatile)
}

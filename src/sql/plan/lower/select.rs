//! The clauses behind FROM: WHERE, the list, DISTINCT, ORDER BY, LIMIT.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Distinct as Once, DistinctOn, Expr, Filter, LogicalPlan, Projection, Sort, SortExpr};
use tablegate_bind::BoundQuery;
use tablegate_bind::expr::{BoundExpr, ExprKind};
use tablegate_bind::query::bound::{Distinct, SortItem};
use tablegate_types::error::{SqlError, SqlResult};

use super::level::{Around, Level};
use super::{Lowering, called, columns_of};
use crate::syntax::unique_names;

impl Lowering<'_> {
    pub(super) fn select(&self, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let query = level.query;
        let mut plan = self.from(level)?;
        let around = Around::new(self, level, plan.schema().clone());
        if let Some(filter) = &query.filter {
            let predicate = around.condition(filter)?;
            plan = self.forms.node(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?))?;
        }
        let mut exprs = around.exprs(query.targets.iter().map(|target| &target.expr))?;
        if !query.grouping.is_empty() {
            // Groups may be of the items of lists.
            (plan, exprs) = self.over_items(plan, exprs, &query.grouping.keys)?;
        }
        if query.has_aggregates || !query.grouping.is_empty() || query.having.is_some() {
            let having = query.having.as_ref().map(|having| around.condition(having)).transpose()?;
            (plan, exprs) = self.grouped(plan, exprs, having, level)?;
        }
        let (mut plan, mut exprs) = self.over_windows(plan, exprs)?;
        let mut distinct = &query.distinct;
        if let Distinct::On(keys) = distinct
            && items_come_later(&exprs, keys, &query.order)?
        {
            (plan, exprs) = self.chosen(plan, exprs, keys, &query.order)?;
            distinct = &Distinct::No;
        }
        let all: Vec<usize> = (0..exprs.len()).collect();
        let (plan, exprs) = self.over_items(plan, exprs, &all)?;
        self.listed(plan, exprs, distinct, level)
    }

    /// The rows that DISTINCT ON chooses, before functions of the list make several of one.
    fn chosen(
        &self,
        plan: LogicalPlan,
        mut exprs: Vec<Expr>,
        keys: &[usize],
        order: &[SortItem],
    ) -> SqlResult<(LogicalPlan, Vec<Expr>)> {
        let mut columns: Vec<Expr> = columns_of(&plan).collect();
        let mut places = Vec::new();
        for target in keys.iter().copied().chain(order.iter().map(|item| item.target)) {
            if places.iter().any(|(known, _)| *known == target) {
                continue;
            }
            let name = format!("chosen by#{target}");
            let expr = std::mem::replace(&mut exprs[target], Expr::Column(Column::from_name(name.clone())));
            places.push((target, columns.len()));
            columns.push(expr.alias(name));
        }
        let place = |target: usize| places.iter().find(|(known, _)| *known == target).map_or(0, |(_, place)| *place);
        let keys: Vec<usize> = keys.iter().map(|key| place(*key)).collect();
        let order: Vec<SortItem> = order.iter().map(|item| SortItem { target: place(item.target), ..*item }).collect();
        let plan = self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))?;
        Ok((self.first_of_each(plan, &keys, &order)?, exprs))
    }

    /// The list, sorted and cut off: what is only sorted by is left out again.
    fn listed(
        &self,
        plan: LogicalPlan,
        exprs: Vec<Expr>,
        distinct: &Distinct,
        level: &Level<'_>,
    ) -> SqlResult<LogicalPlan> {
        let query = level.query;
        let is_used = |number: usize| {
            query.order.iter().any(|item| item.target == number)
                || matches!(distinct, Distinct::On(keys) if keys.contains(&number))
        };
        // What else is hidden was grouped by, or is of a window.
        let kept: Vec<usize> =
            (0..exprs.len()).filter(|number| !query.targets[*number].is_hidden || is_used(*number)).collect();
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
        let place = |target: usize| {
            let place = kept.iter().position(|number| *number == target);
            place.ok_or_else(|| SqlError::not_supported("an order by what is not in the list"))
        };
        let order = query.order.iter().map(|item| Ok(SortItem { target: place(item.target)?, ..*item }));
        let order = order.collect::<SqlResult<Vec<_>>>()?;
        plan = match distinct {
            Distinct::No => self.sorted(plan, &order)?,
            Distinct::All => {
                let plan = self.forms.node(LogicalPlan::Distinct(Once::All(Arc::new(plan))))?;
                self.sorted(plan, &order)?
            }
            Distinct::On(keys) => {
                let keys = keys.iter().map(|key| place(*key)).collect::<SqlResult<Vec<_>>>()?;
                self.first_of_each(plan, &keys, &order)?
            }
        };
        let keys = keys_of(&plan, &order);
        plan = self.limited(plan, &keys, level)?;
        if kept.len() == labels.len() {
            return Ok(plan);
        }
        let columns = columns_of(&plan).zip(&kept).filter(|(_, number)| !query.targets[**number].is_hidden);
        let columns = columns.map(|(column, _)| column).collect();
        self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
    }

    /// Sorted by columns, whose numbers stand for the targets.
    pub(super) fn sorted(&self, plan: LogicalPlan, order: &[SortItem]) -> SqlResult<LogicalPlan> {
        if order.is_empty() {
            return Ok(plan);
        }
        let expr = keys_of(&plan, order);
        self.forms.node(LogicalPlan::Sort(Sort { expr, input: Arc::new(plan), fetch: None }))
    }

    /// DISTINCT ON: of the rows that are alike in these columns the first in the order, which begins with them as far as it goes.
    fn first_of_each(&self, plan: LogicalPlan, keys: &[usize], order: &[SortItem]) -> SqlResult<LogicalPlan> {
        let columns: Vec<Expr> = columns_of(&plan).collect();
        let on = keys.iter().map(|key| columns[*key].clone()).collect();
        let others = keys.iter().filter(|key| order.iter().all(|item| item.target != **key));
        let others = others.map(|key| SortItem { target: *key, descending: false, nulls_first: false });
        let sorted: Vec<SortItem> = order.iter().copied().chain(others).collect();
        let sort = (!order.is_empty()).then(|| keys_of(&plan, &sorted));
        let first = DistinctOn::try_new(on, columns, sort, Arc::new(plan))?;
        let plan = self.forms.node(LogicalPlan::Distinct(Once::On(first)))?;
        self.sorted(plan, order)
    }
}

/// Whether functions of the list make several rows of one that DISTINCT ON has chosen: none of them is chosen or sorted by.
fn items_come_later(exprs: &[Expr], keys: &[usize], order: &[SortItem]) -> Result<bool> {
    let gives_rows = |expr: &Expr| expr.exists(|part| Ok(matches!(part, Expr::Unnest(_))));
    for target in keys.iter().copied().chain(order.iter().map(|item| item.target)) {
        if gives_rows(&exprs[target])? {
            return Ok(false);
        }
    }
    for expr in exprs {
        if gives_rows(expr)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn keys_of(plan: &LogicalPlan, order: &[SortItem]) -> Vec<SortExpr> {
    let schema = plan.schema();
    let key = |item: &SortItem| SortExpr {
        expr: Expr::Column(Column::from(schema.qualified_field(item.target))),
        asc: !item.descending,
        nulls_first: item.nulls_first,
    };
    order.iter().map(key).collect()
}

/// Whether a query, or one inside of it, calls a function.
pub(super) fn calls(query: &BoundQuery, name: &str) -> bool {
    query.has_part(&|part| is_call(part, name))
}

pub(super) fn is_call(expr: &BoundExpr, name: &str) -> bool {
    matches!(&expr.kind, ExprKind::Call { function, .. } if function.name == name)
}

//! Sub-queries become joins.
//!
//! PostgreSQL runs a sub-query for each row around it. Here plans run once, so a sub-query becomes a plan that has the
//! answers for all rows at once, with the values it depends on as key columns, and is joined to the rows around it:
//! the way of Neumann and Kemper, "Unnesting Arbitrary Queries". [`correlation`] knows what a sub-query takes from
//! outside, [`early`] sees to it that only rows ask that are wanted, [`push`] takes those values down through its plan until
//! nothing in it refers outside any more, [`numbered`] keeps rows from carrying values that may be large, [`filter`] and
//! [`value`] put the answers into conditions and expressions. LATERAL is a sub-query in FROM; [`row_by_row`] expands the rows
//! beside one that reads no table.
//!
//! DataFusion's own rules do this for part of the forms only, and join wrongly where two keys have one name. What is
//! left to it are scalar sub-queries that depend on nothing: it runs them once, beforehand.

mod correlation;
mod early;
mod filter;
mod has_items;
mod lateral;
mod numbered;
mod one_row;
mod per_key;
pub(super) mod pieces;
mod push;
mod recursion;
mod row_by_row;
mod value;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use self::correlation::{refers_out, refers_to, refuse_volatile};
pub(super) use self::one_row::ONE_ROW;
use self::pieces::{Names, Rows, column_exprs, project};
use super::once::once;

/// Takes the sub-queries out of a plan.
///
/// # Errors
/// 42803 for a sub-query that uses a column that its grouped query around does not have, 0A000 for a form that cannot
/// be turned.
pub(super) fn unnest(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    if !has_subqueries(&plan)? {
        return Ok(plan);
    }
    let plan = Unnester::default().rewrite(early::filtered_early(plan)?)?;
    match correlation::first_reference(&plan)? {
        None => Ok(plan),
        Some(column) => Err(ungrouped(&column)),
    }
}

/// Turns the sub-queries of one statement.
#[derive(Default)]
struct Unnester {
    names: Names,
}

impl Unnester {
    /// The plan without sub-queries, but for scalar ones that depend on nothing. Inner ones go first: a sub-query may
    /// refer to several levels around it, and each level takes what is its own.
    fn rewrite(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let plan = plan.map_children(|input| Ok(Transformed::yes(self.rewrite(input)?)))?.data;
        match plan {
            LogicalPlan::Subquery(lateral) => Ok(Arc::unwrap_or_clone(lateral.subquery)),
            LogicalPlan::Join(join) if refers_to(&join.right, join.left.schema())? => self.lateral(join),
            LogicalPlan::Filter(filter) if contains_subquery(&filter.predicate) => self.filter(filter),
            plan if plan_has_subqueries(&plan)? => self.expressions(plan),
            plan => Ok(plan),
        }
    }

    /// Does `work` over rows that it may read several times. Where they may be others the second time, it is done again over rows
    /// that are computed once.
    fn over(
        &mut self,
        rows: LogicalPlan,
        work: &mut dyn FnMut(&mut Self, LogicalPlan) -> Result<LogicalPlan>,
    ) -> Result<LogicalPlan> {
        let around = std::mem::take(&mut self.names.has_read_undecided);
        let done = work(self, rows.clone())?;
        if !std::mem::replace(&mut self.names.has_read_undecided, around) {
            return Ok(done);
        }
        if refers_out(&rows)? {
            // Each reader gets columns of its own for what the rows refer to.
            refuse_volatile(&rows)?;
            return Ok(done);
        }
        let number = self.names.number();
        work(self, once(rows, number))
    }

    /// Sub-queries in the expressions of a node: their values become columns of its input.
    fn expressions(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        match &plan {
            LogicalPlan::Join(_) => return self.join_condition(plan),
            LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Distinct(Distinct::On(_)) => {}
            LogicalPlan::Values(values) => {
                let rows = pieces::values_as_union(values, &pieces::one_row()?)?;
                return self.rewrite(rows);
            }
            other => return Err(not_supported(format!("a sub-query in {}", other.display()))),
        }
        self.over(plan.inputs()[0].clone(), &mut |own, rows| own.expressions_over(&plan, rows))
    }

    fn expressions_over(&mut self, plan: &LogicalPlan, rows: LogicalPlan) -> Result<LogicalPlan> {
        let is_sort = matches!(plan, LogicalPlan::Sort(_));
        let (names, columns) = (NamePreserver::new(plan), plan.schema().columns());
        let mut rows = Rows::new(rows);
        let mut expressions = Vec::new();
        for expr in plan.expressions() {
            let name = names.save(&expr);
            let expr = self.value(expr, &mut rows)?;
            expressions.push(if is_sort { expr } else { name.restore(expr) });
        }
        let plan = plan.with_new_exprs(expressions, vec![rows.plan])?;
        if plan.schema().fields().len() == columns.len() { Ok(plan) } else { project(plan, column_exprs(columns)) }
    }
}

fn has_subqueries(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        found |= matches!(node, LogicalPlan::Subquery(_)) || plan_has_subqueries(node)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn plan_has_subqueries(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= contains_subquery(expr);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether a sub-query stands in the expression that is to be turned. Those that [`value`] leaves are wrapped by it.
fn contains_subquery(expr: &Expr) -> bool {
    use Expr::{Exists, InSubquery, ScalarSubquery, SetComparison};
    let is_subquery = |e: &Expr| matches!(e, ScalarSubquery(_) | Exists(_) | InSubquery(_) | SetComparison(_));
    expr.exists(|e| Ok(is_subquery(e))).unwrap_or(false)
}

fn not_supported(what: impl std::fmt::Display) -> DataFusionError {
    DataFusionError::External(SqlError::not_supported(what))
}

fn ungrouped(column: &Column) -> Box<SqlError> {
    let message = format!("subquery uses ungrouped column \"{}\" from outer query", column.flat_name());
    SqlError::new(ErrorKind::Grouping, message)
}

//! Sub-queries in the conditions of joins, and in FROM where they refer to what stands before them: LATERAL.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, Filter, Join, JoinType, LogicalPlan};

use super::correlation::Correlation;
use super::pieces::{Rows, column_exprs, filter, project};
use super::push::Pusher;
use super::{Unnester, contains_subquery, not_supported, row_by_row};
use crate::expr::conjunction;

impl Unnester {
    /// A join whose right side refers to its left side.
    pub(super) fn lateral(&mut self, mut plan: Join) -> Result<LogicalPlan> {
        if !matches!(plan.join_type, JoinType::Inner | JoinType::Left) {
            return Err(not_supported(format!("LATERAL in a {} JOIN", plan.join_type)));
        }
        if let Some(condition) = plan.filter.take_if(|condition| contains_subquery(condition)) {
            if plan.join_type != JoinType::Inner {
                return Err(not_supported("a sub-query in the condition of a LATERAL join"));
            }
            let joined = self.lateral(plan)?;
            return self.filter(Filter::try_new(condition, Arc::new(joined))?);
        }
        if let Some(expanded) = row_by_row::expanded(&plan, &mut self.names)? {
            return Ok(expanded);
        }
        self.over(plan.left.as_ref().clone(), &mut |own, left| own.lateral_over(left, plan.clone()))
    }

    fn lateral_over(&mut self, left: LogicalPlan, plan: Join) -> Result<LogicalPlan> {
        let columns = plan.schema.columns();
        let right = Arc::unwrap_or_clone(plan.right);
        let correlation = Correlation::of(&right, &left)?;
        let right = Pusher::new(&correlation, &mut self.names).answers_of_all(right)?;
        let condition = conjunction(correlation.conditions(&right.keys).into_iter().chain(plan.filter));
        let joined = Join::try_new(
            Arc::new(left),
            Arc::new(right.plan),
            plan.on,
            condition,
            plan.join_type,
            plan.join_constraint,
            plan.null_equality,
            plan.null_aware,
        )?;
        project(LogicalPlan::Join(joined), column_exprs(columns))
    }

    /// A join with a sub-query in its condition.
    pub(super) fn join_condition(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        match plan {
            LogicalPlan::Join(Join {
                filter: Some(condition), join_type: JoinType::Inner, on, left, right, ..
            }) if !on.iter().any(|(l, r)| contains_subquery(l) || contains_subquery(r)) => {
                let equal = on.into_iter().map(|(l, r)| l.eq(r)).collect();
                let pairs = super::pieces::join(
                    Arc::unwrap_or_clone(left),
                    Arc::unwrap_or_clone(right),
                    JoinType::Inner,
                    equal,
                )?;
                match filter(pairs, vec![condition])? {
                    LogicalPlan::Filter(filter) => self.filter(filter),
                    other => Ok(other),
                }
            }
            LogicalPlan::Join(join) if join.join_type == JoinType::Left => self.left_join_condition(join),
            LogicalPlan::Join(join) => {
                Err(not_supported(format!("a sub-query in the condition of a {} JOIN", join.join_type)))
            }
            other => Ok(other),
        }
    }

    /// A left join whose condition asks sub-queries about rows of one side: their answers become columns of that side.
    fn left_join_condition(&mut self, mut join: Join) -> Result<LogicalPlan> {
        let Some(condition) = join.filter.take() else { return Ok(LogicalPlan::Join(join)) };
        let asks_left = refers_only_to(&condition, &join.left)?;
        if !asks_left && !refers_only_to(&condition, &join.right)? {
            return Err(not_supported("a sub-query about both sides in the condition of a Left JOIN"));
        }
        let side = if asks_left { &join.left } else { &join.right };
        self.over(side.as_ref().clone(), &mut |own, side| {
            own.left_join_over(side, asks_left, condition.clone(), join.clone())
        })
    }

    fn left_join_over(&mut self, side: LogicalPlan, is_left: bool, condition: Expr, join: Join) -> Result<LogicalPlan> {
        let columns = join.schema.columns();
        let mut rows = Rows::new(side);
        let condition = self.value(condition, &mut rows)?;
        let (left, right) = match is_left {
            true => (Arc::new(rows.plan), join.right),
            false => (join.left, Arc::new(rows.plan)),
        };
        let joined = Join::try_new(
            left,
            right,
            join.on,
            Some(condition),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        project(LogicalPlan::Join(joined), column_exprs(columns))
    }
}

/// Whether what the sub-queries of an expression take from outside are columns of this plan, and what is compared with their rows
/// too.
fn refers_only_to(expr: &Expr, plan: &LogicalPlan) -> Result<bool> {
    let mut only = true;
    expr.apply(|expr| {
        let is_of_plan = |operand: &Expr| operand.column_refs().iter().all(|column| plan.schema().has_column(column));
        let subquery = match expr {
            Expr::ScalarSubquery(subquery) => subquery,
            Expr::Exists(exists) => &exists.subquery,
            Expr::InSubquery(within) => {
                only &= is_of_plan(&within.expr);
                &within.subquery
            }
            Expr::SetComparison(set) => {
                only &= is_of_plan(&set.expr);
                &set.subquery
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        only &= subquery.outer_ref_columns.iter().all(|outer| match outer {
            Expr::OuterReferenceColumn(_, column) => plan.schema().has_column(column),
            _ => false,
        });
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(only)
}

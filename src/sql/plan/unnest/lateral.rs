//! Sub-queries in the conditions of joins, and in FROM where they refer to what stands before them: LATERAL.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Join, JoinType, LogicalPlan};

use super::correlation::Correlation;
use super::pieces::{column_exprs, filter, project};
use super::push::Pusher;
use super::{Unnester, contains_subquery, not_supported};

impl Unnester {
    /// A join whose right side refers to its left side.
    pub(super) fn lateral(&mut self, plan: Join) -> Result<LogicalPlan> {
        if !matches!(plan.join_type, JoinType::Inner | JoinType::Left) {
            return Err(not_supported(format!("LATERAL in a {} JOIN", plan.join_type)));
        }
        if plan.filter.as_ref().is_some_and(contains_subquery) {
            return Err(not_supported("a sub-query in the condition of a LATERAL join"));
        }
        let columns = plan.schema.columns();
        let left = plan.left.as_ref();
        let right = Arc::unwrap_or_clone(plan.right);
        let correlation = Correlation::of(&right, left)?;
        let right = Pusher { correlation: &correlation, names: &mut self.names }.push_rows(right)?;
        let conditions = correlation.conditions(&right.keys).into_iter().chain(plan.filter);
        let joined = Join::try_new(
            Arc::clone(&plan.left),
            Arc::new(right.plan),
            plan.on,
            conjunction(conditions),
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
            LogicalPlan::Join(join) => {
                Err(not_supported(format!("a sub-query in the condition of a {} JOIN", join.join_type)))
            }
            other => Ok(other),
        }
    }
}

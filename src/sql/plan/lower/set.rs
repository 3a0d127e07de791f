//! UNION, INTERSECT and EXCEPT.

use std::sync::Arc;

use datafusion::logical_expr::{Distinct, LogicalPlan, LogicalPlanBuilder, Projection, Union};
use datafusion::prelude::lit;
use tablegate_bind::query::bound::{RangeSource, SetOperator, SetTree};
use tablegate_types::error::{SqlError, SqlResult};

use super::Lowering;
use super::level::Level;
use super::select::keys_of;

impl Lowering<'_> {
    pub(super) fn set_operation(&self, set: &SetTree, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let query = level.query;
        let labels: Vec<String> = query.targets.iter().map(|target| target.name.clone()).collect();
        let plan = self.renamed(self.members(set, level)?, &labels)?;
        level.reads(&plan);
        let plan = self.sorted(plan, &query.order)?;
        let keys = keys_of(&plan, &query.order);
        self.limited(plan, &keys, level)
    }

    /// UNION of members.
    pub(super) fn united(&self, parts: &[SetTree], all: bool, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let mut members = Vec::with_capacity(parts.len());
        for part in parts {
            members.push(self.members(part, level)?);
        }
        if members.len() == 1 {
            return Ok(members.remove(0));
        }
        let union = Union::try_new_with_loose_types(members.into_iter().map(Arc::new).collect())?;
        let rows = self.forms.node(LogicalPlan::Union(union))?;
        match all {
            true => Ok(rows),
            false => self.forms.node(LogicalPlan::Distinct(Distinct::All(Arc::new(rows)))),
        }
    }

    pub(super) fn members(&self, tree: &SetTree, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let (operator, all, parts) = match tree {
            SetTree::Member(entry) => {
                let RangeSource::SubQuery(query) = &level.query.range[*entry].source else {
                    return Err(SqlError::not_supported("a member of this kind"));
                };
                return self.query(query, Some(level));
            }
            SetTree::Node { operator, all, parts, .. } => (*operator, *all, parts),
        };
        if operator == SetOperator::Union {
            return self.united(parts, all, level);
        }
        let Some((first, others)) = parts.split_first() else {
            return Err(SqlError::not_supported("a set operation of nothing"));
        };
        let mut left = self.members(first, level)?;
        // Rows without columns are compared by a column that is the same in all of them.
        let has_columns = !left.schema().fields().is_empty();
        let compared = |rows: LogicalPlan| match has_columns {
            true => Ok(rows),
            false => LogicalPlanBuilder::from(rows).project([lit(true).alias("row#")])?.build(),
        };
        left = compared(left)?;
        for right in others {
            let right = compared(self.members(right, level)?)?;
            let join = match operator {
                SetOperator::Intersect => LogicalPlanBuilder::intersect(left, right, all)?,
                _ => LogicalPlanBuilder::except(left, right, all)?,
            };
            left = self.counted_once(join)?;
        }
        match has_columns {
            true => Ok(left),
            false => Ok(LogicalPlan::Projection(Projection::try_new(Vec::new(), Arc::new(left))?)),
        }
    }

    /// The join that the engine has for them, whose left side has each row once unless ALL is said.
    fn counted_once(&self, join: LogicalPlan) -> SqlResult<LogicalPlan> {
        let LogicalPlan::Join(mut join) = join else { return Ok(join) };
        if matches!(&*join.left, LogicalPlan::Distinct(_)) {
            join.left = Arc::new(self.forms.node(Arc::unwrap_or_clone(join.left))?);
        }
        self.forms.node(LogicalPlan::Join(join))
    }
}

//! UNION, INTERSECT and EXCEPT.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Union};
use tablegate_bind::query::bound::{RangeSource, SetOperator, SetTree};
use tablegate_types::error::SqlResult;

use super::level::Level;
use super::select::called;
use super::{Lowering, formed};
use crate::syntax::unique_names;

impl Lowering<'_> {
    pub(super) fn set_operation(&self, set: &SetTree, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        let query = level.query;
        if !query.row_marks.is_empty() || query.with_ties {
            return Ok(None);
        }
        let plan = formed!(self.members(set, level));
        let labels: Vec<String> = query.targets.iter().map(|target| target.name.clone()).collect();
        let schema = plan.schema();
        let named = |(at, name)| called(Expr::Column(Column::from(schema.qualified_field(at))), name);
        let columns: Vec<Expr> = unique_names(&labels).into_iter().enumerate().map(named).collect();
        let is_same = columns.iter().all(|column| matches!(column, Expr::Column(_)));
        let plan = match is_same {
            true => plan,
            false => self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))?,
        };
        level.reads(&plan);
        let plan = self.sorted(plan, &query.order)?;
        self.limited(plan, level)
    }

    fn members(&self, tree: &SetTree, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        let (operator, all, parts) = match tree {
            SetTree::Member(entry) => {
                let RangeSource::SubQuery(query) = &level.query.range[*entry].source else { return Ok(None) };
                return self.query(query, Some(level));
            }
            SetTree::Node { operator, all, parts, .. } => (*operator, *all, parts),
        };
        let mut members = Vec::with_capacity(parts.len());
        for part in parts {
            members.push(formed!(self.members(part, level)));
        }
        if operator == SetOperator::Union {
            let union = Union::try_new_with_loose_types(members.into_iter().map(Arc::new).collect())?;
            let rows = self.forms.node(LogicalPlan::Union(union))?;
            return match all {
                true => Ok(Some(rows)),
                false => self.forms.node(LogicalPlan::Distinct(Distinct::All(Arc::new(rows)))).map(Some),
            };
        }
        let mut members = members.into_iter();
        let Some(mut left) = members.next() else { return Ok(None) };
        for right in members {
            let join = match operator {
                SetOperator::Intersect => LogicalPlanBuilder::intersect(left, right, all)?,
                _ => LogicalPlanBuilder::except(left, right, all)?,
            };
            left = self.counted_once(join)?;
        }
        Ok(Some(left))
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

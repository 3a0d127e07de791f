//! Grouped queries: aggregates are computed by one node, and all else is computed of its columns.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Aggregate, Expr, Filter, LogicalPlan};
use tablegate_types::error::SqlResult;

use super::Lowering;
use crate::syntax::unique_names;

impl Lowering<'_> {
    /// The groups, those that HAVING leaves, and the expressions over their columns; `None` where one of them is computed of
    /// something else.
    pub(super) fn grouped(
        &self,
        input: LogicalPlan,
        exprs: Vec<Expr>,
        having: Option<Expr>,
        keys: &[usize],
    ) -> SqlResult<Option<(LogicalPlan, Vec<Expr>)>> {
        let mut groups: Vec<Expr> = Vec::with_capacity(keys.len());
        for key in keys {
            if !groups.contains(&exprs[*key]) {
                groups.push(exprs[*key].clone());
            }
        }
        let mut aggregates: Vec<Expr> = Vec::new();
        for expr in exprs.iter().chain(&having) {
            found(expr, &mut groups, &mut aggregates)?;
        }
        if groups.is_empty() && aggregates.is_empty() {
            return Ok(None);
        }
        // Different expressions may be written alike.
        let written: Vec<String> =
            groups.iter().chain(&aggregates).map(|expr| expr.schema_name().to_string()).collect();
        let names = unique_names(&written);
        let (of_groups, of_aggregates) = names.split_at(groups.len());
        let node = Aggregate::try_new(Arc::new(input), called(&groups, of_groups), called(&aggregates, of_aggregates))?;
        let mut plan = self.forms.node(LogicalPlan::Aggregate(node))?;
        let known: Vec<(&Expr, &String)> = groups.iter().chain(&aggregates).zip(&names).collect();
        let of_groups = |expr: Expr| over_groups(expr, &known);
        let having = having.map(of_groups).transpose()?;
        let exprs = exprs.into_iter().map(of_groups).collect::<Result<Vec<_>>>()?;
        let is_known = |expr: &Expr| expr.column_refs().into_iter().all(|column| plan.schema().has_column(column));
        if !exprs.iter().chain(&having).all(is_known) {
            return Ok(None);
        }
        if let Some(having) = having {
            plan = self.forms.node(LogicalPlan::Filter(Filter::try_new(having, Arc::new(plan))?))?;
        }
        Ok(Some((plan, exprs)))
    }
}

/// Adds the aggregates in an expression; and columns beside them, which the groups determine: the binder has seen to that.
fn found(expr: &Expr, groups: &mut Vec<Expr>, aggregates: &mut Vec<Expr>) -> Result<()> {
    expr.apply(|part| {
        if groups.contains(part) {
            return Ok(TreeNodeRecursion::Jump);
        }
        let list = match part {
            Expr::AggregateFunction(_) => &mut *aggregates,
            Expr::Column(_) => &mut *groups,
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        if !list.contains(part) {
            list.push(part.clone());
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(())
}

fn called(exprs: &[Expr], names: &[String]) -> Vec<Expr> {
    let called = |(expr, name): (&Expr, &String)| match expr.schema_name().to_string() == *name {
        true => expr.clone(),
        false => expr.clone().alias(name),
    };
    exprs.iter().zip(names).map(called).collect()
}

/// The same expression, with the columns of the groups in the place of what they hold.
fn over_groups(expr: Expr, known: &[(&Expr, &String)]) -> Result<Expr> {
    let column = |part: Expr| {
        let Some((_, name)) = known.iter().find(|(known, _)| **known == part) else {
            return Ok(Transformed::no(part));
        };
        let column = match part {
            Expr::Column(column) => column,
            _ => Column::new_unqualified(name.as_str()),
        };
        Ok(Transformed::new(Expr::Column(column), true, TreeNodeRecursion::Jump))
    };
    Ok(expr.transform_down(column)?.data)
}

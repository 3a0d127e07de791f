//! Window functions: computed by nodes of their own, and all else of their columns.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Window};
use tablegate_types::error::SqlResult;

use super::Lowering;

impl Lowering<'_> {
    /// The rows with the values of the window functions, and the expressions over these.
    pub(super) fn over_windows(&self, input: LogicalPlan, exprs: Vec<Expr>) -> SqlResult<(LogicalPlan, Vec<Expr>)> {
        let mut calls: Vec<Expr> = Vec::new();
        for expr in &exprs {
            found(expr, &mut calls)?;
        }
        if calls.is_empty() {
            return Ok((input, exprs));
        }
        let width = input.schema().fields().len();
        // The engine finds those that sort alike by what they sort by, and then asks again of what it has made of that: only of
        // columns it makes the same.
        let (alike, others): (Vec<Expr>, Vec<Expr>) = calls.into_iter().partition(sorts_by_columns);
        let mut plan = LogicalPlanBuilder::window_plan(input, alike)?;
        for call in others {
            plan = LogicalPlanBuilder::window_plan(plan, [call])?;
        }
        let plan = self.windowed(plan, width)?;
        let exprs = exprs.into_iter().map(of_columns).collect::<Result<_>>()?;
        Ok((plan, exprs))
    }

    /// The nodes of window functions, one for those that sort alike, over an input of so many columns.
    fn windowed(&self, plan: LogicalPlan, width: usize) -> SqlResult<LogicalPlan> {
        let LogicalPlan::Window(Window { input, window_expr, .. }) = plan else { return Ok(plan) };
        let input = match input.schema().fields().len() > width {
            true => Arc::new(self.windowed(Arc::unwrap_or_clone(input), width)?),
            false => input,
        };
        self.forms.node(LogicalPlan::Window(Window::try_new(window_expr, input)?))
    }
}

fn sorts_by_columns(call: &Expr) -> bool {
    let Expr::WindowFunction(function) = call else { return false };
    let order = function.params.order_by.iter().map(|by| &by.expr);
    order.chain(&function.params.partition_by).all(|by| matches!(by, Expr::Column(_)))
}

fn found(expr: &Expr, calls: &mut Vec<Expr>) -> Result<()> {
    expr.apply(|part| {
        if !matches!(part, Expr::WindowFunction(_)) {
            return Ok(TreeNodeRecursion::Continue);
        }
        if !calls.contains(part) {
            calls.push(part.clone());
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(())
}

/// The same expression over the columns of the window functions in it.
fn of_columns(expr: Expr) -> Result<Expr> {
    let column = |part: Expr| {
        if !matches!(part, Expr::WindowFunction(_)) {
            return Ok(Transformed::no(part));
        }
        let column = Expr::Column(Column::new_unqualified(part.schema_name().to_string()));
        Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
    };
    Ok(expr.transform_down(column)?.data)
}

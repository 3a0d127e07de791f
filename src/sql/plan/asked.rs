//! What the lists of a query ask of the moment in which it runs, and of no row: `now()`.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Volatility};

use crate::plan::outputs::is_of_run;

/// Calls that stand in the places of placeholders while a plan is optimized: the optimizer would take its own moment for that of
/// each run.
pub(super) struct Asked(Vec<Expr>);

/// What the placeholders are called, before their numbers.
const ASKED: &str = "asked ";

impl Asked {
    /// The plan without them.
    pub(super) fn taken_out(plan: LogicalPlan) -> Result<(LogicalPlan, Self)> {
        let mut asked = Self(Vec::new());
        let plan = plan.transform_down(|node| {
            let LogicalPlan::Projection(projection) = &node else { return Ok(Transformed::no(node)) };
            if !projection.expr.iter().any(|expr| expr.exists(|part| Ok(asks(part))).unwrap_or(false)) {
                return Ok(Transformed::no(node));
            }
            let (names, read) = (NamePreserver::new(&node), Arc::clone(projection.input.schema()));
            let node = node.map_expressions(|expr| {
                let name = names.save(&expr);
                let expr = expr.transform_down(|part| asked.take_out(part, &read))?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })?;
            Ok(Transformed::new(node.data, node.transformed, TreeNodeRecursion::Jump))
        })?;
        Ok((plan.data, asked))
    }

    fn take_out(&mut self, part: Expr, read: &DFSchemaRef) -> Result<Transformed<Expr>> {
        if !asks(&part) {
            return Ok(Transformed::no(part));
        }
        let field = part.to_field(read)?.1;
        let placeholder = Placeholder::new_with_field(format!("{ASKED}{}", self.0.len()), Some(field));
        self.0.push(part);
        Ok(Transformed::new(Expr::Placeholder(placeholder), true, TreeNodeRecursion::Jump))
    }

    /// An expression with them again.
    pub(super) fn put_back(&self, expr: &Expr) -> Result<Expr> {
        if self.0.is_empty() {
            return Ok(expr.clone());
        }
        let put_back = |part| {
            let taken = match &part {
                Expr::Placeholder(placeholder) => placeholder.id.strip_prefix(ASKED),
                _ => None,
            };
            let taken = taken.and_then(|number| self.0.get(number.parse::<usize>().ok()?));
            Ok(taken.map_or_else(|| Transformed::no(part.clone()), |taken| Transformed::yes(taken.clone())))
        };
        Ok(expr.clone().transform(put_back)?.data)
    }
}

/// Whether it is a call that asks the moment, and no row.
fn asks(part: &Expr) -> bool {
    let Expr::ScalarFunction(call) = part else { return false };
    call.func.signature().volatility == Volatility::Stable
        && !part.any_column_refs()
        && is_of_run(part).unwrap_or(false)
}

//! Functions that give rows, in the list of a query: the items of their lists, beside each other, and all else of their columns.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, NullHandling, UnnestOptions};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection};
use tablegate_types::error::SqlResult;

use super::{Lowering, add_parts, columns_of, with_parts};

impl Lowering<'_> {
    /// The rows with the items that some of the expressions name, and the expressions over these. Lists made of other items wait
    /// for those.
    pub(super) fn over_items(
        &self,
        mut plan: LogicalPlan,
        mut exprs: Vec<Expr>,
        of: &[usize],
    ) -> SqlResult<(LogicalPlan, Vec<Expr>)> {
        loop {
            let mut lists: Vec<Expr> = Vec::new();
            for number in of {
                add_parts(&exprs[*number], &is_innermost, &mut lists)?;
            }
            if lists.is_empty() {
                break;
            }
            let round = self.next_number();
            let name = |at: usize| format!("items#{round}.{at}");
            let mut columns: Vec<Expr> = columns_of(&plan).collect();
            for (at, items) in lists.iter().enumerate() {
                if let Expr::Unnest(items) = items {
                    columns.push((*items.expr).clone().alias(name(at)));
                }
            }
            plan = self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))?;
            let unnested = (0..lists.len()).map(|at| Column::from_name(name(at))).collect();
            let options = UnnestOptions::new().with_null_handling(NullHandling::Drop);
            plan = LogicalPlanBuilder::from(plan).unnest_columns_with_options(unnested, options)?.build()?;
            plan = self.forms.node(plan)?;
            let of_columns = |part: &Expr| {
                let at = lists.iter().position(|list| list == part)?;
                Some(Expr::Column(Column::from_name(name(at))))
            };
            exprs = exprs.into_iter().map(|expr| with_parts(expr, &of_columns)).collect::<Result<_, _>>()?;
        }
        Ok((plan, exprs))
    }
}

/// Items of a list that is not made of items itself.
fn is_innermost(expr: &Expr) -> bool {
    let Expr::Unnest(items) = expr else { return false };
    !items.expr.exists(|part| Ok(matches!(part, Expr::Unnest(_)))).unwrap_or(false)
}

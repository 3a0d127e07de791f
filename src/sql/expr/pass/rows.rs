//! Functions that give rows, in the select list.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Unnest};

use super::Pass;
use crate::sql::expr::operand::{Operand, relabelled};

impl Pass<'_> {
    /// A key of a table is none of the rows that a list beside it becomes. The planner takes it for one all the same, and
    /// would leave out what a query orders and groups by besides: so the columns beside a list are made to look computed.
    pub(super) fn unnested(&self, mut unnest: Unnest) -> Result<LogicalPlan> {
        if let LogicalPlan::Projection(Projection { expr, input, .. }) = unnest.input.as_ref()
            && !unnest.input.schema().functional_dependencies().is_empty()
        {
            let mut exprs = Vec::with_capacity(expr.len());
            for expr in expr {
                exprs.push(match expr {
                    Expr::Column(column) => {
                        let value_type = Operand::of(Expr::Column(column.clone()), input.schema())?.value_type;
                        let (relation, name) = (column.relation.clone(), column.name.clone());
                        relabelled(Expr::Column(column.clone()), &value_type).alias_qualified(relation, name)
                    }
                    other => other.clone(),
                });
            }
            unnest.input = Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, input.clone())?));
        }
        LogicalPlan::Unnest(unnest).recompute_schema()
    }
}

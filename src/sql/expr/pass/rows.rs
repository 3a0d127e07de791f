//! Functions that give rows, in the select list.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Unnest};
use tablegate_types::conversion::without_parameters;
use tablegate_types::sql_type::SqlType;

use super::Pass;
use crate::expr::operand::{Operand, relabelled};
use crate::expr::typed::ValueType;

impl Pass<'_> {
    /// A key of a table is none of the rows that a list beside it becomes. The engine takes it for one all the same, and
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
        with_item_types(LogicalPlan::Unnest(unnest).recompute_schema()?)
    }
}

/// The rows that lists became, with what the type of a list says of its items where their layout does not.
fn with_item_types(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Unnest(unnest) = &plan else { return Ok(plan) };
    let mut changed = false;
    let columns = plan.schema().iter().zip(&unnest.dependency_indices).map(|((qualifier, field), list)| {
        let column = Expr::Column(Column::from((qualifier, field)));
        let list = unnest.input.schema().field(*list);
        let item = match SqlType::of_field(list) {
            SqlType::Array(item) if list.data_type() != field.data_type() => ValueType::of(without_parameters(&item)),
            _ => return column,
        };
        if item.data_type != *field.data_type() || item.sql_type == SqlType::of_field(field) {
            return column;
        }
        changed = true;
        relabelled(column, &item).alias_qualified(qualifier.cloned(), field.name())
    });
    let columns: Vec<Expr> = columns.collect();
    if !changed {
        return Ok(plan);
    }
    Projection::try_new(columns, Arc::new(plan)).map(LogicalPlan::Projection)
}

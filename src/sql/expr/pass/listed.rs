//! Lists in an order of their own, or of each value once: `array_agg(DISTINCT x ORDER BY x DESC)`.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::{AggregateUDF, Expr, SortExpr};
use tablegate_types::conversion::without_parameters;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;

use super::{Pass, raised};
use crate::expr::aggregates::{Gives, Listed};

/// Functions that make one item of a list of several values of a row.
const ITEMS: &[&str] = &["json_item", "json_member", "string_agg_of_item"];

impl Pass<'_> {
    /// What an aggregate's values are sorted by, as keys: what it says, and where it wants each value once, the values themselves
    /// too. So PostgreSQL finds those that are distinct, and lists them.
    ///
    /// # Errors
    /// 42883 for what cannot be sorted, 42P10 for an order of distinct values by something else.
    pub(super) fn order_of(
        &self,
        params: &mut AggregateFunctionParams,
        values: &[Expr],
        schema: &DFSchema,
    ) -> Result<Vec<SortExpr>> {
        let mut order = std::mem::take(&mut params.order_by);
        if !params.distinct {
            self.ordered(&mut order, schema)?;
            return Ok(order);
        }
        let is_value = |item: &SortExpr| values.contains(&item.expr);
        if !order.iter().all(is_value) {
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(raised(SqlError::new(ErrorKind::InvalidColumnReference, message)));
        }
        values.iter().try_for_each(|value| self.distinguishable(value, schema))?;
        for (place, value) in values.iter().enumerate() {
            // A delimiter that is the same for all distinguishes none.
            if (place == 0 || value.any_column_refs()) && !order.iter().any(|item| item.expr == *value) {
                order.push(value.clone().sort(true, false));
            }
        }
        self.ordered(&mut order, schema)?;
        Ok(order)
    }

    /// A list that sorts by itself, and its arguments: behind its own is what it sorts by. It has each value once, or is a set of
    /// sorted values, in which arrays may be of any length.
    pub(super) fn listed(
        &self,
        function: &AggregateUDF,
        mut args: Vec<Expr>,
        order: Vec<SortExpr>,
        (is_distinct, is_sorted_set): (bool, bool),
        schema: &DFSchema,
    ) -> Result<(Arc<AggregateUDF>, Vec<Expr>)> {
        let gives = match (function.name(), args.first()) {
            ("array_agg", Some(item)) => {
                let item = self.operand(item.clone(), schema)?.value_type;
                // A numeric has as many digits in the list as it has alone.
                let shows_digits = matches!(item.sql_type, SqlType::Numeric(_)) && item.is_obvious();
                let item = if shows_digits { item.sql_type } else { without_parameters(&item.sql_type) };
                Gives::Array { list: SqlType::Array(Box::new(item)), is_sorted_set }
            }
            _ => Gives::Text,
        };
        let sorts = order.iter().map(|item| SortOptions { descending: !item.asc, nulls_first: item.nulls_first });
        let listed = Listed::new(gives, sorts.collect(), is_distinct);
        args.extend(order.into_iter().map(|item| item.expr));
        Ok((Arc::new(AggregateUDF::new_from_impl(listed)), args))
    }
}

/// What an argument of an aggregate was made of.
pub(super) fn values_in(argument: &Expr) -> &[Expr] {
    match argument {
        Expr::ScalarFunction(function) if ITEMS.contains(&function.func.name()) => &function.args,
        other => std::slice::from_ref(other),
    }
}

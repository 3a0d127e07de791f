//! Fixes, once a query is planned, which function each call means.
//!
//! The optimizer folds arguments to constants, and an untyped constant could then mean another function, or a constant
//! number of digits another result type. So each call is resolved while its arguments are as they were written.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

use super::resolve::Given;
use super::udf::{Function, given};
use crate::sql::error::SqlResult;

/// # Errors
/// 42883 and 42725 for a call that means no function, or more than one.
pub(in crate::sql) fn pin(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let pinned = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.map_expressions(|expr| expr.transform_up(|expr| pin_call(expr, &schema)))
    })?;
    Ok(pinned.data)
}

fn pin_call(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(mut call) = expr else { return Ok(Transformed::no(expr)) };
    let Some(function) = call.func.inner().downcast_ref::<Function>() else {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    };
    // The type of a parameter may not be known yet: the query is planned again when it is.
    let Some(arguments) = known_arguments(&call, schema) else {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    };
    let pinned = function.pinned(&arguments).map_err(|error| datafusion::error::DataFusionError::External(error))?;
    call.func = std::sync::Arc::new(pinned.into());
    Ok(Transformed::yes(Expr::ScalarFunction(call)))
}

/// What is known of a call's arguments; `None` when the schema does not have them.
pub(super) fn known_arguments(call: &ScalarFunction, schema: &DFSchema) -> Option<Vec<Given>> {
    let known = |argument: &Expr| {
        let (_, field) = argument.to_field(schema).ok()?;
        let constant = if let Expr::Literal(value, _) = argument { Some(value) } else { None };
        Some(given(&field, constant))
    };
    call.args.iter().map(known).collect()
}

//! The types of parameters that are arguments of functions: those of the function that the call means.

use std::collections::HashMap;

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::pin::known_arguments;
use super::udf::Function;
use crate::sql::error::SqlResult;
use crate::sql::types::SqlType;

/// The type of each untyped parameter that a function takes, by number from 1.
///
/// # Errors
/// None of its own: what cannot be told is left out.
pub(in crate::sql) fn parameter_types(plan: &LogicalPlan) -> SqlResult<HashMap<usize, SqlType>> {
    let mut types = HashMap::new();
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarFunction(call) = expr
                    && call.args.iter().any(|argument| parameter(argument).is_some())
                {
                    add_types(call, &schema, &mut types);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(types)
}

fn parameter(argument: &Expr) -> Option<usize> {
    match argument {
        Expr::Placeholder(Placeholder { id, field: None }) => id.strip_prefix('$')?.parse().ok(),
        _ => None,
    }
}

fn add_types(call: &ScalarFunction, schema: &DFSchema, types: &mut HashMap<usize, SqlType>) {
    let Some(function) = call.func.inner().downcast_ref::<Function>() else { return };
    let Some(arguments) = known_arguments(call, schema) else { return };
    let Ok(resolved) = function.resolve(&arguments) else { return };
    for (argument, sql_type) in call.args.iter().zip(resolved.arguments) {
        if let Some(number) = parameter(argument) {
            types.entry(number).or_insert(sql_type);
        }
    }
}

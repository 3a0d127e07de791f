//! Types whose values cannot be told from each other: a `json` is its text, and PostgreSQL says nothing of when two mean the
//! same.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::{Pass, raised};
use crate::sql::error::{ErrorKind, SqlError};
use crate::sql::expr::conversion::name;
use crate::sql::types::SqlType;

impl Pass<'_> {
    /// What rows are told apart by must have values that can be.
    ///
    /// # Errors
    /// 42883
    pub(super) fn distinguishable(&self, expr: &Expr, schema: &DFSchema) -> Result<()> {
        check(self.operand(expr.clone(), schema)?.sql_type(), "equality")
    }

    /// What rows are ordered by must have values that can be.
    ///
    /// # Errors
    /// 42883
    pub(super) fn orderable(sql_type: &SqlType) -> Result<()> {
        check(sql_type, "ordering")
    }
}

/// The columns of a query whose rows are told apart.
///
/// # Errors
/// 42883
pub(super) fn distinguishable_columns(plan: &LogicalPlan) -> Result<()> {
    plan.schema().fields().iter().try_for_each(|field| check(&SqlType::of_field(field), "equality"))
}

fn check(sql_type: &SqlType, kind: &str) -> Result<()> {
    if !is_json(sql_type) {
        return Ok(());
    }
    let message = format!("could not identify an {kind} operator for type {}", name(sql_type));
    let error = SqlError::new(ErrorKind::UndefinedFunction, message);
    Err(raised(match kind {
        "ordering" => error.with_hint("Use an explicit ordering operator or modify the query."),
        _ => error,
    }))
}

fn is_json(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Json => true,
        SqlType::Array(item) => is_json(item),
        _ => false,
    }
}

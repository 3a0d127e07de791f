//! Types whose values cannot be told from each other: a `json` is its text, and PostgreSQL has no operator that says
//! when two are equal.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};
use tablegate_types::conversion::name;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;

use super::{Pass, raised};

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
    let Some(json) = json_in(sql_type) else { return Ok(()) };
    let message = format!("could not identify an {kind} operator for type {}", name(&json));
    let error = SqlError::new(ErrorKind::UndefinedFunction, message);
    Err(raised(match kind {
        "ordering" => error.with_hint("Use an explicit ordering operator or modify the query."),
        _ => error,
    }))
}

/// The type itself, or that of a field of a row, if its values are json.
fn json_in(sql_type: &SqlType) -> Option<SqlType> {
    match sql_type {
        SqlType::Json => Some(SqlType::Json),
        SqlType::Array(item) => json_in(item).map(|_| sql_type.clone()),
        SqlType::Record(row) => row.types().find_map(|field| json_in(&field)),
        _ => None,
    }
}

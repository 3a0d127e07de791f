//! What the planner is given so that it plans PostgreSQL's expressions: operators that wait for their types, and PostgreSQL's names of
//! types.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr, TypePlanner};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, lit};
use sqlparser::ast::{BinaryOperator, DataType};
use tablegate_types::conversion::name;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::{SqlType, TYPE_KEY};

use super::literal;
use super::pending::{Meaning, Pending, find};
use super::typed::ValueType;
use crate::stoppable;
use crate::syntax::sql_type;

/// Plans operators as calls that wait for their types.
#[derive(Debug)]
pub(crate) struct Operations;

impl ExprPlanner for Operations {
    fn plan_binary_op(&self, expr: RawBinaryExpr, _schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        stoppable::check()?;
        let name = match &expr.op {
            BinaryOperator::And | BinaryOperator::Or => return Ok(PlannerResult::Original(expr)),
            // `OPERATOR(pg_catalog.+)`
            BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
            other => other.to_string(),
        };
        Ok(PlannerResult::Planned(Pending::call(Meaning::Binary(name), vec![expr.left, expr.right])))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let sql_type = match &expr.expr {
            Expr::Literal(ScalarValue::Int64(Some(value)), None) => {
                SqlType::of_arrow(&literal::integer(*value).data_type())
            }
            other => ValueType::of_field(&other.to_field(schema)?.1).sql_type,
        };
        let RawFieldAccessExpr { field_access, expr } = expr;
        let (name, arguments) = match (sql_type, field_access) {
            (SqlType::Array(_) | SqlType::Int2Vector | SqlType::OidVector, GetFieldAccess::ListIndex { key }) => {
                ("array_subscript", vec![expr, *key])
            }
            (
                SqlType::Array(_) | SqlType::Int2Vector | SqlType::OidVector,
                GetFieldAccess::ListRange { start, stop, .. },
            ) => {
                // Without an end the planner supplies -1, counted from behind.
                let last = match *stop {
                    Expr::Literal(ScalarValue::Int64(Some(-1)), _) => lit(i32::MAX),
                    stop => stop,
                };
                ("array_part", vec![expr, *start, last])
            }
            (SqlType::Jsonb, GetFieldAccess::ListIndex { key }) => {
                let step = Pending::call(Meaning::CastTo(SqlType::Text), vec![*key]);
                ("jsonb_extract_path", vec![expr, step])
            }
            (SqlType::Jsonb, GetFieldAccess::NamedStructField { name }) => {
                ("jsonb_extract_path", vec![expr, Expr::Literal(name, None)])
            }
            // Its type is not known yet.
            (SqlType::Unknown, field_access) if !matches!(expr, Expr::Literal(..)) => {
                return Ok(PlannerResult::Original(RawFieldAccessExpr { field_access, expr }));
            }
            (sql_type, _) => {
                let is_untyped = matches!(&expr, Expr::Literal(_, None));
                let sql_type = if is_untyped && sql_type == SqlType::Text { SqlType::Unknown } else { sql_type };
                let message = match sql_type {
                    SqlType::Jsonb => "jsonb subscript does not support slices".to_owned(),
                    other => format!("cannot subscript type {} because it does not support subscripting", name(&other)),
                };
                let error = SqlError::new(ErrorKind::DatatypeMismatch, message);
                return Err(DataFusionError::External(error));
            }
        };
        match find(name) {
            Some(function) => Ok(PlannerResult::Planned(function.call(arguments))),
            None => internal_err!("{name} is not a function"),
        }
    }

    fn plan_extract(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // `'day'` and `"day"` come with their quotes.
        if let Some(Expr::Literal(ScalarValue::Utf8(Some(unit)), _)) = args.first_mut() {
            *unit = unit.trim_matches(['\'', '"']).to_owned();
        }
        Ok(function("extract", args))
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(function("position", args))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(function("substring", args))
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(function("overlay", args))
    }
}

/// Syntax that means a function: `EXTRACT(year FROM x)`, `SUBSTRING(x FROM 2)`, `POSITION(a IN b)`.
fn function(name: &str, arguments: Vec<Expr>) -> PlannerResult<Vec<Expr>> {
    match find(name) {
        Some(function) => PlannerResult::Planned(function.call(arguments)),
        None => PlannerResult::Original(arguments),
    }
}

/// PostgreSQL's names of types. Each is told by its field, even where the layout tells it: so a cast of the statement can be
/// told from one of the planner.
#[derive(Debug)]
pub(crate) struct TypeNames;

impl TypePlanner for TypeNames {
    fn plan_type_field(&self, data_type: &DataType) -> Result<Option<FieldRef>> {
        // What names an object in the catalogue is a number to the planner, which the catalogue's own rewriting gives it.
        if matches!(data_type, DataType::IntUnsigned(_)) {
            return Ok(None);
        }
        let sql_type = sql_type(data_type).map_err(|error| DataFusionError::External(error))?;
        let metadata = HashMap::from([(TYPE_KEY.to_owned(), sql_type.to_string())]);
        Ok(Some(Arc::new(sql_type.field("", true).with_metadata(metadata))))
    }
}

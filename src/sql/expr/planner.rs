//! What the planner is given so that it plans PostgreSQL's expressions: operators that wait for their types, and PostgreSQL's names of
//! types.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, TypePlanner};
use datafusion::sql::sqlparser::ast::{BinaryOperator, DataType};

use super::pending::{Meaning, Pending};
use crate::sql::ddl::sql_type;
use crate::sql::types::TYPE_KEY;

/// Plans operators as calls that wait for their types.
#[derive(Debug)]
pub(in crate::sql) struct Operations;

impl ExprPlanner for Operations {
    fn plan_binary_op(&self, expr: RawBinaryExpr, _schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let name = match &expr.op {
            BinaryOperator::And | BinaryOperator::Or => return Ok(PlannerResult::Original(expr)),
            // `OPERATOR(pg_catalog.+)`
            BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
            other => other.to_string(),
        };
        Ok(PlannerResult::Planned(Pending::call(Meaning::Binary(name), vec![expr.left, expr.right])))
    }
}

/// PostgreSQL's names of types. Each is told by its field, even where the layout tells it: so a cast of the statement can be
/// told from one of the planner.
#[derive(Debug)]
pub(in crate::sql) struct TypeNames;

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

//! String literals beside uuid and bytea values: DataFusion reads the ones of numbers and dates, but not these.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::sql::sqlparser::ast;

use crate::sql::error::SqlResult;
use crate::sql::input::parse_text;
use crate::sql::types::SqlType;

/// Reads each string literal that is compared with a uuid or bytea, or cast to one, as PostgreSQL does.
///
/// # Errors
/// 22P02 for a text that is not a value of the type.
pub(super) fn read(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let read = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.map_expressions(|expr| expr.transform_up(|expr| read_in(expr, &schema)))
    })?;
    Ok(read.data)
}

fn read_in(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { mut left, op, mut right }) if is_comparison(op) => {
            let changed = read_beside(&mut left, &right, schema)? | read_beside(&mut right, &left, schema)?;
            Ok(Transformed::new_transformed(Expr::BinaryExpr(BinaryExpr { left, op, right }), changed))
        }
        Expr::InList(InList { expr, mut list, negated }) => {
            let mut changed = false;
            for item in &mut list {
                changed |= read_beside(item, &expr, schema)?;
            }
            Ok(Transformed::new_transformed(Expr::InList(InList { expr, list, negated }), changed))
        }
        Expr::Between(Between { expr, negated, mut low, mut high }) => {
            let changed = read_beside(&mut low, &expr, schema)? | read_beside(&mut high, &expr, schema)?;
            Ok(Transformed::new_transformed(Expr::Between(Between { expr, negated, low, high }), changed))
        }
        Expr::Cast(Cast { mut expr, field }) => match opaque(field.data_type()) {
            Some(sql_type) if read_as(&mut expr, &sql_type)? => Ok(Transformed::yes(*expr)),
            _ => Ok(Transformed::no(Expr::Cast(Cast { expr, field }))),
        },
        other => Ok(Transformed::no(other)),
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Reads `literal` as the type of `other`, where that is one of ours.
fn read_beside(literal: &mut Expr, other: &Expr, schema: &DFSchema) -> Result<bool> {
    // A column of an outer query has no type here; it stays what it was.
    let Some(sql_type) = other.get_type(schema).ok().and_then(|t| opaque(&t)) else { return Ok(false) };
    read_as(literal, &sql_type)
}

fn read_as(literal: &mut Expr, sql_type: &SqlType) -> Result<bool> {
    let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = literal else { return Ok(false) };
    let value = parse_text(sql_type, text).map_err(|error| DataFusionError::External(error))?;
    *literal = Expr::Literal(value, None);
    Ok(true)
}

/// The SQL type of an Arrow type into which DataFusion casts no text.
fn opaque(data_type: &DataType) -> Option<SqlType> {
    match data_type {
        DataType::FixedSizeBinary(16) => Some(SqlType::Uuid),
        DataType::Binary => Some(SqlType::Bytea),
        _ => None,
    }
}

/// Type names of PostgreSQL that DataFusion does not know.
#[derive(Debug)]
pub(super) struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> Result<Option<FieldRef>> {
        Ok(match sql_type {
            ast::DataType::Uuid => Some(SqlType::Uuid.field("", true).into()),
            _ => None,
        })
    }
}

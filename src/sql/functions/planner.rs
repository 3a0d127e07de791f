//! Operators and syntax that mean a function: `a || b` of arrays, `a[1]`, `x ~ pattern`, `EXTRACT(year FROM x)`,
//! `SUBSTRING(x FROM 2)`, `POSITION(a IN b)`, `OVERLAY(x PLACING y FROM 2)`.

use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::sql::types::SqlType;

/// Plans the syntax as a call of the function.
#[derive(Debug)]
pub(super) struct Syntax;

/// A constant that the planner supplies as a bigint.
fn integer(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), metadata) => match i32::try_from(value) {
            Ok(value) => lit(value),
            Err(_) => Expr::Literal(ScalarValue::Int64(Some(value)), metadata),
        },
        other => other,
    }
}

fn call(name: &str, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
    Ok(match super::find(name) {
        Some(function) => PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments))),
        None => PlannerResult::Original(arguments),
    })
}

/// Whether the operator may mean a function. Asked first, because finding out the types of a long chain of operators takes
/// long.
fn may_be_function(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::PGRegexMatch
            | BinaryOperator::PGRegexIMatch
            | BinaryOperator::PGRegexNotMatch
            | BinaryOperator::PGRegexNotIMatch
            | BinaryOperator::StringConcat
            | BinaryOperator::AtArrow
            | BinaryOperator::ArrowAt
            | BinaryOperator::PGOverlap
    )
}

/// The function of an operator on arrays or texts; `None` for any other.
fn operator_function(op: &BinaryOperator, left: &SqlType, right: &SqlType) -> Option<&'static str> {
    let is_array = |sql_type: &SqlType| matches!(sql_type, SqlType::Array(_));
    Some(match op {
        BinaryOperator::PGRegexMatch => "textregexeq",
        BinaryOperator::PGRegexIMatch => "texticregexeq",
        BinaryOperator::PGRegexNotMatch => "textregexne",
        BinaryOperator::PGRegexNotIMatch => "texticregexne",
        _ if !is_array(left) && !is_array(right) => return None,
        BinaryOperator::StringConcat => match (is_array(left), is_array(right)) {
            (true, true) => "array_cat",
            (true, false) => "array_append",
            _ => "array_prepend",
        },
        BinaryOperator::AtArrow => "arraycontains",
        BinaryOperator::ArrowAt => "arraycontained",
        BinaryOperator::PGOverlap => "arrayoverlap",
        _ => return None,
    })
}

impl ExprPlanner for Syntax {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if !may_be_function(&expr.op) {
            return Ok(PlannerResult::Original(expr));
        }
        let RawBinaryExpr { op, left, right } = expr;
        let type_of = |expr: &Expr| expr.to_field(schema).map(|(_, field)| SqlType::of_field(&field));
        let (Ok(left_type), Ok(right_type)) = (type_of(&left), type_of(&right)) else {
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        };
        let mut function = operator_function(&op, &left_type, &right_type);
        // A literal beside an array is one too, unless it is NULL.
        let is_text = |expr: &Expr| matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)), _));
        if matches!(function, Some("array_append" | "array_prepend")) && (is_text(&left) || is_text(&right)) {
            function = Some("array_cat");
        }
        Ok(match function.and_then(super::find) {
            Some(function) => PlannerResult::Planned(function.call(vec![left, right])),
            None => PlannerResult::Original(RawBinaryExpr { op, left, right }),
        })
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let sql_type = SqlType::of_field(&expr.expr.to_field(schema)?.1);
        if !matches!(sql_type, SqlType::Array(_) | SqlType::Int2Vector | SqlType::OidVector) {
            return Ok(PlannerResult::Original(expr));
        }
        let RawFieldAccessExpr { field_access, expr } = expr;
        let (function, arguments) = match field_access {
            GetFieldAccess::ListIndex { key } => ("array_subscript", vec![expr, *key]),
            GetFieldAccess::ListRange { start, stop, .. } => {
                // Without an end the planner supplies -1, counted from behind.
                let last = match *stop {
                    Expr::Literal(ScalarValue::Int64(Some(-1)), _) => lit(i32::MAX),
                    stop => stop,
                };
                ("array_part", vec![expr, integer(*start), integer(last)])
            }
            field_access @ GetFieldAccess::NamedStructField { .. } => {
                return Ok(PlannerResult::Original(RawFieldAccessExpr { field_access, expr }));
            }
        };
        Ok(match super::find(function) {
            Some(function) => PlannerResult::Planned(function.call(arguments)),
            None => return internal_err!("{function} is not a function"),
        })
    }

    fn plan_extract(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // `'day'` and `"day"` come with their quotes.
        if let Some(Expr::Literal(ScalarValue::Utf8(Some(unit)), _)) = args.first_mut() {
            *unit = unit.trim_matches(['\'', '"']).to_owned();
        }
        call("extract", args)
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        call("position", args)
    }

    fn plan_substring(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // `FOR n` alone: the planner supplies the start as a bigint.
        if let Some(start) = args.get_mut(1) {
            *start = integer(std::mem::take(start));
        }
        call("substring", args)
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        call("overlay", args)
    }
}

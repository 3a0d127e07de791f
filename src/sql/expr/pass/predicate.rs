//! Conditions: AND, OR, BETWEEN, IN, LIKE, SIMILAR TO, and what must be boolean.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Operator, lit};
use tablegate_types::conversion::{Category, category, name};
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;

use super::{Pass, chains, raised};
use crate::expr::{comparison, kernels};

impl Pass<'_> {
    /// An expression that must be boolean; `clause` says where it stands.
    pub(super) fn truth(&self, expr: Expr, clause: &str, schema: &DFSchema) -> Result<Expr> {
        let operand = self.operand(expr, schema)?;
        match operand.sql_type() {
            SqlType::Bool => Ok(operand.expr),
            SqlType::Unknown => Ok(match operand.coerced(&SqlType::Bool, self.parameters()).map_err(raised)? {
                Expr::Literal(value, _) => Expr::Literal(value, None),
                other => other,
            }),
            other => {
                let message = format!("argument of {clause} must be type boolean, not type {}", name(other));
                Err(raised(SqlError::new(ErrorKind::DatatypeMismatch, message)))
            }
        }
    }

    pub(super) fn in_list(&self, within: InList, schema: &DFSchema) -> Result<Expr> {
        let InList { expr, list, negated } = within;
        let subject = self.operand(*expr, schema)?;
        let operator = if negated { Operator::NotEq } else { Operator::Eq };
        let mut subjects = Vec::with_capacity(list.len());
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            let item = self.operand(item, schema)?;
            let (subject, item) =
                comparison::aligned(operator, subject.clone(), item, self.parameters()).map_err(raised)?;
            subjects.push(subject);
            items.push(item);
        }
        if let Some(first) = subjects.first()
            && subjects.iter().all(|subject| subject == first)
        {
            return Ok(Expr::InList(InList { expr: Box::new(first.clone()), list: items, negated }));
        }
        // Items of several types: each is compared on its own.
        let joined_by = if negated { Operator::And } else { Operator::Or };
        let compared = subjects.into_iter().zip(items).map(|(left, right)| {
            Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op: operator, right: Box::new(right) })
        });
        Ok(chains::joined(compared.collect(), joined_by).unwrap_or_else(|| lit(negated)))
    }
}

/// Truth values as numbers.
pub(super) struct Truth;

impl Truth {
    pub(super) fn to_number(truth: Expr) -> Expr {
        match truth {
            Expr::Literal(ScalarValue::Boolean(value), _) => lit(ScalarValue::Int32(value.map(i32::from))),
            other => Expr::Cast(Cast::new(Box::new(other), DataType::Int32)),
        }
    }

    pub(super) fn of_number(number: Expr) -> Expr {
        Expr::BinaryExpr(BinaryExpr { left: Box::new(number), op: Operator::Eq, right: Box::new(lit(1_i32)) })
    }
}

/// Functions that refuse some of the values of their types.
const REFUSING: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "atanh",
    "chr",
    "decode",
    "div",
    "factorial",
    "json_array_length",
    "jsonb_array_length",
    "ln",
    "log",
    "log10",
    "make_date",
    "make_interval",
    "make_time",
    "make_timestamp",
    "make_timestamptz",
    "mod",
    "pg_get_functiondef",
    "power",
    "sqrt",
    "to_date",
    "to_number",
    "to_timestamp",
    "width_bucket",
];

/// Whether computing the expression may raise an error that its author would guard against: a division by something that
/// is not constant, a text read as a value, or a function of values that it has no result for.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    let mut fails = false;
    let _ = expr.apply(|part| {
        let Expr::ScalarFunction(function) = part else { return Ok(TreeNodeRecursion::Continue) };
        fails |= match kernels::kernel_of(&function.func) {
            Some(kernel) => match function.args.as_slice() {
                [_, divisor] if kernels::divides(kernel) => !matches!(divisor, Expr::Literal(..)),
                [_] => kernels::is_refusing_cast(&function.func) || kernel.name == kernels::SQUARE_ROOT.name,
                _ => kernel.name == kernels::POWER.name,
            },
            None => REFUSING.contains(&function.func.name()),
        };
        Ok(if fails { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    fails
}

/// Whether something is computed of rows that may raise an error of any kind. Constants are computed in any case.
pub(super) fn computes(expr: &Expr) -> bool {
    let is_computation = |part: &Expr| match part {
        Expr::ScalarFunction(call) => {
            kernels::kernel_of(&call.func).is_none_or(|kernel| kernel.name != kernels::RELABEL.name)
        }
        _ => false,
    };
    let is_of_rows = |part: &Expr| matches!(part, Expr::Column(_) | Expr::OuterReferenceColumn(..));
    let has = |wanted: &dyn Fn(&Expr) -> bool| expr.exists(|part| Ok(wanted(part))).unwrap_or(true);
    has(&is_computation) && has(&is_of_rows)
}

/// Whether a type is one of the numbers.
pub(super) fn is_number(sql_type: &SqlType) -> bool {
    category(sql_type) == Category::Number
}

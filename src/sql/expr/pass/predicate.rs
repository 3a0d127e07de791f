//! Conditions: AND, OR, BETWEEN, IN, LIKE, SIMILAR TO, and what must be boolean.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Like, Operator, lit};
use tablegate_types::conversion::{Category, category, is_text, name};
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;

use super::{Pass, chains, raised};
use crate::expr::operand::Operand;
use crate::expr::operators::missing;
use crate::expr::typed::ValueType;
use crate::expr::{comparison, function, kernels, literal, pattern};

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

    /// AND and OR.
    pub(super) fn logic(&self, left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<Expr> {
        let clause = if op == Operator::And { "AND" } else { "OR" };
        let (left, right) = (self.truth(left, clause, schema)?, self.truth(right, clause, schema)?);
        Ok(Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) }))
    }

    pub(super) fn between(&self, between: Between, schema: &DFSchema) -> Result<Expr> {
        let Between { expr, negated, low, high } = between;
        let subject = self.operand(*expr, schema)?;
        let (low, high) = (self.operand(*low, schema)?, self.operand(*high, schema)?);
        let parameters = self.parameters();
        let (least, greatest) = if negated { (Operator::Lt, Operator::Gt) } else { (Operator::GtEq, Operator::LtEq) };
        let (of_low, low) = comparison::aligned(least, subject.clone(), low, parameters).map_err(raised)?;
        let (of_high, high) = comparison::aligned(greatest, subject, high, parameters).map_err(raised)?;
        if of_low == of_high {
            let (low, high) = (Box::new(low), Box::new(high));
            return Ok(Expr::Between(Between { expr: Box::new(of_low), negated, low, high }));
        }
        let compared = |left, op, right| {
            Box::new(Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) }))
        };
        let (left, right) = (compared(of_low, least, low), compared(of_high, greatest, high));
        Ok(Expr::BinaryExpr(BinaryExpr { left, op: if negated { Operator::Or } else { Operator::And }, right }))
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

    pub(super) fn like(&self, like: Like, schema: &DFSchema) -> Result<Expr> {
        let symbol = match (like.negated, like.case_insensitive) {
            (false, false) => "~~",
            (false, true) => "~~*",
            (true, false) => "!~~",
            (true, true) => "!~~*",
        };
        let (text, pattern) = self.text_and_pattern(symbol, *like.expr, *like.pattern, schema)?;
        let pattern = match (like.escape_char, pattern) {
            (None | Some('\\'), pattern) => pattern,
            (Some(escape), Expr::Literal(ScalarValue::Utf8(Some(text)), metadata)) => {
                Expr::Literal(ScalarValue::from(pattern::with_backslashes(&text, escape).map_err(raised)?), metadata)
            }
            (Some(escape), pattern) => {
                let typed = |expr: Expr| Operand { expr, value_type: ValueType::of(SqlType::Text) };
                let escape = literal::literal(escape.to_string().into(), &SqlType::Text);
                let arguments = vec![typed(pattern), typed(escape)];
                function::call("like_escape", arguments, self.parameters()).map_err(raised)?
            }
        };
        Ok(pattern::like(text, pattern, like.negated, like.case_insensitive))
    }

    pub(super) fn similar_to(&self, like: Like, schema: &DFSchema) -> Result<Expr> {
        let symbol = if like.negated { "!~" } else { "~" };
        let (text, pattern) = self.text_and_pattern(symbol, *like.expr, *like.pattern, schema)?;
        let typed = |expr: Expr| Operand { expr, value_type: ValueType::of(SqlType::Text) };
        let escape = like.escape_char.map(|escape| typed(literal::literal(escape.to_string().into(), &SqlType::Text)));
        let pattern = std::iter::once(typed(pattern)).chain(escape).collect();
        let regex = function::call("similar_to_escape", pattern, self.parameters()).map_err(raised)?;
        let matches = if like.negated { "textregexne" } else { "textregexeq" };
        function::call(matches, vec![typed(text), typed(regex)], self.parameters()).map_err(raised)
    }

    fn text_and_pattern(&self, symbol: &str, text: Expr, pattern: Expr, schema: &DFSchema) -> Result<(Expr, Expr)> {
        let (text, pattern) = (self.operand(text, schema)?, self.operand(pattern, schema)?);
        let is_texts = [&text, &pattern].iter().all(|operand| is_text(operand.sql_type()));
        if !is_texts {
            return Err(raised(missing(symbol, Some(text.sql_type()), pattern.sql_type())));
        }
        let as_text = |operand: Operand| operand.coerced(&SqlType::Text, self.parameters()).map_err(raised);
        Ok((as_text(text)?, as_text(pattern)?))
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
pub(super) fn may_fail(expr: &Expr) -> bool {
    let mut fails = false;
    let _ = expr.apply(|part| {
        let Expr::ScalarFunction(function) = part else { return Ok(TreeNodeRecursion::Continue) };
        fails |= match kernels::kernel_of(&function.func) {
            Some(kernel) => match function.args.as_slice() {
                [_, divisor] if kernels::divides(kernel) => !matches!(divisor, Expr::Literal(..)),
                [_] => kernel.name == kernels::CAST.name || kernel.name == kernels::SQUARE_ROOT.name,
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

//! Operators: by the types of its operands each becomes a comparison, a computation or a call of a function.

use std::sync::Arc;

use datafusion::functions_nested::expr_fn::{array_append, array_concat, array_has_all, array_has_any, array_prepend};
use datafusion::logical_expr::{BinaryExpr, Expr, Like, Operator, ScalarUDF};

use super::conversion::{Category, category, common_type, is_same, is_text};
use super::operand::Operand;
use super::operators::{self, missing};
use super::parameters::Parameters;
use super::typed::ValueType;
use super::{arithmetic, comparison};
use crate::sql::error::{SqlError, SqlResult};
use crate::sql::types::SqlType;

/// What operators need besides their operands.
pub(super) struct Operators<'a> {
    pub parameters: &'a Parameters<'a>,
    /// Functions by name: some operators are written as functions.
    pub functions: &'a dyn Fn(&str) -> Option<Arc<ScalarUDF>>,
}

/// Operators that are functions, by the function that PostgreSQL has behind them.
const FUNCTIONS: &[(&str, SqlType, SqlType, &str)] = &[
    ("->", SqlType::Json, SqlType::Text, "json_object_field"),
    ("->", SqlType::Json, SqlType::Int4, "json_array_element"),
    ("->", SqlType::Jsonb, SqlType::Text, "jsonb_object_field"),
    ("->", SqlType::Jsonb, SqlType::Int4, "jsonb_array_element"),
    ("->>", SqlType::Json, SqlType::Text, "json_object_field_text"),
    ("->>", SqlType::Json, SqlType::Int4, "json_array_element_text"),
    ("->>", SqlType::Jsonb, SqlType::Text, "jsonb_object_field_text"),
    ("->>", SqlType::Jsonb, SqlType::Int4, "jsonb_array_element_text"),
    ("?", SqlType::Jsonb, SqlType::Text, "jsonb_exists"),
    ("@>", SqlType::Jsonb, SqlType::Jsonb, "jsonb_contains"),
    ("<@", SqlType::Jsonb, SqlType::Jsonb, "jsonb_contained"),
    ("||", SqlType::Jsonb, SqlType::Jsonb, "jsonb_concat"),
    ("-", SqlType::Jsonb, SqlType::Text, "jsonb_delete"),
    ("-", SqlType::Jsonb, SqlType::Int4, "jsonb_delete"),
    ("^", SqlType::Numeric(None), SqlType::Numeric(None), "power"),
];

/// Operators between a json and an array of texts.
const PATH_FUNCTIONS: &[(&str, SqlType, &str)] = &[
    ("#>", SqlType::Json, "json_extract_path"),
    ("#>", SqlType::Jsonb, "jsonb_extract_path"),
    ("#>>", SqlType::Json, "json_extract_path_text"),
    ("#>>", SqlType::Jsonb, "jsonb_extract_path_text"),
    ("?|", SqlType::Jsonb, "jsonb_exists_any"),
    ("?&", SqlType::Jsonb, "jsonb_exists_all"),
    ("#-", SqlType::Jsonb, "jsonb_delete_path"),
    ("-", SqlType::Jsonb, "jsonb_delete"),
];

/// `left name right`
///
/// # Errors
/// 42883 when there is no such operator, 42725 when several would do, 0A000 for one that is not done here, and what is
/// wrong with a literal that had no type.
pub(super) fn binary(name: &str, left: Operand, right: Operand, with: &Operators<'_>) -> SqlResult<Expr> {
    if let Some(operator) = comparison_operator(name) {
        return comparison::compare(operator, left, right, with.parameters);
    }
    if is_array(&left) || is_array(&right) {
        return on_arrays(name, left, right, with);
    }
    if name == "||"
        && let Some(joined) = joined_texts(&left, &right, with.parameters)
    {
        return joined;
    }
    let operator = operators::binary(name, left.sql_type(), right.sql_type())?;
    let asked = (operator.left.clone().unwrap_or_else(|| operator.right.clone()), operator.right.clone());
    if let Some(function) = function_name(name, &asked.0, &asked.1) {
        return call(name, function, [(left, asked.0), (right, asked.1)], with);
    }
    if let Some(pattern) = Pattern::of(name) {
        if asked.1 != SqlType::Text {
            return Err(SqlError::not_supported(format!("operator {name} of type {}", asked.1)));
        }
        let text = left.coerced(&SqlType::Text, with.parameters)?;
        return Ok(pattern.matching(text, right.coerced(&SqlType::Text, with.parameters)?));
    }
    let plan = arithmetic::binary(name, &operator, [left.shape(), right.shape()])?;
    plan.build(operators::interned(name), vec![left, right], with.parameters)
}

/// `name operand`
///
/// # Errors
/// As [`binary`].
pub(super) fn prefix(name: &str, operand: Operand, parameters: &Parameters<'_>) -> SqlResult<Expr> {
    let operator = operators::prefix(name, operand.sql_type())?;
    if name == "+" {
        return operand.coerced(&operator.right, parameters);
    }
    let plan = arithmetic::prefix(name, &operator, &operand)?;
    plan.build(operators::interned(name), vec![operand], parameters)
}

/// The type of `left name right` as far as it is known before literals have theirs; `None` where it is not.
pub(super) fn likely_type(name: &str, left: &Operand, right: &Operand) -> Option<ValueType> {
    if comparison_operator(name).is_some() || Pattern::of(name).is_some() {
        return Some(ValueType::boolean());
    }
    match (is_array(left), is_array(right)) {
        (true, _) if name == "||" => return Some(left.value_type.clone()),
        (_, true) if name == "||" => return Some(right.value_type.clone()),
        (true, _) | (_, true) => return Some(ValueType::boolean()),
        _ => {}
    }
    if name == "||" && (is_text(left.sql_type()) || is_text(right.sql_type())) {
        return Some(ValueType::of(SqlType::Text));
    }
    let operator = operators::binary(name, left.sql_type(), right.sql_type()).ok()?;
    match arithmetic::binary(name, &operator, [left.shape(), right.shape()]) {
        Ok(plan) => Some(plan.result),
        Err(_) => Some(ValueType::of(operator.result)),
    }
}

/// The type of `name operand`, likewise.
pub(super) fn likely_prefix_type(name: &str, operand: &Operand) -> Option<ValueType> {
    if name == "NOT" {
        return Some(ValueType::boolean());
    }
    let operator = operators::prefix(name, operand.sql_type()).ok()?;
    match arithmetic::prefix(name, &operator, operand) {
        Ok(plan) => Some(plan.result),
        Err(_) => Some(operand.value_type.clone()),
    }
}

pub(super) fn comparison_operator(name: &str) -> Option<Operator> {
    Some(match name {
        "=" => Operator::Eq,
        "<>" => Operator::NotEq,
        "<" => Operator::Lt,
        "<=" => Operator::LtEq,
        ">" => Operator::Gt,
        ">=" => Operator::GtEq,
        "IS DISTINCT FROM" => Operator::IsDistinctFrom,
        "IS NOT DISTINCT FROM" => Operator::IsNotDistinctFrom,
        _ => return None,
    })
}

/// An operator that matches a text with a pattern.
#[derive(Clone, Copy)]
enum Pattern {
    Like { negated: bool, case_insensitive: bool },
    Regex(Operator),
}

impl Pattern {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "~~" => Pattern::Like { negated: false, case_insensitive: false },
            "~~*" => Pattern::Like { negated: false, case_insensitive: true },
            "!~~" => Pattern::Like { negated: true, case_insensitive: false },
            "!~~*" => Pattern::Like { negated: true, case_insensitive: true },
            "~" => Pattern::Regex(Operator::RegexMatch),
            "~*" => Pattern::Regex(Operator::RegexIMatch),
            "!~" => Pattern::Regex(Operator::RegexNotMatch),
            "!~*" => Pattern::Regex(Operator::RegexNotIMatch),
            _ => return None,
        })
    }

    fn matching(self, text: Expr, pattern: Expr) -> Expr {
        match self {
            Pattern::Like { negated, case_insensitive } => {
                Expr::Like(Like::new(negated, Box::new(text), Box::new(pattern), None, case_insensitive))
            }
            Pattern::Regex(op) => Expr::BinaryExpr(BinaryExpr { left: Box::new(text), op, right: Box::new(pattern) }),
        }
    }
}

fn is_array(operand: &Operand) -> bool {
    matches!(operand.sql_type(), SqlType::Array(_))
}

fn on_arrays(name: &str, left: Operand, right: Operand, with: &Operators<'_>) -> SqlResult<Expr> {
    let parameters = with.parameters;
    let item = |operand: &Operand| match operand.sql_type() {
        SqlType::Array(item) => Some((**item).clone()),
        _ => None,
    };
    let (left_item, right_item) = (item(&left), item(&right));
    // A literal beside an array is an array, too.
    let both = (left_item.is_some() || left.is_unknown()) && (right_item.is_some() || right.is_unknown());
    let function = PATH_FUNCTIONS.iter().find(|(symbol, json, _)| *symbol == name && json == left.sql_type());
    if let (Some((_, json, function)), Some(_)) = (function, &right_item) {
        let texts = SqlType::Array(Box::new(SqlType::Text));
        return call(name, function, [(left, json.clone()), (right, texts)], with);
    }
    let refused = || missing(name, Some(left.sql_type()), right.sql_type());
    let types = [left_item.as_ref().unwrap_or(left.sql_type()), right_item.as_ref().unwrap_or(right.sql_type())];
    let common = common_type(types, "ARRAY").map_err(|_| refused())?;
    let list = ValueType::of(SqlType::Array(Box::new(common.clone())));
    let element = ValueType::of(common);
    match name {
        "||" if both => {
            Ok(array_concat(vec![left.converted_to(&list, parameters)?, right.converted_to(&list, parameters)?]))
        }
        "||" if left_item.is_some() => {
            Ok(array_append(left.converted_to(&list, parameters)?, right.converted_to(&element, parameters)?))
        }
        "||" => Ok(array_prepend(left.converted_to(&element, parameters)?, right.converted_to(&list, parameters)?)),
        "@>" | "<@" | "&&" if both => {
            if let (Some(left_item), Some(right_item)) = (&left_item, &right_item)
                && !is_same(left_item, right_item)
            {
                return Err(refused());
            }
            let (left, right) = (left.converted_to(&list, parameters)?, right.converted_to(&list, parameters)?);
            Ok(match name {
                "@>" => array_has_all(left, right),
                "<@" => array_has_all(right, left),
                _ => array_has_any(left, right),
            })
        }
        _ => Err(refused()),
    }
}

/// `text || anything`; `None` when neither side is a text.
fn joined_texts(left: &Operand, right: &Operand, parameters: &Parameters<'_>) -> Option<SqlResult<Expr>> {
    let known_text = |operand: &Operand| category(operand.sql_type()) == Category::Text;
    let other_type = |operand: &Operand| matches!(operand.sql_type(), SqlType::Bytea | SqlType::Jsonb);
    let is_join = match (left.is_unknown(), right.is_unknown()) {
        (true, true) => true,
        (true, false) => !other_type(right),
        (false, true) => !other_type(left),
        (false, false) => known_text(left) || known_text(right),
    };
    is_join.then(|| {
        let text = ValueType::of(SqlType::Text);
        let (left, right) =
            (left.clone().converted_to(&text, parameters)?, right.clone().converted_to(&text, parameters)?);
        Ok(Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op: Operator::StringConcat, right: Box::new(right) }))
    })
}

fn function_name(name: &str, left: &SqlType, right: &SqlType) -> Option<&'static str> {
    FUNCTIONS
        .iter()
        .find(|(symbol, l, r, _)| *symbol == name && l == left && r == right)
        .map(|(.., function)| *function)
}

fn call(name: &str, function: &str, operands: [(Operand, SqlType); 2], with: &Operators<'_>) -> SqlResult<Expr> {
    let [left, right] = &operands;
    let udf = (with.functions)(function).ok_or_else(|| {
        SqlError::not_supported(format!("operator {} {name} {}", left.0.sql_type(), right.0.sql_type()))
    })?;
    let operands = operands.into_iter().map(|(operand, to)| match operand.is_unknown() {
        true => operand.coerced(&to, with.parameters),
        false => Ok(operand.expr),
    });
    Ok(udf.call(operands.collect::<SqlResult<Vec<_>>>()?))
}

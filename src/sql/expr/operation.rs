//! Operators: by the types of its operands each becomes a comparison, a computation or a call of a function.

use datafusion::logical_expr::{Expr, Operator};
use tablegate_types::conversion::{Category, category, common_type, is_same};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::operand::Operand;
use super::operators::{self, missing};
use super::parameters::Parameters;
use super::typed::ValueType;
use super::{arithmetic, comparison, function, pattern};

/// Operators that are functions, by the function that PostgreSQL has behind them.
const FUNCTIONS: &[(&str, SqlType, SqlType, &str)] = &[
    ("->", SqlType::Json, SqlType::Text, "json_get"),
    ("->", SqlType::Json, SqlType::Int4, "json_get"),
    ("->", SqlType::Jsonb, SqlType::Text, "json_get"),
    ("->", SqlType::Jsonb, SqlType::Int4, "json_get"),
    ("->>", SqlType::Json, SqlType::Text, "json_get_text"),
    ("->>", SqlType::Json, SqlType::Int4, "json_get_text"),
    ("->>", SqlType::Jsonb, SqlType::Text, "json_get_text"),
    ("->>", SqlType::Jsonb, SqlType::Int4, "json_get_text"),
    ("?", SqlType::Jsonb, SqlType::Text, "jsonb_exists"),
    ("@>", SqlType::Jsonb, SqlType::Jsonb, "jsonb_contains"),
    ("<@", SqlType::Jsonb, SqlType::Jsonb, "jsonb_contained"),
    ("||", SqlType::Jsonb, SqlType::Jsonb, "jsonb_concat"),
    ("||", SqlType::Bytea, SqlType::Bytea, "byteacat"),
    ("-", SqlType::Jsonb, SqlType::Text, "jsonb_delete"),
    ("-", SqlType::Jsonb, SqlType::Int4, "jsonb_delete"),
    ("^", SqlType::Numeric(None), SqlType::Numeric(None), "power"),
];

/// The function of `||` between texts.
pub(super) const JOIN_OF_TEXTS: &str = "textcat";

/// Operators between a json and an array of texts.
const PATH_FUNCTIONS: &[(&str, SqlType, &str)] = &[
    ("#>", SqlType::Json, "json_at"),
    ("#>", SqlType::Jsonb, "json_at"),
    ("#>>", SqlType::Json, "json_at_text"),
    ("#>>", SqlType::Jsonb, "json_at_text"),
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
pub(super) fn binary(name: &str, left: Operand, right: Operand, parameters: &Parameters<'_>) -> SqlResult<Expr> {
    if let Some(operator) = comparison_operator(name) {
        return comparison::compare(operator, left, right, parameters);
    }
    if is_array(&left) || is_array(&right) {
        return on_arrays(name, left, right, parameters);
    }
    if name == "||" && joins_texts(&left, &right) {
        let text = ValueType::of(SqlType::Text);
        let converted = |operand: Operand| -> SqlResult<Operand> {
            let expr = operand.converted_to(&text, parameters)?;
            Ok(Operand { expr, value_type: text.clone() })
        };
        return function::call(JOIN_OF_TEXTS, vec![converted(left)?, converted(right)?], parameters);
    }
    let operator = operators::binary(name, left.sql_type(), right.sql_type())?;
    let asked = (operator.left.clone().unwrap_or_else(|| operator.right.clone()), operator.right.clone());
    if let Some(function) = function_name(name, &asked.0, &asked.1) {
        return function::call(function, vec![left, right], parameters);
    }
    if let Some(pattern) = Pattern::of(name) {
        if asked.1 != SqlType::Text {
            return Err(SqlError::not_supported(format!("operator {name} of type {}", asked.1)));
        }
        return pattern.matching(left, right, parameters);
    }
    let plan = arithmetic::binary(name, &operator, [left.shape(), right.shape()])?;
    plan.build(operators::interned(name), vec![left, right], parameters)
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

pub(super) fn comparison_operator(name: &str) -> Option<Operator> {
    Some(match name {
        "=" => Operator::Eq,
        "<>" => Operator::NotEq,
        "<" | "~<~" => Operator::Lt,
        "<=" | "~<=~" => Operator::LtEq,
        ">" | "~>~" => Operator::Gt,
        ">=" | "~>=~" => Operator::GtEq,
        "IS DISTINCT FROM" => Operator::IsDistinctFrom,
        "IS NOT DISTINCT FROM" => Operator::IsNotDistinctFrom,
        _ => return None,
    })
}

/// An operator that matches a text with a pattern.
#[derive(Clone, Copy)]
enum Pattern {
    Like {
        negated: bool,
        case_insensitive: bool,
    },
    /// By the function that PostgreSQL has behind it.
    Regex(&'static str),
}

impl Pattern {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "~~" => Pattern::Like { negated: false, case_insensitive: false },
            "~~*" => Pattern::Like { negated: false, case_insensitive: true },
            "!~~" => Pattern::Like { negated: true, case_insensitive: false },
            "!~~*" => Pattern::Like { negated: true, case_insensitive: true },
            "~" => Pattern::Regex("textregexeq"),
            "~*" => Pattern::Regex("texticregexeq"),
            "!~" => Pattern::Regex("textregexne"),
            "!~*" => Pattern::Regex("texticregexne"),
            _ => return None,
        })
    }

    fn matching(self, text: Operand, pattern: Operand, parameters: &Parameters<'_>) -> SqlResult<Expr> {
        match self {
            Pattern::Like { negated, case_insensitive } => {
                let text = text.coerced(&SqlType::Text, parameters)?;
                let pattern = pattern.coerced(&SqlType::Text, parameters)?;
                Ok(pattern::like(text, pattern, negated, case_insensitive))
            }
            Pattern::Regex(function) => function::call(function, vec![text, pattern], parameters),
        }
    }
}

fn is_array(operand: &Operand) -> bool {
    matches!(operand.sql_type(), SqlType::Array(_))
}

fn on_arrays(name: &str, left: Operand, right: Operand, parameters: &Parameters<'_>) -> SqlResult<Expr> {
    let item = |operand: &Operand| match operand.sql_type() {
        SqlType::Array(item) => Some((**item).clone()),
        _ => None,
    };
    let (left_item, right_item) = (item(&left), item(&right));
    // A literal beside an array is an array, too.
    let both = (left_item.is_some() || left.is_unknown()) && (right_item.is_some() || right.is_unknown());
    if let (Some(function), Some(_)) = (path_function(name, left.sql_type()), &right_item) {
        return function::call(function, vec![left, right], parameters);
    }
    let refused = || missing(name, Some(left.sql_type()), right.sql_type());
    let types = [left_item.as_ref().unwrap_or(left.sql_type()), right_item.as_ref().unwrap_or(right.sql_type())];
    common_type(types, "ARRAY").map_err(|_| refused())?;
    let is_mixed = || matches!((&left_item, &right_item), (Some(left), Some(right)) if !is_same(left, right));
    let function = match name {
        "||" if both => "array_cat",
        "||" if left_item.is_some() => "array_append",
        "||" => "array_prepend",
        _ if !both || is_mixed() => return Err(refused()),
        "@>" => "arraycontains",
        "<@" => "arraycontained",
        "&&" => "arrayoverlap",
        _ => return Err(refused()),
    };
    function::call(function, vec![left, right], parameters)
}

/// Whether it is `text || anything`: not when neither side is a text.
fn joins_texts(left: &Operand, right: &Operand) -> bool {
    let known_text = |operand: &Operand| category(operand.sql_type()) == Category::Text;
    let other_type = |operand: &Operand| matches!(operand.sql_type(), SqlType::Bytea | SqlType::Jsonb);
    match (left.is_unknown(), right.is_unknown()) {
        (true, true) => true,
        (true, false) => !other_type(right),
        (false, true) => !other_type(left),
        (false, false) => known_text(left) || known_text(right),
    }
}

fn function_name(name: &str, left: &SqlType, right: &SqlType) -> Option<&'static str> {
    if matches!(right, SqlType::Array(_)) {
        return path_function(name, left);
    }
    let is_named = |(symbol, l, r, _): &&(&str, SqlType, SqlType, &str)| *symbol == name && l == left && r == right;
    FUNCTIONS.iter().find(is_named).map(|(.., function)| *function)
}

fn path_function(name: &str, json: &SqlType) -> Option<&'static str> {
    let is_named = |(symbol, of, _): &&(&str, SqlType, &str)| *symbol == name && of == json;
    PATH_FUNCTIONS.iter().find(is_named).map(|(.., function)| *function)
}

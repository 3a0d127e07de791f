//! Calls of PostgreSQL's functions: which of them a name means for the arguments, and the arguments as it asks for them.

use datafusion::logical_expr::Expr;
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::functions::{Asked, missing as missing_function};
use tablegate_types::sql_type::SqlType;

use super::operand::Operand;
use super::parameters::Parameters;
use super::sort_key;
use super::typed::ValueType;
use crate::calls::{Choice, Known, choose};

/// Functions that find items which are equal to others, and give none of them back.
const FIND_ITEMS: &[&str] = &["array_position", "array_positions", "arraycontains", "arraycontained", "arrayoverlap"];

/// `name(arguments)`
///
/// # Errors
/// 42883 when no function of this name takes the arguments, 42725 when several do, and what is wrong with a literal that had
/// no type.
pub(super) fn call(name: &str, arguments: Vec<Operand>, parameters: &Parameters<'_>) -> SqlResult<Expr> {
    let choice = chosen(name, &arguments)?;
    let mut exprs = Vec::with_capacity(arguments.len());
    let mut known = Vec::with_capacity(arguments.len());
    for (argument, asked) in arguments.into_iter().zip(choice.asked()) {
        let argument = match asked {
            Asked::Type(sql_type) => argument.into_argument(sql_type, parameters)?,
            Asked::Exactly(sql_type) => {
                let value_type = ValueType::of(sql_type.clone());
                Operand { expr: argument.converted_to(&value_type, parameters)?, value_type }
            }
        };
        let argument = if FIND_ITEMS.contains(&name) { sort_key::found_by(argument) } else { argument };
        known.push(known_of(&argument));
        exprs.push(argument.expr);
    }
    Ok(choice.function(known)?.call(exprs))
}

/// No function of this name takes such arguments (42883).
pub(super) fn missing(name: &str, arguments: &[Operand]) -> Box<SqlError> {
    missing_function(name, &types_of(arguments))
}

fn types_of(arguments: &[Operand]) -> Vec<SqlType> {
    arguments.iter().map(|argument| argument.sql_type().clone()).collect()
}

fn chosen(name: &str, arguments: &[Operand]) -> SqlResult<Choice> {
    choose(name, &types_of(arguments))
}

fn known_of(argument: &Operand) -> Known {
    let constant = match &argument.expr {
        Expr::Literal(value, _) => Some(value.clone()),
        _ => None,
    };
    let ValueType { sql_type, data_type } = argument.value_type.clone();
    Known { sql_type, data_type, constant }
}

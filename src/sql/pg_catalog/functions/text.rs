//! Functions that make text of one character.

use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument};
use crate::pg_catalog::cells::Cell;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("catalog_char", |_| SqlType::InternalChar, first_character),
    Definition::new("character of name", |_| SqlType::InternalChar, character_at),
];

/// `name[0]`
fn character_at(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let at = argument(arguments, 1).as_int().and_then(|at| usize::try_from(at).ok());
    let (name, Some(at)) = (argument(arguments, 0).as_text().unwrap_or_default(), at) else { return Ok(Cell::Null) };
    Ok(name.chars().nth(at).map(String::from).unwrap_or_default().into())
}

fn first_character(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    // A number is that of a byte.
    if let Cell::Int(number) = argument(arguments, 0) {
        let byte = u8::try_from(*number).ok().filter(|byte| *byte != 0);
        return Ok(byte.map(char::from).map(String::from).unwrap_or_default().into());
    }
    Ok(argument(arguments, 0).as_text().map(|t| t.chars().take(1).collect::<String>()).into())
}

//! Which function a call means: PostgreSQL's rules for overloaded functions.
//!
//! "Typing of functions" in its manual. Among the functions that take the arguments, those of [`Candidate`]s decide.

use arrow::datatypes::Fields;

use super::signature::{Overload, Type};
use crate::candidates::{self, Candidate, Unresolved};
use crate::conversion::{common_type, is_implicit, is_same, item_of, name as type_name, without_parameters};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::{RowType, SqlType};

/// Functions that PostgreSQL has for types that are not here too, so that a literal without a type is of none of them:
/// `unnest` of a text search vector, `trunc` of a MAC address, `bit_count` of bits.
const HAS_OTHERS: &[&str] = &["unnest_items", "trunc", "bit_count"];

/// What a function asks of an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// A value of this type, a numeric with the digits it has.
    Type(SqlType),
    /// A value of this type in its own layout, as the other arguments are.
    Exactly(SqlType),
}

/// The function that a call means.
#[derive(Debug)]
pub struct Resolved {
    pub overload: &'static Overload,
    pub asked: Vec<Asked>,
    /// What `anyelement` and the like stand for.
    pub element: Option<SqlType>,
}

/// # Errors
/// 42883 when no function takes arguments of these types (`Unknown` for a literal without one), 42725 when several do and
/// none is better than the others.
pub(super) fn resolve(name: &str, overloads: &[&'static Overload], given: &[SqlType]) -> SqlResult<Resolved> {
    let takes = |o: &&&'static Overload| o.takes(given.len()) && fits(o, given) && element_type(o, given).is_ok();
    let takers: Vec<&'static Overload> = overloads.iter().filter(takes).copied().collect();
    let exact = |o: &&&'static Overload| candidates::count(**o, given, is_same) == given.len();
    if let Some(exact) = takers.iter().find(exact) {
        return Ok(resolved(exact, given));
    }
    match candidates::best(takers, given) {
        Ok(best) if given.iter().all(|given| *given == SqlType::Unknown) && HAS_OTHERS.contains(&best.name) => {
            Err(ambiguous(name, given))
        }
        Ok(best) if is_undetermined(best, given) => {
            let message = "could not determine polymorphic type because input has type unknown";
            Err(SqlError::new(ErrorKind::DatatypeMismatch, message))
        }
        Ok(best) => Ok(resolved(best, given)),
        Err(Unresolved::None) => Err(missing(name, given)),
        Err(Unresolved::Several) => Err(ambiguous(name, given)),
    }
}

/// No function of this name takes such arguments (42883).
pub fn missing(name: &str, given: &[SqlType]) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedFunction, format!("function {} does not exist", call_text(name, given)))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

fn ambiguous(name: &str, given: &[SqlType]) -> Box<SqlError> {
    SqlError::new(ErrorKind::AmbiguousFunction, format!("function {} is not unique", call_text(name, given)))
        .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

fn call_text(name: &str, given: &[SqlType]) -> String {
    // What its users call it.
    let name = if name == "unnest_items" {
        "unnest"
    } else {
        name.trim_end_matches('s').strip_suffix("_of_item").unwrap_or(name)
    };
    let types: Vec<String> = given.iter().map(type_name).collect();
    format!("{name}({})", types.join(", "))
}

impl Candidate for Overload {
    fn asked(&self, index: usize) -> Option<SqlType> {
        self.argument(index).concrete()
    }
}

fn fits(overload: &Overload, given: &[SqlType]) -> bool {
    given.iter().enumerate().all(|(index, given)| match (overload.argument(index), given) {
        (_, SqlType::Unknown) => true,
        (Type::Array | Type::CompatibleArray, given) => item_of(given).is_some(),
        (Type::Record, given) => matches!(given, SqlType::Record(_)),
        (asked, given) => asked.concrete().is_none_or(|asked| is_implicit(given, &asked)),
    })
}

/// Whether no argument says what `anyelement` stands for. (`anycompatible` stands for text then.)
fn is_undetermined(overload: &Overload, given: &[SqlType]) -> bool {
    let mut placeholders = given
        .iter()
        .enumerate()
        .filter(|(i, _)| matches!(overload.argument(*i), Type::Element | Type::Array))
        .peekable();
    placeholders.peek().is_some() && placeholders.all(|(_, given)| *given == SqlType::Unknown)
}

/// What the placeholders of a function stand for in a call; `Err` when they cannot all stand for one type.
fn element_type(overload: &Overload, given: &[SqlType]) -> Result<Option<SqlType>, ()> {
    let mut element: Option<SqlType> = None;
    let mut has_placeholder = false;
    for (index, given) in given.iter().enumerate() {
        let asked = overload.argument(index);
        let is_array = matches!(asked, Type::Array | Type::CompatibleArray);
        if !is_array && !matches!(asked, Type::Element | Type::Compatible) {
            continue;
        }
        has_placeholder = true;
        if *given == SqlType::Unknown {
            continue;
        }
        let Some(one) = (if is_array { item_of(given) } else { Some(given.clone()) }) else { continue };
        element = Some(match element {
            None => one,
            Some(other) if matches!(asked, Type::Compatible | Type::CompatibleArray) => {
                common_type([&other, &one], "").map_err(|_| ())?
            }
            Some(other) if other == one => other,
            Some(other) if is_same(&other, &one) => without_parameters(&other),
            Some(_) => return Err(()),
        });
    }
    Ok(element.or_else(|| has_placeholder.then_some(SqlType::Text)))
}

fn resolved(overload: &'static Overload, given: &[SqlType]) -> Resolved {
    let element = element_type(overload, given).unwrap_or_default();
    let asked = |(index, given): (usize, &SqlType)| {
        let element = || element.clone().unwrap_or(SqlType::Text);
        match overload.argument(index) {
            Type::Any if *given == SqlType::Unknown => Asked::Type(SqlType::Text),
            Type::Any => Asked::Type(given.clone()),
            // Rows without a type have no fields.
            Type::Record if *given == SqlType::Unknown => {
                Asked::Type(SqlType::Record(RowType::of_fields(&Fields::empty())))
            }
            Type::Record => Asked::Type(given.clone()),
            Type::Char if matches!(given, SqlType::Char(_)) => Asked::Type(given.clone()),
            Type::Element | Type::Compatible => Asked::Exactly(element()),
            Type::Array | Type::CompatibleArray => Asked::Exactly(SqlType::Array(Box::new(element()))),
            concrete => Asked::Type(concrete.concrete().unwrap_or(SqlType::Text)),
        }
    };
    let asked = given.iter().enumerate().map(asked).collect();
    Resolved { overload, asked, element }
}

#[cfg(test)]
mod tests;

//! Which function a call means: PostgreSQL's rules for overloaded functions.
//!
//! "Typing of functions" in its manual. An argument that is a literal without a type fits any type; which one it is
//! taken for decides among the functions that are left.

use datafusion::common::ScalarValue;

use super::conversion::{Category, category, common, is_implicit, is_preferred, is_same};
use super::signature::{Overload, Type};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::types::SqlType;

/// What is known of an argument.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// `None` for a literal or parameter that nobody gave a type.
    pub sql_type: Option<SqlType>,
    pub constant: Option<ScalarValue>,
}

/// The function that a call means.
pub(super) struct Resolved {
    pub overload: &'static Overload,
    /// What each argument is converted to.
    pub arguments: Vec<SqlType>,
    /// What `anyelement` and its kin stand for.
    pub element: Option<SqlType>,
}

/// # Errors
/// 42883 when no function takes these arguments, 42725 when several do and none is better than the others.
pub(super) fn resolve(name: &str, overloads: &[&'static Overload], given: &[Given]) -> SqlResult<Resolved> {
    let takers = overloads.iter().copied().filter(|o| o.takes(given.len()) && fits(o, given));
    let mut candidates: Vec<(&'static Overload, Option<SqlType>)> =
        takers.filter_map(|o| Some((o, element_type(o, given).ok()?))).collect();
    if candidates.is_empty() {
        return Err(missing(name, given));
    }
    let exact: Vec<usize> = candidates.iter().map(|(o, _)| count(o, given, is_exact)).collect();
    if let Some(all) = exact.iter().position(|n| *n == given.len()) {
        let (overload, element) = candidates.swap_remove(all);
        return Ok(resolved(overload, element, given));
    }
    keep_best(&mut candidates, |o| count(o, given, is_exact));
    keep_best(&mut candidates, |o| count(o, given, |asked, has| is_exact(asked, has) || leans_to(asked, has)));
    if candidates.len() > 1 {
        keep_for_literals(&mut candidates, given);
    }
    if candidates.len() > 1 {
        keep_for_one_type(&mut candidates, given);
    }
    match candidates.pop() {
        Some((overload, element)) if candidates.is_empty() => Ok(resolved(overload, element, given)),
        _ => Err(ambiguous(name, given)),
    }
}

/// No function of this name takes such arguments (42883).
pub(super) fn missing(name: &str, given: &[Given]) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedFunction, format!("function {} does not exist", call_text(name, given)))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

fn ambiguous(name: &str, given: &[Given]) -> Box<SqlError> {
    SqlError::new(ErrorKind::AmbiguousFunction, format!("function {} is not unique", call_text(name, given)))
        .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

fn call_text(name: &str, given: &[Given]) -> String {
    // What its users call it.
    let name = if name == "unnest_items" { "unnest" } else { name };
    let types: Vec<String> =
        given.iter().map(|g| g.sql_type.as_ref().map_or("unknown".to_owned(), type_name)).collect();
    format!("{name}({})", types.join(", "))
}

/// A type without its parameters, as messages about functions name it.
fn type_name(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Numeric(_) => "numeric".to_owned(),
        SqlType::Varchar(_) => "character varying".to_owned(),
        SqlType::Char(_) => "character".to_owned(),
        SqlType::Array(item) => format!("{}[]", type_name(item)),
        other => other.to_string(),
    }
}

fn fits(overload: &Overload, given: &[Given]) -> bool {
    given.iter().enumerate().all(|(index, given)| {
        let asked = overload.argument(index);
        match (&given.sql_type, asked.concrete()) {
            (None, _) => true,
            (Some(has), Some(asked)) => is_implicit(has, &asked),
            (Some(has), None) => match asked {
                Type::Array | Type::CompatibleArray => item_of(has).is_some(),
                _ => true,
            },
        }
    })
}

/// The items' type of an array.
pub(super) fn item_of(sql_type: &SqlType) -> Option<SqlType> {
    match sql_type {
        SqlType::Array(item) => Some((**item).clone()),
        SqlType::Int2Vector => Some(SqlType::Int2),
        SqlType::OidVector => Some(SqlType::Oid),
        _ => None,
    }
}

/// What the placeholders of a function stand for in a call; `Err` when they cannot all stand for one type.
fn element_type(overload: &Overload, given: &[Given]) -> Result<Option<SqlType>, ()> {
    let mut element: Option<SqlType> = None;
    let mut has_placeholder = false;
    for (index, given) in given.iter().enumerate() {
        let asked = overload.argument(index);
        let is_array = matches!(asked, Type::Array | Type::CompatibleArray);
        if !is_array && !matches!(asked, Type::Element | Type::Compatible) {
            continue;
        }
        has_placeholder = true;
        let Some(has) = &given.sql_type else { continue };
        let Some(one) = (if is_array { item_of(has) } else { Some(has.clone()) }) else { continue };
        element = match element {
            None => Some(one),
            Some(other) if matches!(asked, Type::Compatible | Type::CompatibleArray) => {
                Some(common(&other, &one).ok_or(())?)
            }
            Some(other) if is_same(&other, &one) => Some(other),
            Some(_) => return Err(()),
        };
    }
    Ok(element.or_else(|| has_placeholder.then_some(SqlType::Text)))
}

fn count(overload: &Overload, given: &[Given], counts: fn(&SqlType, &SqlType) -> bool) -> usize {
    let fitting = given.iter().enumerate().filter(|(index, given)| {
        match (&given.sql_type, overload.argument(*index).concrete()) {
            (Some(has), Some(asked)) => counts(&asked, has),
            _ => false,
        }
    });
    fitting.count()
}

fn is_exact(asked: &SqlType, has: &SqlType) -> bool {
    is_same(asked, has)
}

fn leans_to(asked: &SqlType, has: &SqlType) -> bool {
    is_preferred(asked) && category(asked) == category(has)
}

fn keep_best<E>(candidates: &mut Vec<(&'static Overload, E)>, score: impl Fn(&Overload) -> usize) {
    let best = candidates.iter().map(|(o, _)| score(o)).max().unwrap_or(0);
    candidates.retain(|(o, _)| score(o) == best);
}

/// Takes each literal for a type of one category: text if a candidate takes that, else what all of them agree on.
fn keep_for_literals<E>(candidates: &mut Vec<(&'static Overload, E)>, given: &[Given]) {
    let mut wanted: Vec<(usize, Category, bool)> = Vec::new();
    for index in (0..given.len()).filter(|i| given[*i].sql_type.is_none()) {
        let asked: Vec<SqlType> = candidates.iter().filter_map(|(o, _)| o.argument(index).concrete()).collect();
        let takes_text = asked.iter().any(|t| category(t) == Category::Text);
        let chosen = match asked.first() {
            _ if takes_text => Category::Text,
            Some(first) if asked.len() == candidates.len() && asked.iter().all(|t| category(t) == category(first)) => {
                category(first)
            }
            _ => return,
        };
        let has_preferred = asked.iter().any(|t| category(t) == chosen && is_preferred(t));
        wanted.push((index, chosen, has_preferred));
    }
    let suits = |overload: &Overload| {
        wanted.iter().all(|(index, chosen, has_preferred)| {
            let asked = overload.argument(*index).concrete();
            asked.is_some_and(|t| category(&t) == *chosen && (!has_preferred || is_preferred(&t)))
        })
    };
    if candidates.iter().any(|(o, _)| suits(o)) {
        candidates.retain(|(o, _)| suits(o));
    }
}

/// When all typed arguments have one type, takes the literals for that type too.
fn keep_for_one_type<E>(candidates: &mut Vec<(&'static Overload, E)>, given: &[Given]) {
    let mut types = given.iter().filter_map(|g| g.sql_type.as_ref());
    let Some(first) = types.next() else { return };
    if !types.all(|t| is_same(t, first)) || given.iter().all(|g| g.sql_type.is_some()) {
        return;
    }
    let suits = |overload: &Overload| {
        (0..given.len()).all(|i| overload.argument(i).concrete().is_none_or(|asked| is_implicit(first, &asked)))
    };
    if candidates.iter().filter(|(o, _)| suits(o)).count() == 1 {
        candidates.retain(|(o, _)| suits(o));
    }
}

fn resolved(overload: &'static Overload, element: Option<SqlType>, given: &[Given]) -> Resolved {
    let target = |(index, given): (usize, &Given)| {
        let asked = overload.argument(index);
        let own = || given.sql_type.clone().unwrap_or(SqlType::Text);
        let element = || element.clone().unwrap_or(SqlType::Text);
        match asked {
            Type::Numeric => numeric_of(given),
            Type::Any => own(),
            Type::Element | Type::Compatible => element(),
            Type::Array | Type::CompatibleArray => SqlType::Array(Box::new(element())),
            _ => asked.concrete().unwrap_or_else(own),
        }
    };
    let arguments = given.iter().enumerate().map(target).collect();
    Resolved { overload, arguments, element }
}

/// A `numeric` argument keeps its digits, and an integer has as many as its type.
fn numeric_of(given: &Given) -> SqlType {
    match &given.sql_type {
        Some(SqlType::Numeric(digits)) => SqlType::Numeric(*digits),
        Some(SqlType::Int2) => SqlType::Numeric(Some((5, 0))),
        Some(SqlType::Int4) => SqlType::Numeric(Some((10, 0))),
        Some(SqlType::Int8) => SqlType::Numeric(Some((19, 0))),
        _ => SqlType::Numeric(None),
    }
}

#[cfg(test)]
mod tests;

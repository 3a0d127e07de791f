//! WINDOW: its definitions, and windows that build on one of them. `OVER (w ROWS ...)` has the partitions and the order of `w`.

use sqlparser::ast::{Ident, NamedWindowDefinition, NamedWindowExpr, WindowSpec};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::{fold, quoted};

/// A definition, with what it has of another one. The names in it mean what they mean where it is used.
#[derive(Debug, Clone)]
pub(super) struct NamedWindow {
    name: String,
    spec: WindowSpec,
}

/// The definitions of a WINDOW clause. Those that build on others are spelled out in place.
///
/// # Errors
/// 42P20 for a name that is there twice and as [`extend`], 42704 for one that is not there before.
pub(super) fn defined(clause: &mut [NamedWindowDefinition]) -> SqlResult<Vec<NamedWindow>> {
    let mut known: Vec<NamedWindow> = Vec::with_capacity(clause.len());
    for NamedWindowDefinition(name, definition) in clause {
        let folded = fold(name);
        if known.iter().any(|window| window.name == folded) {
            return Err(refused(format!("window \"{folded}\" is already defined")));
        }
        *name = quoted(&folded);
        let spec = match definition {
            NamedWindowExpr::NamedWindow(other) => find(&known, other)?.spec.clone(),
            NamedWindowExpr::WindowSpec(spec) => {
                extend(&known, spec)?;
                spec.clone()
            }
        };
        *definition = NamedWindowExpr::WindowSpec(spec.clone());
        known.push(NamedWindow { name: folded, spec });
    }
    Ok(known)
}

/// The definition that an identifier means.
///
/// # Errors
/// 42704 when there is none.
fn find<'k>(known: &'k [NamedWindow], ident: &Ident) -> SqlResult<&'k NamedWindow> {
    let name = fold(ident);
    known
        .iter()
        .find(|window| window.name == name)
        .ok_or_else(|| SqlError::new(ErrorKind::UndefinedObject, format!("window \"{name}\" does not exist")))
}

/// The name of the definition that an identifier means, so that it is found whatever its case.
///
/// # Errors
/// As [`find`].
pub(super) fn name_of(known: &[NamedWindow], ident: &Ident) -> SqlResult<Ident> {
    find(known, ident).map(|window| quoted(&window.name))
}

/// Gives a window what it has of the definition it names: the partitions, and the order if it has none of its own.
///
/// # Errors
/// 42P20 where it says again what that says, and where that has a frame.
pub(super) fn extend(known: &[NamedWindow], spec: &mut WindowSpec) -> SqlResult<()> {
    let Some(base) = spec.window_name.take() else { return Ok(()) };
    let NamedWindow { name, spec: base } = find(known, &base)?;
    if !spec.partition_by.is_empty() {
        return Err(refused(format!("cannot override PARTITION BY clause of window \"{name}\"")));
    }
    if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        return Err(refused(format!("cannot override ORDER BY clause of window \"{name}\"")));
    }
    if base.window_frame.is_some() {
        let error = refused(format!("cannot copy window \"{name}\" because it has a frame clause"));
        let says_nothing = spec.order_by.is_empty() && spec.window_frame.is_none();
        return Err(match says_nothing {
            true => error.with_hint("Omit the parentheses in this OVER clause."),
            false => error,
        });
    }
    spec.partition_by.clone_from(&base.partition_by);
    if spec.order_by.is_empty() {
        spec.order_by.clone_from(&base.order_by);
    }
    Ok(())
}

fn refused(message: String) -> Box<SqlError> {
    SqlError::new(ErrorKind::Windowing, message)
}

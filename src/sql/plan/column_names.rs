//! Names of columns as statements spell them, and as they are stored.

use tablegate_bind::Identifier;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

/// The stored spelling of the column an identifier means.
///
/// # Errors
/// 42702 when several columns differ only in case and none is exact.
pub(crate) fn resolve_column<'a>(
    columns: impl Iterator<Item = &'a String> + Clone,
    ident: &Identifier,
) -> SqlResult<Option<&'a str>> {
    let folded = ident.folded();
    if let Some(exact) = columns.clone().find(|c| **c == folded) {
        return Ok(Some(exact));
    }
    if ident.is_quoted() {
        return Ok(None);
    }
    let mut candidates: Vec<&str> = columns.filter(|c| c.eq_ignore_ascii_case(&folded)).map(String::as_str).collect();
    candidates.sort_unstable();
    candidates.dedup();
    match candidates.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => Err(differ_in_case(&folded, several)),
    }
}

/// Columns that an unquoted name could mean.
fn differ_in_case(name: &str, columns: &[&str]) -> Box<SqlError> {
    SqlError::new(ErrorKind::AmbiguousColumn, format!("column reference \"{name}\" is ambiguous"))
        .with_hint(format!("Quote the name to say which one is meant: \"{}\".", columns.join("\", \"")))
}

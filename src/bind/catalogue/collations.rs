//! Collations by their names.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::oids::Oid;
use super::rows::{cells, number};

/// The collation of a name, by its parts.
///
/// # Errors
/// 42704 for an unknown one, 0A000 for that of a language.
pub(crate) fn named(parts: &[String]) -> SqlResult<Oid> {
    let found = |wanted: &str| rows().find(|(_, known)| *known == wanted).map(|(oid, _)| oid);
    let known = match parts {
        [name] => found(name),
        [schema, name] if schema == "pg_catalog" => found(name),
        _ => None,
    };
    known.ok_or_else(|| {
        let name = parts.join(".");
        if parts.last().is_some_and(|name| is_of_language(name)) {
            SqlError::not_supported(format!("collation \"{name}\""))
                .with_hint("Text is ordered by its bytes: leave COLLATE out, or write COLLATE \"C\".")
        } else {
            let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            SqlError::new(ErrorKind::UndefinedObject, message)
        }
    })
}

/// Its name as SQL prints it.
pub fn name(oid: Oid) -> Option<&'static str> {
    rows().find(|(known, _)| *known == oid).map(|(_, name)| name)
}

fn rows() -> impl Iterator<Item = (Oid, &'static str)> {
    cells("pg_collation", ["oid", "collname"]).map(|[oid, name]| (number(oid), name))
}

/// Whether a collation is that of a language, which a server may have: `en_US`, `de-x-icu`.
fn is_of_language(name: &str) -> bool {
    let language = name.split(['_', '-', '.']).next().unwrap_or_default();
    let is_short = matches!(language.len(), 2 | 3) && language.bytes().all(|b| b.is_ascii_lowercase());
    is_short || name == "unicode"
}

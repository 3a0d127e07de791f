//! Literals with their types: PostgreSQL's `get_const_expr`.

use crate::catalogue::Lookup;
use crate::catalogue::oids;
use crate::constant::printed;
use crate::expr::{ExprType, Literal};

/// A literal, with its type behind it where it would not be known otherwise.
pub(super) fn constant(lookup: Lookup<'_>, literal: &Literal, ty: ExprType, shows_type: bool) -> String {
    let label = || format!("::{}", lookup.type_with_modifier(ty.oid, ty.typmod));
    let Some(text) = printed(literal, ty.oid) else {
        return if shows_type { format!("NULL{}", label()) } else { "NULL".to_owned() };
    };
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let quoted = || format!("'{}'", text.replace('\'', "''"));
    let (shown, is_known) = match ty.oid {
        oids::INT4 if is_number => (text, true),
        oids::NUMERIC if is_number && text.contains(['.', 'e', 'E']) => (text, ty.typmod < 0),
        oids::BOOL => (if text == "t" { "true" } else { "false" }.to_owned(), true),
        oids::UNKNOWN => (quoted(), true),
        _ => (quoted(), false),
    };
    if is_known || !shows_type { shown } else { shown + &label() }
}

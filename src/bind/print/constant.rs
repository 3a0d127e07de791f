//! Literals with their types: PostgreSQL's `get_const_expr`.

use crate::catalogue::Lookup;
use crate::catalogue::oids;
use crate::constant::printed;
use crate::expr::{ExprType, Literal};

/// Whether a literal's type is written behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Never,
    /// Where it would not be known otherwise.
    IfNeeded,
    Always,
}

pub(super) fn constant(lookup: Lookup<'_>, literal: &Literal, ty: ExprType, shown: Label) -> String {
    let label = || format!("::{}", lookup.type_with_modifier(ty.oid, ty.typmod));
    let Some(text) = printed(literal, ty.oid) else {
        return if shown != Label::Never { format!("NULL{}", label()) } else { "NULL".to_owned() };
    };
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let quoted = || format!("'{}'", text.replace('\'', "''"));
    let (value, is_known) = match ty.oid {
        oids::INT4 if is_number => (text, true),
        oids::NUMERIC if is_number && text.contains(['.', 'e', 'E']) => (text, ty.typmod < 0),
        oids::BOOL => (if text == "t" { "true" } else { "false" }.to_owned(), true),
        oids::UNKNOWN => (quoted(), true),
        _ => (quoted(), false),
    };
    match shown {
        Label::Never => value,
        Label::IfNeeded if is_known => value,
        Label::IfNeeded | Label::Always => value + &label(),
    }
}

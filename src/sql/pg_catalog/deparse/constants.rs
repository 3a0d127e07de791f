//! Literals as PostgreSQL prints them once it knows their types.

use bytes::BytesMut;
use tablegate_types::input::parse_text;
use tablegate_types::output::{Style, TextColumn};
use tablegate_types::sql_type::SqlType;

use super::tree::Node;
use super::typing::{BOOL, INT4, INT8, NUMERIC, Ty};
use crate::pg_catalog::built_ins;
use crate::pg_catalog::objects::Objects;

/// A number as it stands in the text, with the type its size gives it.
pub(super) fn number(digits: &str, negative: bool) -> (Node, Ty) {
    let signed = if negative { format!("-{digits}") } else { digits.to_owned() };
    let (literal, oid) = match signed.parse::<i64>() {
        Ok(value) if i32::try_from(value).is_ok() => (value.to_string(), INT4),
        Ok(value) => (value.to_string(), INT8),
        Err(_) => (signed, NUMERIC),
    };
    (of_type(&literal, oid, -1), Ty::Of(oid))
}

/// A literal of this type, its value spelled as the type prints it.
pub(super) fn literal(text: &str, oid: u32, modifier: i32) -> Node {
    let printed = known_type(oid).and_then(|sql_type| canonical(text, &sql_type));
    of_type(printed.as_deref().unwrap_or(text), oid, modifier)
}

/// NULL, which has a type too.
pub(super) fn null(oid: u32) -> Node {
    Node::Constant { literal: "NULL".to_owned(), label: Some(type_name(oid, -1)) }
}

/// The name of a type as PostgreSQL prints it.
pub(super) fn type_name(oid: u32, modifier: i32) -> String {
    built_ins::format_type(&Objects::new(Vec::new(), Vec::new()), oid, Some(modifier.into()))
}

fn of_type(printed: &str, oid: u32, modifier: i32) -> Node {
    let plain = |literal: &str| Node::Constant { literal: literal.to_owned(), label: None };
    let is_bare = printed.starts_with(|c: char| c.is_ascii_digit());
    match oid {
        BOOL => plain(match printed {
            "t" => "true",
            "f" => "false",
            other => other,
        }),
        INT4 if is_bare => plain(printed),
        NUMERIC if is_bare && modifier < 0 => plain(printed),
        _ => {
            // PostgreSQL writes backslashes in quotes as they are where standard_conforming_strings is on.
            let literal = format!("'{}'", printed.replace('\'', "''"));
            Node::Constant { literal, label: Some(type_name(oid, modifier)) }
        }
    }
}

fn known_type(oid: u32) -> Option<SqlType> {
    let row = built_ins::type_by_oid(oid)?;
    match row.name {
        // Their padding and their digits are those of the text.
        "bpchar" | "numeric" => None,
        name => SqlType::of_typname(name),
    }
}

fn canonical(text: &str, sql_type: &SqlType) -> Option<String> {
    let value = parse_text(sql_type, text).ok()?.to_array().ok()?;
    let mut printed = BytesMut::new();
    TextColumn::new(&value, sql_type, &Style::PLAIN).write(0, &mut printed);
    String::from_utf8(printed.to_vec()).ok()
}

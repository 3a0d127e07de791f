//! `parse_ident`: a dotted name taken apart, strictly.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument};
use crate::pg_catalog::cells::Cell;

pub(super) const FUNCTIONS: &[Definition] =
    &[Definition::new("parse_ident", |_| SqlType::Array(Box::new(SqlType::Text)), parse_ident)];

fn parse_ident(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let text = argument(arguments, 0).as_text().unwrap_or_default();
    let strict = argument(arguments, 1).as_bool().unwrap_or(true);
    Ok(Cell::texts(&parts(&text, strict)?))
}

/// # Errors
/// 22023 for what is not a name, and for what stands behind one where that is not allowed.
fn parts(text: &str, strict: bool) -> SqlResult<Vec<String>> {
    let invalid = |detail: Option<String>| {
        let message = format!("string is not a valid identifier: \"{text}\"");
        let error = SqlError::new(ErrorKind::InvalidParameterValue, message);
        match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    };
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (part, behind) =
                quoted_part(quoted).ok_or_else(|| invalid(Some("String has unclosed double quotes.".to_owned())))?;
            if part.is_empty() {
                return Err(invalid(Some("Quoted identifier must not be empty.".to_owned())));
            }
            parts.push(part);
            rest = behind;
        } else {
            let starts = |c: char| c.is_alphabetic() || c == '_' || !c.is_ascii();
            let goes_on = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
            if !rest.starts_with(starts) {
                return Err(invalid(match (rest.chars().next(), parts.is_empty()) {
                    (Some('.'), _) => Some("No valid identifier before \".\".".to_owned()),
                    (_, false) => Some("No valid identifier after \".\".".to_owned()),
                    _ => None,
                }));
            }
            let end = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            parts.push(part.to_ascii_lowercase());
            rest = behind;
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start(),
            None if rest.is_empty() || !strict => return Ok(parts),
            None => return Err(invalid(None)),
        }
    }
}

/// What stands before the closing quote, and behind it.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let (before, behind) = rest.split_once('"')?;
        part.push_str(before);
        match behind.strip_prefix('"') {
            Some(behind) => {
                part.push('"');
                rest = behind;
            }
            None => return Some((part, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("\"A b\" . Foo", true).unwrap(), ["A b", "foo"]);
        assert_eq!(parts("\"x\"\"y\"", true).unwrap(), ["x\"y"]);
        assert_eq!(parts("a.b(int)", false).unwrap(), ["a", "b"]);
        for wrong in ["a..b", "a.b(", "", "1a", "\"a", "a."] {
            assert_eq!(parts(wrong, true).unwrap_err().kind, ErrorKind::InvalidParameterValue, "{wrong}");
        }
    }
}

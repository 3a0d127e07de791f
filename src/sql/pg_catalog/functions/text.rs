//! Functions that make text: quoting, `format`, sizes for people.

use super::{Definition, FunctionContext, argument, text};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::quoting;
use crate::sql::types::SqlType;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("quote_ident", text, |_, a| Ok(argument(a, 0).as_text().map(|t| quoting::quote_ident(&t)).into())),
    Definition::new("quote_literal", text, |_, a| Ok(argument(a, 0).as_text().map(|t| quote_literal(&t)).into())),
    Definition::new("quote_nullable", text, |_, a| Ok(literal_or_null(argument(a, 0)).into())).of_nulls(),
    Definition::new("format", text, format).of_nulls(),
    Definition::new("pg_size_pretty", text, size_pretty),
    Definition::new("catalog_char", |_| SqlType::InternalChar, first_character),
];

fn quote_literal(text: &str) -> String {
    let quoted = format!("'{}'", text.replace('\'', "''").replace('\\', "\\\\"));
    if text.contains('\\') { format!(" E{quoted}") } else { quoted }
}

fn literal_or_null(cell: &Cell) -> String {
    cell.as_text().map_or_else(|| "NULL".to_owned(), |t| quote_literal(&t))
}

/// `%s`, `%I`, `%L` and `%%`, in order or by number (`%1$s`).
fn format(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(template) = argument(arguments, 0).as_text() else { return Ok(Cell::Null) };
    let mut out = String::new();
    let mut next = 1;
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let numbered = after[digits..].strip_prefix('$').filter(|_| digits > 0);
        let mut spec = numbered.unwrap_or(after).chars();
        if let (Some(_), Ok(number)) = (numbered, after[..digits].parse()) {
            next = number;
        }
        match spec.next() {
            Some('%') => out.push('%'),
            Some(kind @ ('s' | 'I' | 'L')) => {
                let Some(value) = arguments.get(next) else { return Err(bad_format("too few arguments for format()")) };
                next += 1;
                match kind {
                    's' => out.push_str(&value.as_text().unwrap_or_default()),
                    'I' => out.push_str(&quoting::quote_ident(&value.as_text().unwrap_or_default())),
                    _ => out.push_str(&literal_or_null(value)),
                }
            }
            _ => return Err(bad_format("unrecognized format() type specifier")),
        }
        rest = spec.as_str();
    }
    out.push_str(rest);
    Ok(out.into())
}

fn bad_format(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

fn size_pretty(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    /// A unit is left behind at this many of it.
    const LIMIT: i64 = 10 * 1024;
    let Some(bytes) = argument(arguments, 0).as_int() else { return Ok(Cell::Null) };
    let mut size = bytes;
    for unit in ["bytes", "kB", "MB", "GB", "TB"] {
        if size.unsigned_abs() < LIMIT.unsigned_abs() {
            return Ok(format!("{size} {unit}").into());
        }
        size = size / 1024 + i64::from(size % 1024 >= 512);
    }
    Ok(format!("{size} PB").into())
}

fn first_character(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    Ok(argument(arguments, 0).as_text().map(|t| t.chars().take(1).collect::<String>()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_quotes_as_told() {
        let context = FunctionContext::for_tests(Vec::new());
        let done = |arguments: &[Cell]| format(&context, arguments).unwrap();
        assert_eq!(done(&["%I.%s %%".into(), "My".into(), "x".into()]), "\"My\".x %".into());
        assert_eq!(done(&["%2$L %1$L".into(), Cell::Null, "o'k".into()]), "'o''k' NULL".into());
        assert!(format(&context, &["%s".into()]).is_err());
    }

    #[test]
    fn sizes_are_short() {
        let context = FunctionContext::for_tests(Vec::new());
        for (bytes, shown) in [(0, "0 bytes"), (10_239, "10239 bytes"), (10_240, "10 kB"), (1 << 30, "1024 MB")] {
            assert_eq!(size_pretty(&context, &[bytes.into()]).unwrap(), shown.into());
        }
    }
}

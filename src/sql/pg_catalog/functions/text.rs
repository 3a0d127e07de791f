//! Functions that make text: sizes for people, first characters.

use super::{Definition, FunctionContext, argument, text};
use crate::sql::error::SqlResult;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::types::SqlType;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("pg_size_pretty", text, size_pretty),
    Definition::new("catalog_char", |_| SqlType::InternalChar, first_character),
];

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
    fn sizes_are_short() {
        let context = FunctionContext::for_tests(Vec::new());
        for (bytes, shown) in [(0, "0 bytes"), (10_239, "10239 bytes"), (10_240, "10 kB"), (1 << 30, "1024 MB")] {
            assert_eq!(size_pretty(&context, &[bytes.into()]).unwrap(), shown.into());
        }
    }
}

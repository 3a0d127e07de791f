//! Rows of the system catalogue that are the same in every database, as PostgreSQL 15 has them: built-in types,
//! functions, operators and what belongs to them, as columns.
//!
//! A file is read when a statement first asks for its relation, and what stays is one batch of columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use arrow::array::{ArrayRef, new_null_array};
use arrow::record_batch::RecordBatch;
use tablegate_types::built_in::RecordedFile;
use tablegate_types::error::SqlResult;
use tablegate_types::input::ColumnParser;

use super::layout::{Layout, LayoutColumn};

/// What COPY writes for NULL.
const NULL: &str = "\\N";

static BATCHES: LazyLock<HashMap<&'static str, OnceLock<RecordBatch>>> =
    LazyLock::new(|| RecordedFile::names().map(|name| (name, OnceLock::new())).collect());

/// Whether the relation has recorded rows.
pub(super) fn is_recorded(layout: &Layout) -> bool {
    BATCHES.contains_key(layout.name) && layout.kind == "r"
}

/// The recorded rows of a relation; `None` when it has none.
///
/// # Errors
/// None are expected: the files are part of the program, and a test reads each of them.
pub(super) fn batch(layout: &'static Layout) -> SqlResult<Option<RecordBatch>> {
    if !is_recorded(layout) {
        return Ok(None);
    }
    let Some(kept) = BATCHES.get(layout.name) else { return Ok(None) };
    if let Some(batch) = kept.get() {
        return Ok(Some(batch.clone()));
    }
    let Some(file) = RecordedFile::of(layout.name) else { return Ok(None) };
    let rows: Vec<Vec<&str>> = file.rows().collect();
    let column = |column: &LayoutColumn| column_of(column, file.position(column.name), &rows);
    let columns = layout.columns.iter().map(column).collect::<SqlResult<_>>()?;
    let batch = RecordBatch::try_new(layout.arrow.clone(), columns)?;
    Ok(Some(kept.get_or_init(|| batch).clone()))
}

fn column_of(column: &LayoutColumn, position: Option<usize>, rows: &[Vec<&'static str>]) -> SqlResult<ArrayRef> {
    let Some(position) = position else {
        return Ok(new_null_array(&column.sql_type.arrow(), rows.len()));
    };
    let mut parser = ColumnParser::new(&column.sql_type);
    for row in rows {
        let text = row.get(position).copied().unwrap_or(NULL);
        match unescaped(text) {
            None => parser.push(None)?,
            Some(text) => parser.push(Some(&text))?,
        }
    }
    Ok(parser.finish())
}

/// The text that COPY wrote so; `None` for NULL.
fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if text == NULL {
        return None;
    }
    if !text.contains('\\') {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pg_catalog::layout;

    #[test]
    fn every_recorded_file_is_read() {
        for name in RecordedFile::names() {
            let schema = if name.starts_with("sql_") { "information_schema" } else { "pg_catalog" };
            let batch = batch(layout::find(Some(schema), name).unwrap()).unwrap().unwrap();
            assert_eq!(batch.num_rows(), RecordedFile::of(name).unwrap().rows().count(), "{name}");
        }
    }

    #[test]
    fn escapes_are_those_of_copy() {
        assert_eq!(unescaped("a\\\\b\\n").as_deref(), Some("a\\b\n"));
        assert_eq!(unescaped(NULL), None);
    }
}

//! Text of rows: `(1,"a b",,t)`.

use std::fmt;

use arrow::array::{ArrayRef, AsArray};

use super::TextColumn;
use super::escape::{Escape, Mark};
use crate::sql_type::SqlType;
use crate::style::Style;

/// A column of rows: the columns of their fields.
pub(super) struct RecordCells<'a> {
    fields: Vec<TextColumn<'a>>,
}

impl<'a> RecordCells<'a> {
    /// `None` when the column is not one of rows.
    pub(super) fn new(array: &'a ArrayRef, style: Style) -> Option<Self> {
        let rows = array.as_struct_opt()?;
        let columns = rows.fields().iter().zip(rows.columns());
        let columns = columns.map(|(field, column)| TextColumn::new(column, &SqlType::declared_in(field), &style));
        Some(Self { fields: columns.collect() })
    }

    pub(super) fn write(&self, row: usize, mut out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_char('(')?;
        for (index, field) in self.fields.iter().enumerate() {
            if index > 0 {
                out.write_char(',')?;
            }
            // NULL is written as nothing.
            if field.is_null(row) {
                continue;
            }
            let mut look = Look::default();
            // An error says that it has seen enough.
            let _ = field.write_to(row, &mut (&mut look as &mut dyn fmt::Write));
            if look.needs_quotes() {
                out.write_char('"')?;
                field.write_to(row, &mut (&mut Escape { out, mark: Mark::Itself } as &mut dyn fmt::Write))?;
                out.write_char('"')?;
            } else {
                field.write_to(row, &mut out)?;
            }
        }
        out.write_char(')')
    }
}

/// Finds out whether a field must be quoted, without keeping it, and without looking further than it must.
#[derive(Default)]
struct Look {
    special: bool,
    some: bool,
}

impl Look {
    fn needs_quotes(&self) -> bool {
        self.special || !self.some
    }
}

impl fmt::Write for Look {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.some |= !text.is_empty();
        self.special |= text
            .bytes()
            .any(|byte| matches!(byte, b'"' | b'\\' | b'(' | b')' | b',' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c));
        if self.special { Err(fmt::Error) } else { Ok(()) }
    }
}

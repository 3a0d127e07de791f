//! Text form of values, as PostgreSQL 15 prints them.
//!
//! A [`TextColumn`] looks at a column's layout once; each cell is then written straight into the output, without a heap
//! object of its own.

mod bytea;
mod cells;
mod digits;
mod escape;
mod interval;
mod list;
mod number;
mod record;
mod shown_key;
mod stack;
mod temporal;
mod value;

use std::fmt;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use bytes::BytesMut;

use self::cells::Cells;
pub use self::digits::ShownDigits;
pub use self::interval::write_interval;
pub use self::number::{write_decimal, write_f64};
pub use self::shown_key::ShownKey;
pub use self::stack::StackText;

#[cfg(test)]
pub(crate) use self::temporal::write_timestamp;
pub use self::value::{padding, write_value};
use super::sql_type::SqlType;
pub use super::style::Style;

/// One column of a batch, ready to print cells.
pub struct TextColumn<'a> {
    cells: Cells<'a>,
    nulls: Option<NullBuffer>,
}

impl<'a> TextColumn<'a> {
    /// As a session writes it.
    pub fn new(array: &'a ArrayRef, sql_type: &SqlType, style: &Style) -> Self {
        Self { cells: Cells::new(array, sql_type, *style), nulls: array.logical_nulls() }
    }

    /// In the plain style, which does not depend on a session's settings.
    pub fn plain(array: &'a ArrayRef, sql_type: &SqlType) -> Self {
        Self::new(array, sql_type, &Style::PLAIN)
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends a cell's text. The cell is not NULL.
    pub fn write(&self, row: usize, out: &mut BytesMut) {
        // Writing to memory does not fail.
        let _ = self.write_to(row, out);
    }

    /// Writes a cell's text anywhere. The cell is not NULL.
    pub fn write_to(&self, row: usize, out: &mut impl fmt::Write) -> fmt::Result {
        self.cells.write(row, out)
    }

    fn cells(&self) -> &Cells<'a> {
        &self.cells
    }
}

#[cfg(test)]
mod tests;

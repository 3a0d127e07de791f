//! Text form of values, as PostgreSQL 15 prints them.
//!
//! A [`TextColumn`] looks at a column's layout once; each cell is then written straight into the output, without a heap
//! object of its own.

mod cells;
mod escape;
mod list;
mod number;
mod record;
mod stack;
mod temporal;

use std::fmt;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use bytes::BytesMut;

use self::cells::Cells;
pub(super) use self::number::write_decimal;
pub(super) use self::stack::StackText;
#[cfg(test)]
pub(super) use self::temporal::write_timestamp;
pub(super) use self::temporal::{civil_from_days, write_interval};
use super::types::SqlType;

/// The settings that change how values print.
#[derive(Debug, Clone, Default)]
pub struct OutputStyle {}

/// One column of a batch, ready to print cells.
pub struct TextColumn<'a> {
    cells: Cells<'a>,
    nulls: Option<NullBuffer>,
}

impl<'a> TextColumn<'a> {
    pub fn new(array: &'a ArrayRef, sql_type: &SqlType, _style: &OutputStyle) -> Self {
        Self::of(array, sql_type)
    }

    /// In the one style there is.
    pub(super) fn of(array: &'a ArrayRef, sql_type: &SqlType) -> Self {
        Self { cells: Cells::new(array, sql_type), nulls: array.logical_nulls() }
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
    pub(super) fn write_to(&self, row: usize, out: &mut impl fmt::Write) -> fmt::Result {
        self.cells.write(row, out)
    }

    fn cells(&self) -> &Cells<'a> {
        &self.cells
    }
}

#[cfg(test)]
mod tests;

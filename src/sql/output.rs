//! Text form of values, as PostgreSQL prints them.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::BytesMut;

use super::types::SqlType;

/// The settings that change how values print.
#[derive(Debug, Clone, Default)]
pub struct OutputStyle {}

/// One column of a batch, ready to print cells.
pub struct TextColumn<'a> {
    array: &'a ArrayRef,
    formatter: Option<ArrayFormatter<'a>>,
}

impl<'a> TextColumn<'a> {
    pub fn new(array: &'a ArrayRef, _sql_type: &SqlType, _style: &OutputStyle) -> Self {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        let formatter = ArrayFormatter::try_new(array.as_ref(), &OPTIONS).ok();
        Self { array, formatter }
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array.data_type() == &DataType::Null || self.array.is_null(row)
    }

    /// Appends a cell's text. The cell is not NULL.
    pub fn write(&self, row: usize, out: &mut BytesMut) {
        if let Some(booleans) = self.array.as_boolean_opt() {
            out.extend_from_slice(if booleans.value(row) { b"t" } else { b"f" });
        } else if let Some(formatter) = &self.formatter {
            // Writing to memory does not fail.
            let _ = write!(out, "{}", formatter.value(row));
        }
    }
}

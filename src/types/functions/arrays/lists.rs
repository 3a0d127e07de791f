//! Lists put together from items of other arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanBufferBuilder, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::interleave;
use arrow::datatypes::DataType;

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::SqlType;

/// The lists so far: which item of which array comes next.
pub(super) struct Lists<'a> {
    sources: Vec<&'a dyn Array>,
    picked: Vec<(usize, usize)>,
    /// Items in the lists that are complete.
    complete: usize,
    lengths: Vec<usize>,
    valid: BooleanBufferBuilder,
}

impl<'a> Lists<'a> {
    /// Lists of items of these arrays, which all have one type.
    pub fn of(sources: Vec<&'a dyn Array>, rows: usize) -> Self {
        Self {
            sources,
            picked: Vec::new(),
            complete: 0,
            lengths: Vec::with_capacity(rows),
            valid: BooleanBufferBuilder::new(rows),
        }
    }

    /// Adds items to the list being made.
    pub fn push(&mut self, source: usize, items: Range<usize>) {
        self.picked.extend(items.map(|item| (source, item)));
    }

    /// Ends a list.
    pub fn finish_list(&mut self) {
        self.end(true);
    }

    pub fn push_null(&mut self) {
        self.end(false);
    }

    fn end(&mut self, valid: bool) {
        self.lengths.push(self.picked.len() - self.complete);
        self.complete = self.picked.len();
        self.valid.append(valid);
    }

    /// # Errors
    /// XX000 when the type is not that of the items.
    pub fn finish(mut self, sql_type: &SqlType) -> SqlResult<ArrayRef> {
        let DataType::List(item) = sql_type.arrow() else {
            return Err(SqlError::new(ErrorKind::Internal, "a list was made for another type"));
        };
        let items = interleave(&self.sources, &self.picked)?;
        let nulls = NullBuffer::new(self.valid.finish());
        Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(self.lengths), items, Some(nulls))?))
    }
}

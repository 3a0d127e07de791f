//! Lists put together from items of other arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanBufferBuilder, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::interleave;
use arrow::datatypes::DataType;

use crate::allowance::Allowance;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::grown::Grown;
use crate::sql_type::SqlType;

/// The lists so far: which item of which array comes next.
pub(super) struct Lists<'a> {
    sources: Vec<&'a dyn Array>,
    picked: Grown<(usize, usize)>,
    /// Items in the lists that are complete.
    complete: usize,
    lengths: Vec<usize>,
    valid: BooleanBufferBuilder,
    /// About what an item of each source takes.
    item_bytes: Vec<usize>,
    /// What all items take.
    bytes: usize,
    allowance: Allowance,
}

impl<'a> Lists<'a> {
    /// Lists of items of these arrays, which all have one type.
    pub(super) fn of(sources: Vec<&'a dyn Array>, rows: usize) -> Self {
        let item_bytes = sources.iter().map(|source| {
            let bytes = source.to_data().get_slice_memory_size().unwrap_or_default();
            bytes / source.len().max(1)
        });
        Self {
            item_bytes: item_bytes.collect(),
            bytes: 0,
            allowance: Allowance::now(),
            sources,
            picked: Grown::new(),
            complete: 0,
            lengths: Vec::with_capacity(rows),
            valid: BooleanBufferBuilder::new(rows),
        }
    }

    /// Adds items to the list being made.
    ///
    /// # Errors
    /// 54000 or 53200 for more items than there is memory for.
    pub(super) fn push(&mut self, source: usize, items: Range<usize>) -> SqlResult<()> {
        self.count(source, items.len())?;
        self.picked.extend(items.map(|item| (source, item)))
    }

    /// Adds the same item so many times.
    ///
    /// # Errors
    /// As [`Lists::push`].
    pub(super) fn push_times(&mut self, source: usize, item: usize, times: usize) -> SqlResult<()> {
        self.count(source, times)?;
        self.picked.extend(std::iter::repeat_n((source, item), times))
    }

    fn count(&mut self, source: usize, items: usize) -> SqlResult<()> {
        self.bytes = self.bytes.saturating_add(items.saturating_mul(self.item_bytes[source]));
        self.allowance.check(self.bytes)
    }

    /// Ends a list.
    pub(super) fn finish_list(&mut self) {
        self.end(true);
    }

    pub(super) fn push_null(&mut self) {
        self.end(false);
    }

    fn end(&mut self, valid: bool) {
        self.lengths.push(self.picked.len() - self.complete);
        self.complete = self.picked.len();
        self.valid.append(valid);
    }

    /// # Errors
    /// XX000 when the type is not that of the items.
    pub(super) fn finish(mut self, sql_type: &SqlType) -> SqlResult<ArrayRef> {
        let DataType::List(item) = sql_type.arrow() else {
            return Err(SqlError::new(ErrorKind::Internal, "a list was made for another type"));
        };
        let items = interleave(&self.sources, &self.picked)?;
        let nulls = NullBuffer::new(self.valid.finish());
        Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(self.lengths), items, Some(nulls))?))
    }
}

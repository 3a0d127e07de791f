//! Rows as COPY's binary format has them: a header, tuples of fields with their lengths, an end.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use bytes::{BufMut, Bytes, BytesMut};
use tablegate_sql::outcome::{CopyChunk, ResultColumn};
use tablegate_types::error::SqlResult;

use super::SIGNATURE;
use crate::binary::{self, BinaryColumn, put_cell};

/// What a tuple begins with that is none: the end of the data.
const END: i16 = -1;
/// A piece ends with the tuple that reaches this.
const CHUNK_BYTES: usize = 64 * 1024;

/// Writes the tuples of one COPY.
pub(super) struct TupleWriter {
    columns: Arc<[ResultColumn]>,
    /// What goes before the next tuple.
    ahead: BytesMut,
}

/// Rows of one batch, and how far they are written.
pub(super) struct Tuples {
    arrays: Vec<ArrayRef>,
    rows: usize,
    next: usize,
}

impl TupleWriter {
    /// # Errors
    /// 0A000 for a column whose type has no binary form here.
    pub(super) fn new(columns: Arc<[ResultColumn]>) -> SqlResult<Self> {
        // References come as OIDs, which they are not laid out as.
        for column in columns.iter().filter(|column| !column.sql_type.is_of_references()) {
            let none: ArrayRef = arrow::array::new_empty_array(&column.sql_type.arrow());
            BinaryColumn::new(&none, &column.sql_type)?;
        }
        let mut ahead = BytesMut::from(SIGNATURE);
        // Flags, and the length of a header extension.
        ahead.put_i32(0);
        ahead.put_i32(0);
        Ok(Self { columns, ahead })
    }

    /// The tuples of a batch, none of them written yet.
    ///
    /// # Errors
    /// XX000 for values that are not of their column's type.
    pub(super) fn begin(&self, batch: &RecordBatch) -> SqlResult<Tuples> {
        let arrays = batch.columns().iter().zip(self.columns.iter());
        let arrays = arrays.map(|(array, column)| binary::normalised(array, &column.sql_type));
        Ok(Tuples { arrays: arrays.collect::<SqlResult<_>>()?, rows: batch.num_rows(), next: 0 })
    }

    /// The next tuples of a batch, about 64 KiB of them; `None` at its end.
    ///
    /// # Errors
    /// As [`TupleWriter::begin`].
    pub(super) fn chunk(&mut self, tuples: &mut Tuples) -> SqlResult<Option<CopyChunk>> {
        let cells = tuples.arrays.iter().zip(self.columns.iter());
        let cells = cells.map(|(array, column)| BinaryColumn::new(array, &column.sql_type));
        let cells: Vec<BinaryColumn<'_>> = cells.collect::<SqlResult<_>>()?;
        let count = i16::try_from(cells.len()).unwrap_or(i16::MAX);
        let (mut ends, mut rows) = (Vec::new(), 0);
        while tuples.next < tuples.rows && self.ahead.len() < CHUNK_BYTES {
            self.ahead.put_i16(count);
            for cell in &cells {
                put_cell(&mut self.ahead, cell.is_null(tuples.next), |out| cell.write(tuples.next, out));
            }
            ends.push(self.ahead.len());
            rows += 1;
            tuples.next += 1;
        }
        Ok((rows > 0).then(|| CopyChunk { data: self.ahead.split().freeze(), ends, rows }))
    }

    /// What ends the data, behind the header if there was no tuple.
    pub(super) fn end(mut self) -> Bytes {
        self.ahead.put_i16(END);
        self.ahead.freeze()
    }
}

//! COPY's binary format, which arrives in pieces cut anywhere, read into record batches.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use bytes::{Buf, BytesMut};
use tablegate_sql::session::{CopiedRows, InputRoom};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::SIGNATURE;
use super::tuple_column::TupleColumn;
use crate::error::Failure;

/// Rows that are handed on together.
const BATCH_ROWS: usize = 4_096;
/// Bytes of input after which a batch ends before that.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Longest field, in bytes: an entity holds 1 MiB, and the forms of values are some times that.
const FIELD_MAX_BYTES: usize = 32 * 1024 * 1024;
/// The flag of a format with OIDs, which no server writes any more.
const WITH_OIDS: i32 = 1 << 16;
/// Flags above these must be understood.
const OPTIONAL_FLAGS: i32 = 0xffff;

/// Reads the tuples of one COPY.
pub(super) struct TupleReader {
    table: Arc<str>,
    columns: Arc<[(String, SqlType)]>,
    schema: SchemaRef,
    reading: Reading,
    buffer: BytesMut,
    /// What the buffer may take.
    room: InputRoom,
    next: Expected,
    /// Number of the tuple under way, from 1.
    tuple: u64,
    /// The fields of complete tuples and of the one under way, by column.
    values: Vec<TupleColumn>,
    rows: usize,
    bytes: usize,
}

/// What comes next in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Signature,
    Flags,
    ExtensionLength,
    Extension(usize),
    Tuple,
    /// The length of the field of this column.
    Length(usize),
    Field(usize, usize),
    /// The end was read.
    Nothing,
}

/// Rows that were read, and how many bytes of input they took.
pub(super) type Read = (CopiedRows, usize);

impl TupleReader {
    pub(super) fn new(table: Arc<str>, columns: Arc<[(String, SqlType)]>, reading: Reading, room: InputRoom) -> Self {
        let fields: Vec<_> = columns.iter().map(|(name, sql_type)| sql_type.field(name, true)).collect();
        Self {
            table,
            schema: Arc::new(Schema::new(fields)),
            reading,
            buffer: BytesMut::new(),
            room,
            next: Expected::Signature,
            tuple: 0,
            values: columns.iter().map(|(_, sql_type)| TupleColumn::new(sql_type)).collect(),
            columns,
            rows: 0,
            bytes: 0,
        }
    }

    /// Takes a piece of input. [`TupleReader::full_batch`] is to be asked until it has no more.
    ///
    /// # Errors
    /// 53200 where a field is longer than there is memory for.
    pub(super) fn feed(&mut self, data: &[u8]) -> SqlResult<()> {
        // A buffer that grows is there twice for a moment.
        let needed = 2 * (self.buffer.len() + data.len());
        self.room.hold(needed).map_err(|error| self.placed(error))?;
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    /// Reads on; gives rows when there are enough for a batch, `None` when more input is needed.
    ///
    /// # Errors
    /// What is wrong with the input, with the place in it.
    pub(super) fn full_batch(&mut self) -> SqlResult<Option<Read>> {
        while self.step().map_err(|error| self.placed(error))? {
            if self.next == Expected::Tuple && (self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES) {
                return self.take().map(Some);
            }
        }
        Ok(None)
    }

    /// The input is complete: the rows that are left. An end that is missing is none to PostgreSQL either.
    ///
    /// # Errors
    /// 22P04 when it is cut short.
    pub(super) fn last_batch(&mut self) -> SqlResult<Read> {
        let cut = match self.next {
            Expected::Signature => "COPY file signature not recognized",
            Expected::Flags => "invalid COPY file header (missing flags)",
            Expected::ExtensionLength => "invalid COPY file header (missing length)",
            Expected::Extension(_) => "invalid COPY file header (wrong length)",
            Expected::Length(_) | Expected::Field(..) => "unexpected EOF in COPY data",
            Expected::Tuple | Expected::Nothing => return self.take(),
        };
        Err(self.placed(bad_format(cut)))
    }

    /// Reads the next part, if all of it has arrived.
    fn step(&mut self) -> SqlResult<bool> {
        match self.next {
            Expected::Signature => return self.signature(),
            Expected::Flags => {
                let Some(flags) = self.int4() else { return Ok(false) };
                check_flags(flags)?;
                self.next = Expected::ExtensionLength;
            }
            Expected::ExtensionLength => {
                let Some(length) = self.int4() else { return Ok(false) };
                let length = usize::try_from(length);
                let length = length.map_err(|_| bad_format("invalid COPY file header (missing length)"))?;
                self.next = Expected::Extension(length);
            }
            Expected::Extension(left) => {
                let here = left.min(self.buffer.len());
                self.buffer.advance(here);
                self.next = if left == here { Expected::Tuple } else { Expected::Extension(left - here) };
                return Ok(left == here);
            }
            Expected::Tuple => return self.tuple(),
            Expected::Length(column) => {
                let Some(length) = self.int4() else { return Ok(false) };
                return self.length(column, length).map(|()| true);
            }
            Expected::Field(column, length) => {
                if self.buffer.len() < length {
                    return Ok(false);
                }
                self.bytes += length;
                self.push(column, Some(length))?;
            }
            Expected::Nothing if self.buffer.is_empty() => return Ok(false),
            Expected::Nothing => return Err(bad_format("received copy data after EOF marker")),
        }
        Ok(true)
    }

    fn signature(&mut self) -> SqlResult<bool> {
        let here = self.buffer.len().min(SIGNATURE.len());
        if self.buffer[..here] != SIGNATURE[..here] {
            return Err(bad_format("COPY file signature not recognized"));
        }
        if here < SIGNATURE.len() {
            return Ok(false);
        }
        self.buffer.advance(here);
        self.next = Expected::Flags;
        Ok(true)
    }

    fn tuple(&mut self) -> SqlResult<bool> {
        if self.buffer.len() < 2 {
            return Ok(false);
        }
        self.tuple += 1;
        let fields = self.buffer.get_i16();
        self.bytes += 2;
        if fields == -1 {
            self.next = Expected::Nothing;
            return Ok(true);
        }
        let expected = self.columns.len();
        if usize::try_from(fields) != Ok(expected) {
            return Err(bad_format(format!("row field count is {fields}, expected {expected}")));
        }
        self.expect_field(0);
        Ok(true)
    }

    fn length(&mut self, column: usize, length: i32) -> SqlResult<()> {
        self.bytes += 4;
        match usize::try_from(length) {
            Ok(length) if length > FIELD_MAX_BYTES => {
                Err(SqlError::new(ErrorKind::LimitExceeded, "a field of the COPY input is too long")
                    .with_detail(format!("At most {FIELD_MAX_BYTES} bytes are read as one field.")))
            }
            Ok(length) => {
                self.next = Expected::Field(column, length);
                Ok(())
            }
            Err(_) if length == -1 => self.push(column, None),
            Err(_) => Err(bad_format("invalid field size")),
        }
    }

    /// Takes the field of a column, which is so long; `None` is NULL.
    fn push(&mut self, column: usize, length: Option<usize>) -> SqlResult<()> {
        let (_, sql_type) = &self.columns[column];
        let field = length.map(|length| &self.buffer[..length]);
        self.values[column].push(sql_type, field, self.reading).map_err(|failure| match failure {
            Failure::Sql(mut error) => {
                error.context = None;
                error
            }
            other => SqlError::new(ErrorKind::Internal, format!("{other:?}")),
        })?;
        self.buffer.advance(length.unwrap_or(0));
        self.expect_field(column + 1);
        Ok(())
    }

    /// The field of this column is next, or the tuple is complete.
    fn expect_field(&mut self, column: usize) {
        self.next = if column < self.columns.len() {
            Expected::Length(column)
        } else {
            self.rows += 1;
            Expected::Tuple
        };
    }

    fn int4(&mut self) -> Option<i32> {
        (self.buffer.len() >= 4).then(|| self.buffer.get_i32())
    }

    fn take(&mut self) -> SqlResult<Read> {
        let arrays =
            self.values.iter_mut().zip(self.columns.iter()).map(|(values, (_, sql_type))| values.take(sql_type));
        let arrays = arrays.collect::<SqlResult<Vec<ArrayRef>>>()?;
        let rows = std::mem::take(&mut self.rows);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?;
        let ended = u64::from(self.next == Expected::Nothing);
        let first = (self.tuple + 1 - ended).saturating_sub(u64::try_from(rows).unwrap_or(0));
        Ok((CopiedRows::numbered(batch, first), std::mem::take(&mut self.bytes)))
    }

    /// The error with its CONTEXT. What is wrong with the header has none.
    fn placed(&self, error: Box<SqlError>) -> Box<SqlError> {
        let column = match self.next {
            Expected::Signature | Expected::Flags | Expected::ExtensionLength | Expected::Extension(_) => return error,
            Expected::Tuple | Expected::Nothing => None,
            Expected::Length(column) | Expected::Field(column, _) => self.columns.get(column),
        };
        let (table, tuple) = (&self.table, self.tuple);
        match column {
            Some((name, _)) => {
                error.for_column(name).with_context(format!("COPY {table}, line {tuple}, column {name}"))
            }
            None => error.with_context(format!("COPY {table}, line {tuple}")),
        }
    }
}

fn check_flags(flags: i32) -> SqlResult<()> {
    if flags & WITH_OIDS != 0 {
        return Err(bad_format("invalid COPY file header (WITH OIDS)"));
    }
    if flags & !OPTIONAL_FLAGS != 0 {
        return Err(bad_format("unrecognized critical flags in COPY file header"));
    }
    Ok(())
}

fn bad_format(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::BadCopyFileFormat, message)
}

#[cfg(test)]
mod tests;

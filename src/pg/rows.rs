//! Rows on their way to a client: record batches become DataRow messages, a piece at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use bytes::{BufMut, BytesMut};
use futures::StreamExt;
use tablegate_sql::outcome::{ResultColumn, RowStream, Rows, RowsTag, SingleRow, Value};
use tablegate_sql::session::Session;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::oid;
use tablegate_types::output::{Style, TextColumn, write_value};

use super::binary::{self, BinaryColumn, put_cell};
use super::error::{Failure, without_nul};
use super::frame::FrameReader;
use super::halt::{Halt, Interrupts};
use super::outbox::Outbox;
use super::params::Format;

/// Most columns of a result, as in PostgreSQL.
const MAX_COLUMNS: usize = 1664;
/// How long rows are written without a pause for other clients: one that reads as fast as they come keeps the thread.
const TURN: Duration = Duration::from_millis(1);

/// Appends what describes a result: RowDescription, or NoData for none. Columns without a format are text.
///
/// # Errors
/// When it is too long for a message.
pub(super) fn describe(
    columns: Option<&[ResultColumn]>,
    formats: impl Iterator<Item = Format>,
    outbox: &mut Outbox,
) -> Result<(), Failure> {
    let Some(columns) = columns else {
        outbox.send_bare(b'n');
        return Ok(());
    };
    let out = outbox.open(b'T');
    out.put_i16(i16::try_from(columns.len()).unwrap_or(i16::MAX));
    for (column, format) in columns.iter().zip(formats.chain(std::iter::repeat(Format::Text))) {
        match column.name.contains('\0') {
            false => out.put_slice(column.name.as_bytes()),
            true => out.put_slice(without_nul(&column.name).as_bytes()),
        }
        out.put_u8(0);
        let (oid, size) = oid::oid_and_size(&column.sql_type);
        out.put_u32(column.table_oid);
        out.put_i16(column.attribute);
        out.put_u32(oid);
        out.put_i16(size);
        out.put_i32(if column.is_declared { oid::modifier(&column.sql_type) } else { -1 });
        out.put_i16(format.code());
    }
    outbox.close()
}

/// Appends a row of a statement that reads one by its key.
pub(super) fn write_single(
    row: &SingleRow,
    formats: &[Format],
    style: &Style,
    outbox: &mut Outbox,
) -> Result<(), Failure> {
    let values = row.values();
    let out = outbox.open(b'D');
    out.put_i16(i16::try_from(values.len()).unwrap_or(i16::MAX));
    for (value, format) in values.zip(formats) {
        put_cell(out, value == Value::Null, |out| match format {
            Format::Text => write_value(value, style, out),
            Format::Binary => binary::put_value(value, out),
        });
    }
    outbox.close()?;
    outbox.count_rows(1);
    Ok(())
}

/// # Errors
/// 54011 for a result too wide for the protocol's clients.
pub(super) fn check_width(columns: Option<&[ResultColumn]>) -> SqlResult<()> {
    if columns.is_none_or(|columns| columns.len() <= MAX_COLUMNS) {
        return Ok(());
    }
    let message = format!("target lists can have at most {MAX_COLUMNS} entries");
    Err(SqlError::new(ErrorKind::TooManyColumns, message))
}

/// How a sending of rows came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub rows: u64,
    /// False when the limit was reached first.
    pub complete: bool,
}

/// Rows of a running statement, and how far they have been sent.
pub(super) struct Cursor {
    columns: Arc<[ResultColumn]>,
    formats: Vec<Format>,
    stream: RowStream,
    pub tag: RowsTag,
    style: Style,
    batch: Option<Batch>,
}

/// A batch that is being sent.
struct Batch {
    arrays: Vec<ArrayRef>,
    rows: usize,
    next: usize,
}

/// What is needed to send, and to stop sending.
pub(super) struct Sending<'a> {
    pub reader: &'a mut FrameReader,
    pub outbox: &'a mut Outbox,
    pub interrupts: &'a Interrupts,
}

impl Cursor {
    /// `formats` has one for each column.
    ///
    /// # Errors
    /// As [`Session::with_oids`].
    pub(crate) async fn new(session: &mut Session, rows: Rows, formats: Vec<Format>) -> SqlResult<Self> {
        let Rows { columns, stream, tag } = rows;
        let is_binary = |column: usize| formats.get(column) == Some(&Format::Binary);
        let stream = session.with_oids(&columns, is_binary, stream).await?;
        Ok(Self { columns, formats, stream, tag, style: session.output_style(), batch: None })
    }

    /// Sends rows until they end or `limit` of them are sent.
    pub(crate) async fn send(&mut self, to: &mut Sending<'_>, limit: Option<u64>) -> Result<Sent, Halt> {
        let mut rows = 0;
        let mut began = Instant::now();
        loop {
            if limit.is_some_and(|limit| rows >= limit) {
                return Ok(Sent { rows, complete: false });
            }
            let Some(batch) = &mut self.batch else {
                match to.interrupts.guard(to.reader, self.stream.next()).await? {
                    None => return Ok(Sent { rows, complete: true }),
                    Some(batch) => self.batch = Some(Batch::new(&batch?, &self.columns, &self.formats)?),
                }
                continue;
            };
            let most = limit.map_or(usize::MAX, |limit| usize::try_from(limit - rows).unwrap_or(usize::MAX));
            let written = batch.write(&self.columns, &self.formats, &self.style, to.outbox, most)?;
            rows += u64::try_from(written).unwrap_or(u64::MAX);
            to.outbox.count_rows(written);
            if batch.next == batch.rows {
                self.batch = None;
            }
            if to.outbox.is_full() {
                to.interrupts.guard(to.reader, to.outbox.flush()).await??;
                if began.elapsed() >= TURN {
                    tokio::task::yield_now().await;
                    began = Instant::now();
                }
            }
        }
    }
}

impl Batch {
    fn new(batch: &RecordBatch, columns: &[ResultColumn], formats: &[Format]) -> SqlResult<Self> {
        if batch.num_columns() != columns.len() || formats.len() != columns.len() {
            let message = format!("{} columns were announced, {} came", columns.len(), batch.num_columns());
            return Err(SqlError::new(ErrorKind::Internal, message));
        }
        let arrays = batch.columns().iter().zip(columns).zip(formats).map(|((array, column), format)| match format {
            Format::Text => Ok(array.clone()),
            Format::Binary => binary::normalised(array, &column.sql_type),
        });
        Ok(Self { arrays: arrays.collect::<SqlResult<_>>()?, rows: batch.num_rows(), next: 0 })
    }

    /// Writes rows until the batch ends, the outbox is full or `most` are written; gives how many.
    fn write(
        &mut self,
        columns: &[ResultColumn],
        formats: &[Format],
        style: &Style,
        outbox: &mut Outbox,
        most: usize,
    ) -> Result<usize, Failure> {
        let writers = self.arrays.iter().zip(columns).zip(formats);
        let writers = writers.map(|((array, column), format)| Writer::new(array, column, *format, style));
        let writers: Vec<Writer<'_>> = writers.collect::<SqlResult<_>>()?;
        let count = i16::try_from(writers.len()).unwrap_or(i16::MAX);
        let from = self.next;
        while self.next < self.rows && self.next - from < most && !outbox.is_full() {
            let out = outbox.open(b'D');
            out.put_i16(count);
            for writer in &writers {
                writer.put(self.next, out);
            }
            outbox.close()?;
            self.next += 1;
        }
        Ok(self.next - from)
    }
}

/// One column of a batch, in the form the client asked for.
enum Writer<'a> {
    Text(TextColumn<'a>),
    Binary(BinaryColumn<'a>),
}

impl<'a> Writer<'a> {
    fn new(array: &'a ArrayRef, column: &ResultColumn, format: Format, style: &Style) -> SqlResult<Self> {
        match format {
            Format::Text => Ok(Writer::Text(TextColumn::new(array, &column.sql_type, style))),
            Format::Binary => BinaryColumn::new(array, &column.sql_type).map(Writer::Binary),
        }
    }

    fn put(&self, row: usize, out: &mut BytesMut) {
        match self {
            Writer::Text(column) => put_cell(out, column.is_null(row), |out| column.write(row, out)),
            Writer::Binary(column) => put_cell(out, column.is_null(row), |out| column.write(row, out)),
        }
    }
}

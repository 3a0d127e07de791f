//! COPY: the client's data goes to the session as it comes, the session's data to the client as it is made.

mod tuple_column;
mod tuple_reader;
mod tuple_writer;

use std::time::{Duration, Instant};

use futures::StreamExt;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};
use tablegate_sql::outcome::{CommandTag, CopyChunk, CopyContent, CopyFormat, CopyIn, CopyOut, CopyProgress};
use tablegate_sql::session::Position;
use tablegate_types::error::{ErrorKind, SqlResult};

use self::tuple_reader::TupleReader;
use self::tuple_writer::TupleWriter;
use super::Connection;
use crate::body;
use crate::error::Failure;
use crate::frame::Frame;
use crate::halt::Halt;

/// A client that sends as fast as its rows are read gives way to others after so long: they are heard between two turns.
const TURN: Duration = Duration::from_millis(1);
/// What the binary format begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// COPY FROM STDIN: takes data until the client says that it is done. `position` is asked then, because only then is
/// known what follows.
pub(super) async fn receive(
    connection: &mut Connection,
    start: &CopyIn,
    position: impl FnOnce(&mut Connection) -> Position,
) -> Result<CommandTag, Halt> {
    let (format, columns, formats) = shape(start.format, start.columns.len());
    connection.outbox.send(&PgWireBackendMessage::CopyInResponse(CopyInResponse::new(format, columns, formats)));
    connection.flush().await?;
    let mut tuples = match start.format {
        CopyFormat::Textual => None,
        CopyFormat::Binary => {
            let reading = connection.session.reading();
            let room = connection.session.input_room();
            Some(TupleReader::new(start.table.clone(), start.columns.clone(), reading, room))
        }
    };
    let mut turn = Instant::now();
    loop {
        if turn.elapsed() >= TURN {
            tokio::task::yield_now().await;
            turn = Instant::now();
        }
        let frame = tokio::select! {
            biased;
            halt = connection.interrupts.stopped() => return Err(halt),
            frame = connection.reader.frame() => frame?,
        };
        match frame {
            Frame::CopyData => take_data(connection, tuples.as_mut()).await?,
            Frame::Message { tag: b'c', .. } => break,
            Frame::Message { tag: b'f', body } => {
                connection.session.copy_abort().await;
                let reason = body::copy_fail(body)?;
                let message = format!("COPY from stdin failed: {reason}");
                return Err(Failure::sql(ErrorKind::QueryCanceled, message).into());
            }
            // Clients of the extended protocol may have sent these along with the Execute.
            Frame::Message { tag: b'H' | b'S', .. } => {}
            Frame::Message { tag: b'X', .. } => return Err(Halt::Gone),
            Frame::Message { tag, .. } => {
                let message = format!("unexpected message type 0x{tag:02X} during COPY from stdin");
                return Err(Failure::protocol(message).into());
            }
        }
    }
    if let Some(tuples) = &mut tuples {
        let (rows, bytes) = match tuples.last_batch() {
            Ok(batch) => batch,
            Err(error) => return Err(connection.session.copy_error(error).await.into()),
        };
        let work = connection.session.copy_rows(rows, bytes);
        connection.interrupts.guard(&mut connection.reader, work).await??;
    }
    let position = position(connection);
    let work = connection.session.copy_done(position);
    Ok(connection.interrupts.guard(&mut connection.reader, work).await??)
}

/// COPY TO STDOUT.
pub(super) async fn send(connection: &mut Connection, out: CopyOut) -> Result<CommandTag, Halt> {
    let CopyOut { columns, content, progress } = out;
    let format = match &content {
        CopyContent::Lines(_) => CopyFormat::Textual,
        CopyContent::Rows(_) => CopyFormat::Binary,
    };
    let (format, count, formats) = shape(format, columns.len());
    let response = PgWireBackendMessage::CopyOutResponse(CopyOutResponse::new(format, count, formats));
    let mut sending = Sending { progress, rows: 0 };
    match content {
        CopyContent::Lines(mut chunks) => {
            connection.outbox.send(&response);
            while let Some(chunk) = next(connection, &mut chunks).await? {
                sending.chunk(connection, chunk).await?;
            }
        }
        CopyContent::Rows(batches) => {
            let mut batches = connection.session.with_oids(&columns, |_every| true, batches).await?;
            let mut writer = TupleWriter::new(columns)?;
            connection.outbox.send(&response);
            while let Some(batch) = next(connection, &mut batches).await? {
                let mut tuples = writer.begin(&batch)?;
                while let Some(chunk) = writer.chunk(&mut tuples)? {
                    sending.chunk(connection, chunk).await?;
                }
            }
            send_data(connection, &writer.end())?;
        }
    }
    connection.outbox.send(&PgWireBackendMessage::CopyDone(CopyDone::new()));
    Ok(CommandTag::Counted("COPY", sending.rows))
}

/// A COPY TO STDOUT whose rows are being sent.
struct Sending {
    progress: CopyProgress,
    rows: u64,
}

impl Sending {
    async fn chunk(&mut self, connection: &mut Connection, chunk: CopyChunk) -> Result<(), Halt> {
        let mut start = 0;
        for end in chunk.ends {
            send_data(connection, &chunk.data[start..end])?;
            start = end;
        }
        self.progress.add_bytes(chunk.data.len());
        self.progress.add_rows(chunk.rows);
        self.rows += chunk.rows;
        if connection.outbox.is_full() {
            connection.interrupts.guard(&mut connection.reader, connection.outbox.flush()).await??;
        }
        Ok(())
    }
}

/// The next item of a COPY's output, unless it is stopped.
async fn next<T>(
    connection: &mut Connection,
    stream: &mut (impl futures::Stream<Item = SqlResult<T>> + Unpin),
) -> Result<Option<T>, Halt> {
    let next = connection.interrupts.guard(&mut connection.reader, stream.next()).await?;
    Ok(next.transpose()?)
}

fn send_data(connection: &mut Connection, data: &[u8]) -> Result<(), Halt> {
    connection.outbox.open(b'd').extend_from_slice(data);
    Ok(connection.outbox.close()?)
}

/// Hands one CopyData message to the session, in the pieces it arrives in.
async fn take_data(connection: &mut Connection, mut tuples: Option<&mut TupleReader>) -> Result<(), Halt> {
    loop {
        let piece = tokio::select! {
            biased;
            halt = connection.interrupts.stopped() => return Err(halt),
            piece = connection.reader.copy_piece() => piece?,
        };
        let Some(piece) = piece else { return Ok(()) };
        let Some(tuples) = &mut tuples else {
            let work = connection.session.copy_data(&piece);
            connection.interrupts.guard(&mut connection.reader, work).await??;
            continue;
        };
        if let Err(error) = tuples.feed(&piece) {
            return Err(connection.session.copy_error(error).await.into());
        }
        loop {
            let (rows, bytes) = match tuples.full_batch() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => return Err(connection.session.copy_error(error).await.into()),
            };
            let work = connection.session.copy_rows(rows, bytes);
            connection.interrupts.guard(&mut connection.reader, work).await??;
        }
    }
}

/// The overall format, the number of columns, and the format of each.
fn shape(format: CopyFormat, columns: usize) -> (i8, i16, Vec<i16>) {
    let code = match format {
        CopyFormat::Textual => 0,
        CopyFormat::Binary => 1,
    };
    let columns = i16::try_from(columns).unwrap_or(i16::MAX);
    (code, columns, vec![i16::from(code); usize::try_from(columns).unwrap_or(0)])
}

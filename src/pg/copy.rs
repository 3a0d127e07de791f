//! COPY: the client's data goes to the session as it comes, the session's data to the client as it is made.

use futures::StreamExt;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyData, CopyDone, CopyInResponse, CopyOutResponse};

use super::body;
use super::connection::Connection;
use super::error::Failure;
use super::frame::Frame;
use super::halt::Halt;
use crate::sql::error::ErrorKind;
use crate::sql::outcome::{CommandTag, CopyFormat, CopyIn, CopyOut};
use crate::sql::session::Position;

/// COPY FROM STDIN: takes data until the client says that it is done. `position` is asked then, because only then is
/// known what follows.
pub(super) async fn receive(
    connection: &mut Connection,
    start: &CopyIn,
    position: impl FnOnce(&mut Connection) -> Position,
) -> Result<CommandTag, Halt> {
    let (format, columns, formats) = shape(start.format, start.columns);
    connection.outbox.send(&PgWireBackendMessage::CopyInResponse(CopyInResponse::new(format, columns, formats)));
    connection.flush().await?;
    loop {
        let frame = tokio::select! {
            biased;
            halt = connection.interrupts.stopped() => return Err(halt),
            frame = connection.reader.frame() => frame?,
        };
        match frame {
            Frame::CopyData => take_data(connection).await?,
            Frame::Message { tag: b'c', .. } => break,
            Frame::Message { tag: b'f', body } => {
                connection.session.copy_abort();
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
    let position = position(connection);
    let work = connection.session.copy_done(position);
    Ok(connection.interrupts.guard(&mut connection.reader, work).await??)
}

/// COPY TO STDOUT.
pub(super) async fn send(connection: &mut Connection, mut out: CopyOut) -> Result<CommandTag, Halt> {
    let (format, columns, formats) = shape(out.format, out.columns);
    connection.outbox.send(&PgWireBackendMessage::CopyOutResponse(CopyOutResponse::new(format, columns, formats)));
    let mut rows = 0;
    loop {
        let next = connection.interrupts.guard(&mut connection.reader, out.stream.next()).await?;
        let Some(chunk) = next.transpose()? else { break };
        rows += chunk.rows;
        let mut start = 0;
        for end in chunk.ends {
            let line = chunk.data.slice(start..end);
            connection.outbox.send(&PgWireBackendMessage::CopyData(CopyData::new(line)));
            start = end;
        }
        if connection.outbox.is_full() {
            connection.interrupts.guard(&mut connection.reader, connection.outbox.flush()).await??;
        }
    }
    connection.outbox.send(&PgWireBackendMessage::CopyDone(CopyDone::new()));
    Ok(CommandTag::Counted("COPY", rows))
}

/// Hands one CopyData message to the session, in the pieces it arrives in.
async fn take_data(connection: &mut Connection) -> Result<(), Halt> {
    loop {
        let piece = tokio::select! {
            biased;
            halt = connection.interrupts.stopped() => return Err(halt),
            piece = connection.reader.copy_piece() => piece?,
        };
        let Some(piece) = piece else { return Ok(()) };
        let work = connection.session.copy_data(&piece);
        connection.interrupts.guard(&mut connection.reader, work).await??;
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

//! Client messages are cut out of the byte stream here, with every length checked before anything is buffered for it.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use futures::FutureExt;
use tablegate_types::error::{ErrorKind, SqlError};
use tokio::io::{AsyncReadExt, ReadHalf};

use super::arrivals::{Arrivals, Arrived};
use super::counters::Counters;
use super::error::Failure;
use super::halt::Halt;
use super::stream::Stream;

/// Longest message with a statement or values. COPY data is never buffered whole and may be longer.
const MAX_MESSAGE: usize = 64 << 20;
/// Longest of the messages that only carry a name.
const MAX_SMALL_MESSAGE: usize = 10_000;
/// Longest CopyData message, as in PostgreSQL.
const MAX_COPY_DATA: usize = (1 << 30) - 1;
/// Type byte and length.
const HEADER: usize = 5;
/// How much is read ahead while a statement runs.
const READ_AHEAD: usize = 64 << 10;
/// How much room is made for each read.
const READ_SIZE: usize = 16 << 10;

/// A message of the client.
#[derive(Debug)]
pub(super) enum Frame {
    Message {
        tag: u8,
        body: Bytes,
    },
    /// A CopyData message begins; its body is read with [`FrameReader::copy_piece`], or skipped by the next frame.
    CopyData,
}

/// Reads messages from a client.
pub(super) struct FrameReader {
    half: ReadHalf<Stream>,
    buffer: BytesMut,
    /// Bytes left of the CopyData message being read.
    copy_left: usize,
    /// What the buffer takes of what long messages may take.
    arrived: Arrived,
    /// The rest of a message is not wanted any more.
    is_cut_off: bool,
    gone: bool,
    counters: Arc<Counters>,
}

impl FrameReader {
    pub(crate) fn new(half: ReadHalf<Stream>, arrivals: Arc<Arrivals>, counters: Arc<Counters>) -> Self {
        let arrived = Arrived::nothing(arrivals);
        Self { half, buffer: BytesMut::new(), copy_left: 0, arrived, is_cut_off: false, gone: false, counters }
    }

    /// The next message. Can be dropped and called again without losing anything.
    pub(crate) async fn frame(&mut self) -> Result<Frame, Halt> {
        while self.copy_piece().await?.is_some() {}
        loop {
            if let Some(frame) = self.buffered_frame()? {
                return Ok(frame);
            }
            self.fill().await?;
        }
    }

    /// The next message, if all of it has arrived.
    ///
    /// # Errors
    /// As [`FrameReader::frame`].
    pub(crate) fn arrived(&mut self) -> Result<Option<Frame>, Halt> {
        if self.copy_left > 0 { Ok(None) } else { self.buffered_frame() }
    }

    /// The next part of the CopyData message that was begun; `None` at its end.
    pub(crate) async fn copy_piece(&mut self) -> Result<Option<Bytes>, Halt> {
        if self.copy_left == 0 {
            return Ok(None);
        }
        if self.buffer.is_empty() {
            self.fill().await?;
        }
        let piece = self.buffer.split_to(self.buffer.len().min(self.copy_left)).freeze();
        self.copy_left -= piece.len();
        Ok(Some(piece))
    }

    /// Whether a Sync is what the client sent next, as far as it has arrived.
    pub(crate) fn sync_is_next(&mut self) -> bool {
        if self.buffer.is_empty() {
            self.buffer.reserve(READ_SIZE);
            // What has not arrived is not waited for.
            match self.half.read_buf(&mut self.buffer).now_or_never() {
                Some(Ok(0)) => self.gone = true,
                Some(Ok(read)) => self.counters.bytes_received.add(read as u64),
                Some(Err(_)) | None => {}
            }
        }
        self.copy_left == 0 && self.buffer.first() == Some(&b'S')
    }

    /// Reads ahead a little while a statement runs. Resolves when the client has gone, and never otherwise.
    pub(crate) async fn watch(&mut self) {
        while self.buffer.len() < READ_AHEAD {
            if self.fill().await.is_err() {
                return;
            }
        }
        std::future::pending().await
    }

    /// Reads what a client still sends of a message that was cut off, and forgets it: a client that sends does not hear what it
    /// is told, and a connection that is closed with something unread loses it.
    pub(crate) async fn let_finish(&mut self) {
        if !self.is_cut_off {
            return;
        }
        self.buffer = BytesMut::new();
        let _ = self.arrived.hold(0);
        loop {
            self.buffer.clear();
            self.buffer.reserve(READ_SIZE);
            if !matches!(self.half.read_buf(&mut self.buffer).await, Ok(1..)) {
                return;
            }
        }
    }

    fn buffered_frame(&mut self) -> Result<Option<Frame>, Halt> {
        let Some((&tag, rest)) = self.buffer.split_first() else { return Ok(None) };
        let limit = max_length(tag)?;
        let Some(length) = rest.first_chunk().map(|bytes| i32::from_be_bytes(*bytes)) else { return Ok(None) };
        // The length counts itself.
        let length = usize::try_from(length).ok().filter(|length| (4..=limit).contains(length));
        let Some(length) = length else {
            return Err(Halt::Fatal(Failure::protocol("invalid message length")));
        };
        let body = length - 4;
        if tag == b'd' {
            self.buffer.advance(HEADER);
            self.copy_left = body;
            return Ok(Some(Frame::CopyData));
        }
        if self.buffer.len() < HEADER + body {
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        let body = self.buffer.split_to(body).freeze();
        // What a statement takes is counted by its pieces. Less than before there is always room for.
        let _ = self.arrived.hold(self.buffer.len());
        Ok(Some(Frame::Message { tag, body }))
    }

    /// Reads what has arrived. Memory grows with what is received, not with what a length promises.
    async fn fill(&mut self) -> Result<(), Halt> {
        if self.gone {
            return Err(Halt::Gone);
        }
        self.buffer.reserve(READ_SIZE);
        match self.half.read_buf(&mut self.buffer).await {
            Ok(read) if read > 0 => {
                let has_room = self.arrived.hold(self.buffer.len());
                self.counters.bytes_received.add(read as u64);
                if has_room {
                    return Ok(());
                }
                self.is_cut_off = true;
                Err(Halt::Fatal(no_room()))
            }
            _ => {
                self.gone = true;
                Err(Halt::Gone)
            }
        }
    }
}

/// There is no room for a long message: it was cut off, so the stream cannot be followed any more.
fn no_room() -> Failure {
    Failure::Sql(
        SqlError::new(ErrorKind::OutOfMemory, "too many long messages are arriving")
            .with_hint("Send rows by COPY or in shorter statements, or raise the limit with --query-memory."),
    )
}

/// The longest a message of this type may be. A type that is not one means that the stream cannot be followed any more.
fn max_length(tag: u8) -> Result<usize, Halt> {
    match tag {
        b'Q' | b'P' | b'B' | b'F' => Ok(MAX_MESSAGE),
        b'd' => Ok(MAX_COPY_DATA),
        b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'c' | b'f' => Ok(MAX_SMALL_MESSAGE),
        other => Err(Halt::Fatal(Failure::protocol(format!("invalid frontend message type {other}")))),
    }
}

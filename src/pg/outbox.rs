//! What is to be sent to a client: collected in whole messages, sent in large pieces.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use tablegate_sql::outcome::CommandTag;
use tablegate_types::error::ErrorKind;
use tokio::io::{AsyncWriteExt, WriteHalf};

use super::counters::Counters;
use super::error::Failure;
use super::stream::Stream;

/// How much is collected before it is sent.
pub(super) const FLUSH_SIZE: usize = 64 << 10;

/// Bytes on their way to a client.
pub(super) struct Outbox {
    half: WriteHalf<Stream>,
    buffer: BytesMut,
    /// Where the message being written began.
    open: Option<usize>,
    counters: Arc<Counters>,
}

impl Outbox {
    pub(crate) fn new(half: WriteHalf<Stream>, counters: Arc<Counters>) -> Self {
        Self { half, buffer: BytesMut::with_capacity(FLUSH_SIZE), open: None, counters }
    }

    /// Adds a message. One that cannot be encoded leaves nothing behind.
    pub(crate) fn send(&mut self, message: &PgWireBackendMessage) {
        let before = self.buffer.len();
        if let Err(error) = message.encode(&mut self.buffer) {
            self.buffer.truncate(before);
            tracing::error!(%error, "a message to a client could not be encoded");
        }
    }

    /// Adds a message without a body.
    pub(crate) fn send_bare(&mut self, tag: u8) {
        self.buffer.put_u8(tag);
        self.buffer.put_i32(4);
    }

    /// ReadyForQuery, with its status byte.
    pub(crate) fn send_ready(&mut self, status: u8) {
        self.buffer.put_u8(b'Z');
        self.buffer.put_i32(5);
        self.buffer.put_u8(status);
    }

    pub(crate) fn send_command_complete(&mut self, tag: CommandTag) {
        let out = self.open(b'C');
        // Writing to memory does not fail.
        let _ = write!(out, "{tag}");
        out.put_u8(0);
        // Nor is a tag too long for a message.
        let _ = self.close();
    }

    /// Begins a message whose body is written by hand.
    pub(crate) fn open(&mut self, tag: u8) -> &mut BytesMut {
        self.open = Some(self.buffer.len());
        self.buffer.put_u8(tag);
        self.buffer.put_i32(0);
        &mut self.buffer
    }

    /// Ends it: its length is known now.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        let Some(start) = self.open.take() else { return Ok(()) };
        // The length counts itself, not the type byte.
        match i32::try_from(self.buffer.len() - start - 1) {
            Ok(length) => {
                self.buffer[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
                Ok(())
            }
            Err(_) => {
                self.buffer.truncate(start);
                Err(Failure::sql(ErrorKind::LimitExceeded, "a row is too long to be sent"))
            }
        }
    }

    /// Forgets a message that was begun and will not be ended.
    pub(crate) fn discard_open(&mut self) {
        if let Some(start) = self.open.take() {
            self.buffer.truncate(start);
        }
    }

    /// So many rows of a result were added.
    pub(crate) fn count_rows(&self, rows: usize) {
        self.counters.rows_sent.add(rows as u64);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() >= FLUSH_SIZE
    }

    /// Sends everything. Can be dropped and called again without losing or repeating anything.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        while !self.buffer.is_empty() {
            match self.half.write_buf(&mut self.buffer).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                sent => self.counters.bytes_sent.add(sent as u64),
            }
        }
        // What was encrypted may not be on its way yet.
        self.half.flush().await
    }

    /// Tells the client that nothing more will come.
    pub(crate) async fn finish(&mut self) {
        // A client that is gone need not be told.
        let _ = self.half.shutdown().await;
    }
}

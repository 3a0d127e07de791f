//! One client's connection: its messages, one after the other, until it ends.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, poll};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::NotificationResponse;
use pgwire::messages::startup::ParameterStatus;
use tablegate_sql::notify::Notification;
use tablegate_sql::outcome::{CommandTag, Outcome, Single};
use tablegate_sql::session::{Position, Prepared, Session, Statement, TransactionStatus};
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;
use tokio_util::sync::CancellationToken;

use crate::error::{self, Failure, Gravity, without_nul};
use crate::frame::{Frame, FrameReader};
use crate::halt::{Halt, Interrupts};
use crate::outbox::Outbox;
use crate::params::Format;
use crate::portal::Portal;
use crate::rows::{self, Sending};

mod copy;
mod extended;
mod simple;

/// How long a client is given to take the last words of its connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long a client may go on to send a message that was refused before it was complete.
const REST_OF_MESSAGE: Duration = Duration::from_secs(10);

/// How long the next message of a series that has begun is waited for when the server shuts down.
const SERIES_GRACE: Duration = Duration::from_millis(500);

/// A connection after its start-up.
pub(super) struct Connection {
    pub session: Session,
    pub reader: FrameReader,
    pub outbox: Outbox,
    pub interrupts: Interrupts,
    pub portals: HashMap<String, Portal>,
    /// Between the first message of the extended protocol and its Sync.
    in_series: bool,
    /// After an error in such a series: everything up to its Sync is skipped.
    skipping: bool,
    shutdown: CancellationToken,
}

/// What follows a message.
enum Next {
    Read,
    Close,
}

impl Connection {
    pub(crate) fn new(
        session: Session,
        reader: FrameReader,
        outbox: Outbox,
        interrupts: Interrupts,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            session,
            reader,
            outbox,
            interrupts,
            portals: HashMap::new(),
            in_series: false,
            skipping: false,
            shutdown,
        }
    }

    /// Greets the client, which was authenticated, and serves it to the end.
    pub(crate) async fn run(mut self) {
        let end = match self.ready().await {
            Ok(()) => self.serve().await,
            Err(halt) => halt,
        };
        if let Halt::Statement(failure) | Halt::Fatal(failure) = end {
            self.interrupts.count_end(&failure);
            self.outbox.send(&failure.message(Gravity::Fatal));
            let farewell = async {
                // Whether the client takes it or not, the connection ends.
                let _ = self.outbox.flush().await;
                self.outbox.finish().await;
            };
            let _ = tokio::time::timeout(FAREWELL, farewell).await;
            let _ = tokio::time::timeout(REST_OF_MESSAGE, self.reader.let_finish()).await;
        }
    }

    async fn serve(&mut self) -> Halt {
        loop {
            let frame = match self.next_frame().await {
                Ok(frame) => frame,
                Err(halt) => return halt,
            };
            match self.serve_frame(frame).await {
                Ok(Next::Read) => {}
                Ok(Next::Close) => return Halt::Gone,
                Err(halt) => return halt,
            }
        }
    }

    async fn next_frame(&mut self) -> Result<Frame, Halt> {
        if !self.interrupts.is_killed()
            && !self.shutdown.is_cancelled()
            && let Some(frame) = self.reader.arrived()?
        {
            return Ok(frame);
        }
        let idle_limit = self.idle_limit();
        let idled = idled(idle_limit);
        tokio::pin!(idled);
        // Between transactions, and never inside a series, notifications go out as they come.
        let is_idle = !self.in_series && self.session.transaction_status() == TransactionStatus::Idle;
        let mailbox = self.session.mailbox().clone();
        loop {
            tokio::select! {
                biased;
                () = self.interrupts.killed() => return Err(Halt::Fatal(Failure::shutdown())),
                () = asked_to_end(&self.shutdown, self.in_series) => return Err(Halt::Fatal(Failure::shutdown())),
                frame = self.reader.frame() => return frame,
                failure = &mut idled => return Err(Halt::Fatal(failure)),
                () = mailbox.filled(), if is_idle => {}
            }
            self.send_notifications().await?;
        }
    }

    /// Sends what waits in the mailbox, a piece at a time.
    async fn send_notifications(&mut self) -> Result<(), Halt> {
        const PIECE: usize = 64;
        loop {
            let notifications = self.session.mailbox().take(PIECE);
            if notifications.is_empty() {
                return Ok(());
            }
            for (sender, Notification { channel, payload }) in notifications {
                let response = NotificationResponse::new(sender, without_nul(&channel), without_nul(&payload));
                self.outbox.send(&PgWireBackendMessage::NotificationResponse(response));
            }
            self.flush().await?;
        }
    }

    /// How long the next message is waited for. Inside a series the client is not idle.
    fn idle_limit(&self) -> Option<(Duration, Failure)> {
        let timeout = self.session.idle_timeout().filter(|_| !self.in_series)?;
        Some(match self.session.transaction_status() {
            TransactionStatus::Idle => (timeout, Failure::IdleSession),
            TransactionStatus::InBlock | TransactionStatus::Failed => (timeout, Failure::IdleInTransaction),
        })
    }

    /// Handles a message; an error of a statement is told to the client and is not an error of the connection.
    async fn serve_frame(&mut self, frame: Frame) -> Result<Next, Halt> {
        // COPY data that comes after its COPY failed is dropped, as the protocol wants it.
        let Frame::Message { tag, body } = frame else { return Ok(Next::Read) };
        let extended = matches!(tag, b'P' | b'B' | b'D' | b'E' | b'C' | b'H');
        match tag {
            b'X' => return Ok(Next::Close),
            b'S' => self.skipping = false,
            b'c' | b'f' => return Ok(Next::Read),
            _ if self.skipping => return Ok(Next::Read),
            _ => {}
        }
        self.in_series |= extended;
        self.interrupts.begin();
        let handled = AssertUnwindSafe(self.handle(tag, body)).catch_unwind().await;
        self.interrupts.end();
        let failed = match handled.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok(()) => false,
            Err(Halt::Statement(failure)) => {
                self.report(&self.with_written(failure));
                true
            }
            Err(halt) => return Err(halt),
        };
        if !extended {
            self.ready().await?;
        } else if failed || self.outbox.is_full() {
            // A client may wait for the error before it sends its Sync.
            self.skipping = failed;
            self.flush().await?;
        }
        Ok(Next::Read)
    }

    async fn handle(&mut self, tag: u8, body: Bytes) -> Result<(), Halt> {
        match tag {
            b'Q' => simple::query(self, body).await,
            b'P' => Box::pin(extended::parse(self, body)).await,
            b'B' => extended::bind(self, body).await,
            b'D' => extended::describe(self, body),
            b'E' => extended::execute(self, body).await,
            b'C' => extended::close(self, body),
            b'H' => self.flush().await,
            b'S' => extended::sync(self).await,
            b'F' => Err(SqlError::not_supported("the function call protocol").into()),
            other => Err(Failure::protocol(format!("unexpected message type {other}")).into()),
        }
    }

    /// A statement that was stopped says what it has written, as one that failed by itself does.
    fn with_written(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Sql(error) if error.kind == ErrorKind::QueryCanceled => {
                Failure::Sql(self.session.with_written(error))
            }
            other => other,
        }
    }

    /// An error ends what the statement had begun.
    fn report(&mut self, failure: &Failure) {
        self.outbox.discard_open();
        self.interrupts.disarm();
        self.send_notices();
        self.outbox.send(&failure.message(Gravity::Error));
        self.interrupts.count_error(failure);
        if let Failure::Sql(error) = failure {
            self.session.record_failure(failure.code(), error);
        }
        self.session.fail();
        self.portals.clear();
    }

    /// ReadyForQuery: the client's turn.
    async fn ready(&mut self) -> Result<(), Halt> {
        self.in_series = false;
        self.interrupts.disarm();
        self.send_notices();
        self.send_parameter_changes();
        let (status, is_idle) = match self.session.transaction_status() {
            TransactionStatus::Idle => (b'I', true),
            TransactionStatus::InBlock => (b'T', false),
            TransactionStatus::Failed => (b'E', false),
        };
        if is_idle {
            // Portals live as long as their transaction.
            self.portals.clear();
            self.send_notifications().await?;
        }
        self.session.show_waiting();
        self.outbox.send_ready(status);
        self.flush().await
    }

    /// Sends what is collected. What it tells has happened, so only the end of the connection interrupts it.
    pub(crate) async fn flush(&mut self) -> Result<(), Halt> {
        let mut sent = pin!(self.outbox.flush());
        if !self.interrupts.is_killed()
            && let Poll::Ready(sent) = poll!(sent.as_mut())
        {
            return Ok(sent?);
        }
        tokio::select! {
            biased;
            () = self.interrupts.killed() => Err(Halt::Fatal(Failure::shutdown())),
            sent = sent => Ok(sent?),
        }
    }

    /// The time of a statement begins, unless it has begun.
    pub(crate) fn arm_timeout(&mut self) {
        self.interrupts.arm(self.session.statement_timeout());
    }

    pub(crate) async fn prepare(&mut self, statement: Statement, declared: &[SqlType]) -> Result<Prepared, Halt> {
        let work = Box::pin(self.session.prepare(statement, declared));
        let prepared = self.interrupts.guard(&mut self.reader, work).await??;
        rows::check_width(prepared.columns.as_deref())?;
        Ok(prepared)
    }

    pub(crate) async fn execute(
        &mut self,
        prepared: &Prepared,
        parameters: Vec<tablegate_types::ScalarValue>,
        position: Position,
    ) -> Result<Outcome, Halt> {
        let work = self.session.execute(prepared, parameters, position);
        Ok(self.interrupts.guard(&mut self.reader, work).await??)
    }

    /// As [`Connection::execute`], of a statement that reads one row by its key; `None` for any other one.
    pub(crate) async fn execute_single(
        &mut self,
        prepared: &Prepared,
        parameters: &[tablegate_types::ScalarValue],
        position: Position,
    ) -> Result<Option<Single>, Halt> {
        let work = self.session.execute_single(prepared, parameters, position);
        Ok(self.interrupts.guard(&mut self.reader, work).await??)
    }

    /// Sends the row, if there is one; gives the tag.
    pub(crate) fn send_single(&mut self, single: &Single, formats: &[Format]) -> Result<CommandTag, Halt> {
        let style = self.session.output_style();
        let rows = u64::from(single.row.is_some());
        if let Some(row) = &single.row {
            rows::write_single(row, formats, &style, &mut self.outbox)?;
        }
        Ok(single.tag.complete(rows))
    }

    pub(crate) async fn open_portal(
        &mut self,
        name: &str,
        prepared: &Prepared,
        parameters: Vec<tablegate_types::ScalarValue>,
    ) -> Result<(), Halt> {
        let work = self.session.open_portal(name, prepared, parameters);
        Ok(self.interrupts.guard(&mut self.reader, work).await??)
    }

    pub(crate) async fn finish_implicit(&mut self) -> Result<(), Halt> {
        let work = self.session.finish_implicit();
        Ok(self.interrupts.guard(&mut self.reader, work).await??)
    }

    /// What sending rows needs.
    pub(crate) fn sending(&mut self) -> Sending<'_> {
        Sending { reader: &mut self.reader, outbox: &mut self.outbox, interrupts: &self.interrupts }
    }

    /// CommandComplete, after what the statement wants to be said before it.
    pub(crate) fn complete(&mut self, tag: CommandTag) {
        if tag == CommandTag::Plain("DISCARD ALL") {
            // Poolers hand the session to another client, which is to find none of these names taken.
            self.portals.clear();
        }
        self.session.end_measure(Some(tag));
        self.send_notices();
        self.outbox.send_command_complete(tag);
        self.send_parameter_changes();
    }

    fn send_notices(&mut self) {
        for notice in self.session.take_notices() {
            self.outbox.send(&error::notice(&notice));
        }
    }

    fn send_parameter_changes(&mut self) {
        send_parameters(&mut self.session, &mut self.outbox);
    }
}

/// Resolves when the server shuts down and nothing of the client's is under way.
async fn asked_to_end(shutdown: &CancellationToken, in_series: bool) {
    shutdown.cancelled().await;
    if in_series {
        tokio::time::sleep(SERIES_GRACE).await;
    }
}

/// Resolves when the client was silent for too long.
async fn idled(limit: Option<(Duration, Failure)>) -> Failure {
    match limit {
        Some((timeout, failure)) => {
            tokio::time::sleep(timeout).await;
            failure
        }
        None => std::future::pending().await,
    }
}

/// ParameterStatus for each setting that is reported and has changed.
pub(super) fn send_parameters(session: &mut Session, outbox: &mut Outbox) {
    for (name, value) in session.take_parameter_changes() {
        let status = ParameterStatus::new(name.to_owned(), without_nul(&value));
        outbox.send(&PgWireBackendMessage::ParameterStatus(status));
    }
}

/// A panic in a statement fails that statement with an internal error; its connection and the other sessions go on.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Halt {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    tracing::error!(panic = text, "a statement panicked");
    let error = SqlError::new(ErrorKind::Internal, "the statement met a defect of the server")
        .with_detail(text)
        .with_hint("The session and the other sessions go on.");
    error.into()
}

//! What one session listens to, and what its transaction has to say: both change when the transaction commits.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::hub::{Hub, Mailbox, Notification};

/// Longest name of a channel: that of an identifier.
const CHANNEL_BYTES: usize = 63;
/// From this length on a payload is too long, as in PostgreSQL.
const PAYLOAD_BYTES: usize = 8000;
/// Most bytes that a transaction has to say.
const PENDING_BYTES: usize = 16 << 20;
/// Most channels that a session listens to, and changes of them in one transaction.
const CHANNELS_MAX: usize = 10_000;

/// A session's end of the hub, shared with the functions of its statements.
#[derive(Debug, Clone)]
pub(crate) struct Listener(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    hub: Arc<Hub>,
    session: u64,
    mailbox: Arc<Mailbox>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    channels: BTreeSet<String>,
    /// What the open transaction asked for, in order.
    changes: Vec<Change>,
    pending: Vec<Notification>,
    /// The same, to leave out what was said already.
    said: HashSet<Notification>,
    bytes: usize,
    /// How much of both there was at each savepoint.
    savepoints: Vec<(usize, usize)>,
}

#[derive(Debug, Clone)]
enum Change {
    Listen(String),
    Unlisten(String),
    UnlistenAll,
}

impl Listener {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        let session = hub.enter();
        Self(Arc::new(Shared { hub, session, mailbox: Arc::default(), state: Mutex::default() }))
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.0.mailbox
    }

    /// LISTEN, from the commit on.
    ///
    /// # Errors
    /// 54000 for too many channels.
    pub(crate) fn listen(&self, channel: &str) -> SqlResult<()> {
        self.change(Change::Listen(cut(channel).to_owned()))
    }

    /// UNLISTEN of one channel, or of all.
    ///
    /// # Errors
    /// As [`Listener::listen`].
    pub(crate) fn unlisten(&self, channel: Option<&str>) -> SqlResult<()> {
        self.change(channel.map_or(Change::UnlistenAll, |channel| Change::Unlisten(cut(channel).to_owned())))
    }

    fn change(&self, change: Change) -> SqlResult<()> {
        let mut state = self.lock();
        if state.channels.len().max(state.changes.len()) >= CHANNELS_MAX {
            let message = format!("a session listens to at most {CHANNELS_MAX} channels");
            return Err(SqlError::new(ErrorKind::LimitExceeded, message));
        }
        state.changes.push(change);
        Ok(())
    }

    /// NOTIFY, when the transaction commits; once, however often it is said.
    ///
    /// # Errors
    /// 22023 for a channel without a name, and for a name or a payload that is too long; 54000 for too much of it.
    pub(crate) fn notify(&self, channel: &str, payload: &str) -> SqlResult<()> {
        let refused = |message: &str| Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
        if channel.is_empty() {
            return refused("channel name cannot be empty");
        }
        if channel.len() > CHANNEL_BYTES {
            return refused("channel name too long");
        }
        if payload.len() >= PAYLOAD_BYTES {
            return refused("payload string too long");
        }
        let notification = Notification { channel: channel.into(), payload: payload.into() };
        let mut state = self.lock();
        if state.said.contains(&notification) {
            return Ok(());
        }
        state.bytes += notification.bytes();
        if state.bytes > PENDING_BYTES {
            return Err(SqlError::new(ErrorKind::LimitExceeded, "too many notifications in one transaction"));
        }
        state.said.insert(notification.clone());
        state.pending.push(notification);
        Ok(())
    }

    /// NOTIFY of an identifier, which is cut to its length.
    ///
    /// # Errors
    /// As [`Listener::notify`].
    pub(crate) fn notify_identifier(&self, channel: &str, payload: &str) -> SqlResult<()> {
        self.notify(cut(channel), payload)
    }

    /// The channels it listens to.
    pub(crate) fn channels(&self) -> Vec<String> {
        self.lock().channels.iter().cloned().collect()
    }

    /// How full the fullest mailbox of the server is, from 0 to 1.
    pub(crate) fn usage(&self) -> f64 {
        self.0.hub.usage()
    }

    pub(crate) fn savepoint(&self) {
        let mut state = self.lock();
        let marks = (state.changes.len(), state.pending.len());
        state.savepoints.push(marks);
    }

    pub(crate) fn release_to(&self, depth: usize) {
        self.lock().savepoints.truncate(depth);
    }

    /// So many savepoints are left, and what was said since the last of them is not said.
    pub(crate) fn rollback_to(&self, depth: usize) {
        let mut state = self.lock();
        state.savepoints.truncate(depth);
        let Some((changes, pending)) = state.savepoints.last().copied() else { return };
        state.changes.truncate(changes);
        for forgotten in state.pending.split_off(pending) {
            state.bytes -= forgotten.bytes();
            state.said.remove(&forgotten);
        }
    }

    /// Before the commit: whether what was said can be sent.
    ///
    /// # Errors
    /// 54000 when a session that listens does not read.
    pub(crate) fn check_commit(&self) -> SqlResult<()> {
        let state = self.lock();
        self.0.hub.check_room(state.pending.iter())
    }

    /// The transaction ended: what was said is sent, by the session of this number, or forgotten.
    pub(crate) fn end_transaction(&self, committed: bool, process: i32) {
        let mut state = self.lock();
        let (changes, pending) = (std::mem::take(&mut state.changes), std::mem::take(&mut state.pending));
        state.said.clear();
        state.savepoints.clear();
        state.bytes = 0;
        if committed {
            changes.into_iter().for_each(|change| self.0.apply(&mut state, change));
            if !pending.is_empty() {
                self.0.hub.send(process, pending.into_iter());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl Shared {
    fn apply(&self, state: &mut State, change: Change) {
        match change {
            Change::Listen(channel) => {
                self.hub.listen(self.session, &channel, &self.mailbox);
                state.channels.insert(channel);
            }
            Change::Unlisten(channel) => {
                self.hub.unlisten(self.session, &channel);
                state.channels.remove(&channel);
            }
            Change::UnlistenAll => {
                for channel in std::mem::take(&mut state.channels) {
                    self.hub.unlisten(self.session, &channel);
                }
            }
        }
    }

    /// Never left half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.lock());
        self.apply(&mut state, Change::UnlistenAll);
    }
}

/// An identifier as PostgreSQL cuts it.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(CHANNEL_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(listener: &Listener) -> Vec<String> {
        listener.mailbox().take(usize::MAX).into_iter().map(|(_, heard)| heard.payload.to_string()).collect()
    }

    #[test]
    fn what_a_transaction_says_is_heard_when_it_commits() {
        let hub = Arc::new(Hub::default());
        let (one, other) = (Listener::new(hub.clone()), Listener::new(hub));
        one.listen("c").unwrap();
        other.notify("c", "too early").unwrap();
        other.end_transaction(true, 2);
        one.end_transaction(true, 1);
        other.notify("c", "a").unwrap();
        other.notify("c", "b").unwrap();
        other.notify("c", "a").unwrap();
        assert!(heard(&one).is_empty());
        other.end_transaction(true, 2);
        assert_eq!(heard(&one), ["a", "b"]);
        other.notify("c", "x").unwrap();
        other.end_transaction(false, 2);
        one.notify("c", "to myself").unwrap();
        one.end_transaction(true, 1);
        assert_eq!(heard(&one), ["to myself"]);
        drop(one);
        assert!(other.0.hub.usage() == 0.0);
    }

    #[test]
    fn a_savepoint_takes_back_what_was_said_since() {
        let listener = Listener::new(Arc::default());
        listener.listen("c").unwrap();
        listener.end_transaction(true, 1);
        listener.notify("c", "before").unwrap();
        listener.savepoint();
        listener.notify("c", "since").unwrap();
        listener.unlisten(None).unwrap();
        listener.rollback_to(1);
        listener.notify("c", "since").unwrap();
        listener.end_transaction(true, 1);
        assert_eq!(
            (heard(&listener), listener.channels()),
            (vec!["before".to_owned(), "since".to_owned()], vec!["c".to_owned()])
        );
    }

    #[test]
    fn names_and_payloads_have_postgresqls_lengths() {
        let listener = Listener::new(Arc::default());
        let message = |channel: &str, payload: &str| listener.notify(channel, payload).err().map(|error| error.message);
        assert_eq!(message("", "x").as_deref(), Some("channel name cannot be empty"));
        assert_eq!(message(&"c".repeat(64), "x").as_deref(), Some("channel name too long"));
        assert_eq!(message("c", &"x".repeat(8000)).as_deref(), Some("payload string too long"));
        assert_eq!(message(&"c".repeat(63), &"x".repeat(7999)), None);
    }
}

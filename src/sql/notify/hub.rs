//! Who listens to what, and the mailboxes in which notifications wait for sessions.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::Notify;

/// The most bytes that may wait in a mailbox. The transaction that reaches the bound is still delivered; later ones are
/// refused.
const MAILBOX_BYTES: usize = 8 << 20;
/// What a notification costs besides its text.
const NOTIFICATION_BYTES: usize = 64;

/// A message to the sessions that listen to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Notification {
    pub channel: Arc<str>,
    pub payload: Arc<str>,
}

impl Notification {
    pub(super) fn bytes(&self) -> usize {
        self.channel.len() + self.payload.len() + NOTIFICATION_BYTES
    }
}

/// The notifications that wait for a session.
#[derive(Debug, Default)]
pub struct Mailbox {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// With the number of the session that sent each.
    notifications: VecDeque<(i32, Notification)>,
    bytes: usize,
}

impl Mailbox {
    /// Resolves when there is something in it.
    pub async fn filled(&self) {
        loop {
            let arrived = self.arrived.notified();
            if !lock(&self.waiting).notifications.is_empty() {
                return;
            }
            arrived.await;
        }
    }

    /// Takes at most so many, oldest first.
    pub fn take(&self, most: usize) -> Vec<(i32, Notification)> {
        let mut waiting = lock(&self.waiting);
        let count = waiting.notifications.len().min(most);
        let taken: Vec<_> = waiting.notifications.drain(..count).collect();
        waiting.bytes -= taken.iter().map(|(_, notification)| notification.bytes()).sum::<usize>();
        taken
    }

    fn is_full(&self) -> bool {
        lock(&self.waiting).bytes >= MAILBOX_BYTES
    }

    fn fill_level(&self) -> usize {
        lock(&self.waiting).bytes
    }

    fn put(&self, sender: i32, notification: Notification) {
        let mut waiting = lock(&self.waiting);
        waiting.bytes += notification.bytes();
        waiting.notifications.push_back((sender, notification));
        drop(waiting);
        self.arrived.notify_one();
    }
}

/// All sessions that listen.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    last: u64,
    by_channel: HashMap<String, BTreeMap<u64, Arc<Mailbox>>>,
}

impl Hub {
    /// A number for a session.
    pub(crate) fn enter(&self) -> u64 {
        let mut listeners = lock(&self.listeners);
        listeners.last += 1;
        listeners.last
    }

    pub(crate) fn listen(&self, session: u64, channel: &str, mailbox: &Arc<Mailbox>) {
        let mut listeners = lock(&self.listeners);
        listeners.by_channel.entry(channel.to_owned()).or_default().insert(session, mailbox.clone());
    }

    pub(crate) fn unlisten(&self, session: u64, channel: &str) {
        let mut listeners = lock(&self.listeners);
        if let Some(sessions) = listeners.by_channel.get_mut(channel) {
            sessions.remove(&session);
            if sessions.is_empty() {
                listeners.by_channel.remove(channel);
            }
        }
    }

    /// Whether all that listen have room for notifications.
    ///
    /// # Errors
    /// 54000 when one has not: its client does not read.
    pub(crate) fn check_room<'n>(&self, notifications: impl Iterator<Item = &'n Notification>) -> SqlResult<()> {
        let listeners = lock(&self.listeners);
        for notification in notifications {
            let sessions = listeners.by_channel.get(&*notification.channel);
            if sessions.is_some_and(|sessions| sessions.values().any(|mailbox| mailbox.is_full())) {
                let message = "too many notifications in the NOTIFY queue";
                return Err(SqlError::new(ErrorKind::LimitExceeded, message).with_detail(format!(
                    "A session that listens to channel \"{}\" does not read its notifications.",
                    notification.channel
                )));
            }
        }
        Ok(())
    }

    /// Sends notifications to all that listen.
    pub(crate) fn send(&self, sender: i32, notifications: impl Iterator<Item = Notification>) {
        let listeners = lock(&self.listeners);
        for notification in notifications {
            for mailbox in listeners.by_channel.get(&*notification.channel).into_iter().flat_map(BTreeMap::values) {
                mailbox.put(sender, notification.clone());
            }
        }
    }

    /// How full the fullest mailbox is, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share of a few megabytes")]
    pub(crate) fn usage(&self) -> f64 {
        let listeners = lock(&self.listeners);
        let fullest = listeners.by_channel.values().flat_map(BTreeMap::values).map(|m| m.fill_level()).max();
        (fullest.unwrap_or(0) as f64 / MAILBOX_BYTES as f64).min(1.0)
    }
}

/// What the mutexes guard is never left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(payload: &str) -> Notification {
        Notification { channel: "c".into(), payload: payload.into() }
    }

    #[test]
    fn a_mailbox_that_nobody_reads_is_full_some_time() {
        let (hub, mailbox) = (Hub::default(), Arc::new(Mailbox::default()));
        let session = hub.enter();
        hub.listen(session, "c", &mailbox);
        let large = notification(&"x".repeat(7000));
        let mut sent = 0;
        while hub.check_room([&large].into_iter()).is_ok() {
            hub.send(1, [large.clone()].into_iter());
            sent += 1;
            assert!(sent < 10_000);
        }
        assert!((hub.usage() - 1.0).abs() < f64::EPSILON);
        assert_eq!(mailbox.take(usize::MAX).len(), sent);
        assert!(hub.check_room([&large].into_iter()).is_ok());
        hub.unlisten(session, "c");
        hub.send(1, [large].into_iter());
        assert!(mailbox.take(1).is_empty());
    }
}

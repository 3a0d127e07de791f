//! Cancel requests: which connection a process id and secret stand for, and the statement it is running.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_sql::activity::Stopper;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// All connections that can be cancelled.
#[derive(Default)]
pub(super) struct CancelRegistry {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last_pid: i32,
    entries: HashMap<i32, Entry>,
}

struct Entry {
    secret: i32,
    running: Arc<Running>,
}

/// The statement a connection is running, if any.
#[derive(Default)]
pub(super) struct Running {
    token: Mutex<Option<CancellationToken>>,
}

impl Running {
    pub(crate) fn set(&self, token: Option<CancellationToken>) {
        *lock(&self.token) = token;
    }
}

/// Stops what a connection does, for other sessions.
pub(super) struct Stop {
    pub running: Arc<Running>,
    pub kill: CancellationToken,
}

impl Stopper for Stop {
    fn cancel(&self) {
        if let Some(token) = &*lock(&self.running.token) {
            token.cancel();
        }
    }

    fn terminate(&self) {
        self.kill.cancel();
    }
}

/// A connection's place in the registry, given back when dropped.
pub(super) struct Registration {
    registry: Arc<CancelRegistry>,
    pub pid: i32,
    pub secret: i32,
    pub running: Arc<Running>,
}

impl CancelRegistry {
    /// Gives a connection its process id and secret.
    pub(crate) fn register(self: &Arc<Self>) -> Registration {
        let secret = random_secret();
        let running = Arc::new(Running::default());
        let mut inner = lock(&self.inner);
        let pid = inner.next_pid();
        inner.entries.insert(pid, Entry { secret, running: running.clone() });
        drop(inner);
        Registration { registry: self.clone(), pid, secret, running }
    }

    /// Stops the statement of a connection, if the secret is right and it runs one. The client is not told whether it
    /// was.
    pub(crate) fn cancel(&self, pid: i32, secret: i32) {
        let inner = lock(&self.inner);
        if let Some(entry) = inner.entries.get(&pid)
            && entry.secret == secret
            && let Some(token) = &*lock(&entry.running.token)
        {
            token.cancel();
        }
    }
}

impl Inner {
    fn next_pid(&mut self) -> i32 {
        loop {
            self.last_pid = self.last_pid.checked_add(1).unwrap_or(1);
            if !self.entries.contains_key(&self.last_pid) {
                return self.last_pid;
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(&self.registry.inner).entries.remove(&self.pid);
    }
}

/// The first four bytes of a version 4 UUID are random throughout.
fn random_secret() -> i32 {
    let [a, b, c, d, ..] = *Uuid::new_v4().as_bytes();
    i32::from_be_bytes([a, b, c, d])
}

/// What the mutexes guard is never left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_secret_stops_the_statement() {
        let registry = Arc::new(CancelRegistry::default());
        let one = registry.register();
        let other = registry.register();
        assert_ne!(one.pid, other.pid);
        let token = CancellationToken::new();
        one.running.set(Some(token.clone()));
        registry.cancel(one.pid, one.secret.wrapping_add(1));
        registry.cancel(other.pid, other.secret);
        assert!(!token.is_cancelled());
        registry.cancel(one.pid, one.secret);
        assert!(token.is_cancelled());
    }

    #[test]
    fn a_closed_connection_is_forgotten() {
        let registry = Arc::new(CancelRegistry::default());
        let pid = registry.register().pid;
        assert!(!lock(&registry.inner).entries.contains_key(&pid));
    }
}

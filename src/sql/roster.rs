//! A cache of each user's role, so that a change of a user takes effect from the next statement on.
//!
//! Sessions ask with every statement, and the users are in a file. So what was read is used for a second: changes made
//! in SQL are known at once, those of `tablegate user` after that second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::login::{Account, Role};

/// How long the roles that were read are used.
const BELIEVED: Duration = Duration::from_secs(1);

/// The roles that were read last.
#[derive(Debug, Default)]
pub(super) struct Roster(Mutex<Option<Read>>);

#[derive(Debug, Clone)]
struct Read {
    at: Instant,
    roles: Arc<HashMap<String, Role>>,
}

impl Roster {
    /// The roles, if they were read a moment before `now`.
    pub(crate) fn known(&self, now: Instant) -> Option<Arc<HashMap<String, Role>>> {
        let read = self.lock().clone()?;
        (now.duration_since(read.at) < BELIEVED).then_some(read.roles)
    }

    pub(crate) fn learn(&self, accounts: &[Account], now: Instant) -> Arc<HashMap<String, Role>> {
        let roles = accounts.iter().map(|account| (account.name.clone(), account.role));
        let roles: Arc<HashMap<String, Role>> = Arc::new(roles.collect());
        *self.lock() = Some(Read { at: now, roles: roles.clone() });
        roles
    }

    /// Something was changed: what was read is not believed any more.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    /// It is replaced whole.
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Read>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_believed_for_a_moment() {
        let (roster, now) = (Roster::default(), Instant::now());
        assert!(roster.known(now).is_none());
        roster.learn(&[Account { name: "u".to_owned(), role: Role::Granted, can_login: true }], now);
        assert_eq!(roster.known(now).unwrap().get("u"), Some(&Role::Granted));
        assert!(roster.known(now + BELIEVED).is_none());
        roster.learn(&[], now);
        roster.forget();
        assert!(roster.known(now).is_none());
    }
}

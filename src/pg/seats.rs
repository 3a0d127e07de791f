//! How many sessions there may be at once: all together, and of one user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::Failure;

/// Places beyond the others that are for admins: so that one can log in to end sessions when all others are taken.
const RESERVED: usize = 3;

/// The places for sessions.
pub(super) struct Seats {
    most: usize,
    most_of_user: Option<usize>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    of_user: HashMap<String, usize>,
}

/// A session's place, given back when dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    user: String,
}

impl Seats {
    pub(crate) fn new(most: usize, most_of_user: Option<usize>) -> Arc<Self> {
        Arc::new(Self { most, most_of_user, taken: Mutex::default() })
    }

    /// # Errors
    /// 53300 when all places that are for the user, or all of the user's own, are taken.
    pub(crate) fn take(self: &Arc<Self>, user: &str, is_admin: bool) -> Result<Seat, Failure> {
        let mut taken = self.lock();
        if taken.all >= self.most.saturating_add(if is_admin { RESERVED } else { 0 }) {
            return Err(Failure::TooManyConnections);
        }
        let of_user = taken.of_user.get(user).copied().unwrap_or(0);
        if self.most_of_user.is_some_and(|most| of_user >= most) {
            return Err(Failure::TooManyConnectionsOf(user.to_owned()));
        }
        taken.all += 1;
        taken.of_user.insert(user.to_owned(), of_user + 1);
        Ok(Seat { seats: self.clone(), user: user.to_owned() })
    }

    /// What the mutex guards is never left half changed.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        taken.all -= 1;
        if let Some(count) = taken.of_user.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                taken.of_user.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_for_all_and_for_each_user() {
        let seats = Seats::new(3, Some(2));
        let a = seats.take("a", false).unwrap();
        let _second = seats.take("a", false).unwrap();
        assert!(matches!(seats.take("a", false).err(), Some(Failure::TooManyConnectionsOf(user)) if user == "a"));
        let _b = seats.take("b", false).unwrap();
        assert!(matches!(seats.take("b", false).err(), Some(Failure::TooManyConnections)));
        drop(a);
        let _again = seats.take("a", false).unwrap();
        assert_eq!(seats.lock().of_user.len(), 2);
    }

    #[test]
    fn some_places_are_left_to_admins() {
        let seats = Seats::new(1, None);
        let _one = seats.take("a", false).unwrap();
        assert!(matches!(seats.take("a", false).err(), Some(Failure::TooManyConnections)));
        let admins: Vec<_> = (0..RESERVED).map(|_| seats.take("ann", true).unwrap()).collect();
        assert!(matches!(seats.take("ann", true).err(), Some(Failure::TooManyConnections)));
        assert_eq!(admins.len(), RESERVED);
    }

    #[test]
    fn a_user_without_sessions_is_forgotten() {
        let seats = Seats::new(3, None);
        drop(seats.take("a", false).unwrap());
        assert!(seats.lock().of_user.is_empty());
    }
}

//! Advisory locks: on numbers that only clients know the meaning of, held by a session until it gives them back or ends,
//! or by its transaction until that ends.
//!
//! A session may take one several times, and gives it back as often. What it holds at both levels is held by one owner,
//! so it is never in its own way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_types::error::{Notice, SqlResult};

use super::error::{LOCKS_MAX, LockError};
use super::held::{LockWait, Place};
use super::memory::{LockMemory, advisory_bytes, advisory_time_bytes};
use super::mode::{Mode, Modes};
use super::registry::{AdvisoryKey, Locks, Owner, Request, Target, Wanted};
use crate::syntax::TableMode;

/// How long a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Session,
    Transaction,
}

/// Who else may hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    Exclusive,
    Shared,
}

impl Sharing {
    fn mode(self) -> Mode {
        Mode::Table(match self {
            Sharing::Exclusive => TableMode::Exclusive,
            Sharing::Shared => TableMode::Share,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Sharing::Exclusive => "ExclusiveLock",
            Sharing::Shared => "ShareLock",
        }
    }
}

/// The advisory locks of one session, shared with the functions of its statements.
#[derive(Clone)]
pub(crate) struct AdvisoryLocks(Arc<Shared>);

struct Shared {
    locks: Arc<Locks>,
    state: Mutex<State>,
    /// A statement may call from several places at once; a session waits for one lock at a time.
    turn: tokio::sync::Mutex<()>,
}

struct State {
    owner: Owner,
    held: HashMap<AdvisoryKey, Counts>,
    /// Those of the open transaction, in the order they were taken.
    of_transaction: Vec<(AdvisoryKey, Sharing)>,
    /// How many of those there were at each savepoint.
    savepoints: Vec<usize>,
    notices: Vec<Notice>,
    memory: LockMemory,
}

/// How often a lock is held, exclusively and shared.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    session: [u32; 2],
    transaction: [u32; 2],
}

impl Counts {
    fn of(&mut self, level: Level, sharing: Sharing) -> &mut u32 {
        let counts = match level {
            Level::Session => &mut self.session,
            Level::Transaction => &mut self.transaction,
        };
        &mut counts[usize::from(sharing == Sharing::Shared)]
    }

    fn modes(self) -> Modes {
        let is_held = |index: usize| self.session[index] > 0 || self.transaction[index] > 0;
        let with = |modes: Modes, sharing: Sharing, held| if held { modes.with(sharing.mode()) } else { modes };
        with(with(Modes::NONE, Sharing::Exclusive, is_held(0)), Sharing::Shared, is_held(1))
    }
}

impl AdvisoryLocks {
    /// None yet, of a session that its clients know by this number.
    pub(crate) fn new(locks: Arc<Locks>, process: i32) -> Self {
        let owner = locks.new_owner(process);
        let state = State {
            owner,
            held: HashMap::new(),
            of_transaction: Vec::new(),
            savepoints: Vec::new(),
            notices: Vec::new(),
            memory: LockMemory::new(&locks.memory),
        };
        Self(Arc::new(Shared { locks, state: Mutex::new(state), turn: tokio::sync::Mutex::default() }))
    }

    /// Takes a lock, waiting for its holder.
    ///
    /// # Errors
    /// 55P03 when others hold it for too long, 40P01 when they never would give it back, 53200 for too many locks.
    pub(crate) async fn lock(&self, key: AdvisoryKey, level: Level, sharing: Sharing, wait: LockWait) -> SqlResult<()> {
        let taken = self.take(key, level, sharing, wait).await;
        taken.map_err(|error| error.into_error("advisory lock"))
    }

    /// Takes a lock if that can be done at once.
    ///
    /// # Errors
    /// 53200 for too many locks.
    pub(crate) fn try_lock(&self, key: AdvisoryKey, level: Level, sharing: Sharing) -> SqlResult<bool> {
        let mut state = self.lock_state();
        state.has_room().map_err(|error| error.into_error("advisory lock"))?;
        match self.0.locks.request(state.owner, &Target::Advisory(key), sharing.mode(), false) {
            Request::Granted(_) => {
                state.note(key, level, sharing);
                Ok(true)
            }
            Request::Busy | Request::Queued(_) => Ok(false),
        }
    }

    async fn take(&self, key: AdvisoryKey, level: Level, sharing: Sharing, wait: LockWait) -> Result<(), LockError> {
        let _turn = self.0.turn.lock().await;
        let (target, mode) = (Target::Advisory(key), sharing.mode());
        let (owner, request) = {
            let mut state = self.lock_state();
            state.has_room()?;
            (state.owner, self.0.locks.request(state.owner, &target, mode, true))
        };
        match request {
            Request::Granted(_) => {}
            Request::Busy => return Err(LockError::Busy),
            Request::Queued(granted) => {
                Place::new(&self.0.locks, owner, Wanted { target, mode }, granted).wait(wait).await?;
            }
        }
        self.lock_state().note(key, level, sharing);
        Ok(())
    }

    /// Gives back a lock of the session; false, with a warning, when it has none.
    pub(crate) fn unlock(&self, key: AdvisoryKey, sharing: Sharing) -> bool {
        let mut state = self.lock_state();
        let held =
            state.held.get_mut(&key).map(|counts| counts.of(Level::Session, sharing)).filter(|count| **count > 0);
        let Some(count) = held else {
            let message = format!("you don't own a lock of type {}", sharing.name());
            state.notices.push(Notice::warning(message));
            return false;
        };
        *count -= 1;
        state.release(&self.0.locks, key);
        true
    }

    /// Gives back all locks of the session.
    pub(crate) fn unlock_all(&self) {
        let mut state = self.lock_state();
        let keys: Vec<AdvisoryKey> = state.held.keys().copied().collect();
        for key in keys {
            if let Some(counts) = state.held.get_mut(&key) {
                counts.session = [0, 0];
            }
            state.release(&self.0.locks, key);
        }
    }

    pub(crate) fn savepoint(&self) {
        let mut state = self.lock_state();
        let mark = state.of_transaction.len();
        state.savepoints.push(mark);
    }

    pub(crate) fn release_to(&self, depth: usize) {
        self.lock_state().savepoints.truncate(depth);
    }

    /// So many savepoints are left, and what the transaction locked since the last of them is given back.
    pub(crate) fn rollback_to(&self, depth: usize) {
        let mut state = self.lock_state();
        state.savepoints.truncate(depth);
        if let Some(mark) = state.savepoints.last().copied() {
            state.give_back(&self.0.locks, mark);
        }
    }

    /// The transaction ended.
    pub(crate) fn end_transaction(&self) {
        let mut state = self.lock_state();
        state.savepoints.clear();
        state.give_back(&self.0.locks, 0);
    }

    /// Warnings since the last call.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.lock_state().notices)
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.0.lock_state()
    }
}

impl Shared {
    /// Never left half changed.
    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.lock_state();
        for key in state.held.keys() {
            self.locks.restore(state.owner, &Target::Advisory(*key), Modes::NONE);
        }
    }
}

impl State {
    /// Makes sure that one more can be noted.
    fn has_room(&mut self) -> Result<(), LockError> {
        if self.held.len() >= LOCKS_MAX {
            return Err(LockError::TooMany);
        }
        self.memory.has_room(advisory_bytes() + advisory_time_bytes())
    }

    fn note(&mut self, key: AdvisoryKey, level: Level, sharing: Sharing) {
        let locks = self.held.len();
        let count = self.held.entry(key).or_default().of(level, sharing);
        *count = count.saturating_add(1);
        if self.held.len() > locks {
            self.memory.take(advisory_bytes());
        }
        if level == Level::Transaction {
            self.memory.take(advisory_time_bytes());
            self.of_transaction.push((key, sharing));
        }
    }

    /// Gives back those of the transaction beyond so many.
    fn give_back(&mut self, locks: &Locks, mark: usize) {
        for (key, sharing) in self.of_transaction.split_off(mark.min(self.of_transaction.len())) {
            self.memory.give_back(advisory_time_bytes());
            if let Some(counts) = self.held.get_mut(&key) {
                let count = counts.of(Level::Transaction, sharing);
                *count = count.saturating_sub(1);
            }
            self.release(locks, key);
        }
    }

    /// Goes down to what is still held of a number.
    fn release(&mut self, locks: &Locks, key: AdvisoryKey) {
        let Some(counts) = self.held.get(&key) else { return };
        let modes = counts.modes();
        if modes.is_empty() {
            self.held.remove(&key);
            self.memory.give_back(advisory_bytes());
        }
        locks.restore(self.owner, &Target::Advisory(key), modes);
    }
}

impl std::fmt::Debug for AdvisoryLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdvisoryLocks")
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
    use tablegate_types::error::ErrorKind;

    use super::*;

    const KEY: AdvisoryKey = AdvisoryKey::One(1);

    fn try_both(locks: &AdvisoryLocks) -> (bool, bool) {
        let take = |sharing| {
            let taken = locks.try_lock(KEY, Level::Session, sharing).unwrap();
            if taken {
                assert!(locks.unlock(KEY, sharing));
            }
            taken
        };
        (take(Sharing::Exclusive), take(Sharing::Shared))
    }

    #[test]
    fn room_for_many_locks_is_given_back_with_them() {
        let all = Arc::new(Locks::default());
        let locks = AdvisoryLocks::new(all.clone(), 1);
        for number in 0..200_000 {
            assert!(locks.try_lock(AdvisoryKey::One(number), Level::Transaction, Sharing::Exclusive).unwrap());
        }
        assert!(all.room() >= 200_000);
        locks.end_transaction();
        assert!(all.room() < 50_000, "{}", all.room());
        assert!(all.is_unused());
    }

    #[test]
    fn locks_and_the_times_that_they_were_taken_are_a_part_of_the_memory() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(4 << 20));
        let all = Arc::new(Locks::within(pool.clone()));
        let locks = AdvisoryLocks::new(all.clone(), 1);
        let refused_at = |level, key: fn(i64) -> i64| {
            let refused =
                |number: &i64| locks.try_lock(AdvisoryKey::One(key(*number)), level, Sharing::Shared).is_err();
            let refused = (0..1_000_000).find(refused);
            locks.unlock_all();
            locks.end_transaction();
            refused
        };
        assert!(refused_at(Level::Session, |number| number).is_some_and(|locks| locks > 10_000));
        assert_eq!((pool.reserved(), all.is_unused()), (0, true));
        assert!(refused_at(Level::Transaction, |number| number % 7).is_some_and(|times| times > 50_000));
        assert_eq!((pool.reserved(), all.is_unused()), (0, true));
        let error = LockError::NoMemory(0).into_error("advisory lock");
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::OutOfMemory, "out of shared memory"));
    }

    #[test]
    fn a_lock_is_given_back_as_often_as_it_was_taken() {
        let all = Arc::new(Locks::default());
        let (one, other) = (AdvisoryLocks::new(all.clone(), 1), AdvisoryLocks::new(all.clone(), 2));
        for _ in 0..2 {
            assert!(one.try_lock(KEY, Level::Session, Sharing::Exclusive).unwrap());
        }
        assert!(one.try_lock(KEY, Level::Transaction, Sharing::Shared).unwrap());
        assert_eq!(try_both(&other), (false, false));
        assert!(one.unlock(KEY, Sharing::Exclusive) && one.unlock(KEY, Sharing::Exclusive));
        assert_eq!(try_both(&other), (false, true));
        assert!(!one.unlock(KEY, Sharing::Exclusive));
        assert_eq!(one.take_notices()[0].message, "you don't own a lock of type ExclusiveLock");
        one.end_transaction();
        assert_eq!(try_both(&other), (true, true));
        assert!(one.try_lock(AdvisoryKey::Pair(0, 1), Level::Session, Sharing::Exclusive).unwrap());
        assert_eq!(try_both(&other), (true, true));
        drop(one);
        assert!(all.is_unused());
    }

    #[test]
    fn a_savepoint_takes_back_what_the_transaction_locked_since() {
        let all = Arc::new(Locks::default());
        let (one, other) = (AdvisoryLocks::new(all.clone(), 1), AdvisoryLocks::new(all, 2));
        one.savepoint();
        assert!(one.try_lock(KEY, Level::Transaction, Sharing::Exclusive).unwrap());
        one.rollback_to(1);
        assert_eq!(try_both(&other), (true, true));
    }

    #[tokio::test]
    async fn sessions_that_wait_for_each_other_are_told_so() {
        let all = Arc::new(Locks::default());
        let (one, other) = (AdvisoryLocks::new(all.clone(), 1), AdvisoryLocks::new(all.clone(), 2));
        let wait = LockWait::AtMost(None);
        let second = AdvisoryKey::Pair(1, 2);
        one.lock(KEY, Level::Session, Sharing::Exclusive, wait).await.unwrap();
        other.lock(second, Level::Session, Sharing::Exclusive, wait).await.unwrap();
        let waiting = tokio::spawn({
            let one = one.clone();
            async move { one.lock(second, Level::Transaction, Sharing::Exclusive, wait).await }
        });
        while all.blocking(1).is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!((all.blocking(1), all.waits().get(&1).copied()), (vec![2], Some("advisory")));
        let error = other.lock(KEY, Level::Session, Sharing::Shared, wait).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::DeadlockDetected);
        other.unlock_all();
        waiting.await.unwrap().unwrap();
    }
}

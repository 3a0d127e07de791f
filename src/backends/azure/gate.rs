//! How many requests are under way at once: per account, taught by the service, and per partition.
//!
//! The service answers too many requests with 503 and expects the caller to slow down; one that is overwhelmed may answer
//! late, with an error of its own, or not at all, and closes or refuses connections. The account's bound halves then, and
//! grows again by one for each bound's worth of answers. What was under way together fails together: the bound halves
//! once for all that were sent before it last did.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_store::model::TableName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Partitions share so many bounds, by their hash: enough that two busy ones seldom meet.
const PARTITION_GATES: usize = 256;

/// Where so few requests are under way, one that takes long is slow by itself.
const FEW: usize = 8;

/// Both bounds.
#[derive(Debug)]
pub(super) struct Gate {
    account: Arc<Semaphore>,
    state: Mutex<State>,
    partitions: Vec<Arc<Semaphore>>,
}

#[derive(Debug)]
struct State {
    most: usize,
    limit: usize,
    /// Passes to be taken out of circulation when they come back.
    debt: usize,
    /// Answers since the bound last changed.
    answers: usize,
    /// How often the bound has halved.
    halvings: u64,
}

/// Leave to send one request; back when it is dropped.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    gate: &'a Gate,
    /// How often the bound had halved when it was given.
    halvings: u64,
    account: Option<OwnedSemaphorePermit>,
    _partition: Option<OwnedSemaphorePermit>,
}

impl Gate {
    pub(super) fn new(per_account: usize, per_partition: usize) -> Self {
        let (most, per_partition) = (per_account.max(1), per_partition.max(1));
        let partitions = (0..PARTITION_GATES).map(|_| Arc::new(Semaphore::new(per_partition))).collect();
        let state = Mutex::new(State { most, limit: most, debt: 0, answers: 0, halvings: 0 });
        Self { account: Arc::new(Semaphore::new(most)), state, partitions }
    }

    /// Waits for its turn. The partition comes first, so that a busy one does not hold up the account.
    pub(super) async fn enter(&self, partition: Option<(&TableName, &str)>) -> Pass<'_> {
        let partition = match partition {
            Some(partition) => self.partition(partition).clone().acquire_owned().await.ok(),
            None => None,
        };
        // The semaphores are never closed.
        let account = self.account.clone().acquire_owned().await.ok();
        let halvings = self.state().halvings;
        Pass { gate: self, halvings, account, _partition: partition }
    }

    fn partition(&self, partition: (&TableName, &str)) -> &Arc<Semaphore> {
        let mut hasher = DefaultHasher::new();
        partition.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % PARTITION_GATES as u64).unwrap_or_default();
        &self.partitions[index]
    }

    /// The service took a request.
    pub(super) fn answered(&self) {
        let mut state = self.state();
        if state.limit == state.most {
            return;
        }
        state.answers += 1;
        if state.answers >= state.limit {
            state.answers = 0;
            state.limit += 1;
            if state.debt > 0 {
                state.debt -= 1;
            } else {
                self.account.add_permits(1);
            }
        }
    }

    /// The service took a request, and let it wait for others: fewer wait less, down to a few.
    pub(super) fn answered_late(&self, pass: &Pass<'_>) {
        if self.state().limit > FEW { self.overloaded(pass) } else { self.answered() }
    }

    /// What became of the request that this pass was for shows that the service has too many.
    pub(super) fn overloaded(&self, pass: &Pass<'_>) {
        let mut state = self.state();
        if pass.halvings < state.halvings {
            return;
        }
        state.halvings += 1;
        let limit = (state.limit / 2).max(1);
        state.debt += state.limit - limit;
        state.limit = limit;
        state.answers = 0;
        // Permits that are not in use can go at once.
        state.debt -= self.account.forget_permits(state.debt);
    }

    /// How many requests the account takes now.
    pub(super) fn limit(&self) -> usize {
        self.state().limit
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if state.debt > 0
            && let Some(account) = self.account.take()
        {
            state.debt -= 1;
            account.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_bound_halves_under_overload_and_grows_back() {
        let gate = Gate::new(8, 8);
        for expected in [4, 2, 1, 1] {
            gate.overloaded(&gate.enter(None).await);
            assert_eq!((gate.limit(), gate.account.available_permits()), (expected, expected));
        }
        for _ in 0..100 {
            gate.answered();
        }
        assert_eq!((gate.limit(), gate.account.available_permits()), (8, 8));
    }

    #[tokio::test]
    async fn requests_that_fail_together_halve_the_bound_once() {
        let gate = Gate::new(8, 8);
        let mut passes = Vec::new();
        for _ in 0..8 {
            passes.push(gate.enter(None).await);
        }
        passes.iter().for_each(|pass| gate.overloaded(pass));
        assert_eq!((gate.limit(), gate.account.available_permits()), (4, 0));
        drop(passes);
        assert_eq!(gate.account.available_permits(), 4);
        gate.overloaded(&gate.enter(None).await);
        assert_eq!(gate.limit(), 2);
    }

    #[tokio::test]
    async fn late_answers_lower_the_bound_to_a_few() {
        let gate = Gate::new(64, 64);
        for expected in [32, 16, 8, 8] {
            gate.answered_late(&gate.enter(None).await);
            assert_eq!(gate.limit(), expected);
        }
    }

    #[tokio::test]
    async fn a_partition_has_its_own_bound() {
        let gate = Gate::new(8, 1);
        let table = TableName::parse("Orders").unwrap();
        let held = gate.enter(Some((&table, "p"))).await;
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), gate.enter(Some((&table, "p"))));
        assert!(waiting.await.is_err());
        drop(held);
        gate.enter(Some((&table, "p"))).await;
    }
}

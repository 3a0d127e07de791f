//! When a request is repeated, and how long that goes on.

use std::time::Duration;

use uuid::Uuid;

use super::client::Unanswered;

/// Tries more than there are waits for, when connections are lost.
const LOSSES_MORE: usize = 20;

/// How requests that may be repeated are repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The waits between the tries; one try more than there are waits.
    pub delays: Vec<Duration>,
    /// What the tries and the waits between them may take together; no wait ends after it. That a try waits for its turn
    /// behind others does not count: the account is answering them.
    pub budget: Duration,
}

impl Default for RetryPolicy {
    /// The schedule of the service's checklist.
    fn default() -> Self {
        let delays = [2, 4, 10, 30].map(Duration::from_secs).to_vec();
        Self { delays, budget: Duration::from_secs(60) }
    }
}

/// The tries of one request.
#[derive(Debug)]
pub(super) struct Backoff<'a> {
    policy: &'a RetryPolicy,
    waited: usize,
    losses: usize,
    spent: Duration,
    at_once: bool,
}

impl<'a> Backoff<'a> {
    pub(super) fn new(policy: &'a RetryPolicy) -> Self {
        Self { policy, waited: 0, losses: 0, spent: Duration::ZERO, at_once: true }
    }

    /// Counts what a try took.
    pub(super) fn tried(&mut self, took: Duration) {
        self.spent += took;
    }

    /// Waits before the next try, at least as long as the service asks for. False when there is to be none.
    pub(super) async fn wait(&mut self, retry_after: Option<Duration>) -> bool {
        let Some(delay) = self.policy.delays.get(self.waited) else { return false };
        self.waited += 1;
        let delay = jittered(*delay).max(retry_after.unwrap_or_default());
        if self.spent + delay > self.policy.budget {
            return false;
        }
        self.spent += delay;
        tokio::time::sleep(delay).await;
        true
    }

    /// The same after nothing was heard of a try. That a connection was lost says nothing about the request, and where one
    /// is lost many are: the last wait serves some more times then.
    pub(super) async fn wait_unanswered(&mut self, why: Unanswered) -> bool {
        let has_waited_all = self.waited > 0 && self.waited == self.policy.delays.len();
        if why == Unanswered::Lost && has_waited_all && self.losses < LOSSES_MORE {
            self.losses += 1;
            self.waited -= 1;
        }
        self.wait(None).await
    }

    /// The same after no connection was had: the first time there is nothing to wait for, the connection may simply have
    /// been closed for being idle.
    pub(super) async fn wait_to_connect(&mut self) -> bool {
        if std::mem::take(&mut self.at_once) { true } else { self.wait(None).await }
    }
}

/// Between 80% and 120%: those who were refused together do not come back together.
fn jittered(delay: Duration) -> Duration {
    let random = u32::from(Uuid::new_v4().as_bytes()[0]);
    delay * (80 * 255 + 40 * random) / (100 * 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_a_fifth() {
        for _ in 0..1000 {
            let delay = jittered(Duration::from_millis(1000));
            assert!((800..=1200).contains(&delay.as_millis()), "{delay:?}");
        }
    }

    #[tokio::test]
    async fn tries_end_with_the_waits_or_the_budget() {
        let millis = Duration::from_millis;
        let policy = RetryPolicy { delays: vec![millis(1); 2], budget: millis(500) };
        let mut backoff = Backoff::new(&policy);
        assert!(backoff.wait_to_connect().await && backoff.wait(None).await && backoff.wait(None).await);
        assert!(!backoff.wait(None).await);
        assert!(!Backoff::new(&policy).wait(Some(millis(600))).await);
        let mut backoff = Backoff::new(&policy);
        backoff.tried(millis(600));
        assert!(!backoff.wait(None).await);
    }

    #[tokio::test]
    async fn lost_connections_are_given_more_tries_and_not_without_end() {
        let policy = RetryPolicy { delays: vec![Duration::from_millis(1); 2], budget: Duration::from_secs(60) };
        let mut backoff = Backoff::new(&policy);
        let mut tries = 0;
        while backoff.wait_unanswered(Unanswered::Lost).await {
            tries += 1;
        }
        assert_eq!(tries, 2 + LOSSES_MORE);
        let none = RetryPolicy { delays: Vec::new(), ..policy };
        assert!(!Backoff::new(&none).wait_unanswered(Unanswered::Lost).await);
    }
}

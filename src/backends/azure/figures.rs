//! What became of the requests to an account.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tablegate_store::table::RequestFigures;

use super::client::Sent;

/// Counts requests, each try of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    answered: AtomicU64,
    throttled: AtomicU64,
    failed: AtomicU64,
    /// Microseconds that all of them took.
    micros: AtomicU64,
    /// Bytes of the answers' bodies.
    received: AtomicU64,
}

impl Requests {
    /// A request was sent, which took so long.
    pub(super) fn count(&self, sent: &Sent, took: Duration) {
        let counter = match sent {
            Sent::Answer(reply) => {
                self.received.fetch_add(reply.body.len() as u64, Ordering::Relaxed);
                &self.answered
            }
            Sent::Throttled { .. } => &self.throttled,
            Sent::NoConnection(_) | Sent::Unknown(..) => &self.failed,
            // Nothing was sent.
            Sent::NoToken(_) => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// All that was counted, with the number of requests that may be under way now.
    pub(super) fn figures(&self, limit: usize) -> RequestFigures {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RequestFigures {
            answered: of(&self.answered),
            throttled: of(&self.throttled),
            failed: of(&self.failed),
            time: Duration::from_micros(of(&self.micros)),
            received: of(&self.received),
            limit: limit as u64,
        }
    }
}

//! Where the time comes from.
//!
//! Timestamps and ETags are made from a [`Clock`] that is handed in, so that a test can replay a run exactly.

use super::EdmDateTime;

/// A source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// Now, in UTC, to 100 ns. May go backwards: who needs order must keep it.
    fn now(&self) -> EdmDateTime;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> EdmDateTime {
        EdmDateTime::from_unix_micros_saturating(chrono::Utc::now().timestamp_micros())
    }
}

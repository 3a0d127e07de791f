//! Counters that only grow, and histograms of durations, updated without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number of things since the server began.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn add_one(&self) {
        self.add(1);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A time, added up in nanoseconds.
#[derive(Debug, Default)]
pub struct TimeCounter(Counter);

impl TimeCounter {
    pub fn add(&self, time: Duration) {
        self.0.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.get())
    }
}

/// The upper ends of the spans of time that are told apart, in microseconds; what takes longer is in one more.
const ENDS: [u64; 15] = [
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    5_000_000,
    30_000_000,
    300_000_000,
];

/// How often something took how long.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    counts: [Counter; ENDS.len() + 1],
    total: TimeCounter,
}

/// What a histogram has counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// The upper end of each span of time in seconds, and how many ended within it; the last is without end.
    pub spans: Vec<(f64, u64)>,
    pub total: Duration,
}

impl Histogram {
    pub(super) fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        let span = ENDS.partition_point(|end| *end < micros);
        if let Some(count) = self.counts.get(span) {
            count.add_one();
        }
        self.total.add(time);
    }

    pub(super) fn times(&self) -> Times {
        let ends = ENDS.iter().map(|end| Duration::from_micros(*end).as_secs_f64()).chain([f64::MAX]);
        Times { spans: ends.zip(self.counts.iter().map(Counter::get)).collect(), total: self.total.get() }
    }
}

impl Times {
    pub fn count(&self) -> u64 {
        self.spans.iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_first_span_that_holds_it() {
        let histogram = Histogram::default();
        for time in
            [Duration::ZERO, Duration::from_micros(250), Duration::from_nanos(250_001), Duration::from_secs(999)]
        {
            histogram.add(time);
        }
        let times = histogram.times();
        let counts: Vec<u64> = times.spans.iter().map(|(_, count)| *count).collect();
        assert_eq!((counts[0], counts[1], counts[ENDS.len()], times.count()), (2, 1, 1, 4));
        assert!(ENDS.is_sorted() && times.total > Duration::from_secs(999));
    }
}

//! Keys of some of a table's rows: where a scan of rows that are not columns yet is split.
//!
//! Every so many rows that came in windows since the store was opened there is one, and no more than some hundreds: between two of them
//! there are about as many rows as between any others. Rows that come one by one are not looked at; columns are made of them in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One in so many rows, while they are few.
const ROWS_PER_SAMPLE: u64 = 1 << 10;
/// With more samples than these every other one goes.
const MOST: usize = 512;

#[derive(Debug, Clone, Default)]
pub(super) struct Samples {
    /// In the order in which they came.
    keys: Vec<Box<[u8]>>,
    /// How often every other one went.
    thinned: u32,
    /// How many rows came, shared by all states of the table.
    rows: Arc<AtomicU64>,
}

impl Samples {
    /// Counts a row: whether its key is one of them.
    pub(super) fn wants_next(&self) -> bool {
        let rows = self.rows.fetch_add(1, Ordering::Relaxed);
        rows.is_multiple_of(ROWS_PER_SAMPLE << self.thinned)
    }

    pub(super) fn push(&mut self, key: &[u8]) {
        self.keys.push(key.into());
        if self.keys.len() > MOST {
            let mut place = 0;
            self.keys.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.thinned += 1;
        }
    }

    /// Without those that are of no use any more.
    pub(super) fn retain(&mut self, is_of_use: impl Fn(&[u8]) -> bool) {
        self.keys.retain(|key| is_of_use(key));
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &**key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_stay_few_and_evenly_apart() {
        let mut samples = Samples::default();
        for row in 0..2_000_000_u32 {
            if samples.wants_next() {
                samples.push(&row.to_be_bytes());
            }
        }
        let rows: Vec<u32> = samples.keys().map(|key| u32::from_be_bytes(key.try_into().unwrap())).collect();
        assert!(rows.len() > MOST / 2 && rows.len() <= MOST, "{}", rows.len());
        assert!(rows.windows(2).all(|pair| pair[1] - pair[0] == 4_096), "{rows:?}");
    }
}

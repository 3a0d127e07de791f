//! The statements of a server and their costs, bounded: those that are called least make room for new ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use xxhash_rust::xxh64::xxh64;

/// Most statements that are counted.
const ENTRIES_MAX: usize = 5000;
/// How many of them make room at once, so that making room is seldom.
const ENTRIES_EVICTED: usize = ENTRIES_MAX / 20;

/// What one run of a statement cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub time: Duration,
    pub rows: u64,
    pub scanned: u64,
    pub returned: u64,
    pub egts: u64,
    pub failed: bool,
}

/// A statement of one user.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub id: i64,
    pub user: Arc<str>,
    pub text: Arc<str>,
    pub calls: u64,
    pub errors: u64,
    /// Milliseconds, of the calls that did not fail.
    pub total: f64,
    pub least: f64,
    pub most: f64,
    /// Of the squares of differences from the mean.
    squares: f64,
    pub rows: u64,
    pub scanned: u64,
    pub returned: u64,
    pub egts: u64,
}

impl Entry {
    fn new(id: i64, user: &str, text: &Arc<str>) -> Self {
        Self {
            id,
            user: user.into(),
            text: text.clone(),
            calls: 0,
            errors: 0,
            total: 0.0,
            least: 0.0,
            most: 0.0,
            squares: 0.0,
            rows: 0,
            scanned: 0,
            returned: 0,
            egts: 0,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is not exact anyway")]
    pub fn mean(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.total / self.calls as f64 }
    }

    #[expect(clippy::cast_precision_loss, reason = "a deviation is not exact anyway")]
    pub fn deviation(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { (self.squares / self.calls as f64).sqrt() }
    }

    fn add(&mut self, cost: &Cost) {
        self.scanned += cost.scanned;
        self.returned += cost.returned;
        self.egts += cost.egts;
        if cost.failed {
            self.errors += 1;
            return;
        }
        let millis = cost.time.as_secs_f64() * 1e3;
        let before = if self.calls == 0 { millis } else { self.mean() };
        self.least = if self.calls == 0 { millis } else { self.least.min(millis) };
        self.most = self.most.max(millis);
        self.calls += 1;
        self.total += millis;
        // Welford's sum, which does not lose the small digits of large times.
        self.squares += (millis - before) * (millis - self.mean());
        self.rows += cost.rows;
    }
}

/// The statements of a server.
#[derive(Debug, Default)]
pub struct Statistics {
    entries: Mutex<HashMap<u64, Entry>>,
}

impl Statistics {
    pub(crate) fn add(&self, user: &str, text: &Arc<str>, cost: &Cost) {
        let id = xxh64(text.as_bytes(), 0);
        let key = xxh64(user.as_bytes(), id);
        let mut entries = self.lock();
        if entries.len() >= ENTRIES_MAX && !entries.contains_key(&key) {
            make_room(&mut entries);
        }
        entries.entry(key).or_insert_with(|| Entry::new(id.cast_signed(), user, text)).add(cost);
    }

    pub(crate) fn all(&self) -> Vec<Entry> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn reset(&self) {
        self.lock().clear();
    }

    /// Never left half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_room(entries: &mut HashMap<u64, Entry>) {
    let mut uses: Vec<(u64, u64)> = entries.iter().map(|(key, entry)| (entry.calls + entry.errors, *key)).collect();
    let (least, ..) = uses.select_nth_unstable(ENTRIES_EVICTED);
    for (_, key) in least {
        entries.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(millis: u64) -> Cost {
        Cost { time: Duration::from_millis(millis), rows: 2, ..Cost::default() }
    }

    #[test]
    fn costs_add_up() {
        let (statistics, text) = (Statistics::default(), Arc::from("SELECT $1"));
        for millis in [1, 2, 3] {
            statistics.add("u", &text, &cost(millis));
        }
        statistics.add("u", &text, &Cost { failed: true, ..cost(9) });
        statistics.add("v", &text, &cost(1));
        let all = statistics.all();
        let entry = all.iter().find(|entry| &*entry.user == "u").unwrap();
        assert_eq!((all.len(), entry.calls, entry.errors, entry.rows), (2, 3, 1, 6));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(entry.total, 6.0) && near(entry.least, 1.0) && near(entry.most, 3.0));
        assert!(near(entry.mean(), 2.0) && near(entry.deviation(), (2.0_f64 / 3.0).sqrt()));
    }

    #[test]
    fn statements_that_are_called_least_make_room() {
        let statistics = Statistics::default();
        let often: Arc<str> = Arc::from("often");
        for _ in 0..2 {
            statistics.add("u", &often, &cost(1));
        }
        for n in 0..2 * ENTRIES_MAX {
            statistics.add("u", &Arc::from(format!("s{n}")), &cost(1));
        }
        let all = statistics.all();
        assert!(all.len() <= ENTRIES_MAX && all.iter().any(|entry| *entry.text == *often));
    }
}

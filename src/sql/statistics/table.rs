//! The statements of a server and their costs, bounded: those that are called least make room for new ones.
//!
//! Each session adds to one of several parts, so that sessions do not wait for each other at the end of every statement.
//! What statements there are is known once for all parts; it is asked only for one that is new to its part.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use xxhash_rust::xxh64::xxh64;

/// Most statements that are counted.
const ENTRIES_MAX: usize = 5000;
/// So many of them make room at once, one in twenty, so that making room is seldom.
const EVICTED_PART: usize = 20;
/// Enough that the sessions of a busy server seldom want the same one.
const PARTS: usize = 32;

/// What one run of a statement cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub time: Duration,
    pub rows: u64,
    pub scanned: u64,
    pub returned: u64,
    pub egts: u64,
    /// Plans of the engine's: what takes a short way has none.
    pub plans: u64,
    pub failed: bool,
}

/// A statement of one user, and what its calls came to.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub id: i64,
    pub user: Arc<str>,
    pub text: Arc<str>,
    pub sums: Sums,
}

/// What calls of a statement came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
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
    pub plans: u64,
}

impl Sums {
    #[expect(clippy::cast_precision_loss, reason = "a mean is not exact anyway")]
    pub(crate) fn mean(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.total / self.calls as f64 }
    }

    #[expect(clippy::cast_precision_loss, reason = "a deviation is not exact anyway")]
    pub(crate) fn deviation(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { (self.squares / self.calls as f64).sqrt() }
    }

    fn add(&mut self, cost: &Cost) {
        self.scanned += cost.scanned;
        self.returned += cost.returned;
        self.egts += cost.egts;
        self.plans += cost.plans;
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

    #[expect(clippy::cast_precision_loss, reason = "a deviation is not exact anyway")]
    fn add_all(&mut self, other: &Sums) {
        self.errors += other.errors;
        self.scanned += other.scanned;
        self.returned += other.returned;
        self.egts += other.egts;
        self.plans += other.plans;
        if other.calls == 0 {
            return;
        }
        if self.calls > 0 {
            let (here, there) = (self.calls as f64, other.calls as f64);
            let apart = other.mean() - self.mean();
            self.squares += apart * apart * here * there / (here + there);
        }
        self.squares += other.squares;
        self.least = if self.calls == 0 { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.calls += other.calls;
        self.total += other.total;
        self.rows += other.rows;
    }

    fn uses(&self) -> u64 {
        self.calls + self.errors
    }
}

/// The statements of a server.
#[derive(Debug)]
pub struct Statistics {
    /// By a hash of user and text. Locked before a part, never after.
    known: Mutex<HashMap<u64, Known>>,
    /// What is here is known.
    parts: Vec<Part>,
    most: usize,
}

#[derive(Debug)]
struct Known {
    id: i64,
    user: Arc<str>,
    text: Arc<str>,
}

/// What the sessions of one part did. On a cache line of its own, so that parts do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part(Mutex<HashMap<u64, Sums>>);

impl Default for Statistics {
    fn default() -> Self {
        Self::of_at_most(ENTRIES_MAX)
    }
}

impl Statistics {
    /// Of no more statements than these.
    fn of_at_most(most: usize) -> Self {
        Self { known: Mutex::default(), parts: (0..PARTS).map(|_| Part::default()).collect(), most }
    }

    /// A statement of the session with this number has run.
    pub(crate) fn add(&self, process: i32, user: &str, text: &Arc<str>, cost: &Cost) {
        let id = xxh64(text.as_bytes(), 0);
        let key = xxh64(user.as_bytes(), id);
        let part = &self.parts[process.unsigned_abs() as usize % PARTS];
        if let Some(sums) = part.lock().get_mut(&key) {
            sums.add(cost);
            return;
        }
        let mut known = self.known();
        if known.len() >= self.most && !known.contains_key(&key) {
            self.make_room(&mut known);
        }
        known.entry(key).or_insert_with(|| Known { id: id.cast_signed(), user: user.into(), text: text.clone() });
        part.lock().entry(key).or_default().add(cost);
    }

    pub(crate) fn all(&self) -> Vec<Entry> {
        let known = self.known();
        let mut sums = self.sums();
        let entry = |(key, Known { id, user, text }): (&u64, &Known)| {
            let sums = sums.remove(key).unwrap_or_default();
            Entry { id: *id, user: user.clone(), text: text.clone(), sums }
        };
        known.iter().map(entry).collect()
    }

    pub(crate) fn reset(&self) {
        let mut known = self.known();
        self.parts.iter().for_each(|part| part.lock().clear());
        known.clear();
    }

    /// What all parts have, together.
    fn sums(&self) -> HashMap<u64, Sums> {
        let mut all: HashMap<u64, Sums> = HashMap::new();
        for part in &self.parts {
            for (key, sums) in part.lock().iter() {
                all.entry(*key).or_default().add_all(sums);
            }
        }
        all
    }

    fn make_room(&self, known: &mut HashMap<u64, Known>) {
        let sums = self.sums();
        let uses = |key: &u64| sums.get(key).map_or(0, Sums::uses);
        let mut uses: Vec<(u64, u64)> = known.keys().map(|key| (uses(key), *key)).collect();
        let count = (self.most / EVICTED_PART).max(1);
        if count < uses.len() {
            uses.select_nth_unstable(count);
            uses.truncate(count);
        }
        let evicted: HashSet<u64> = uses.into_iter().map(|(_, key)| key).collect();
        for part in &self.parts {
            part.lock().retain(|key, _| !evicted.contains(key));
        }
        known.retain(|key, _| !evicted.contains(key));
    }

    /// Never left half changed.
    fn known(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part {
    /// Never left half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Sums>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(millis: u64) -> Cost {
        Cost { time: Duration::from_millis(millis), rows: 2, ..Cost::default() }
    }

    #[test]
    fn costs_add_up_whatever_part_they_are_in() {
        let (statistics, text) = (Statistics::default(), Arc::from("SELECT $1"));
        for (process, millis) in [(1, 1), (2, 2), (-1, 3)] {
            statistics.add(process, "u", &text, &cost(millis));
        }
        statistics.add(5, "u", &text, &Cost { failed: true, ..cost(9) });
        statistics.add(1, "v", &text, &cost(1));
        let all = statistics.all();
        let Entry { sums, .. } = all.iter().find(|entry| &*entry.user == "u").unwrap();
        assert_eq!((all.len(), sums.calls, sums.errors, sums.rows), (2, 3, 1, 6));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(sums.total, 6.0) && near(sums.least, 1.0) && near(sums.most, 3.0));
        assert!(near(sums.mean(), 2.0) && near(sums.deviation(), (2.0_f64 / 3.0).sqrt()));
        statistics.reset();
        assert!(statistics.all().is_empty());
    }

    #[test]
    fn statements_that_are_called_least_make_room() {
        const MOST: usize = 40;
        let statistics = Statistics::of_at_most(MOST);
        let add = |process: usize, text: &str| {
            statistics.add(i32::try_from(process).unwrap(), "u", &Arc::from(text), &cost(1));
        };
        // Once in each of two parts.
        add(1, "often");
        add(2, "often");
        let texts = || statistics.all().into_iter().map(|entry| entry.text.to_string()).collect::<HashSet<_>>();
        for n in 1..MOST {
            add(n, &format!("s{n}"));
        }
        assert_eq!(texts().len(), MOST, "there is room for all of them");
        add(1, "one more");
        assert_eq!(texts().len(), MOST - 1, "two have made room for it");
        for n in 0..10 * MOST {
            add(n, &format!("t{n}"));
        }
        assert!(texts().len() <= MOST && texts().contains("often"));
        assert!(statistics.parts.iter().map(|part| part.lock().len()).sum::<usize>() <= MOST + 1);
        assert_eq!(Statistics::default().most, 5000);
    }
}

//! The service's scalability targets as limits: so that an application's retries can be tried.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tablegate_store::model::TableName;

/// Entities a second of the account, and of each partition.
const ACCOUNT_RATE: f64 = 20_000.0;
const PARTITION_RATE: f64 = 2_000.0;
/// Partitions that are kept in mind: those that were not asked for during a second are as new ones.
const PARTITIONS_MAX: usize = 10_000;

/// What was used of the account and of partitions in the last second.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<Used>);

#[derive(Default)]
struct Used {
    account: Option<Bucket>,
    partitions: HashMap<(String, String), Bucket>,
}

/// What is left of a second's entities, filled again as time goes by. It may be overdrawn by one request, which is paid
/// for by those behind it.
#[derive(Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn now(kept: Option<Self>, rate: f64, now: Instant) -> Self {
        let left = kept.map_or(rate, |kept| kept.left + now.duration_since(kept.at).as_secs_f64() * rate);
        Self { left: left.min(rate), at: now }
    }
}

impl Throttle {
    /// Whether so many entities may be read or written now.
    pub(crate) fn takes(&self, table: &TableName, partition: Option<&str>, entities: u64) -> bool {
        self.takes_at(table, partition, entities, Instant::now())
    }

    fn takes_at(&self, table: &TableName, partition: Option<&str>, entities: u64, now: Instant) -> bool {
        // Both buckets are replaced whole.
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        #[expect(clippy::cast_precision_loss, reason = "requests are of thousands of entities at most")]
        let entities = entities as f64;
        let key = partition.map(|partition| (table.folded(), partition.to_owned()));
        let mut account = Bucket::now(used.account, ACCOUNT_RATE, now);
        let mut of_partition =
            key.as_ref().map(|key| Bucket::now(used.partitions.get(key).copied(), PARTITION_RATE, now));
        if account.left <= 0.0 || of_partition.is_some_and(|bucket| bucket.left <= 0.0) {
            return false;
        }
        account.left -= entities;
        used.account = Some(account);
        if let (Some(key), Some(bucket)) = (key, &mut of_partition) {
            bucket.left -= entities;
            if used.partitions.len() >= PARTITIONS_MAX {
                used.partitions.retain(|_, kept| Bucket::now(Some(*kept), PARTITION_RATE, now).left < PARTITION_RATE);
            }
            used.partitions.insert(key, *bucket);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_partition_takes_two_thousand_entities_a_second() {
        let (throttle, table, start) = (Throttle::default(), TableName::parse("Orders").unwrap(), Instant::now());
        let takes = |partition, at| throttle.takes_at(&table, Some(partition), 100, start + Duration::from_millis(at));
        assert_eq!((0..100).filter(|_| takes("a", 0)).count(), 20);
        assert!(takes("b", 0));
        assert!(!takes("a", 0));
        assert_eq!((0..100).filter(|_| takes("a", 500)).count(), 10);
    }

    #[test]
    fn an_account_takes_twenty_thousand() {
        let (throttle, table, now) = (Throttle::default(), TableName::parse("Orders").unwrap(), Instant::now());
        let taken = (0..50).filter(|i| throttle.takes_at(&table, Some(&i.to_string()), 1000, now)).count();
        assert_eq!(taken, 20);
    }
}

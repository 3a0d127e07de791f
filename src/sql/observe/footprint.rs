//! What a transaction wrote, in numbers: tables, partitions, entities, bytes.

use std::collections::HashSet;

use tablegate_store::model::EntityKeys;
use tablegate_store::table::payload;
use xxhash_rust::xxh64::xxh64;

use super::rule::{Rule, broken_by_size};
use super::seen::bounded;
use crate::relation::Relation;

/// Tables, and partitions, that are named one by one.
const NAMED: usize = 20;
/// Characters of a name or key that are kept.
const NAME_MAX_CHARS: usize = 200;
/// Partitions that are told apart; what has more is counted as this many.
const PARTITIONS_COUNTED: usize = 100_000;

/// The extent of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    /// SQL names, each once, as far as they are named.
    pub tables: Vec<String>,
    /// `table/PartitionKey`, each once, as far as they are named. No PartitionKey holds a slash.
    pub partitions: Vec<String>,
    pub entities: usize,
    /// Of the `$batch` body that it would be.
    pub bytes: usize,
    /// Hashes of the partitions seen.
    seen: HashSet<u64>,
    /// Most operations follow one of the same partition.
    last: Option<(u32, String)>,
}

impl Footprint {
    pub(crate) fn new() -> Self {
        Self { bytes: payload::ENVELOPE_BYTES, ..Self::default() }
    }

    /// That of a change set of another door, which names no relation: its table, and one partition or two of it.
    pub(crate) fn of_change_set(table: &str, partitions: &[&str], entities: usize, bytes: usize) -> Self {
        let table = bounded(table, NAME_MAX_CHARS);
        let mut footprint = Self { entities, bytes, ..Self::default() };
        for partition in partitions {
            footprint.seen.insert(xxh64(partition.as_bytes(), 0));
            footprint.partitions.push(format!("{table}/{}", bounded(partition, NAME_MAX_CHARS)));
        }
        footprint.tables.push(table);
        footprint
    }

    /// Adds operations on entities of one partition, and what they take in the body.
    pub(crate) fn add(&mut self, relation: &Relation, partition: &str, entities: usize, bytes: usize) {
        self.entities += entities;
        self.bytes += bytes;
        let last = self.last.as_ref();
        if last.is_some_and(|(oid, last)| *oid == relation.oid && last == partition) {
            return;
        }
        if last.is_none_or(|(oid, _)| *oid != relation.oid) {
            let table = bounded(&relation.name, NAME_MAX_CHARS);
            if self.tables.len() < NAMED && !self.tables.contains(&table) {
                self.tables.push(table);
            }
        }
        let mut last = self.last.take().map_or_else(String::new, |(_, last)| last);
        last.clear();
        last.push_str(partition);
        self.last = Some((relation.oid, last));
        let is_new =
            self.seen.len() < PARTITIONS_COUNTED && self.seen.insert(xxh64(partition.as_bytes(), relation.oid.into()));
        if is_new && self.partitions.len() < NAMED {
            let table = bounded(&relation.name, NAME_MAX_CHARS);
            self.partitions.push(format!("{table}/{}", bounded(partition, NAME_MAX_CHARS)));
        }
    }

    /// Adds an operation on each of these entities, and what each takes in the body.
    pub(crate) fn add_rows(&mut self, relation: &Relation, keys: &EntityKeys, bytes: &[usize]) {
        for ((partition, _), bytes) in keys.pairs().zip(bytes) {
            self.add(relation, partition, 1, *bytes);
        }
    }

    /// The rules that a statement of this extent breaks, when it is on one table.
    pub(crate) fn broken_rules(&self) -> impl Iterator<Item = Rule> {
        let scattered = (self.partition_count() > 1).then_some(Rule::SecondPartition);
        scattered.into_iter().chain(broken_by_size(self.entities, self.bytes))
    }

    /// How many partitions there are, up to the number that are told apart.
    pub(crate) fn partition_count(&self) -> usize {
        self.seen.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_counted_once_and_named_up_to_a_bound() {
        let (orders, log) =
            (Relation { oid: 1, ..Relation::for_tests("orders") }, Relation { oid: 2, ..Relation::for_tests("log") });
        let key = |n: usize| format!("p{n}");
        let mut footprint = Footprint::new();
        for n in (0..30).chain(0..30) {
            footprint.add(&orders, &key(n), 1, 10);
        }
        footprint.add(&log, &key(0), 5, 50);
        assert_eq!((footprint.partition_count(), footprint.entities), (31, 65));
        assert_eq!(footprint.bytes, payload::ENVELOPE_BYTES + 650);
        assert_eq!(footprint.tables, ["orders", "log"]);
        assert_eq!((footprint.partitions.len(), footprint.partitions[1].as_str()), (NAMED, "orders/p1"));
    }
}

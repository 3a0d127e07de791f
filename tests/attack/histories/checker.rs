//! What is wrong in a history.
//!
//! A list shows in which order its values were appended, so the versions of a key are known, and with them which transaction
//! depends on which (as in Elle, by Kingsbury and Alvaro): `ww` overwrote the other's version, `wr` read it, `rw` read the one
//! before it. A cycle of them is an anomaly, and which dependencies it is made of says at which level:
//!
//! | cycle                          | forbidden to                                                    |
//! |--------------------------------|-----------------------------------------------------------------|
//! | of `ww` and `wr`               | everybody                                                       |
//! | the same with one `rw`         | REPEATABLE READ and SERIALIZABLE: who read has one snapshot     |
//! | any, of SERIALIZABLE alone     | SERIALIZABLE                                                    |

use std::collections::{HashMap, HashSet};

use super::graph::{Depends, Graph};
use super::history::{End, History, Key, Level, Step, Transaction, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Anomaly {
    /// Its transaction was acknowledged, and the value is gone.
    LostAppend(Key, Value),
    /// Its transaction was refused, and somebody has seen the value.
    AbortedRead(Key, Value),
    /// A part of what a transaction appended was seen.
    IntermediateRead(Key, Value),
    /// A part of what a transaction appended is there.
    TornTransaction(usize),
    /// Nobody appended it.
    MadeUp(Key, Value),
    /// It is in the list twice.
    Twice(Key, Value),
    /// A transaction did not see what it had appended itself.
    NotItsOwn(usize, Key),
    /// Two reads of one snapshot saw different lists.
    NotRepeated(usize, Key),
    /// The list that was read is not the beginning of what it has become.
    OtherOrder(usize, Key),
    /// Of these transactions each depends on the one before it.
    Cycle(Level, Vec<(usize, Depends)>),
}

/// Everything that is wrong, simple things first.
pub(super) fn anomalies(history: &History) -> Vec<Anomaly> {
    let writers = Writers::of(history);
    let mut found = wrong_lists(history, &writers);
    found.extend(lost(history, &writers));
    for (number, transaction) in history.transactions.iter().enumerate() {
        wrong_reads(history, &writers, number, transaction, &mut found);
    }
    // What depends on what is only known where lists are what they must be.
    if found.is_empty() {
        found.extend(cycles(history, &writers));
    }
    found
}

/// Who appended what.
struct Writers {
    by_value: HashMap<(Key, Value), usize>,
    /// The last value that each transaction appended to a key.
    last: HashMap<(usize, Key), Value>,
}

impl Writers {
    fn of(history: &History) -> Self {
        let (mut by_value, mut last) = (HashMap::new(), HashMap::new());
        for (number, transaction) in history.transactions.iter().enumerate() {
            for step in &transaction.steps {
                if let Step::Append(key, value) = step {
                    by_value.insert((*key, *value), number);
                    last.insert((number, *key), *value);
                }
            }
        }
        Self { by_value, last }
    }

    fn of_value(&self, key: Key, value: Value) -> Option<usize> {
        self.by_value.get(&(key, value)).copied()
    }
}

fn wrong_lists(history: &History, writers: &Writers) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for (key, list) in &history.lists {
        let mut seen = HashSet::new();
        for value in list {
            if !seen.insert(value) {
                found.push(Anomaly::Twice(*key, *value));
            }
            match writers.of_value(*key, *value) {
                None => found.push(Anomaly::MadeUp(*key, *value)),
                Some(writer) if history.transactions[writer].end == End::Aborted => {
                    found.push(Anomaly::AbortedRead(*key, *value));
                }
                Some(_) => {}
            }
        }
    }
    found
}

/// What was acknowledged is there; of what was not answered all is there or nothing.
fn lost(history: &History, writers: &Writers) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        let appends = || {
            transaction.steps.iter().filter_map(|step| match step {
                Step::Append(key, value) => Some((*key, *value)),
                Step::Read(..) => None,
            })
        };
        let gone: Vec<_> = appends().filter(|(key, value)| !is_there(history, *key, *value)).collect();
        match transaction.end {
            End::Committed => found.extend(gone.iter().map(|(key, value)| Anomaly::LostAppend(*key, *value))),
            End::Unknown if !gone.is_empty() && gone.len() < appends().count() => {
                found.push(Anomaly::TornTransaction(number));
            }
            End::Unknown | End::Aborted => {}
        }
        debug_assert!(appends().all(|(key, value)| writers.of_value(key, value) == Some(number)));
    }
    found
}

fn is_there(history: &History, key: Key, value: Value) -> bool {
    history.lists.get(&key).is_some_and(|list| list.contains(&value))
}

/// What the reads of one transaction saw, against what became of the lists.
fn wrong_reads(
    history: &History,
    writers: &Writers,
    number: usize,
    transaction: &Transaction,
    found: &mut Vec<Anomaly>,
) {
    let mut own: HashMap<Key, Vec<Value>> = HashMap::new();
    let mut snapshot: HashMap<Key, &[Value]> = HashMap::new();
    for step in &transaction.steps {
        let (key, list) = match step {
            Step::Append(key, value) => {
                own.entry(*key).or_default().push(*value);
                continue;
            }
            Step::Read(key, list) => (*key, list),
        };
        let Some(before) = list.strip_suffix(own.get(&key).map_or(&[][..], Vec::as_slice)) else {
            found.push(Anomaly::NotItsOwn(number, key));
            continue;
        };
        let whole = history.lists.get(&key).map_or(&[][..], Vec::as_slice);
        for value in before {
            match writers.of_value(key, *value) {
                None => found.push(Anomaly::MadeUp(key, *value)),
                Some(writer) if writer == number => found.push(Anomaly::Twice(key, *value)),
                Some(writer) => {
                    let gone = history.transactions[writer].end != End::Committed && !whole.contains(value);
                    if gone || history.transactions[writer].end == End::Aborted {
                        found.push(Anomaly::AbortedRead(key, *value));
                    }
                }
            }
        }
        if let Some(last) = before.last()
            && let Some(writer) = writers.of_value(key, *last)
            && writers.last.get(&(writer, key)) != Some(last)
        {
            found.push(Anomaly::IntermediateRead(key, *last));
        }
        if !whole.starts_with(before) {
            found.push(Anomaly::OtherOrder(number, key));
        }
        if transaction.level > Level::ReadCommitted && *snapshot.entry(key).or_insert(before) != before {
            found.push(Anomaly::NotRepeated(number, key));
        }
    }
}

fn cycles(history: &History, writers: &Writers) -> Option<Anomaly> {
    let graph = graph(history, writers);
    let level = |number: usize| history.transactions[number].level;
    // Whoever commits before the other comes first: that has no end nowhere.
    if let Some(cycle) = graph.cycle(|_, depends, _| depends != Depends::Before) {
        return Some(Anomaly::Cycle(Level::ReadCommitted, cycle));
    }
    if let Some(cycle) = graph.cycle_of_one_before(|reader| level(reader) > Level::ReadCommitted) {
        return Some(Anomaly::Cycle(Level::RepeatableRead, cycle));
    }
    let is_serializable = |number| level(number) == Level::Serializable;
    let cycle = graph.cycle(|from, _, to| is_serializable(from) && is_serializable(to));
    cycle.map(|cycle| Anomaly::Cycle(Level::Serializable, cycle))
}

/// The transactions that were carried out, and what each depends on.
fn graph(history: &History, writers: &Writers) -> Graph {
    let mut graph = Graph::new(history.transactions.len());
    let writer = |key: Key, value: Value| writers.of_value(key, value);
    for (key, list) in &history.lists {
        for pair in list.windows(2) {
            if let (Some(first), Some(second)) = (writer(*key, pair[0]), writer(*key, pair[1])) {
                graph.add(first, Depends::Overwrote, second);
            }
        }
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        if transaction.end == End::Aborted {
            continue;
        }
        let mut appended: HashMap<Key, usize> = HashMap::new();
        for step in &transaction.steps {
            match step {
                Step::Append(key, _) => *appended.entry(*key).or_default() += 1,
                Step::Read(key, list) => {
                    let own = appended.get(key).copied().unwrap_or_default();
                    let before = &list[..list.len() - own];
                    if let Some(seen) = before.last().and_then(|last| writer(*key, *last)) {
                        graph.add(seen, Depends::Read, number);
                    }
                    let next = history.lists.get(key).and_then(|list| list.get(before.len()));
                    if let Some(next) = next.and_then(|next| writer(*key, *next)) {
                        graph.add(number, Depends::Before, next);
                    }
                }
            }
        }
    }
    graph
}

//! The checker finds each anomaly that it is for, and no other: histories with one defect each.

use super::checker::{Anomaly, anomalies};
use super::graph::Depends;
use super::history::{End, History, Key, Level, Step, Transaction, Value};

use End::{Aborted, Committed, Unknown};
use Level::{ReadCommitted, RepeatableRead, Serializable};

fn append(key: Key, value: Value) -> Step {
    Step::Append(key, value)
}

fn read(key: Key, list: &[Value]) -> Step {
    Step::Read(key, list.to_vec())
}

fn history(transactions: &[(Level, End, &[Step])], lists: &[(Key, &[Value])]) -> History {
    let transaction =
        |(level, end, steps): &(Level, End, &[Step])| Transaction { level: *level, end: *end, steps: steps.to_vec() };
    History {
        transactions: transactions.iter().map(transaction).collect(),
        lists: lists.iter().map(|(key, list)| (*key, list.to_vec())).collect(),
    }
}

fn found(transactions: &[(Level, End, &[Step])], lists: &[(Key, &[Value])]) -> Vec<Anomaly> {
    anomalies(&history(transactions, lists))
}

/// Which level the cycle is forbidden to, and what it is made of.
fn cycle(transactions: &[(Level, End, &[Step])], lists: &[(Key, &[Value])]) -> (Level, Vec<Depends>) {
    match found(transactions, lists).as_slice() {
        [Anomaly::Cycle(level, cycle)] => (*level, cycle.iter().map(|(_, depends)| *depends).collect()),
        other => panic!("no cycle: {other:?}"),
    }
}

#[test]
fn a_history_as_it_should_be_has_no_anomaly() {
    for level in Level::ALL {
        let transactions: &[(Level, End, &[Step])] = &[
            (level, Committed, &[append(1, 10), read(1, &[10]), append(1, 11)]),
            (level, Committed, &[read(1, &[10, 11]), append(1, 12), append(2, 20), read(1, &[10, 11, 12])]),
            (level, Aborted, &[append(1, 13), read(1, &[10, 11, 13])]),
            (level, Unknown, &[append(2, 21), append(3, 30)]),
            (level, Unknown, &[append(2, 22), append(3, 31)]),
            (level, Committed, &[read(2, &[20, 21]), read(3, &[30]), read(4, &[])]),
        ];
        assert_eq!(found(transactions, &[(1, &[10, 11, 12]), (2, &[20, 21]), (3, &[30])]), []);
    }
}

#[test]
fn an_acknowledged_append_that_is_gone_is_found() {
    let transactions: &[(Level, End, &[Step])] =
        &[(ReadCommitted, Committed, &[append(1, 10)]), (ReadCommitted, Committed, &[append(1, 11)])];
    assert_eq!(found(transactions, &[(1, &[11])]), [Anomaly::LostAppend(1, 10)]);
    assert_eq!(found(transactions, &[]), [Anomaly::LostAppend(1, 10), Anomaly::LostAppend(1, 11)]);
}

#[test]
fn a_refused_append_that_is_seen_is_found() {
    let refused: (Level, End, &[Step]) = (ReadCommitted, Aborted, &[append(1, 10)]);
    assert_eq!(found(&[refused], &[(1, &[10])]), [Anomaly::AbortedRead(1, 10)]);
    let reads: (Level, End, &[Step]) = (ReadCommitted, Committed, &[read(1, &[10])]);
    let seen = found(&[refused, reads], &[]);
    assert!(seen.contains(&Anomaly::AbortedRead(1, 10)), "{seen:?}");
    // What was not answered, was seen and is gone after the kill.
    let unanswered: (Level, End, &[Step]) = (ReadCommitted, Unknown, &[append(1, 10)]);
    let seen = found(&[unanswered, reads], &[]);
    assert!(seen.contains(&Anomaly::AbortedRead(1, 10)), "{seen:?}");
}

#[test]
fn a_transaction_that_is_there_or_seen_in_part_is_found() {
    let two: &[Step] = &[append(1, 10), append(2, 20)];
    assert_eq!(found(&[(ReadCommitted, Unknown, two)], &[(1, &[10])]), [Anomaly::TornTransaction(0)]);
    let twice: &[Step] = &[append(1, 10), append(1, 11)];
    let transactions = [(ReadCommitted, Committed, twice), (ReadCommitted, Committed, &[read(1, &[10])][..])];
    assert_eq!(found(&transactions, &[(1, &[10, 11])]), [Anomaly::IntermediateRead(1, 10)]);
}

#[test]
fn values_from_nowhere_and_values_that_come_twice_are_found() {
    let one: (Level, End, &[Step]) = (ReadCommitted, Committed, &[append(1, 10)]);
    assert_eq!(found(&[one], &[(1, &[10, 99])]), [Anomaly::MadeUp(1, 99)]);
    assert_eq!(found(&[one], &[(1, &[10, 10])]), [Anomaly::Twice(1, 10)]);
}

#[test]
fn reads_that_do_not_go_together_are_found() {
    let writes: (Level, End, &[Step]) = (ReadCommitted, Committed, &[append(1, 10)]);
    let lists: &[(Key, &[Value])] = &[(1, &[10, 11])];
    let own: (Level, End, &[Step]) = (ReadCommitted, Committed, &[append(1, 11), read(1, &[10])]);
    assert_eq!(found(&[writes, own], lists), [Anomaly::NotItsOwn(1, 1)]);
    let other: (Level, End, &[Step]) = (ReadCommitted, Committed, &[append(1, 11)]);
    let backwards: (Level, End, &[Step]) = (ReadCommitted, Committed, &[read(1, &[11, 10])]);
    assert_eq!(found(&[writes, other, backwards], lists), [Anomaly::OtherOrder(2, 1)]);
    let steps: &[Step] = &[read(1, &[10]), read(1, &[10, 11])];
    assert_eq!(found(&[writes, other, (ReadCommitted, Committed, steps)], lists), []);
    assert_eq!(found(&[writes, other, (RepeatableRead, Committed, steps)], lists), [Anomaly::NotRepeated(2, 1)]);
}

#[test]
fn two_that_overwrote_each_other_are_found() {
    let transactions: &[(Level, End, &[Step])] = &[
        (ReadCommitted, Committed, &[append(1, 10), append(2, 20)]),
        (ReadCommitted, Committed, &[append(1, 11), append(2, 21)]),
    ];
    let lists: &[(Key, &[Value])] = &[(1, &[10, 11]), (2, &[21, 20])];
    assert_eq!(cycle(transactions, lists), (ReadCommitted, vec![Depends::Overwrote; 2]));
}

#[test]
fn two_that_read_each_other_are_found() {
    let transactions: &[(Level, End, &[Step])] = &[
        (ReadCommitted, Committed, &[append(1, 10), read(2, &[20])]),
        (ReadCommitted, Committed, &[append(2, 20), read(1, &[10])]),
    ];
    assert_eq!(cycle(transactions, &[(1, &[10]), (2, &[20])]), (ReadCommitted, vec![Depends::Read; 2]));
}

#[test]
fn a_snapshot_that_is_none_is_found() {
    let transactions = |level| -> [(Level, End, Vec<Step>); 2] {
        [
            (ReadCommitted, Committed, vec![append(1, 10), append(2, 20)]),
            (level, Committed, vec![read(1, &[]), read(2, &[20])]),
        ]
    };
    let lists: &[(Key, &[Value])] = &[(1, &[10]), (2, &[20])];
    let of = |level| transactions(level).map(|(level, end, steps)| Transaction { level, end, steps });
    let run = |level| {
        let lists = lists.iter().map(|(key, list)| (*key, list.to_vec())).collect();
        anomalies(&History { transactions: of(level).to_vec(), lists })
    };
    assert_eq!(run(ReadCommitted), []);
    for level in [RepeatableRead, Serializable] {
        let expected = vec![(0, Depends::Before), (1, Depends::Read)];
        assert_eq!(run(level), [Anomaly::Cycle(RepeatableRead, expected)]);
    }
}

#[test]
fn a_lost_update_is_found() {
    // Both read the empty list, and both appended to what they had read.
    let transactions: &[(Level, End, &[Step])] = &[
        (RepeatableRead, Committed, &[read(1, &[]), append(1, 10)]),
        (RepeatableRead, Committed, &[read(1, &[]), append(1, 11)]),
    ];
    assert_eq!(found(transactions, &[(1, &[11])]), [Anomaly::LostAppend(1, 10)]);
    let (level, mut made_of) = cycle(transactions, &[(1, &[10, 11])]);
    made_of.sort_by_key(|depends| *depends as u8);
    assert_eq!((level, made_of), (RepeatableRead, vec![Depends::Overwrote, Depends::Before]));
}

#[test]
fn skewed_writes_are_found_under_serializable_alone() {
    let steps: [&[Step]; 2] = [&[read(1, &[]), append(2, 20)], &[read(2, &[]), append(1, 10)]];
    let lists: &[(Key, &[Value])] = &[(1, &[10]), (2, &[20])];
    let of = |first, second| [(first, Committed, steps[0]), (second, Committed, steps[1])];
    assert_eq!(found(&of(RepeatableRead, RepeatableRead), lists), []);
    assert_eq!(found(&of(Serializable, RepeatableRead), lists), []);
    assert_eq!(cycle(&of(Serializable, Serializable), lists), (Serializable, vec![Depends::Before; 2]));
}

#[test]
fn a_long_cycle_is_found() {
    // Each reads the list that the next one appends to.
    const LENGTH: u32 = 5_000;
    let transaction = |number: u32| Transaction {
        level: Serializable,
        end: Committed,
        steps: vec![read((number + 1) % LENGTH, &[]), append(number, u64::from(number))],
    };
    let lists = (0..LENGTH).map(|key| (key, vec![u64::from(key)])).collect();
    let history = History { transactions: (0..LENGTH).map(transaction).collect(), lists };
    assert!(
        matches!(anomalies(&history).as_slice(), [Anomaly::Cycle(Serializable, cycle)] if cycle.len() == LENGTH as usize)
    );
}

//! Deadlock detection: a search for a cycle of transactions that wait for each other.
//!
//! Each transaction waits for one lock at a time, and the last one to begin its wait closes the cycle. So it is enough
//! that each transaction searches once, after its own wait was registered. The locks of a session's transactions and
//! its advisory locks have one owner, because a session waits for one lock at a time, whichever of them it is.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::mode::{Mode, Modes};
use super::registry::{AdvisoryKey, Locks, Owner, Target, Wanted};

/// A circle of waits, beginning with the transaction that closed it.
#[derive(Debug, Clone)]
pub(super) struct Circle {
    waits: Vec<(Owner, Wanted)>,
}

impl Circle {
    /// Says who waits for whom, as PostgreSQL does.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for (index, (owner, wanted)) in self.waits.iter().enumerate() {
            let (blocker, _) = &self.waits[(index + 1) % self.waits.len()];
            let separator = if index == 0 { "" } else { "\n" };
            // Writing into a String cannot fail.
            let _ = write!(
                text,
                "{separator}Process {} waits for {}; blocked by process {}.",
                owner.process,
                describe(wanted),
                blocker.process
            );
        }
        text
    }
}

fn describe(wanted: &Wanted) -> String {
    match (&wanted.target, wanted.mode) {
        (Target::Row(row), _) => format!("a lock on row {} of \"{}\"", row.1, row.0),
        (Target::Table(oid), Mode::Table(mode)) => format!("{mode:?}Lock on relation {oid}"),
        (Target::Table(oid), Mode::Row(_)) => format!("a lock on relation {oid}"),
        (Target::Advisory(key), mode) => {
            let mode = Modes::NONE.with(mode).names(false).next().unwrap_or_default();
            match key {
                AdvisoryKey::One(key) => {
                    let [a, b, c, d, e, f, g, h] = key.to_be_bytes();
                    let (high, low) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                    format!("{mode} on advisory lock [0,{high},{low},1]")
                }
                AdvisoryKey::Pair(first, second) => {
                    format!("{mode} on advisory lock [0,{},{},2]", first.cast_unsigned(), second.cast_unsigned())
                }
            }
        }
    }
}

/// Registers a wait and says whether it closes a cycle. If so, the wait is removed again at once, so that no other
/// transaction finds the same cycle and gives up too.
///
/// Where somebody in the circle waits only because others asked before, it goes ahead of them: the order of a queue is
/// no reason to end a transaction, in PostgreSQL neither.
pub(super) fn begin_wait(locks: &Locks, owner: Owner, wanted: &Wanted) -> Option<Circle> {
    let mut waiting = locks.waiting();
    waiting.insert(owner, wanted.clone());
    while let Some(circle) = find_circle(locks, &waiting, owner, wanted) {
        let Some((ahead, _)) = circle.waits.iter().find(|(owner, wanted)| locks.overtake(*owner, wanted)) else {
            waiting.remove(&owner);
            return Some(circle);
        };
        waiting.remove(ahead);
        if *ahead == owner {
            return None;
        }
    }
    None
}

/// A circle of waits through this one.
fn find_circle(locks: &Locks, waiting: &HashMap<Owner, Wanted>, owner: Owner, wanted: &Wanted) -> Option<Circle> {
    let mut path = vec![(owner, wanted.clone())];
    let mut seen = HashSet::from([owner.process]);
    let mut ahead: Vec<Vec<Owner>> = vec![locks.blockers(owner, wanted)];
    while let Some(blockers) = ahead.last_mut() {
        let Some(blocker) = blockers.pop() else {
            ahead.pop();
            path.pop();
            continue;
        };
        if blocker.process == owner.process {
            return Some(Circle { waits: path });
        }
        let wait = || waiting.iter().find(|(waiter, _)| waiter.process == blocker.process);
        if seen.insert(blocker.process)
            && let Some((waiter, wanted)) = wait()
        {
            ahead.push(locks.blockers(*waiter, wanted));
            path.push((*waiter, wanted.clone()));
        }
    }
    None
}

/// The wait is over.
pub(super) fn end_wait(locks: &Locks, owner: Owner) {
    locks.waiting().remove(&owner);
}

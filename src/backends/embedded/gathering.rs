//! How many commits share a sync.
//!
//! All that wait when a round begins share one. Clients that commit one thing after the other fall into two groups
//! then, of which one waits for the sync of the other, and each sync serves half of them. A client that was answered
//! with the last round is likely to commit again at once, so on a slow disk a sync that waits a little for those
//! clients serves all of them.

use std::time::{Duration, Instant};

use super::tries::Tries;

/// Where a sync takes less it is the processor that commits wait for.
const LEAST_SYNC: Duration = Duration::from_micros(200);
/// The longest wait, whatever a sync takes.
const LONGEST: Duration = Duration::from_millis(5);
/// Between two looks at who came.
const LOOK: Duration = Duration::from_micros(20);

#[derive(Debug)]
pub(super) struct Gathering {
    /// How many are likely to come: those of the last round, and those who came while it was made durable.
    expected: usize,
    /// What the last sync took.
    sync: Duration,
    /// When the wait of this round began.
    began: Option<Instant>,
    /// The longest wait.
    longest: Duration,
    tries: Tries,
}

impl Default for Gathering {
    fn default() -> Self {
        Self { expected: 0, sync: Duration::ZERO, began: None, longest: LONGEST, tries: Tries::default() }
    }
}

impl Gathering {
    /// Waits for one more than those who are `here`, as long as that is worth it. `look` says who came.
    pub(super) fn wait<T>(&mut self, here: usize, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        if here >= self.expected || self.sync < LEAST_SYNC || (self.began.is_none() && !self.tries.is_worth_one()) {
            return None;
        }
        let began = *self.began.get_or_insert_with(Instant::now);
        // Half of a sync is less than the one that is spared.
        let longest = (self.sync / 2).min(self.longest);
        while began.elapsed() < longest {
            if let Some(found) = look() {
                return Some(found);
            }
            std::thread::sleep(LOOK);
        }
        None
    }

    /// A round was made durable, which took `sync`; so many were served with it, and so many came meanwhile.
    pub(super) fn end_round(&mut self, sync: Duration, served: usize, waiting: usize) {
        if self.began.take().is_some() {
            self.tries.learn(served >= self.expected);
        }
        (self.sync, self.expected) = (sync, served + waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_millis(4);

    #[test]
    fn those_who_were_served_are_waited_for() {
        // However busy the machine is, they come in time.
        let (slow, longest) = (Duration::from_secs(600), Duration::from_secs(300));
        let mut gathering = Gathering { longest, ..Gathering::default() };
        assert_eq!(gathering.wait(1, || Some(2)), None, "nobody is known");
        gathering.end_round(slow, 1, 2);
        let mut looks = 0..;
        let mut late = || looks.next().filter(|looks| *looks >= 3);
        assert_eq!((gathering.wait(1, &mut late), gathering.wait(2, &mut late)), (Some(3), Some(4)));
        assert_eq!(gathering.wait(3, &mut late), None, "all are here");
        gathering.end_round(slow, 3, 0);
        assert_eq!(gathering.wait(2, &mut late), Some(5), "it was worth it");
    }

    #[test]
    fn nobody_is_waited_for_in_vain_again_and_again() {
        let (slow, longest) = (Duration::from_secs(600), Duration::from_secs(300));
        let mut gathering = Gathering { longest, ..Gathering::default() };
        gathering.end_round(SLOW, 2, 0);
        let began = Instant::now();
        assert_eq!(gathering.wait(1, || None::<()>), None);
        assert!(began.elapsed() >= SLOW / 2);
        gathering.end_round(slow, 1, 1);
        assert_eq!(gathering.wait(1, || Some(())), None);
        gathering.end_round(slow, 1, 1);
        assert_eq!(gathering.wait(1, || Some(())), None);
        gathering.end_round(slow, 1, 1);
        assert_eq!(gathering.wait(1, || Some(())), Some(()));
    }

    #[test]
    fn a_fast_disk_is_not_waited_for() {
        let mut gathering = Gathering::default();
        gathering.end_round(Duration::from_micros(50), 1, 1);
        assert_eq!(gathering.wait(1, || Some(())), None);
    }
}

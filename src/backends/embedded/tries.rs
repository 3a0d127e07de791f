//! Something that is worth trying most of the time, and mostly in vain at other times.

use std::cell::Cell;

/// At most so many chances are left out before the next try, as a power of two.
const MOST_DOUBLINGS: u32 = 10;

/// After each failed try more of the next chances are skipped; after a successful one none is.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// Chances that are not taken any more.
    skipped: Cell<u32>,
    /// Failed tries in a row.
    in_vain: Cell<u32>,
}

impl Tries {
    /// Whether this chance is to be taken. Who does, says what came of it.
    pub(super) fn is_worth_one(&self) -> bool {
        let skipped = self.skipped.get();
        self.skipped.set(skipped.saturating_sub(1));
        skipped == 0
    }

    pub(super) fn learn(&self, was_worth_it: bool) {
        let in_vain = if was_worth_it { 0 } else { (self.in_vain.get() + 1).min(MOST_DOUBLINGS) };
        self.in_vain.set(in_vain);
        self.skipped.set(if was_worth_it { 0 } else { 2_u32.pow(in_vain) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many chances are taken, if all of the tries fail, or if none does.
    fn taken(chances: usize, was_worth_it: bool) -> usize {
        let tries = Tries::default();
        let take = |_: &usize| {
            let takes = tries.is_worth_one();
            if takes {
                tries.learn(was_worth_it);
            }
            takes
        };
        (0..chances).filter(take).count()
    }

    #[test]
    fn tries_in_vain_become_rare() {
        assert_eq!(taken(10_000, true), 10_000);
        assert!((10..25).contains(&taken(10_000, false)));
        // The next one that is worth it is not the last one.
        let tries = Tries::default();
        tries.learn(false);
        let left_out = std::iter::from_fn(|| (!tries.is_worth_one()).then_some(())).count();
        assert_eq!(left_out, 2);
        tries.learn(true);
        assert!(tries.is_worth_one() && tries.is_worth_one());
    }
}

//! The best of several overloads: `func_match_argtypes` and `func_select_candidate`.

use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, Lookup};

/// Why nothing was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// Nothing takes the operands.
    None,
    /// Several do, and none is better than the others.
    Several,
}

const CATEGORY_STRING: u8 = b'S';

/// The place of the best of these lists of argument types.
pub(crate) fn best(lookup: Lookup<'_>, given: &[Oid], candidates: &[Vec<Oid>]) -> Result<usize, Unresolved> {
    let takes = |at: &usize| lookup.can_coerce(given, &candidates[*at], CastContext::Implicit);
    let left: Vec<usize> = (0..candidates.len()).filter(takes).collect();
    match left.as_slice() {
        [] => Err(Unresolved::None),
        [one] => Ok(*one),
        _ => Choice { lookup, given: given.iter().map(|oid| lookup.base(*oid)).collect(), candidates, left }.made(),
    }
}

struct Choice<'c> {
    lookup: Lookup<'c>,
    /// Without domains.
    given: Vec<Oid>,
    candidates: &'c [Vec<Oid>],
    /// Those that are still candidates.
    left: Vec<usize>,
}

impl Choice<'_> {
    fn made(mut self) -> Result<usize, Unresolved> {
        let lookup = self.lookup;
        self.keep_most(|given, asked| given == asked);
        if let [one] = self.left.as_slice() {
            return Ok(*one);
        }
        self.keep_most(|given, asked| {
            given == asked || (lookup.is_preferred(asked) && lookup.category(asked) == lookup.category(given))
        });
        if let [one] = self.left.as_slice() {
            return Ok(*one);
        }
        if !self.given.contains(&oids::UNKNOWN) {
            return Err(Unresolved::Several);
        }
        self.keep_for_literals();
        if let [one] = self.left.as_slice() {
            return Ok(*one);
        }
        self.for_one_type().ok_or(Unresolved::Several)
    }

    /// Keeps those that suit the most operands which have a type.
    fn keep_most(&mut self, suits: impl Fn(Oid, Oid) -> bool) {
        let count = |at: usize| {
            let pairs = self.given.iter().copied().zip(self.candidates[at].iter().copied());
            pairs.filter(|(given, asked)| *given != oids::UNKNOWN && suits(*given, *asked)).count()
        };
        let counts: Vec<usize> = self.left.iter().map(|at| count(*at)).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let mut counts = counts.into_iter();
        self.left.retain(|_| counts.next() == Some(most));
    }

    /// Takes each literal for a type of one category: text if any candidate takes that, else what all of them agree on.
    fn keep_for_literals(&mut self) {
        let lookup = self.lookup;
        let mut wanted: Vec<(usize, u8, bool)> = Vec::new();
        for place in (0..self.given.len()).filter(|place| self.given[*place] == oids::UNKNOWN) {
            let (left, candidates) = (&self.left, self.candidates);
            let asked = || left.iter().map(|at| candidates[*at][place]);
            let first = asked().next().map_or(b'X', |oid| lookup.category(oid));
            let category = if asked().any(|oid| lookup.category(oid) == CATEGORY_STRING) {
                CATEGORY_STRING
            } else if asked().all(|oid| lookup.category(oid) == first) {
                first
            } else {
                return;
            };
            let has_preferred = asked().any(|oid| lookup.category(oid) == category && lookup.is_preferred(oid));
            wanted.push((place, category, has_preferred));
        }
        let suits = |at: &usize| {
            wanted.iter().all(|(place, category, has_preferred)| {
                let asked = self.candidates[*at][*place];
                lookup.category(asked) == *category && (!has_preferred || lookup.is_preferred(asked))
            })
        };
        let suited: Vec<usize> = self.left.iter().copied().filter(suits).collect();
        if !suited.is_empty() {
            self.left = suited;
        }
    }

    /// When all operands that have a type have the same, takes the literals for that type too.
    fn for_one_type(&self) -> Option<usize> {
        let mut known = self.given.iter().copied().filter(|oid| *oid != oids::UNKNOWN);
        let first = known.next()?;
        if known.any(|other| other != first) {
            return None;
        }
        let all = vec![first; self.given.len()];
        let takes = |at: &&usize| self.lookup.can_coerce(&all, &self.candidates[**at], CastContext::Implicit);
        let mut takers = self.left.iter().filter(takes);
        let only = takers.next().copied();
        only.filter(|_| takers.next().is_none())
    }
}

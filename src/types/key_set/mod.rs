//! Sets of keys, as sorted spans on one axis per key column.
//!
//! A set is a list of disjoint spans on the first axis, each with the set of what may follow on the other axes, shared
//! where it is the same. So `a IN (..) AND b IN (..)` stays the two lists it was written as, however many pairs they
//! make. Sets are closed under union, intersection and complement, and equal sets look equal: neighbours with the same
//! rest are one slab.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tablegate_store::model::{Cut, Span};

/// A set of tuples of texts, one text per axis. It does not know how many axes there are: [`KeySet::All`] is
/// everything on whatever axes are left.
#[derive(Debug, Clone)]
pub enum KeySet {
    None,
    All,
    /// Neither empty nor everything. Ascending and disjoint; no rest is empty; neighbours that touch differ.
    Slabs(Arc<[Slab]>),
}

/// The tuples whose first text lies in `span`, the others in `rest`.
#[derive(Debug, Clone, PartialEq)]
pub struct Slab {
    pub span: Span,
    pub rest: KeySet,
}

impl PartialEq for KeySet {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (KeySet::None, KeySet::None) | (KeySet::All, KeySet::All) => true,
            (KeySet::Slabs(a), KeySet::Slabs(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }
}

impl KeySet {
    /// Everything whose text on the axis at `axis` lies in one of the spans, which may come in any order.
    pub fn on_axis(axis: usize, spans: Vec<Span>) -> Self {
        let mut spans: Vec<Span> = spans.into_iter().filter(|s| !s.is_empty()).collect();
        spans.sort_by(|a, b| a.from.cmp(&b.from));
        let mut slabs = Builder::default();
        let mut reached = Cut::Min;
        for span in spans {
            let from = span.from.max(reached.clone());
            if from < span.to {
                reached = span.to.clone();
                slabs.push(Span { from, to: span.to }, KeySet::All);
            }
        }
        (0..axis).fold(slabs.finish(), |rest, _| KeySet::slab(Span::ALL, rest))
    }

    /// The tuples whose first text lies in `span`, the others in `rest`.
    pub fn slab(span: Span, rest: KeySet) -> Self {
        let mut slabs = Builder::default();
        slabs.push(span, rest);
        slabs.finish()
    }

    /// A set of slabs that are ascending and disjoint.
    pub fn from_slabs(slabs: impl IntoIterator<Item = Slab>) -> Self {
        let mut builder = Builder::default();
        slabs.into_iter().for_each(|slab| builder.push(slab.span, slab.rest));
        builder.finish()
    }

    pub fn is_none(&self) -> bool {
        matches!(self, KeySet::None)
    }

    pub fn is_all(&self) -> bool {
        matches!(self, KeySet::All)
    }

    /// The slabs of this set on its first axis.
    pub fn slabs(&self) -> Arc<[Slab]> {
        match self {
            KeySet::None => Arc::new([]),
            KeySet::All => Arc::new([Slab { span: Span::ALL, rest: KeySet::All }]),
            KeySet::Slabs(slabs) => Arc::clone(slabs),
        }
    }

    pub fn contains(&self, texts: &[&str]) -> bool {
        match self {
            KeySet::None => false,
            KeySet::All => true,
            KeySet::Slabs(slabs) => texts.split_first().is_some_and(|(first, others)| {
                let behind = slabs.partition_point(|slab| slab.span.from.is_before(first));
                let slab = behind.checked_sub(1).map(|at| &slabs[at]);
                slab.is_some_and(|slab| slab.span.contains(first) && slab.rest.contains(others))
            }),
        }
    }

    #[must_use]
    pub fn union(&self, other: &KeySet) -> KeySet {
        match (self, other) {
            (KeySet::All, _) | (_, KeySet::All) => KeySet::All,
            (KeySet::None, set) | (set, KeySet::None) => set.clone(),
            (KeySet::Slabs(a), KeySet::Slabs(b)) if Arc::ptr_eq(a, b) => self.clone(),
            (KeySet::Slabs(a), KeySet::Slabs(b)) => combine(a, b, KeySet::union),
        }
    }

    #[must_use]
    pub fn intersect(&self, other: &KeySet) -> KeySet {
        match (self, other) {
            (KeySet::None, _) | (_, KeySet::None) => KeySet::None,
            (KeySet::All, set) | (set, KeySet::All) => set.clone(),
            (KeySet::Slabs(a), KeySet::Slabs(b)) if Arc::ptr_eq(a, b) => self.clone(),
            (KeySet::Slabs(a), KeySet::Slabs(b)) => combine(a, b, KeySet::intersect),
        }
    }

    #[must_use]
    pub fn complement(&self) -> KeySet {
        let slabs = match self {
            KeySet::None => return KeySet::All,
            KeySet::All => return KeySet::None,
            KeySet::Slabs(slabs) => slabs,
        };
        let mut builder = Builder::default();
        let mut reached = Cut::Min;
        let mut memo: Option<(&KeySet, KeySet)> = None;
        for slab in slabs.iter() {
            builder.push(Span { from: reached, to: slab.span.from.clone() }, KeySet::All);
            let rest = match &memo {
                Some((last, result)) if same(last, &slab.rest) => result.clone(),
                _ => slab.rest.complement(),
            };
            memo = Some((&slab.rest, rest.clone()));
            builder.push(slab.span.clone(), rest);
            reached = slab.span.to.clone();
        }
        builder.push(Span { from: reached, to: Cut::Max }, KeySet::All);
        builder.finish()
    }

    #[must_use]
    pub fn minus(&self, other: &KeySet) -> KeySet {
        self.intersect(&other.complement())
    }

    /// Whether they have nothing in common: told without making what they have, as most sets that are asked for it meet soon.
    pub fn is_disjoint(&self, other: &KeySet) -> bool {
        match (self, other) {
            (KeySet::None, _) | (_, KeySet::None) => true,
            (KeySet::All, _) | (_, KeySet::All) => false,
            (KeySet::Slabs(a), KeySet::Slabs(b)) if Arc::ptr_eq(a, b) => false,
            (KeySet::Slabs(a), KeySet::Slabs(b)) => {
                let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
                let meets = |slab: &Slab| met_by(many, &slab.span).iter().any(|met| !slab.rest.is_disjoint(&met.rest));
                !few.iter().any(meets)
            }
        }
    }

    /// The union of many sets, in a tree rather than one after the other: each set is looked at only a few times.
    pub fn union_all(sets: Vec<KeySet>) -> KeySet {
        reduce(sets, KeySet::union).unwrap_or(KeySet::None)
    }

    /// The intersection of many sets, as [`KeySet::union_all`].
    pub fn intersect_all(sets: Vec<KeySet>) -> KeySet {
        reduce(sets, KeySet::intersect).unwrap_or(KeySet::All)
    }

    /// The least span of the first axis with all of the set in it. `None` for the empty set.
    pub fn hull(&self) -> Option<Span> {
        match self {
            KeySet::None => None,
            KeySet::All => Some(Span::ALL),
            KeySet::Slabs(slabs) => {
                let (first, last) = (slabs.first()?, slabs.last()?);
                Some(Span { from: first.span.from.clone(), to: last.span.to.clone() })
            }
        }
    }

    /// What stands behind the first `axes` axes, whatever stands on them.
    pub fn behind(&self, axes: usize) -> KeySet {
        match self {
            KeySet::Slabs(slabs) if axes > 0 => {
                let mut rests: Vec<&KeySet> = Vec::new();
                for slab in slabs.iter() {
                    if rests.last().is_none_or(|last| !same(last, &slab.rest)) {
                        rests.push(&slab.rest);
                    }
                }
                KeySet::union_all(rests.into_iter().map(|rest| rest.behind(axes - 1)).collect())
            }
            _ => self.clone(),
        }
    }

    /// This set behind `axes` axes on which everything goes.
    #[must_use]
    pub fn after_free(self, axes: usize) -> KeySet {
        (0..axes).fold(self, |rest, _| KeySet::slab(Span::ALL, rest))
    }
}

/// A cheap test for equality: true only for equal sets, but false for some equal ones too.
fn same(a: &KeySet, b: &KeySet) -> bool {
    match (a, b) {
        (KeySet::None, KeySet::None) | (KeySet::All, KeySet::All) => true,
        (KeySet::Slabs(a), KeySet::Slabs(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn reduce(mut sets: Vec<KeySet>, operation: fn(&KeySet, &KeySet) -> KeySet) -> Option<KeySet> {
    while sets.len() > 1 {
        sets = sets
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => operation(a, b),
                rest => rest.first().cloned().unwrap_or(KeySet::None),
            })
            .collect();
    }
    sets.pop()
}

/// Those of the slabs that have something of the span.
fn met_by<'s>(slabs: &'s [Slab], span: &Span) -> &'s [Slab] {
    let from = slabs.partition_point(|slab| slab.span.to <= span.from);
    let to = slabs.partition_point(|slab| slab.span.from < span.to);
    slabs.get(from..to).unwrap_or_default()
}

/// Cuts the axis at every end of a slab and combines the rests on each piece. `operation` must give nothing for two
/// empty sets, as the outside of all slabs is left out.
fn combine(a: &[Slab], b: &[Slab], operation: fn(&KeySet, &KeySet) -> KeySet) -> KeySet {
    let mut builder = Builder::default();
    let (mut i, mut j) = (0, 0);
    let mut position = Cut::Min;
    let mut memo: Option<(&KeySet, &KeySet, KeySet)> = None;
    while i < a.len() || j < b.len() {
        let (rest_a, next_a) = at(a.get(i), &position);
        let (rest_b, next_b) = at(b.get(j), &position);
        let next = next_a.min(next_b).clone();
        let rest = match &memo {
            Some((last_a, last_b, result)) if same(last_a, rest_a) && same(last_b, rest_b) => result.clone(),
            _ => operation(rest_a, rest_b),
        };
        memo = Some((rest_a, rest_b, rest.clone()));
        builder.push(Span { from: position, to: next.clone() }, rest);
        i += usize::from(a.get(i).is_some_and(|slab| slab.span.to <= next));
        j += usize::from(b.get(j).is_some_and(|slab| slab.span.to <= next));
        position = next;
    }
    builder.finish()
}

/// What `slab` says at a position not behind its end, and the next cut where that changes.
fn at<'a>(slab: Option<&'a Slab>, position: &Cut) -> (&'a KeySet, &'a Cut) {
    match slab {
        None => (&KeySet::None, &Cut::Max),
        Some(slab) if *position < slab.span.from => (&KeySet::None, &slab.span.from),
        Some(slab) => (&slab.rest, &slab.span.to),
    }
}

/// Collects ascending, disjoint slabs into a set in its one form.
#[derive(Default)]
struct Builder {
    slabs: Vec<Slab>,
}

impl Builder {
    fn push(&mut self, span: Span, rest: KeySet) {
        if span.is_empty() || rest.is_none() {
            return;
        }
        match self.slabs.last_mut() {
            Some(last) if last.span.to == span.from && last.rest == rest => last.span.to = span.to,
            _ => self.slabs.push(Slab { span, rest }),
        }
    }

    fn finish(self) -> KeySet {
        match &*self.slabs {
            [] => KeySet::None,
            [Slab { span, rest: KeySet::All }] if span.is_all() => KeySet::All,
            _ => KeySet::Slabs(self.slabs.into()),
        }
    }
}

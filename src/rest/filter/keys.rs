//! In which ranges of keys a filter can be true.
//!
//! For each part two sets of keys are computed, each at least as large as the truth: where it may be true, and where it
//! may be false. A comparison of a key decides both; anything else may be either everywhere. The first set of the whole
//! is what has to be read.

use std::sync::Arc;

use tablegate_store::model::{Cut, EdmValue, Span};
use tablegate_store::table::KeyRange;
use tablegate_types::key_set::KeySet;

use super::{CompareOp, Comparison, Filter, Property};

/// Where a part of a filter may be true, and where false.
struct May {
    hold: KeySet,
    fail: KeySet,
}

impl Filter {
    /// The keys outside which it is true of no entity.
    pub(crate) fn keys(&self) -> KeySet {
        may(self).hold
    }
}

/// The keys as ranges, ascending and disjoint.
pub(crate) fn ranges(keys: &KeySet) -> Vec<KeyRange> {
    let rows = |rest: &KeySet| rest.slabs().iter().map(|slab| slab.span.clone()).collect::<Arc<[Span]>>();
    keys.slabs().iter().map(|slab| KeyRange { partitions: slab.span.clone(), rows: rows(&slab.rest) }).collect()
}

fn may(filter: &Filter) -> May {
    match filter {
        Filter::All(parts) => {
            let (hold, fail) = of_parts(parts);
            May { hold: KeySet::intersect_all(hold), fail: KeySet::union_all(fail) }
        }
        Filter::Any(parts) => {
            let (hold, fail) = of_parts(parts);
            May { hold: KeySet::union_all(hold), fail: KeySet::intersect_all(fail) }
        }
        Filter::Not(inner) => {
            let May { hold, fail } = may(inner);
            May { hold: fail, fail: hold }
        }
        Filter::Compare(comparison) => of_comparison(comparison),
        Filter::Constant(true) => May { hold: KeySet::All, fail: KeySet::None },
        Filter::Constant(false) => May { hold: KeySet::None, fail: KeySet::All },
    }
}

fn of_parts(parts: &[Filter]) -> (Vec<KeySet>, Vec<KeySet>) {
    parts.iter().map(may).map(|May { hold, fail }| (hold, fail)).unzip()
}

fn of_comparison(comparison: &Comparison) -> May {
    let axis = match comparison.property {
        Property::PartitionKey => 0,
        Property::RowKey => 1,
        Property::Timestamp | Property::Custom(_) => return May { hold: KeySet::All, fail: KeySet::All },
    };
    let hold = match &comparison.constant {
        EdmValue::String(text) => KeySet::on_axis(axis, spans(comparison.op, text)),
        // A key is a string: no other constant is like it.
        _ if comparison.op == CompareOp::NotEq => KeySet::All,
        _ => KeySet::None,
    };
    let fail = hold.complement();
    May { hold, fail }
}

fn spans(op: CompareOp, text: &str) -> Vec<Span> {
    let (before, after) = (Cut::Before(text.into()), Cut::After(text.into()));
    let span = |from, to| Span { from, to };
    match op {
        CompareOp::Eq => vec![span(before, after)],
        CompareOp::NotEq => vec![span(Cut::Min, before), span(after, Cut::Max)],
        CompareOp::Lt => vec![span(Cut::Min, before)],
        CompareOp::LtEq => vec![span(Cut::Min, after)],
        CompareOp::Gt => vec![span(after, Cut::Max)],
        CompareOp::GtEq => vec![span(before, Cut::Max)],
    }
}

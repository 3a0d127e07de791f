//! Turns what a predicate says about the key into the smallest list of scans.
//!
//! Too wide is slow; too narrow loses rows. So for every part of the predicate three sets of keys are computed, each at
//! least as large as the truth: where it may be true, false, null. The first of the whole predicate is what is scanned.
//! Where it lies outside the two others nothing is left to check; elsewhere the scan is left with the part of the
//! predicate that its keys do not decide.

mod analyze;
mod from_logical;
mod from_physical;
mod intersect;
mod lower;
mod point;
mod predicate;
mod residual;
mod scope;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use tablegate_store::model::{EntityKey, Span};
use tablegate_store::table::KeyRange;
use tablegate_types::key_codec::{KeyCodec, PartitionScheme};
use tablegate_types::key_set::{KeySet, Slab};

use self::analyze::{Analyzed, analyze};
use self::from_logical::Translator;
pub(crate) use self::from_logical::flatten;
use self::from_physical::PhysicalReader;
pub(crate) use self::from_physical::flatten_physical;
pub(crate) use self::intersect::ranges as in_both;
pub use self::point::{PointPredicate, RangePredicate};
pub(crate) use self::point::{Wanted, not_widened};
use self::predicate::{KeyPredicate, KeyView};
pub(crate) use self::predicate::{Pattern, comparison};
use self::residual::residual;
pub use self::scope::Scope;
use super::relation::{ColumnSource, Relation};

/// Pieces of a scan that get a residual of their own. More of them share one: each costs a look at all atoms.
const MAX_PIECES: usize = 32;
/// Groups of a plan: each is a scan of its own.
const MAX_GROUPS: usize = 8;

/// How far a plan goes in naming keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Most ranges, points among them. A predicate that names more is scanned over their hulls, with a residual.
    pub max_ranges: usize,
    /// Most ranges that leave out single rows between two of them. Above, these rows are read too, with a residual: each
    /// range is a look-up.
    pub max_with_holes: usize,
    /// Whole partitions are read where they are not named one by one, rather than the few rows of each that are asked for.
    pub whole_partitions: bool,
}

/// A look-up takes as long as going through so many rows: measured with rows that are kept as columns, as those of large
/// tables are.
pub(crate) const ROWS_OF_A_LOOK_UP: usize = 512;
/// So many look-ups are made whatever there is to read.
const LOOK_UPS_LEAST: usize = 100;

impl Caps {
    /// For keys that become known at run time: no more of them are looked up than pays in a table of so many rows.
    pub fn within_rows(table_rows: Option<u64>) -> Self {
        let most = Caps::default().max_ranges;
        let Some(rows) = table_rows else { return Caps::default() };
        let paying = usize::try_from(rows).map_or(most, |rows| rows / ROWS_OF_A_LOOK_UP);
        Self { max_ranges: paying.clamp(LOOK_UPS_LEAST, most), ..Caps::default() }
    }
}

impl Default for Caps {
    fn default() -> Self {
        Self { max_ranges: 10_000, max_with_holes: 16, whole_partitions: false }
    }
}

/// What to scan for a predicate.
#[derive(Debug, Clone)]
pub struct KeyPlan {
    /// Scanned one after the other they give the rows in key order: every key of a group is before every key of the
    /// next. No group: nothing can match.
    pub groups: Vec<ScanGroup>,
    pub scope: Scope,
}

/// Ranges with the same residual.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanGroup {
    /// Ascending, disjoint by partition.
    pub ranges: Vec<KeyRange>,
    /// What rows must still satisfy; `None` if their keys say it all. Its columns are named as in the filters.
    pub residual: Option<Expr>,
}

impl KeyPlan {
    /// The plan for rows that satisfy all filters, whose columns are the relation's, qualified or not.
    pub fn from_filters(relation: &Relation, filters: &[Expr]) -> Self {
        Self::within(&Caps::default(), relation, filters)
    }

    /// The plan, which reads all rows of partitions that it does not name.
    pub fn of_whole_partitions(relation: &Relation, filters: &[Expr]) -> Self {
        Self::within(&Caps { whole_partitions: true, ..Caps::default() }, relation, filters)
    }

    /// Whether some rows are looked for in each of an unknown number of partitions.
    pub fn looks_in_all_partitions(&self) -> bool {
        self.ranges().any(|range| range.partitions.as_point().is_none() && !range.has_all_rows())
    }

    /// As [`KeyPlan::from_filters`], with other caps.
    pub fn within(caps: &Caps, relation: &Relation, filters: &[Expr]) -> Self {
        let codec = &*relation.codec;
        let mut translator = Translator::new(KeyView { relation, codec });
        let predicate = translator.conjunction(filters);
        let sources = translator.into_sources();
        let analyzed = analyze(codec, &predicate);
        let keys = lower::lowerable(codec, &analyzed.outcomes.yes, caps);
        let stored = stored_ranges(relation, filters, caps);
        let mut groups: Vec<ScanGroup> = split(codec, &analyzed, &sources, keys)
            .into_iter()
            .map(|(keys, residual)| {
                let ranges = lower::ranges(codec, &keys);
                let ranges = match &stored {
                    Some(stored) => intersect::ranges(&ranges, stored),
                    None => ranges,
                };
                ScanGroup { ranges, residual }
            })
            .collect();
        groups.retain(|group| !group.ranges.is_empty());
        let scope = Scope::of(groups.iter().flat_map(|group| &group.ranges));
        Self { groups, scope }
    }

    /// The plan for these keys, which are in order and each in a partition of its own.
    pub fn of_keys(keys: impl IntoIterator<Item = EntityKey>) -> Self {
        let ranges: Vec<KeyRange> = keys.into_iter().map(|key| PointPredicate::range(&key)).collect();
        let scope = Scope::of(&ranges);
        let groups = if ranges.is_empty() { Vec::new() } else { vec![ScanGroup { ranges, residual: None }] };
        Self { groups, scope }
    }

    /// The same keys, whose rows somebody else looks at.
    #[must_use]
    pub fn of_keys_alone(mut self) -> Self {
        self.groups.iter_mut().for_each(|group| group.residual = None);
        self
    }

    /// The ranges of each group that filters which became known at run time leave; `None` when they say nothing about
    /// keys. `columns` names what the filters' columns stand for, by index. The filters are not evaluated: the operator
    /// that made them checks the rows, as joins do. So of partitions that are not named whole ones are left: looking
    /// for a few rows in each of an unknown number of partitions may take longer than reading them.
    pub fn narrowed_by(
        &self,
        caps: &Caps,
        relation: &Relation,
        filters: &[Arc<dyn PhysicalExpr>],
        columns: &[&str],
    ) -> Option<Vec<Vec<KeyRange>>> {
        let mut ranges = filter_ranges(relation, filters, columns, caps)?;
        let all: Arc<[Span]> = Arc::new([Span::ALL]);
        for range in ranges.iter_mut().filter(|range| range.partitions.as_point().is_none()) {
            range.rows = Arc::clone(&all);
        }
        Some(self.groups.iter().map(|group| intersect::ranges(&group.ranges, &ranges)).collect())
    }

    /// Whether the keys alone decide: no group has a residual.
    pub fn is_exact(&self) -> bool {
        self.groups.iter().all(|group| group.residual.is_none())
    }

    /// All ranges, in key order.
    pub fn ranges(&self) -> impl Iterator<Item = &KeyRange> {
        self.groups.iter().flat_map(|group| &group.ranges)
    }

    /// The keys that are read, for EXPLAIN: `PartitionKey = 'a', RowKey >= '05' and < '10'`; `None` for all of them,
    /// and when nothing is read.
    pub fn keys(&self) -> Option<String> {
        (!matches!(self.scope, Scope::Table | Scope::Nothing)).then(|| scope::describe(self.ranges()))
    }

    /// Whether all ranges lie in one partition.
    pub fn is_one_partition(&self) -> bool {
        let mut partitions = self.ranges().map(|range| range.partitions.as_point());
        let Some(Some(first)) = partitions.next() else { return false };
        partitions.all(|partition| partition == Some(first))
    }
}

/// The ranges outside of which no row satisfies the physical filters: ascending, disjoint by partition. `None` when that
/// is every key.
fn filter_ranges(
    relation: &Relation,
    filters: &[Arc<dyn PhysicalExpr>],
    columns: &[&str],
    caps: &Caps,
) -> Option<Vec<KeyRange>> {
    let codec = &*relation.codec;
    let reader = PhysicalReader { keys: KeyView { relation, codec }, columns, max_items: caps.max_ranges };
    let predicate = KeyPredicate::And(filters.iter().map(|filter| reader.predicate(filter)).collect());
    let keys = analyze(codec, &predicate).outcomes.yes;
    (!keys.is_all()).then(|| lower::ranges(codec, &lower::lowerable(codec, &keys, caps)))
}

/// What the filters say about the stored PartitionKey and RowKey of a relational table, which can be selected by name.
/// `None` when that is nothing. The filters stay in the residual: to the key's own columns they are like any other.
fn stored_ranges(relation: &Relation, filters: &[Expr], caps: &Caps) -> Option<Vec<KeyRange>> {
    let is_stored_key = |source: &ColumnSource| matches!(source, ColumnSource::PartitionKey | ColumnSource::RowKey);
    if relation.codec.is_raw() || !relation.columns.iter().any(|column| is_stored_key(&column.source)) {
        return None;
    }
    let codec = KeyCodec::raw();
    let predicate = Translator::new(KeyView { relation, codec: &codec }).conjunction(filters);
    let keys = analyze(&codec, &predicate).outcomes.yes;
    (!keys.is_all()).then(|| lower::ranges(&codec, &lower::lowerable(&codec, &keys, caps)))
}

/// Cuts the keys to scan where the residual changes, as long as that makes few groups.
fn split(codec: &KeyCodec, predicate: &Analyzed, sources: &[Expr], keys: KeySet) -> Vec<(KeySet, Option<Expr>)> {
    let doubtful = predicate.outcomes.no.union(&predicate.outcomes.null).intersect(&keys);
    if doubtful.is_none() {
        return vec![(keys, None)];
    }
    let whole = || vec![(keys.clone(), residual(predicate, sources, &keys))];
    // The first column is not what keys in buckets are ordered by.
    if matches!(codec.partition(), PartitionScheme::Bucket(_)) {
        return whole();
    }
    let Some(pieces) = pieces(&keys, &doubtful) else { return whole() };
    let mut groups: Vec<(Vec<Slab>, Option<Expr>)> = Vec::new();
    for piece in pieces {
        let left = residual(predicate, sources, &KeySet::slab(piece.span.clone(), piece.rest.clone()));
        match groups.last_mut() {
            Some((slabs, last)) if *last == left => slabs.push(piece),
            _ => groups.push((vec![piece], left)),
        }
    }
    if groups.len() > MAX_GROUPS {
        return whole();
    }
    groups.into_iter().map(|(slabs, left)| (KeySet::from_slabs(slabs), left)).collect()
}

/// The slabs of the keys, cut at the edges of doubt on the first axis if that does not make too many. `None` if even
/// the slabs are too many.
fn pieces(keys: &KeySet, doubtful: &KeySet) -> Option<Vec<Slab>> {
    let doubtful_spans: Vec<_> = doubtful.slabs().iter().map(|slab| slab.span.clone()).collect();
    if doubtful_spans.len() <= MAX_PIECES {
        let doubtful = KeySet::on_axis(0, doubtful_spans);
        let mut pieces = keys.intersect(&doubtful).slabs().to_vec();
        pieces.extend(keys.minus(&doubtful).slabs().iter().cloned());
        if pieces.len() <= MAX_PIECES {
            pieces.sort_by(|a, b| a.span.from.cmp(&b.span.from));
            return Some(pieces);
        }
    }
    let slabs = keys.slabs();
    (slabs.len() <= MAX_PIECES).then(|| slabs.to_vec())
}

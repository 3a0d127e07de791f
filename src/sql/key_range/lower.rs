//! Turns sets of relational keys into ranges of PartitionKey and RowKey.
//!
//! One key string holds several key columns, so not every set is a list of spans: behind a range of one column, the
//! next column of the same string cannot be narrowed. [`lowerable`] widens a set to one that is, and to one that is not
//! longer than the caps allow; [`ranges`] then writes it down as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_store::model::{Cut, PartitionKey, RowKey, Span};
use tablegate_store::table::KeyRange;
use tablegate_types::key_codec::{KeyCodec, PartitionScheme};
use tablegate_types::key_set::{KeySet, Slab};

use super::Caps;

/// Buckets that are named one by one; more are a range over all partitions.
const MAX_NAMED_BUCKETS: usize = 256;

/// The least set that holds `set` and can be written as ranges, within the caps as far as they go.
pub(super) fn lowerable(codec: &KeyCodec, set: &KeySet, caps: &Caps) -> KeySet {
    let in_partition = codec.partition_columns();
    let in_row = codec.columns().len() - in_partition;
    let axes = in_partition + in_row;
    let mut widened = widen(set, in_partition, &|rows| widen(rows, in_row, &|rest| rest.clone()));
    if caps.whole_partitions {
        widened = with_whole_partitions(&widened, in_partition);
    }
    if count(&widened, axes) > caps.max_with_holes {
        widened = without_holes(&widened, axes);
    }
    cap(&widened, in_partition, axes, caps.max_ranges)
}

/// The set with all rows of the partitions that are not named one by one.
fn with_whole_partitions(set: &KeySet, in_partition: usize) -> KeySet {
    let KeySet::Slabs(slabs) = set else { return set.clone() };
    if in_partition == 0 {
        return set.clone();
    }
    KeySet::from_slabs(slabs.iter().map(|slab| {
        let rest = match slab.span.as_point() {
            Some(_) => with_whole_partitions(&slab.rest, in_partition - 1),
            None => KeySet::All,
        };
        Slab { span: slab.span.clone(), rest }
    }))
}

/// The set with the single rows that it leaves out between others: `NOT IN` a list is one range rather than one more than there are
/// rows in the list.
fn without_holes(set: &KeySet, axes: usize) -> KeySet {
    let KeySet::Slabs(slabs) = set else { return set.clone() };
    if axes > 1 {
        let mut memo: Option<(&KeySet, KeySet)> = None;
        return KeySet::from_slabs(slabs.iter().map(|slab| {
            let rest = match &memo {
                Some((last, rest)) if **last == slab.rest => rest.clone(),
                _ => without_holes(&slab.rest, axes - 1),
            };
            memo = Some((&slab.rest, rest.clone()));
            Slab { span: slab.span.clone(), rest }
        }));
    }
    let mut spans: Vec<Span> = Vec::new();
    for Slab { span, .. } in slabs.iter() {
        match (spans.last_mut(), &span.from) {
            (Some(last), Cut::After(to)) if matches!(&last.to, Cut::Before(from) if from == to) => {
                last.to = span.to.clone();
            }
            _ => spans.push(span.clone()),
        }
    }
    KeySet::on_axis(0, spans)
}

/// The ranges of a lowerable set, ascending and disjoint by partition.
pub(super) fn ranges(codec: &KeyCodec, set: &KeySet) -> Vec<KeyRange> {
    if set.is_all() {
        return vec![KeyRange::all()];
    }
    let in_partition = codec.partition_columns();
    let in_row = codec.columns().len() - in_partition;
    match codec.partition() {
        PartitionScheme::Columns(_) => column_partitions(set, in_partition, in_row),
        PartitionScheme::Constant(partition) => {
            let rows = row_spans(set, in_row);
            if rows.is_empty() { Vec::new() } else { vec![KeyRange { partitions: Span::point(&**partition), rows }] }
        }
        PartitionScheme::Bucket(_) => bucketed(codec, &row_spans(set, in_row)),
    }
}

/// Frees what follows a range on an axis of the same key string. `then` widens what follows the string.
fn widen(set: &KeySet, axes: usize, then: &dyn Fn(&KeySet) -> KeySet) -> KeySet {
    let KeySet::Slabs(slabs) = set else { return set.clone() };
    if axes == 0 {
        return then(set);
    }
    let mut memo: Option<(&Slab, KeySet)> = None;
    KeySet::from_slabs(slabs.iter().map(|slab| {
        let is_point = slab.span.as_point().is_some();
        let rest = match &memo {
            Some((last, rest)) if last.span.as_point().is_some() == is_point && last.rest == slab.rest => rest.clone(),
            _ if axes == 1 => then(&slab.rest),
            _ if is_point => widen(&slab.rest, axes - 1, then),
            _ => then(&slab.rest.behind(axes - 1)).after_free(axes - 1),
        };
        memo = Some((slab, rest.clone()));
        Slab { span: slab.span.clone(), rest }
    }))
}

/// Above the cap, gives up the last columns first: each combination of the others keeps the hull of what followed it.
/// If even the first column has too many spans, its hull stays, with the rows that any of them asked for.
fn cap(set: &KeySet, in_partition: usize, axes: usize, max: usize) -> KeySet {
    if count(set, axes) <= max {
        return set.clone();
    }
    if let Some(depth) = (1..axes).rev().find(|depth| count(set, *depth) <= max) {
        return hull_behind(set, depth);
    }
    let Some(hull) = set.hull() else { return KeySet::None };
    let rest = if in_partition == 0 {
        KeySet::All
    } else {
        cap(&set.behind(in_partition), 0, axes - in_partition, max).after_free(in_partition - 1)
    };
    KeySet::slab(hull, rest)
}

/// How many spans the first `axes` axes multiply out to.
fn count(set: &KeySet, axes: usize) -> usize {
    let KeySet::Slabs(slabs) = set else { return usize::from(!set.is_none()) };
    match axes {
        0 => 1,
        1 => slabs.len(),
        _ => {
            let mut memo: Option<(&KeySet, usize)> = None;
            slabs.iter().fold(0, |sum: usize, slab| {
                let spans = match memo {
                    Some((last, spans)) if *last == slab.rest => spans,
                    _ => count(&slab.rest, axes - 1),
                };
                memo = Some((&slab.rest, spans));
                sum.saturating_add(spans)
            })
        }
    }
}

/// Keeps the first `depth` axes, and of the next one the hull.
fn hull_behind(set: &KeySet, depth: usize) -> KeySet {
    let KeySet::Slabs(slabs) = set else { return set.clone() };
    if depth == 0 {
        let single = match &**slabs {
            // One point can be followed by another exact set.
            [only] if only.span.as_point().is_some() => hull_behind(&only.rest, 0),
            _ => KeySet::All,
        };
        return set.hull().map_or(KeySet::None, |hull| KeySet::slab(hull, single));
    }
    let mut memo: Option<(&KeySet, KeySet)> = None;
    KeySet::from_slabs(slabs.iter().map(|slab| {
        let rest = match &memo {
            Some((last, rest)) if **last == slab.rest => rest.clone(),
            _ => hull_behind(&slab.rest, depth - 1),
        };
        memo = Some((&slab.rest, rest.clone()));
        Slab { span: slab.span.clone(), rest }
    }))
}

fn column_partitions(set: &KeySet, in_partition: usize, in_row: usize) -> Vec<KeyRange> {
    let mut partitions = Vec::new();
    write_out(set, in_partition, "", &mut partitions);
    let mut memo: Option<(&KeySet, Arc<[Span]>)> = None;
    let mut ranges: Vec<KeyRange> = Vec::with_capacity(partitions.len());
    for (span, row_set) in &partitions {
        let point = span.as_point();
        if point.is_some_and(|key| PartitionKey::parse(key.clone()).is_err()) {
            continue;
        }
        let rows = match &memo {
            Some((last, rows)) if **last == *row_set => Arc::clone(rows),
            _ => row_spans(row_set, in_row),
        };
        memo = Some((row_set, Arc::clone(&rows)));
        // Without columns of its own the RowKey is empty: a whole key is known.
        let rows = if in_row == 0 && point.is_some() { Arc::new([Span::point("")]) } else { rows };
        match ranges.last_mut() {
            _ if rows.is_empty() => {}
            Some(last) if last.partitions.to == span.from && last.rows == rows && point.is_none() => {
                last.partitions.to = span.to.clone();
            }
            _ => ranges.push(KeyRange { partitions: span.clone(), rows }),
        }
    }
    ranges
}

/// The RowKeys of a set of the row's columns.
fn row_spans(set: &KeySet, in_row: usize) -> Arc<[Span]> {
    let mut written = Vec::new();
    write_out(set, in_row, "", &mut written);
    let mut spans: Vec<Span> = Vec::with_capacity(written.len());
    for (span, _) in written {
        if span.as_point().is_some_and(|key| RowKey::parse(key.clone()).is_err()) {
            continue;
        }
        match spans.last_mut() {
            Some(last) if last.to == span.from => last.to = span.to,
            _ => spans.push(span),
        }
    }
    if in_row == 0 && !set.is_none() { Arc::new([Span::ALL]) } else { spans.into() }
}

/// Only a whole row key says which bucket it is in; anything less is looked for in all of them.
fn bucketed(codec: &KeyCodec, rows: &Arc<[Span]>) -> Vec<KeyRange> {
    if rows.is_empty() {
        return Vec::new();
    }
    let Some(keys) = rows.iter().map(Span::as_point).collect::<Option<Vec<_>>>() else {
        let buckets: Vec<String> = codec.buckets().collect();
        if buckets.len() > MAX_NAMED_BUCKETS {
            return vec![KeyRange { partitions: Span::ALL, rows: Arc::clone(rows) }];
        }
        let in_bucket = |bucket| KeyRange { partitions: Span::point(bucket), rows: Arc::clone(rows) };
        return buckets.into_iter().map(in_bucket).collect();
    };
    let mut buckets: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for key in keys {
        if let Some(bucket) = codec.bucket_of(key) {
            buckets.entry(bucket).or_default().push(Span::point(Arc::clone(key)));
        }
    }
    let in_bucket =
        |(bucket, rows): (String, Vec<Span>)| KeyRange { partitions: Span::point(bucket), rows: rows.into() };
    buckets.into_iter().map(in_bucket).collect()
}

/// The spans of the key string whose columns are the first `axes` axes, each with the set of what follows the string.
fn write_out(set: &KeySet, axes: usize, prefix: &str, out: &mut Vec<(Span, KeySet)>) {
    if set.is_none() {
        return;
    }
    if axes == 0 {
        out.push((Span::point(prefix), set.clone()));
        return;
    }
    let KeySet::Slabs(slabs) = set else {
        let span = if prefix.is_empty() { Span::ALL } else { Span::prefix(prefix) };
        out.push((span, set.clone()));
        return;
    };
    for slab in slabs.iter() {
        match slab.span.as_point() {
            Some(part) if axes > 1 => write_out(&slab.rest, axes - 1, &format!("{prefix}{part}"), out),
            _ => out.push((write_span(&slab.span, prefix, axes == 1), slab.rest.behind(axes - 1))),
        }
    }
}

/// A span of one part behind a prefix, as a span of the whole string.
fn write_span(span: &Span, prefix: &str, is_last: bool) -> Span {
    let write = |cut: &Cut| match cut {
        Cut::Min if prefix.is_empty() => Cut::Min,
        Cut::Max if prefix.is_empty() => Cut::Max,
        Cut::Min => Cut::Before(prefix.into()),
        Cut::Max => Cut::AfterPrefix(prefix.into()),
        Cut::Before(part) => Cut::Before(format!("{prefix}{part}").into()),
        Cut::After(part) if is_last => Cut::After(format!("{prefix}{part}").into()),
        // What follows in the string belongs to the same part.
        Cut::After(part) | Cut::AfterPrefix(part) => Cut::AfterPrefix(format!("{prefix}{part}").into()),
    };
    Span { from: write(&span.from), to: write(&span.to) }
}

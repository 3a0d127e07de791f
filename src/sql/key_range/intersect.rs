//! What two lists of ranges have in common.

use std::sync::Arc;

use tablegate_store::model::Span;
use tablegate_store::table::KeyRange;

/// The keys in both lists, each ascending and disjoint by partition; so is the result.
pub(crate) fn ranges(a: &[KeyRange], b: &[KeyRange]) -> Vec<KeyRange> {
    let mut common = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(left), Some(right)) = (a.get(i), b.get(j)) {
        let partitions = left.partitions.intersect(&right.partitions);
        if !partitions.is_empty() {
            let rows = rows(&left.rows, &right.rows);
            if !rows.is_empty() {
                common.push(KeyRange { partitions, rows });
            }
        }
        if left.partitions.to <= right.partitions.to {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}

fn rows(a: &Arc<[Span]>, b: &Arc<[Span]>) -> Arc<[Span]> {
    match (&**a, &**b) {
        _ if Arc::ptr_eq(a, b) => return Arc::clone(a),
        ([only], _) if only.is_all() => return Arc::clone(b),
        (_, [only]) if only.is_all() => return Arc::clone(a),
        _ => {}
    }
    let mut common = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(left), Some(right)) = (a.get(i), b.get(j)) {
        let span = left.intersect(right);
        if !span.is_empty() {
            common.push(span);
        }
        if left.to <= right.to {
            i += 1;
        } else {
            j += 1;
        }
    }
    common.into()
}

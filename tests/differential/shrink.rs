//! Makes a script that fails as small as it gets while it fails in the same way.

use crate::differential::compare::Kind;
use crate::differential::order::alone;
use crate::differential::queries::Query;

/// Questions to the servers that one failure is worth.
const BUDGET: usize = 150;

/// A smaller script with the same difference, found by asking `fails` about candidates.
pub(super) fn shrink(script: Vec<Query>, kind: &Kind, mut fails: impl FnMut(&[Query]) -> Option<Kind>) -> Vec<Query> {
    let mut left = BUDGET;
    let mut is_same = |script: &[Query]| {
        left = left.saturating_sub(1);
        left > 0 && fails(script).as_ref() == Some(kind)
    };
    let mut script = without_statements(script, &mut is_same);
    if script.len() == 1
        && let Some(alone) =
            script[0].tree.expressions().into_iter().map(alone).find(|s| is_same(std::slice::from_ref(s)))
    {
        script = vec![alone];
    }
    while let Some(smaller) = smaller(&script, &mut is_same) {
        script = smaller;
    }
    script
}

/// Leaves out what came between the first statement and the one that fails.
fn without_statements(mut script: Vec<Query>, is_same: &mut impl FnMut(&[Query]) -> bool) -> Vec<Query> {
    let mut at = script.len().saturating_sub(2);
    while at > 0 {
        let removed = script.remove(at);
        if !is_same(&script) {
            script.insert(at, removed);
        }
        at -= 1;
    }
    script
}

fn smaller(script: &[Query], is_same: &mut impl FnMut(&[Query]) -> bool) -> Option<Vec<Query>> {
    let last = script.last()?;
    for tree in last.tree.smaller() {
        let mut candidate: Vec<Query> = script[..script.len() - 1].iter().map(Query::copy).collect();
        candidate.push(Query { tree, is_ordered: last.is_ordered });
        if is_same(&candidate) {
            return Some(candidate);
        }
    }
    None
}

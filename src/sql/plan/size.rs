//! How large a plan is, before it is walked through.
//!
//! What is named twice in a query is planned once and stands in the plan in two places: WITH queries that read each other
//! twice double it with each of them. A walk goes through all of it.

use std::collections::HashMap;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::stack::deeper;

use crate::limits::{MAX_PLAN_DEPTH, MAX_PLAN_NODES};

/// # Errors
/// 54001 for a plan that is too deep or too large.
pub(super) fn check(plan: &LogicalPlan) -> SqlResult<()> {
    let Size { depth, nodes } = measure(plan, &mut HashMap::new())?;
    let detail = if depth > MAX_PLAN_DEPTH {
        format!("Its plan is {depth} nodes deep; at most {MAX_PLAN_DEPTH} are planned.")
    } else if nodes > MAX_PLAN_NODES {
        format!(
            "Its plan has more than {MAX_PLAN_NODES} nodes, views and WITH queries spelled out wherever they are named."
        )
    } else {
        return Ok(());
    };
    Err(too_complex(detail))
}

/// The statement has too many tables, sub-queries and the like.
pub(super) fn too_complex(detail: String) -> Box<SqlError> {
    SqlError::new(ErrorKind::TooComplex, "the statement is too complex")
        .with_detail(detail)
        .with_hint("Part it: keep what parts of it give in temporary tables, and read these.")
}

#[derive(Debug, Clone, Copy)]
struct Size {
    depth: usize,
    /// Each as often as it is reached.
    nodes: usize,
}

/// The size of a plan; `known` are those of plans within it, by where they are.
fn measure(plan: &LogicalPlan, known: &mut HashMap<usize, Size>) -> Result<Size> {
    let place = |plan: &LogicalPlan| std::ptr::from_ref(plan).addr();
    let mut open = vec![(plan, false)];
    while let Some((node, is_reached)) = open.pop() {
        if known.contains_key(&place(node)) {
            continue;
        }
        let inputs = node.inputs();
        if !is_reached {
            open.push((node, true));
            open.extend(inputs.into_iter().map(|input| (input, false)));
            continue;
        }
        let mut size = Size { depth: 0, nodes: 1 };
        let mut add = |inner: Size| {
            size.depth = size.depth.max(inner.depth);
            size.nodes = size.nodes.saturating_add(inner.nodes);
        };
        inputs.into_iter().filter_map(|input| known.get(&place(input)).copied()).for_each(&mut add);
        node.apply_subqueries(|subquery| {
            for plan in subquery.inputs() {
                add(deeper(|| measure(plan, known))?);
            }
            Ok(TreeNodeRecursion::Jump)
        })?;
        size.depth += 1;
        known.insert(place(node), size);
    }
    Ok(known.get(&place(plan)).copied().unwrap_or(Size { depth: 0, nodes: 0 }))
}

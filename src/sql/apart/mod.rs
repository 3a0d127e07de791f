//! Aggregates that need all values of a group at once, of more rows than there is memory for: those with DISTINCT or an order of
//! their own.
//!
//! The engine keeps such values in memory until the last row has come. That is the fastest way, so it is taken where all rows of
//! an aggregation are few. Otherwise the rows are given to several sorts at the same time, one for each such aggregate and one for
//! all others, which put on disk what there is no memory for. All of them give the groups in one order, so their results are put
//! beside each other as they come.
//!
//! ```text
//!     shape       which aggregations they are, and what each of the sorts is for
//!     chosen      lists of which one value is made use of
//!     exec        the node of the plan: it looks at the beginning of the rows and chooses the way
//!     gathered    the beginning of the rows, before the rest of them
//!     tee         rows that several sorts read
//!     sorts       the plans of the sorts
//!     pieces      rows on their way into a sort
//!     shares      each sort has a part of the memory for itself
//!     sorted      the rows of one sort, a group after the other
//!     collector   what becomes of the rows of a group
//!     beside      the results of all sorts beside each other
//! ```

mod beside;
mod chosen;
mod collector;
mod exec;
mod gathered;
mod pieces;
mod shape;
mod shares;
mod sorted;
mod sorts;
mod tee;

use std::sync::Arc;

use datafusion::common::Result;

use self::chosen::choices_of;
pub(crate) use self::exec::ApartExec;
use self::shape::Shape;
use crate::divided::computed_before;
use crate::expr::Choice;
use crate::passing::{Plan, with_children};

/// The plan, in which such aggregations take no more memory than there is. It is to be run in turns after this.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn apart(plan: &Plan) -> Result<Plan> {
    apart_below(plan, &[])
}

/// The same, of a plan of whose lists one value each is made use of.
fn apart_below(plan: &Plan, choices: &[(usize, Choice)]) -> Result<Plan> {
    let children = plan.children();
    let chosen = choices_of(plan)?;
    let below = children.iter().map(|child| apart_below(child, &chosen)).collect::<Result<Vec<_>>>()?;
    let is_same = children.iter().zip(&below).all(|(before, now)| Arc::ptr_eq(before, now));
    let plan = if is_same { Arc::clone(plan) } else { with_children(Arc::clone(plan), below)? };
    // Long values of the rows are computed in a node of their own, which can divide its batches.
    let plan = computed_before(plan)?;
    match Shape::of(&plan, choices)? {
        Some(shape) => Ok(Arc::new(ApartExec::new(&plan, shape)?)),
        None => Ok(plan),
    }
}

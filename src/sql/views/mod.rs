//! Views: queries with a name.
//!
//! A view is kept as its query is printed when it is bound: `*` is spelled out, relations have their schemas and columns their
//! relations, so that a column added to a table later changes nothing. Where a statement reads it, the query takes its
//! place like a sub-query, and predicates go through it to the keys of its tables.

mod dependents;

pub(super) use dependents::{Dependent, Needed, cascades, dependents_of, needed_by_views};

/// Most views that lie on top of each other: each is a sub-query more to plan.
pub(super) const MOST_LEVELS: usize = 16;

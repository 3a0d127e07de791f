//! What of a query's range table may be named where an expression stands, and what is known of the query meanwhile.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::catalogue::relations::Origin;
use crate::usage::Usage;

/// An entry of the range table as names see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub entry: usize,
    /// By its own name: `t.a`, `t.*`, `t`.
    pub by_name: bool,
    /// Its columns without it.
    pub columns: bool,
    /// Inside of LATERAL alone.
    pub lateral_only: bool,
    /// Whether the join that is around it lets it be named there.
    pub lateral_allowed: bool,
    /// Its row is its only column: a function's that gives plain values.
    pub is_value: bool,
}

/// The names of one query, and what is found out about it while its expressions are bound.
#[derive(Debug, Default)]
pub struct Namespace {
    pub shown: Vec<Shown>,
    /// Columns of joins that are columns of what is joined, as entries and columns.
    pub same: HashMap<(usize, usize), (usize, usize)>,
    /// Which entries are joins.
    pub joins: HashSet<usize>,
    /// The columns of tables that the entries' columns are.
    pub origins: Vec<Vec<Option<Origin>>>,
    /// What the expression that is being bound is for.
    pub usage: Cell<Option<Usage>>,
    /// Whether it stands inside of LATERAL.
    pub is_lateral: Cell<bool>,
    pub has_aggregates: Cell<bool>,
    /// The table that the statement changes.
    pub target: Option<usize>,
}

impl Shown {
    /// An entry of which everything can be named.
    pub fn all_of(entry: usize) -> Self {
        let (by_name, columns) = (true, true);
        Self { entry, by_name, columns, lateral_only: false, lateral_allowed: true, is_value: false }
    }
}

impl Namespace {
    /// Whether it may be named where the expression stands.
    pub(crate) fn shows(&self, shown: &Shown) -> bool {
        !shown.lateral_only || self.is_lateral.get()
    }
}

/// Says for all of them whether they are named inside of LATERAL alone.
pub(crate) fn set_lateral(shown: &mut [Shown], lateral_only: bool, lateral_allowed: bool) {
    for one in shown {
        (one.lateral_only, one.lateral_allowed) = (lateral_only, lateral_allowed);
    }
}

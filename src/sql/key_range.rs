//! placeholder
use std::fmt;
use std::sync::Arc;

use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_expr::PhysicalExpr;

use super::relation::Relation;
use crate::table::KeyRange;

#[derive(Debug, Clone)]
pub struct KeyPlan {
    pub groups: Vec<ScanGroup>,
    pub scope: Scope,
    pub ordered: bool,
}

#[derive(Debug, Clone)]
pub struct ScanGroup {
    pub ranges: Vec<KeyRange>,
    pub residual: Option<Expr>,
}

#[derive(Debug, Clone)]
pub enum Scope {
    Table,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table")
    }
}

impl KeyPlan {
    pub fn from_filters(_relation: &Relation, filters: &[Expr]) -> Self {
        let group = ScanGroup { ranges: vec![KeyRange::all()], residual: conjunction(filters.to_vec()) };
        Self { groups: vec![group], scope: Scope::Table, ordered: true }
    }

    /// The keys that are read, for EXPLAIN; `None` for all of them.
    pub fn keys(&self) -> Option<String> {
        None
    }

    /// Whether all ranges lie in one partition.
    pub fn is_one_partition(&self) -> bool {
        let mut partitions = self.groups.iter().flat_map(|g| &g.ranges).map(|r| r.partitions.as_point());
        let Some(Some(first)) = partitions.next() else { return false };
        partitions.all(|p| p == Some(first))
    }

    /// The ranges of each group that the run-time filters leave, `None` when they say nothing about keys.
    pub fn narrowed_by(
        &self,
        _relation: &Relation,
        _filters: &[Arc<dyn PhysicalExpr>],
        _columns: &[&str],
    ) -> Option<Vec<Vec<KeyRange>>> {
        None
    }
}

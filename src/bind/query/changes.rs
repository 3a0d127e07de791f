//! What statements mean that change rows, and may stand in WITH.

use super::bound::{BoundQuery, BoundWith, JoinTree, RangeEntry, Target};
use crate::catalogue::RelationRef;
use crate::expr::BoundExpr;

/// A statement in which every name is found and every expression has its type.
#[derive(Debug, Clone)]
pub enum BoundStatement {
    Query(Box<BoundQuery>),
    Change(Box<BoundChange>),
}

/// A change of a table's rows.
#[derive(Debug, Clone)]
pub struct BoundChange {
    pub with: Vec<BoundWith>,
    /// The table that is changed; behind its columns those that the statement makes.
    pub relation: RelationRef,
    /// The entry of the table that is changed.
    pub target: usize,
    pub range: Vec<RangeEntry>,
    /// What is read from besides.
    pub from: Vec<JoinTree>,
    pub filter: Option<BoundExpr>,
    pub kind: ChangeKind,
    pub returning: Vec<Target>,
    /// The queries inside of its expressions, which name them by their numbers.
    pub sub_queries: Vec<BoundQuery>,
}

#[derive(Debug, Clone)]
pub enum ChangeKind {
    Insert {
        source: InsertSource,
        /// The columns that the source gives, one value each.
        columns: Vec<InsertColumn>,
        overriding: Overriding,
        /// OR REPLACE: a row that is there becomes exactly the one that is put in.
        replaces: bool,
        conflict: Option<Box<BoundConflict>>,
    },
    Update(Vec<Assigned>),
    Delete,
    Merge(Vec<BoundMergeClause>),
}

/// A column that INSERT names.
#[derive(Debug, Clone, Copy)]
pub struct InsertColumn {
    pub column: usize,
}

#[derive(Debug, Clone)]
pub enum InsertSource {
    /// DEFAULT VALUES.
    Defaults,
    /// Rows of values of the columns' types.
    Rows(Vec<Vec<BoundExpr>>),
    /// A query's rows: what each column is made of, over its only entry.
    Query { entry: usize, values: Vec<BoundExpr> },
}

/// What INSERT says about identity columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overriding {
    #[default]
    Nothing,
    System,
    User,
}

/// ON CONFLICT.
#[derive(Debug, Clone)]
pub struct BoundConflict {
    /// The columns that a unique index must have, if any are said.
    pub columns: Vec<usize>,
    /// The constraint that is named instead: its number among the table's keys.
    pub constraint: Option<usize>,
    /// DO UPDATE: the entry of the row that would have been put in, what is set, and for which rows.
    pub update: Option<ConflictUpdate>,
}

#[derive(Debug, Clone)]
pub struct ConflictUpdate {
    pub excluded: usize,
    pub assigned: Vec<Assigned>,
    pub filter: Option<BoundExpr>,
}

/// What a column is set to.
#[derive(Debug, Clone)]
pub struct Assigned {
    pub column: usize,
    pub value: AssignedValue,
}

#[derive(Debug, Clone)]
pub enum AssignedValue {
    Expr(BoundExpr),
    /// A column of a query's only row, which several columns are set from: its number among the statement's queries,
    /// and the value over [`crate::ExprKind::SubQueryColumn`].
    OfRow {
        query: usize,
        value: BoundExpr,
    },
}

/// WHEN .. THEN .. of MERGE.
#[derive(Debug, Clone)]
pub struct BoundMergeClause {
    pub is_matched: bool,
    pub condition: Option<BoundExpr>,
    pub action: MergeAction,
}

#[derive(Debug, Clone)]
pub enum MergeAction {
    /// Nothing for DEFAULT VALUES.
    Insert {
        columns: Vec<InsertColumn>,
        values: Option<Vec<BoundExpr>>,
    },
    Update(Vec<Assigned>),
    Delete,
    /// DO NOTHING.
    Nothing,
}

impl BoundChange {
    pub fn returning(&self) -> &[Target] {
        &self.returning
    }
}

impl AssignedValue {
    pub fn expr(&self) -> &BoundExpr {
        match self {
            AssignedValue::Expr(expr) | AssignedValue::OfRow { value: expr, .. } => expr,
        }
    }
}

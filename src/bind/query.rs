//! What a query means: after PostgreSQL's analysed query. Names are numbers of the range table here, stars are spelled out, and
//! every member of a list is an expression that is bound.
//!
//! Whoever plans, prints, restricts or grants reads this, each once.

use crate::catalogue::Oid;
use crate::expr::{BoundExpr, ExprType, SortKey};
use crate::scope::Entry;

/// A SELECT, a VALUES, or several of them joined by set operations.
#[derive(Debug, Clone, Default)]
pub struct BoundQuery {
    /// What it reads from, by the numbers that [`crate::ExprKind::Column`] has.
    pub range: Vec<RangeEntry>,
    /// How these are joined; several items are joined without a condition.
    pub from: Vec<FromItem>,
    pub filter: Option<BoundExpr>,
    pub targets: Vec<Target>,
    pub grouping: Grouping,
    pub having: Option<BoundExpr>,
    /// Those of the WINDOW clause, with their names.
    pub windows: Vec<WindowDefinition>,
    pub distinct: Distinct,
    /// By targets, some of which may be there for this alone.
    pub order: Vec<TargetKey>,
    pub limit: Limit,
    /// What its rows are made of, where it is no SELECT of its own.
    pub operation: Option<SetTree>,
    /// The queries of WITH, by the numbers that [`RangeSource::CommonTable`] has.
    pub with: Vec<CommonTable>,
    pub row_locks: Vec<RowLock>,
    /// Queries inside of its expressions, by the numbers that [`crate::ExprKind::SubQuery`] has.
    pub sub_queries: Vec<BoundQuery>,
    pub has: Has,
}

/// What whoever goes on asks first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Has {
    pub aggregates: bool,
    pub windows: bool,
    pub sets: bool,
    pub changes: bool,
}

/// One thing that is read from.
#[derive(Debug, Clone)]
pub struct RangeEntry {
    pub source: RangeSource,
    /// Its name and its columns, as the query sees them.
    pub names: Entry,
    /// It sees what stands before it.
    pub is_lateral: bool,
    /// The columns that are read, of a relation: what its privileges are asked for.
    pub read: Vec<usize>,
}

#[derive(Debug, Clone)]
pub enum RangeSource {
    /// A table or a view, by its number in the catalogue.
    Relation(Oid),
    Query(Box<BoundQuery>),
    /// Calls that give rows, beside each other in ROWS FROM.
    Functions {
        calls: Vec<BoundExpr>,
        with_ordinality: bool,
    },
    Values(Vec<Vec<BoundExpr>>),
    /// A query of WITH, so many queries outside of this one.
    CommonTable {
        level: usize,
        number: usize,
    },
    /// What a join gives: columns that USING merged are one of both sides, or the first that is there.
    Join {
        merged: Vec<BoundExpr>,
    },
}

/// How what is read from is joined.
#[derive(Debug, Clone)]
pub enum FromItem {
    Entry(usize),
    Join {
        kind: JoinKind,
        left: Box<FromItem>,
        right: Box<FromItem>,
        condition: Option<BoundExpr>,
        entry: Option<usize>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
}

/// A member of the list, or what is there to sort or to group by alone.
#[derive(Debug, Clone)]
pub struct Target {
    pub expr: BoundExpr,
    pub label: String,
    /// It is no column of the result.
    pub is_hidden: bool,
    /// The table and the column that it is, of a plain one.
    pub origin: Option<(Oid, i32)>,
}

/// A key by the number of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetKey {
    pub target: usize,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Debug, Clone, Default)]
pub enum Grouping {
    #[default]
    None,
    /// All rows are one group.
    All,
    /// Sets of targets, of which GROUP BY without more has one.
    Sets { sets: Vec<Vec<usize>>, distinct: bool },
}

#[derive(Debug, Clone, Default)]
pub enum Distinct {
    #[default]
    No,
    Rows,
    On(Vec<usize>),
}

#[derive(Debug, Clone)]
pub struct WindowDefinition {
    pub name: Option<String>,
    pub partition: Vec<BoundExpr>,
    pub order: Vec<SortKey>,
    pub frame: Option<Frame>,
}

#[derive(Debug, Clone)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    pub end: FrameBound,
    pub excluded: Excluded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Debug, Clone)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(BoundExpr),
    CurrentRow,
    Following(BoundExpr),
    UnboundedFollowing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    Nothing,
    CurrentRow,
    Group,
    Ties,
}

#[derive(Debug, Clone, Default)]
pub struct Limit {
    pub count: Option<BoundExpr>,
    pub offset: Option<BoundExpr>,
    pub with_ties: bool,
}

/// Queries joined by set operations; those of one kind, without parentheses between them, are one flat list.
#[derive(Debug, Clone)]
pub enum SetTree {
    /// A query of the range table.
    Entry(usize),
    Operation {
        operation: SetOperation,
        all: bool,
        members: Vec<SetTree>,
        columns: Vec<ExprType>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperation {
    Union,
    Intersect,
    Except,
}

/// A query of WITH.
#[derive(Debug, Clone)]
pub struct CommonTable {
    pub names: Entry,
    pub statement: Box<BoundStatement>,
    pub is_recursive: bool,
    /// As MATERIALIZED says, where it says anything.
    pub materialized: Option<bool>,
    /// How often it is read: what is read twice, and what is volatile, is computed once.
    pub readers: usize,
}

/// FOR UPDATE and its kin, of entries of the range table.
#[derive(Debug, Clone)]
pub struct RowLock {
    pub entries: Vec<usize>,
    pub strength: LockStrength,
    pub waits: LockWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    Waits,
    NoWait,
    SkipsLocked,
}

/// A statement that reads or changes rows.
#[derive(Debug, Clone)]
pub enum BoundStatement {
    Query(BoundQuery),
    Change(BoundChange),
}

/// INSERT, UPDATE, DELETE: what is changed stands in the range table of the query that gives the rows.
#[derive(Debug, Clone)]
pub struct BoundChange {
    pub kind: ChangeKind,
    /// The entry whose rows are changed.
    pub target: usize,
    pub rows: BoundQuery,
    pub returning: Vec<Target>,
}

#[derive(Debug, Clone)]
pub enum ChangeKind {
    /// The columns that the rows' targets are for.
    Insert {
        columns: Vec<usize>,
        on_conflict: Option<OnConflict>,
        overriding: Option<Overriding>,
    },
    Update {
        set: Vec<(usize, BoundExpr)>,
    },
    Delete,
}

#[derive(Debug, Clone)]
pub struct OnConflict {
    /// The columns of the key that may conflict; any of the table's where none is said.
    pub keys: Vec<usize>,
    /// Nothing, or what is set of the row that is there.
    pub update: Option<(Vec<(usize, BoundExpr)>, Option<BoundExpr>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overriding {
    System,
    User,
}

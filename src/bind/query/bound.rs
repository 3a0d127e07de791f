//! What a query means, after PostgreSQL's analysed query: what it reads from, what it gives, and how that is grouped,
//! sorted and cut off.
//!
//! Levels are counted as PostgreSQL counts them: each query is one, the members of a set operation and the parts of WITH
//! are inside of theirs.

use super::changes::BoundStatement;
use crate::binder::Reach;
use crate::catalogue::RelationRef;
pub use crate::catalogue::relations::Origin;
use crate::expr::{BoundExpr, ExprKind, ExprType};
use crate::place::Place;

/// A query in which every name is found and every expression has its type.
#[derive(Debug, Clone, Default)]
pub struct BoundQuery {
    pub with: Vec<BoundWith>,
    /// RECURSIVE is written, whether or not a part of it reads its own rows.
    pub is_with_recursive: bool,
    /// What is read from; columns name its entries by their numbers.
    pub range: Vec<RangeEntry>,
    /// How these are joined: all of the list with each other.
    pub from: Vec<JoinTree>,
    pub filter: Option<BoundExpr>,
    /// What it gives, and behind that what is grouped and sorted by besides.
    pub targets: Vec<Target>,
    pub grouping: Grouping,
    pub having: Option<BoundExpr>,
    pub windows: Vec<BoundWindow>,
    pub distinct: Distinct,
    pub order: Vec<SortItem>,
    pub offset: Option<BoundExpr>,
    pub limit: Option<BoundExpr>,
    /// Rows that sort as the last one does are given too.
    pub with_ties: bool,
    pub row_marks: Vec<RowMark>,
    /// Of a set operation: its members are the entries of the range table.
    pub set: Option<SetTree>,
    /// The queries inside of its expressions, which name them by their numbers.
    pub sub_queries: Vec<BoundQuery>,
    pub has_aggregates: bool,
    /// Queries around it that it names something of.
    pub reach: Reach,
}

/// Something that is read from.
#[derive(Debug, Clone)]
pub struct RangeEntry {
    /// The name that it goes by: its alias, or its own.
    pub name: String,
    pub has_alias: bool,
    /// How many of its columns, from the first on, have their names from the alias.
    pub named_columns: usize,
    pub columns: Vec<RangeColumn>,
    pub source: RangeSource,
    pub is_lateral: bool,
}

impl RangeEntry {
    /// What is read from under a name that no statement gives it.
    pub fn unnamed(name: String, columns: Vec<RangeColumn>, source: RangeSource) -> Self {
        Self { name, has_alias: false, named_columns: 0, columns, source, is_lateral: false }
    }

    /// Whether `*` leaves a column out.
    pub fn is_hidden(&self, column: usize) -> bool {
        match &self.source {
            RangeSource::Table { relation, .. } => relation.columns.get(column).is_some_and(|column| column.is_hidden),
            RangeSource::With { shown, .. } => column >= *shown,
            _ => false,
        }
    }
}

#[derive(Debug, Clone)]
pub struct RangeColumn {
    pub name: String,
    pub ty: ExprType,
}

#[derive(Debug, Clone)]
pub enum RangeSource {
    Table {
        relation: RelationRef,
        only: bool,
        /// Some of its rows, instead of all.
        sample: Option<Box<Sample>>,
    },
    SubQuery(Box<BoundQuery>),
    Functions {
        functions: Vec<RangeFunction>,
        with_ordinality: bool,
    },
    Values(Vec<Vec<BoundExpr>>),
    /// A part of WITH of the query so many outside of this one.
    With {
        level: usize,
        number: usize,
        /// How many of its columns `*` shows: those behind them are the query's own.
        shown: usize,
    },
    /// The columns of a join, each of which is one of what it joins, or made of one of each side.
    Join {
        columns: Vec<JoinColumn>,
    },
    /// The row that INSERT would have put in.
    Excluded,
}

/// TABLESAMPLE: a share of a table's rows, by chance.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Rows are taken one by one in either way: no block of the store's holds rows that a statement could tell from others.
    pub method: SampleMethod,
    /// A `real` from 0 to 100, the rows of a hundred.
    pub percent: BoundExpr,
    /// REPEATABLE: a `double precision` with which the same rows are taken again.
    pub seed: Option<BoundExpr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleMethod {
    Bernoulli,
    System,
}

impl SampleMethod {
    pub fn name(self) -> &'static str {
        match self {
            SampleMethod::Bernoulli => "bernoulli",
            SampleMethod::System => "system",
        }
    }
}

/// A function that is read from, with the columns that the statement gives its rows.
#[derive(Debug, Clone)]
pub struct RangeFunction {
    pub call: BoundExpr,
    pub columns: Vec<RangeColumn>,
    pub is_defined: bool,
}

#[derive(Debug, Clone)]
pub enum JoinColumn {
    One(BoundExpr),
    /// Of USING: the left one, or the right one where there is none.
    Merged {
        value: Box<BoundExpr>,
        left: Box<BoundExpr>,
        right: Box<BoundExpr>,
    },
}

impl JoinColumn {
    /// The value that it is.
    pub fn expr(&self) -> &BoundExpr {
        match self {
            JoinColumn::One(expr) => expr,
            JoinColumn::Merged { value, .. } => value,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
}

#[derive(Debug, Clone)]
pub enum JoinTree {
    Entry(usize),
    Join {
        /// Its own entry.
        entry: usize,
        kind: JoinKind,
        left: Box<JoinTree>,
        right: Box<JoinTree>,
        condition: Option<Box<BoundExpr>>,
        /// The names of USING, or those that NATURAL finds.
        using: Vec<String>,
    },
}

impl JoinTree {
    /// The entry of what is read from, or of the join.
    pub fn entry(&self) -> usize {
        match self {
            JoinTree::Entry(entry) | JoinTree::Join { entry, .. } => *entry,
        }
    }
}

/// A member of the target list.
#[derive(Debug, Clone)]
pub struct Target {
    pub expr: BoundExpr,
    pub name: String,
    /// Sorted or grouped by, and not given.
    pub is_hidden: bool,
    pub origin: Option<Origin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortItem {
    /// The target that is sorted by.
    pub target: usize,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Debug, Clone, Default)]
pub enum Distinct {
    #[default]
    No,
    All,
    /// By these targets.
    On(Vec<usize>),
}

/// GROUP BY: the targets that are grouped by, and how they are put together.
#[derive(Debug, Clone, Default)]
pub struct Grouping {
    pub keys: Vec<usize>,
    /// Empty where all keys are grouped by at once.
    pub sets: Vec<GroupingSet>,
    /// GROUP BY DISTINCT.
    pub is_distinct: bool,
    /// Entries of the range table whose other columns the query names, because it groups by their primary key.
    pub determined: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupingSet {
    Simple(Vec<usize>),
    Rollup(Vec<Vec<usize>>),
    Cube(Vec<Vec<usize>>),
    Sets(Vec<GroupingSet>),
}

/// A window of the query's.
#[derive(Debug, Clone)]
pub struct BoundWindow {
    /// Of the WINDOW clause.
    pub name: Option<String>,
    pub inherits: Option<String>,
    pub partition: Vec<usize>,
    pub order: Vec<SortItem>,
    pub frame: Option<Frame>,
}

#[derive(Debug, Clone)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    pub end: FrameBound,
    /// Both ends are written.
    pub is_between: bool,
    pub exclusion: FrameExclusion,
}

/// EXCLUDE: rows of the frame that are left out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameExclusion {
    NoOthers,
    CurrentRow,
    /// The row and its peers.
    Group,
    /// Its peers without the row.
    Ties,
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

/// FOR UPDATE and the like, of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMark {
    pub entry: usize,
    pub strength: LockStrength,
    pub busy: Busy,
}

/// How strongly a row is locked, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// FOR KEY SHARE: the row stays.
    KeyShare,
    /// FOR SHARE: the row stays as it is.
    Share,
    /// FOR NO KEY UPDATE, and UPDATE of columns outside the key.
    NoKeyUpdate,
    /// FOR UPDATE, INSERT, DELETE, and UPDATE of the key.
    Update,
}

/// What to do about a row that others have locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Busy {
    Wait,
    /// SKIP LOCKED
    Skip,
    /// NOWAIT
    Refuse,
}

impl LockStrength {
    /// The clause's words.
    pub fn words(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// How members are put together.
#[derive(Debug, Clone)]
pub enum SetTree {
    /// An entry of the range table.
    Member(usize),
    /// From left to right: members of one operator whose results have the same types are one list.
    Node { operator: SetOperator, all: bool, parts: Vec<SetTree>, types: Vec<ExprType> },
}

/// A part of WITH.
#[derive(Debug, Clone)]
pub struct BoundWith {
    pub name: String,
    pub columns: Vec<RangeColumn>,
    /// How many of these, from the first on, have their names from the clause.
    pub named_columns: usize,
    pub statement: BoundStatement,
    /// MATERIALIZED, or NOT MATERIALIZED.
    pub materialized: Option<bool>,
    /// It reads its own rows.
    pub is_recursive: bool,
    /// It has SEARCH or CYCLE.
    pub is_traced: bool,
    /// How often it is read from.
    pub uses: usize,
    pub place: Place,
}

/// A column of one of these entries.
pub fn column_of(range: &[RangeEntry], entry: usize, column: usize) -> Option<BoundExpr> {
    let ty = range.get(entry)?.columns.get(column)?.ty;
    Some(BoundExpr::new(ExprKind::Column { level: 0, entry, column }, ty, Place::NOWHERE))
}

impl BoundQuery {
    /// What it gives.
    pub fn results(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| !target.is_hidden)
    }

    /// Whether a part of its WITH changes rows.
    pub fn changes_rows(&self) -> bool {
        self.with.iter().any(|part| matches!(part.statement, BoundStatement::Change(_)))
    }

    /// The types of what it gives.
    pub fn result_types(&self) -> Vec<ExprType> {
        self.results().map(|target| target.expr.ty).collect()
    }
}

//! What an expression means: every name found, every operator and function chosen, every part with its type.
//!
//! After PostgreSQL's analysed expressions, with two differences. What joins any number of operands from left to right is
//! one flat node ([`ExprKind::Operation`], [`ExprKind::And`]), so that a statement may be long without being deep. And all
//! casts are one node, which says how the value is made and who asked for it.

use tablegate_types::ScalarValue;

use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, FunctionRef, Operator};
use crate::place::Place;

/// An expression with the type of its value.
#[derive(Debug, Clone)]
pub struct BoundExpr {
    pub kind: ExprKind,
    pub ty: ExprType,
    /// Where it begins.
    pub place: Place,
}

/// The type of a value, with its modifier and its collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExprType {
    pub oid: Oid,
    /// -1 for none.
    pub typmod: i32,
    pub collation: Collation,
}

/// By which rules texts are compared, and how that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collation {
    /// Of a type that has none.
    None,
    /// Of a column or a type.
    Implicit(Oid),
    /// By COLLATE.
    Explicit(Oid),
    /// Operands have different ones, and none is said.
    Conflict,
}

/// What a literal stands for.
#[derive(Debug, Clone)]
pub enum Literal {
    Null,
    /// A number or a truth value.
    Value(ScalarValue),
    /// A value, and the text that it was read from.
    Read {
        value: ScalarValue,
        text: Box<str>,
    },
    /// The text of a value: as it was written of a literal that has no type yet, else as its type prints it.
    Text(Box<str>),
}

/// An operator of a row of operators, with the operand behind it.
#[derive(Debug, Clone)]
pub struct Link {
    pub operator: &'static Operator,
    pub operand: BoundExpr,
    /// Of all up to here.
    pub ty: ExprType,
}

/// How a value becomes one of another type.
#[derive(Debug, Clone)]
pub enum CastMethod {
    /// By a function, which may take the modifier too.
    Function(FunctionRef),
    /// It is one already.
    Binary,
    /// Through its text.
    Text,
    /// Each item of an array by this cast of [`ExprKind::Item`].
    Items(Box<BoundExpr>),
    /// A row's columns become those of a row type.
    Row,
    /// The rules of a domain hold for it.
    Domain,
}

/// How a cast is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Explicitly,
    /// Nobody asked for it.
    Implicitly,
}

/// How a function's call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallForm {
    Plain,
    /// In words of the SQL standard's own: `EXTRACT(year FROM a)`.
    Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    Null,
    True,
    False,
    Unknown,
}

/// CURRENT_DATE and the other words that are values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueWord {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentRole,
    CurrentUser,
    User,
    SessionUser,
    CurrentCatalog,
    CurrentSchema,
}

/// An index, or a slice of which both ends may be left out.
#[derive(Debug, Clone)]
pub enum Index {
    One(Box<BoundExpr>),
    Slice(Option<Box<BoundExpr>>, Option<Box<BoundExpr>>),
}

/// What of an aggregate's or a window function's call is not its arguments.
#[derive(Debug, Clone, Default)]
pub struct OverRows {
    pub is_star: bool,
    pub is_distinct: bool,
    pub order: Vec<SortKey>,
    /// The rows of an aggregate are given behind WITHIN GROUP.
    pub within_group: bool,
    pub filter: Option<Box<BoundExpr>>,
    pub window: Option<Window>,
}

#[derive(Debug, Clone)]
pub struct SortKey {
    pub expr: BoundExpr,
    pub descending: bool,
    pub nulls_first: bool,
}

/// The rows that a window function looks at: a window of the query's, or one of its own.
#[derive(Debug, Clone)]
pub enum Window {
    /// One of the query's list of them.
    Numbered(usize),
    Named(String),
    Own {
        name: Option<String>,
        partition: Vec<BoundExpr>,
        order: Vec<SortKey>,
    },
}

/// What a sub-query is asked for.
#[derive(Debug, Clone)]
pub enum SubQueryUse {
    Exists,
    Value,
    Array,
    /// Whether the comparison holds for one of its rows, or for all. The row stands for [`ExprKind::SubQueryColumn`].
    Any(Box<BoundExpr>),
    All(Box<BoundExpr>),
    /// The comparison of a row with its only one.
    Row(Box<BoundExpr>),
    /// Its only row as one value: no statement says so, but a row that several columns are set from is computed once.
    OnlyRow,
}

#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A column of the range table's entry, so many queries outside of this one.
    Column {
        level: usize,
        entry: usize,
        column: usize,
    },
    /// An entry's row as one value.
    WholeRow {
        level: usize,
        entry: usize,
    },
    Parameter(usize),
    Constant(Literal),
    /// Operands joined from left to right.
    Operation {
        first: Box<BoundExpr>,
        links: Vec<Link>,
    },
    Prefix {
        operator: &'static Operator,
        operand: Box<BoundExpr>,
    },
    Call {
        function: FunctionRef,
        arguments: Vec<BoundExpr>,
        names: Vec<(usize, String)>,
        variadic: bool,
        form: CallForm,
    },
    /// An aggregate over rows: over those of the query so many outside of this one.
    Aggregate {
        level: usize,
        function: FunctionRef,
        arguments: Vec<BoundExpr>,
        variadic: bool,
        rows: OverRows,
    },
    /// Which of these a row is not grouped by.
    Grouping {
        arguments: Vec<BoundExpr>,
        level: usize,
    },
    /// A function, or an aggregate, over a window.
    WindowCall {
        function: FunctionRef,
        arguments: Vec<BoundExpr>,
        rows: OverRows,
    },
    Cast {
        value: Box<BoundExpr>,
        method: CastMethod,
        context: CastContext,
        written: Written,
    },
    And(Vec<BoundExpr>),
    Or(Vec<BoundExpr>),
    /// Comparisons with the members of a list that are no one array: whether one of them holds, or all of NOT IN.
    InList {
        any: bool,
        comparisons: Vec<BoundExpr>,
    },
    Not(Box<BoundExpr>),
    Test {
        value: Box<BoundExpr>,
        test: Test,
        negated: bool,
    },
    /// IS DISTINCT FROM, by the operator `=`.
    Distinct {
        operator: &'static Operator,
        left: Box<BoundExpr>,
        right: Box<BoundExpr>,
    },
    NullIf {
        operator: &'static Operator,
        left: Box<BoundExpr>,
        right: Box<BoundExpr>,
    },
    /// An operator between a value and the items of an array: for one of them, or for all.
    OfItems {
        operator: &'static Operator,
        any: bool,
        value: Box<BoundExpr>,
        array: Box<BoundExpr>,
    },
    /// `<` and the like between rows.
    RowComparison {
        operators: Vec<&'static Operator>,
        left: Vec<BoundExpr>,
        right: Vec<BoundExpr>,
    },
    Array {
        items: Vec<BoundExpr>,
        is_of_arrays: bool,
    },
    Row(Vec<BoundExpr>),
    Case {
        operand: Option<Box<BoundExpr>>,
        branches: Vec<(BoundExpr, BoundExpr)>,
        otherwise: Box<BoundExpr>,
    },
    /// The operand of the CASE around it.
    CaseOperand,
    /// An item of the array that is cast.
    Item,
    /// The value that a sub-query's row has in a column.
    SubQueryColumn(usize),
    Coalesce(Vec<BoundExpr>),
    Greatest(Vec<BoundExpr>),
    Least(Vec<BoundExpr>),
    Subscript {
        value: Box<BoundExpr>,
        indexes: Vec<Index>,
    },
    Field {
        row: Box<BoundExpr>,
        column: usize,
        name: String,
    },
    /// With the place of the word, to which errors point.
    Collate {
        value: Box<BoundExpr>,
        collation: Oid,
        at: Place,
    },
    Word(ValueWord),
    /// A query, which the caller has bound and numbered.
    SubQuery {
        query: usize,
        used: SubQueryUse,
    },
    /// DEFAULT in the place of a value.
    Default,
}

impl ExprType {
    pub const BOOL: ExprType = ExprType { oid: oids::BOOL, typmod: -1, collation: Collation::None };

    pub fn plain(oid: Oid) -> Self {
        Self { oid, typmod: -1, collation: Collation::None }
    }
}

impl Collation {
    /// The rules, if it is known which.
    pub fn oid(self) -> Oid {
        match self {
            Collation::Implicit(oid) | Collation::Explicit(oid) => oid,
            Collation::None | Collation::Conflict => 0,
        }
    }
}

impl BoundExpr {
    pub fn new(kind: ExprKind, ty: ExprType, place: Place) -> Self {
        Self { kind, ty, place }
    }

    /// NULL of a type.
    pub fn null(ty: ExprType) -> Self {
        Self::new(ExprKind::Constant(Literal::Null), ty, Place::NOWHERE)
    }

    pub(crate) fn oid(&self) -> Oid {
        self.ty.oid
    }

    /// A literal, or a parameter, whose type is not known yet.
    pub(crate) fn is_unknown(&self) -> bool {
        self.ty.oid == oids::UNKNOWN
    }

    /// NULL as it is written, of whatever type.
    pub fn is_null_literal(&self) -> bool {
        matches!(self.kind, ExprKind::Constant(Literal::Null))
    }

    /// Whether it is the word DEFAULT.
    pub fn is_default(&self) -> bool {
        matches!(self.kind, ExprKind::Default)
    }

    /// The value under casts that nobody asked for.
    pub fn without_implicit_casts(&self) -> &BoundExpr {
        let mut inner = self;
        while let ExprKind::Cast { value, written: Written::Implicitly, .. } = &inner.kind {
            inner = value;
        }
        inner
    }
}

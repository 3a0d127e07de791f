//! What an expression is for: what PostgreSQL allows there, and how its errors call it.

use tablegate_types::error::{ErrorKind, SqlError};

/// What an expression is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    Check,
    Default,
    Generated,
    Index,
    IndexPredicate,
    CopyWhere,
    JoinCondition,
    /// A function that is read from.
    FromFunction,
    /// A query that is read from: what of it is of the query around it.
    FromQuery,
    Where,
    Having,
    Filter,
    WindowPartition,
    WindowOrder,
    FrameRows,
    FrameRange,
    FrameGroups,
    SelectList,
    GroupBy,
    OrderBy,
    DistinctOn,
    Limit,
    Offset,
    Returning,
    /// Rows of VALUES.
    Values,
    /// The only row of an INSERT.
    OnlyValues,
    InsertList,
    UpdateList,
    MergeWhen,
}

impl Usage {
    fn plural(self) -> &'static str {
        match self {
            Usage::Check => "check constraints",
            Usage::Default => "DEFAULT expressions",
            Usage::Generated => "column generation expressions",
            Usage::Index => "index expressions",
            Usage::IndexPredicate => "index predicates",
            Usage::CopyWhere => "COPY FROM WHERE conditions",
            Usage::JoinCondition => "JOIN conditions",
            Usage::FromFunction => "functions in FROM",
            Usage::FromQuery => "FROM clause of their own query level",
            Usage::FrameRows => "window ROWS",
            Usage::FrameRange => "window RANGE",
            Usage::FrameGroups => "window GROUPS",
            Usage::MergeWhen => "MERGE WHEN conditions",
            other => other.clause(),
        }
    }

    /// The clause's own words.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            Usage::Where => "WHERE",
            Usage::Having => "HAVING",
            Usage::Filter => "FILTER",
            Usage::WindowPartition => "window PARTITION BY",
            Usage::WindowOrder => "window ORDER BY",
            Usage::SelectList => "SELECT",
            Usage::GroupBy => "GROUP BY",
            Usage::OrderBy => "ORDER BY",
            Usage::DistinctOn => "DISTINCT ON",
            Usage::Limit => "LIMIT",
            Usage::Offset => "OFFSET",
            Usage::Returning => "RETURNING",
            Usage::Values | Usage::OnlyValues => "VALUES",
            Usage::InsertList => "INSERT",
            Usage::UpdateList => "UPDATE",
            Usage::JoinCondition => "JOIN/ON",
            Usage::FromFunction => "function in FROM",
            Usage::FromQuery => "sub-SELECT in FROM",
            other => other.plural(),
        }
    }

    fn singular(self) -> &'static str {
        match self {
            Usage::Check => "check constraint",
            Usage::Default => "DEFAULT expression",
            Usage::Generated => "column generation expression",
            Usage::Index => "index expression",
            Usage::IndexPredicate => "index predicate",
            Usage::CopyWhere => "COPY FROM WHERE condition",
            other => other.plural(),
        }
    }

    fn is_of_declarations(self) -> bool {
        matches!(
            self,
            Usage::Check | Usage::Default | Usage::Generated | Usage::Index | Usage::IndexPredicate | Usage::CopyWhere
        )
    }

    fn is_frame(self) -> bool {
        matches!(self, Usage::FrameRows | Usage::FrameRange | Usage::FrameGroups)
    }

    pub(crate) fn refuse_columns(self) -> Option<Box<SqlError>> {
        let message = "cannot use column reference in DEFAULT expression";
        (self == Usage::Default).then(|| SqlError::new(ErrorKind::FeatureNotSupported, message))
    }

    pub(crate) fn refuse_queries(self) -> Option<Box<SqlError>> {
        let message = || format!("cannot use subquery in {}", self.singular());
        self.is_of_declarations().then(|| SqlError::new(ErrorKind::FeatureNotSupported, message()))
    }

    pub(crate) fn refuse_aggregates(self) -> Option<Box<SqlError>> {
        self.refuse_over_rows("aggregate functions")
    }

    pub(crate) fn refuse_grouping(self) -> Option<Box<SqlError>> {
        self.refuse_over_rows("grouping operations")
    }

    fn refuse_over_rows(self, what: &str) -> Option<Box<SqlError>> {
        let allowed = matches!(
            self,
            Usage::SelectList
                | Usage::Having
                | Usage::OrderBy
                | Usage::DistinctOn
                | Usage::WindowPartition
                | Usage::WindowOrder
        );
        let message = || format!("{what} are not allowed in {}", self.plural());
        (!allowed).then(|| SqlError::new(ErrorKind::Grouping, message()))
    }

    pub(crate) fn refuse_windows(self) -> Option<Box<SqlError>> {
        let is_of_window = self.is_frame() || matches!(self, Usage::WindowPartition | Usage::WindowOrder);
        let whose = if is_of_window { "window definitions" } else { self.plural() };
        let allowed = matches!(self, Usage::SelectList | Usage::OrderBy | Usage::DistinctOn);
        let message = || format!("window functions are not allowed in {whose}");
        (!allowed).then(|| SqlError::new(ErrorKind::Windowing, message()))
    }

    pub(crate) fn refuse_sets(self) -> Option<Box<SqlError>> {
        let allowed = matches!(
            self,
            Usage::SelectList
                | Usage::FromFunction
                | Usage::GroupBy
                | Usage::OrderBy
                | Usage::DistinctOn
                | Usage::WindowPartition
                | Usage::WindowOrder
                | Usage::OnlyValues
                | Usage::InsertList
        );
        let whose = if self.is_frame() { "window definitions" } else { self.plural() };
        let message = || format!("set-returning functions are not allowed in {whose}");
        (!allowed).then(|| SqlError::new(ErrorKind::FeatureNotSupported, message()))
    }
}

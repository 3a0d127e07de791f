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
    Where,
    Values,
    SelectList,
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
            Usage::Where => "WHERE",
            Usage::Values => "VALUES",
            Usage::SelectList => "SELECT",
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
            Usage::Where | Usage::Values | Usage::SelectList => self.plural(),
        }
    }

    pub(crate) fn refuse_columns(self) -> Option<Box<SqlError>> {
        let message = "cannot use column reference in DEFAULT expression";
        (self == Usage::Default).then(|| SqlError::new(ErrorKind::FeatureNotSupported, message))
    }

    pub(crate) fn refuse_queries(self) -> Option<Box<SqlError>> {
        let allowed = matches!(self, Usage::Where | Usage::Values | Usage::SelectList);
        let message = || format!("cannot use subquery in {}", self.singular());
        (!allowed).then(|| SqlError::new(ErrorKind::FeatureNotSupported, message()))
    }

    pub(crate) fn refuse_aggregates(self) -> Option<Box<SqlError>> {
        let message = || format!("aggregate functions are not allowed in {}", self.plural());
        (self != Usage::SelectList).then(|| SqlError::new(ErrorKind::Grouping, message()))
    }

    pub(crate) fn refuse_windows(self) -> Option<Box<SqlError>> {
        let message = || format!("window functions are not allowed in {}", self.plural());
        (self != Usage::SelectList).then(|| SqlError::new(ErrorKind::Windowing, message()))
    }

    pub(crate) fn refuse_sets(self) -> Option<Box<SqlError>> {
        let allowed = matches!(self, Usage::SelectList | Usage::Values);
        let message = || format!("set-returning functions are not allowed in {}", self.plural());
        (!allowed).then(|| SqlError::new(ErrorKind::FeatureNotSupported, message()))
    }
}

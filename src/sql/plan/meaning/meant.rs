//! A query or a statement as it was bound, with what its views mean.

use std::collections::HashMap;

use tablegate_bind::{BoundQuery, BoundStatement, Oid};

use super::catalogue::KnownTables;
use super::statement::views_of;

/// What a query means.
pub(crate) type MeantQuery = WithViews<BoundQuery>;

/// What a statement means, a change of rows for the most part.
pub(crate) type MeantStatement = WithViews<BoundStatement>;

/// What was bound, and what the views in it mean.
#[derive(Clone)]
pub(crate) struct WithViews<B> {
    pub bound: B,
    /// What the views mean that it reads from, and those that these do, by their numbers.
    pub views: HashMap<Oid, BoundQuery>,
    /// One of the views names system columns.
    pub views_name_system_columns: bool,
}

impl<B> WithViews<B> {
    pub(super) fn new(bound: B, known: &KnownTables<'_>) -> Self {
        Self { bound, views: views_of(known), views_name_system_columns: known.views_name_system_columns() }
    }

    /// Something else that was bound, over the same views.
    pub(super) fn of_the_same<T>(&self, bound: T) -> WithViews<T> {
        WithViews { bound, views: self.views.clone(), views_name_system_columns: self.views_name_system_columns }
    }
}

impl From<MeantQuery> for MeantStatement {
    fn from(query: MeantQuery) -> Self {
        let WithViews { bound, views, views_name_system_columns } = query;
        Self { bound: BoundStatement::Query(Box::new(bound)), views, views_name_system_columns }
    }
}

//! The views that a query reads, and those that these read: their queries become part of its plan.

use std::collections::HashMap;
use std::sync::Arc;

use tablegate_bind::ParsedQuery;
use tablegate_types::error::SqlResult;

use super::planner::Planner;
use super::tables::{Mentions, TableEntry, schema_and_table};
use crate::catalog;
use crate::catalog::View;
use crate::syntax::dotted;

/// The queries of views by the names that statements use for them.
pub(super) struct ViewQueries {
    found: HashMap<String, (Arc<View>, ParsedQuery)>,
}

impl ViewQueries {
    /// The views among what a query mentions. Gives what it mentions with what these do.
    ///
    /// # Errors
    /// XX001 for a view whose query cannot be read.
    pub(super) fn within(planner: &Planner<'_>, mentions: &Mentions) -> SqlResult<(Mentions, Self)> {
        let mut all = mentions.clone();
        let mut queries = Self { found: HashMap::new() };
        let mut next = 0;
        while let Some(name) = all.tables.get(next).cloned() {
            next += 1;
            let (schema, table) = schema_and_table(&name)?;
            let Some(view) = planner.view(schema.as_deref(), &table) else { continue };
            let query = catalog::query_of(view)?;
            all.absorb(Mentions::of(&query));
            queries.found.insert(dotted(&name), (view.clone(), query));
        }
        Ok((all, queries))
    }

    /// The view of this name as a table of the query.
    pub(super) fn take(&mut self, name: &str) -> Option<SqlResult<TableEntry>> {
        let (view, query) = self.found.remove(name)?;
        Some(TableEntry::of_view(&view, query))
    }
}

impl Planner<'_> {
    /// The user's view of this name.
    pub(crate) fn view(&self, schema: Option<&str>, name: &str) -> Option<&Arc<View>> {
        let named = self.reads.catalog.named(schema, name).filter(|_| !self.system.knows(schema, name))?;
        self.reads.catalog.view(&named)
    }
}

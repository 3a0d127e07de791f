//! The tables that all parts of one statement may name: the queries of its WITH clause, and rows that earlier parts
//! returned.
//!
//! `WITH x AS (...) UPDATE ...` has one WITH and many queries: the rows to change, sub-queries in ON CONFLICT and
//! RETURNING. Each of them is planned with the same clause before it.

use std::borrow::Cow;
use std::collections::HashSet;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Cte, Query, With};
use tablegate_types::error::{SqlError, SqlResult};

use super::tables::{TableEntry, Tables};
use crate::syntax::fold;

/// The surroundings of a query: nothing, for most.
#[derive(Clone, Default)]
pub(crate) struct Around {
    recursive: bool,
    ctes: Vec<Cte>,
    rows: Tables,
}

impl Around {
    /// Nothing yet, of a WITH clause that may be RECURSIVE.
    pub(crate) fn new(recursive: bool) -> Self {
        Self { recursive, ..Self::default() }
    }

    /// A query that is planned anew wherever it is named.
    pub(crate) fn add_query(&mut self, cte: Cte) {
        self.ctes.push(cte);
    }

    /// Rows in memory, known by this name.
    pub(crate) fn add_rows(&mut self, name: &str, entry: TableEntry) {
        self.rows.insert(name, entry);
    }

    /// The rows in memory.
    pub(crate) fn rows(&self) -> &Tables {
        &self.rows
    }

    /// The query with the WITH clause before its own.
    ///
    /// # Errors
    /// 0A000 when both define the same name.
    pub(crate) fn over<'q>(&self, query: &'q Query) -> SqlResult<Cow<'q, Query>> {
        if self.ctes.is_empty() {
            return Ok(Cow::Borrowed(query));
        }
        let names = |ctes: &[Cte]| ctes.iter().map(|cte| fold(&cte.alias.name)).collect::<HashSet<_>>();
        let own = query.with.as_ref().map(|with| names(&with.cte_tables)).unwrap_or_default();
        if let Some(name) = names(&self.ctes).intersection(&own).next() {
            return Err(SqlError::not_supported(format!("WITH query \"{name}\" inside another of that name"))
                .with_hint("Give one of them another name."));
        }
        let own = query.with.clone();
        let recursive = self.recursive || own.as_ref().is_some_and(|own| own.recursive);
        let own = own.into_iter().flat_map(|own| own.cte_tables);
        let cte_tables = self.ctes.iter().cloned().chain(own).collect();
        let with = With { with_token: AttachedToken::empty(), recursive, cte_tables };
        Ok(Cow::Owned(Query { with: Some(with), ..query.clone() }))
    }
}

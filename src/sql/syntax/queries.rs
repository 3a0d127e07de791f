//! What the text of a query tells: whether it changes rows or locks them, and where it reads.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, ObjectNamePart, Query, SetExpr, Statement, TableFactor, Visitor, VisitorMut};
use tablegate_bind::{Identifier, ParsedQuery};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::dialect::respell::SYMMETRIC;
use crate::syntax::{fold, walk, walk_mut};

/// Whether a query is a change, or has one in its WITH clause.
pub(crate) fn changes_rows(query: &ParsedQuery) -> bool {
    let query = query.tree();
    change_in(query).is_some()
        || query.with.iter().flat_map(|with| &with.cte_tables).any(|cte| change_in(&cte.query).is_some())
}

/// Whether a query has a locking clause of its own.
pub(crate) fn locks_rows(query: &ParsedQuery) -> bool {
    !query.tree().locks.is_empty()
}

/// The command that a statement with a WITH clause is.
pub(crate) fn statement_name(query: &ParsedQuery) -> &'static str {
    match &*query.tree().body {
        SetExpr::Insert(_) => "INSERT",
        SetExpr::Update(_) => "UPDATE",
        SetExpr::Delete(_) => "DELETE",
        SetExpr::Merge(_) => "MERGE",
        _ => "SELECT",
    }
}

/// The change that a query is.
fn change_in(query: &Query) -> Option<&Statement> {
    match &*query.body {
        SetExpr::Insert(statement)
        | SetExpr::Update(statement)
        | SetExpr::Delete(statement)
        | SetExpr::Merge(statement) => Some(statement),
        _ => None,
    }
}

/// A query only reads. A change may be a statement, or stand in the WITH clause of one: the code that runs those has taken it
/// out before a query is planned.
///
/// # Errors
/// 0A000 for a change anywhere in the query.
pub(crate) fn check_only_reads(query: &ParsedQuery) -> SqlResult<()> {
    struct Changes;
    impl Visitor for Changes {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            if change_in(query).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    if change_in(query.tree()).is_some() {
        return Err(SqlError::not_supported("a change of rows in the place of a query")
            .with_hint("Run it as a statement of its own, with RETURNING."));
    }
    match walk(query.tree(), &mut Changes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            Err(SqlError::new(ErrorKind::FeatureNotSupported, message))
        }
    }
}

/// The text of a query, with all that it reads of one schema in another one.
pub(crate) fn text_in_schema(mut query: ParsedQuery, from: &str, to: &str) -> String {
    struct Schemas<'a> {
        from: &'a str,
        to: &'a str,
    }
    impl VisitorMut for Schemas<'_> {
        type Break = ();
        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, args: None, .. } = factor
                && let [schema, table] = name.0.as_slice()
                && schema.as_ident().map(fold).as_deref() == Some(self.from)
            {
                let schema = Identifier::shown(self.to).tree().clone();
                *name = ObjectName(vec![ObjectNamePart::Identifier(schema), table.clone()]);
            }
            ControlFlow::Continue(())
        }
    }
    let _ = walk_mut(query.tree_mut(), &mut Schemas { from, to });
    // What the parser reads in place of SYMMETRIC.
    query.to_string().replace(&format!("\"{SYMMETRIC}\" || "), "SYMMETRIC ")
}

//! Queries that change rows: as a whole, or in their WITH clauses.

use sqlparser::ast::{Query, SetExpr, Statement};

/// Whether a query is a change, or has one in its WITH clause.
pub(crate) fn changes_rows(query: &Query) -> bool {
    change_in(query).is_some()
        || query.with.iter().flat_map(|with| &with.cte_tables).any(|cte| change_in(&cte.query).is_some())
}

/// The command that a statement with a WITH clause is.
pub(crate) fn statement_name(query: &Query) -> &'static str {
    match &*query.body {
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

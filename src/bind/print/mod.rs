//! Expressions and queries as PostgreSQL 15 prints them (`pg_get_expr`, `pg_get_viewdef`): in full, with parentheses around
//! every operator, or pretty, with only those that are needed.
//!
//! ```text
//!     parts      the forms of an expression, one by one
//!     over_rows  aggregates and window functions; what is sorted by
//!     sub_query  queries inside of expressions
//!     simple     what needs no parentheses where it stands
//!     constant   literals with their types
//!     words      calls in the SQL standard's words
//!     lines      what is printed so far, and its lines
//!
//!     query      a query as a whole
//!     with, set_operation
//!                WITH; UNION and its kind
//!     clauses    GROUP BY, ORDER BY, WINDOW and the like
//!     from       what is read from
//!     level      the names of what a query's expressions refer to
//!     tables     names of tables that are told apart
//!     columns    names of columns that are told apart
//! ```

mod clauses;
mod columns;
mod constant;
mod from;
mod level;
mod lines;
mod over_rows;
mod parts;
mod query;
mod set_operation;
mod simple;
mod sub_query;
mod tables;
mod with;
mod words;

use tablegate_types::quoting::quote_ident;

use self::lines::Printer;
pub use self::query::{QueryPrinting, RelationNames, StoredNames, query_text};
use crate::catalogue::Lookup;
use crate::expr::BoundExpr;
use crate::scope::Scope;

/// The names of what an expression refers to.
pub trait Names {
    fn column(&self, level: usize, entry: usize, column: usize) -> String;
    fn row(&self, level: usize, entry: usize) -> String;
    /// The type of an entry's rows, where that is a table.
    fn row_type(&self, _level: usize, _entry: usize) -> Option<String> {
        None
    }
    /// The text of a query that is inside of the expression, without parentheses, where lines are indented by so much.
    fn query(&self, number: usize, indent: isize) -> String;
    /// A window of the query's, as it stands behind OVER: its name, or its definition.
    fn window(&self, _number: usize, _indent: isize) -> Option<String> {
        None
    }
}

impl Names for Scope<'_> {
    fn column(&self, level: usize, entry: usize, column: usize) -> String {
        let known = self.level(level).and_then(|entries| entries.get(entry));
        let name = known.and_then(|entry| entry.columns.get(column)).map_or_else(String::new, |c| quote_ident(&c.name));
        // One table's columns need no name before theirs.
        match known.filter(|_| self.outer.is_some() || self.entries.len() > 1) {
            Some(entry) => format!("{}.{name}", quote_ident(&entry.name)),
            None => name,
        }
    }

    fn row(&self, level: usize, entry: usize) -> String {
        let known = self.level(level).and_then(|entries| entries.get(entry));
        known.map_or_else(String::new, |entry| format!("{}.*", quote_ident(&entry.name)))
    }

    fn query(&self, _number: usize, _indent: isize) -> String {
        String::new()
    }
}

/// How an expression is printed.
#[derive(Clone, Copy)]
pub struct Printing<'p> {
    pub lookup: Lookup<'p>,
    pub names: &'p dyn Names,
    pub pretty: bool,
    /// Whether a cast around all of it is shown that nobody asked for.
    pub shows_casts: bool,
}

impl Printing<'_> {
    /// The text of an expression.
    pub fn text(&self, expr: &BoundExpr) -> String {
        let mut printer = Printer::new(*self, 0);
        printer.expr(expr, self.shows_casts);
        printer.text
    }
}

#[cfg(test)]
mod tests;

//! What the names of a query mean: every table, column and label is looked up as PostgreSQL looks it up.
//!
//! Unquoted identifiers fold to lower case, as in PostgreSQL; property names are usually CamelCase. So an unquoted
//! column without an exact match means the one column that equals it ignoring case; two candidates are an error.
//!
//! The query is rewritten in place, so that nothing is left to look up: columns are `"alias"."Stored"`, wildcards are
//! spelled out, USING and NATURAL are conditions, labels in ORDER BY are positions. What PostgreSQL refuses by name is
//! refused here, in its words: [`scope`] columns and tables, [`select`] clauses, [`grouping`] what is not grouped. The name of a table where a value
//! stands is its whole row ([`whole_row`]).

mod aliases;
mod expr;
mod from;
mod grouping;
mod joins;
mod order;
mod query;
mod records;
mod scope;
mod select;
mod sources;
mod suggestion;
mod whole_row;
mod windows;

use std::collections::HashMap;
use std::sync::Arc;

use sqlparser::ast::{Ident, Query};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt;

use self::scope::Scope;
pub(crate) use self::sources::Source;
use super::size::too_complex;
use super::tables::Tables;
use crate::limits::MAX_RELATIONS;
use crate::syntax::{fold, quoted};

/// Rewrites the query in place. Gives what it is refused for if no function, operator or type is wrong in it: PostgreSQL looks
/// last whether columns are grouped (42803).
///
/// # Errors
/// 42P01, 42703, 42702, 42712 for tables and columns that are not there, ambiguous or named twice; 42803, 42P20, 42P10
/// and 42601 for what stands where it must not.
pub(super) fn resolve(query: &mut Query, tables: &Tables) -> SqlResult<Option<Box<SqlError>>> {
    let mut resolver = Resolver::new(tables);
    resolver.query(query)?;
    let refused = resolver.refused;
    aliases::tell_apart(query, tables);
    Ok(refused)
}

/// The tables of a query's FROM clause. From nowhere in the query may the table `unreachable` be named, although it is
/// there.
///
/// # Errors
/// As [`resolve`].
pub(super) fn sources(query: &Query, tables: &Tables, unreachable: &str) -> SqlResult<Vec<Source>> {
    let mut resolver = Resolver::new(tables);
    let around = Scope { unreachable: vec![unreachable.to_owned()], ..Scope::default() };
    resolver
        .within(around, |resolver| {
            resolver.query(&mut query.clone())?;
            resolver.sources(&mut query.clone())
        })
        .map(|(_, sources)| sources)
}

/// How many columns a query has; `None` where its text does not tell.
pub(super) fn width(query: &Query, tables: &Tables) -> Option<usize> {
    Resolver::new(tables).width(&mut query.clone())
}

/// The stored spelling of the column an identifier means.
///
/// # Errors
/// 42702 when several columns differ only in case and none is exact.
pub(crate) fn resolve_column<'a>(
    columns: impl Iterator<Item = &'a String> + Clone,
    ident: &Ident,
) -> SqlResult<Option<&'a str>> {
    let folded = fold(ident);
    if let Some(exact) = columns.clone().find(|c| **c == folded) {
        return Ok(Some(exact));
    }
    if ident.quote_style.is_some() {
        return Ok(None);
    }
    let mut candidates: Vec<&str> = columns.filter(|c| c.eq_ignore_ascii_case(&folded)).map(String::as_str).collect();
    candidates.sort_unstable();
    candidates.dedup();
    match candidates.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => Err(differ_in_case(&folded, several)),
    }
}

/// Columns that an unquoted name could mean.
fn differ_in_case(name: &str, columns: &[&str]) -> Box<SqlError> {
    SqlError::new(ErrorKind::AmbiguousColumn, format!("column reference \"{name}\" is ambiguous"))
        .with_hint(format!("Quote the name to say which one is meant: \"{}\".", columns.join("\", \"")))
}

/// A column of a query's result.
#[derive(Debug, Clone)]
struct Output {
    /// What a client sees.
    label: String,
    /// What the planner calls it: no two columns of a query share it.
    name: String,
}

/// The columns of a query, or of a table in FROM; unknown where only planning can tell.
type Columns = Option<Arc<[Output]>>;

struct Resolver<'a> {
    tables: &'a Tables,
    /// What columns can mean, innermost last.
    scopes: Vec<Scope>,
    /// Common table expressions in sight, one frame per query.
    ctes: Vec<Vec<(String, Columns)>>,
    /// Tables named here so far.
    aliases: usize,
    /// What FROM and WITH brought into sight so far, with all that is in a WITH query wherever that is named: the planner puts
    /// it there.
    relations: usize,
    /// What is in the WITH queries of these names: in the larger one of two.
    within_ctes: HashMap<String, usize>,
    /// The first column that is not grouped.
    refused: Option<Box<SqlError>>,
}

impl<'a> Resolver<'a> {
    fn new(tables: &'a Tables) -> Self {
        Self {
            tables,
            scopes: Vec::new(),
            ctes: Vec::new(),
            aliases: 0,
            relations: 0,
            within_ctes: HashMap::new(),
            refused: None,
        }
    }

    /// Does something with one more scope in sight.
    fn within<T>(&mut self, scope: Scope, act: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<(Scope, T)> {
        self.scopes.push(scope);
        let done = act(self);
        let scope = self.scopes.pop().unwrap_or_default();
        done.map(|value| (scope, value))
    }

    /// One more table, sub-query or WITH query.
    ///
    /// # Errors
    /// 54001 when there are too many of them.
    fn count_relation(&mut self) -> SqlResult<()> {
        self.count_relations(1)
    }

    fn count_relations(&mut self, more: usize) -> SqlResult<()> {
        interrupt::check_now()?;
        self.relations = self.relations.saturating_add(more);
        if self.relations > MAX_RELATIONS {
            let detail = format!(
                "It has more than {MAX_RELATIONS} tables and sub-queries, those of views and WITH queries wherever they are named among them."
            );
            return Err(too_complex(detail));
        }
        Ok(())
    }

    /// A name for a table that the query does not name itself.
    fn next_alias(&mut self) -> Ident {
        self.aliases += 1;
        quoted(&format!("table#{}", self.aliases))
    }
}

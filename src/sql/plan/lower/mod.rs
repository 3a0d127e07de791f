//! From what a query means to the engine's plan of it, by the engine's builders.
//!
//! The binder has found every name, type and overload, so nothing is looked up here: an entry of the range table is a node, a
//! column is one of its columns, by their numbers. What has no form here yet makes the whole query go the other way, by
//! `names` and the engine's own planner.
//!
//! ```text
//!     level     a query while it is lowered, and those around it
//!     from      what it reads from
//!     select    its other clauses
//!     grouped   aggregates, and what is computed of them
//!     windows   window functions
//!     set       UNION, INTERSECT, EXCEPT
//! ```

mod from;
mod grouped;
mod level;
mod select;
mod set;
mod windows;

use std::collections::HashMap;

use datafusion::logical_expr::LogicalPlan;
use tablegate_bind::{BoundQuery, Oid};
use tablegate_types::error::SqlResult;
use tablegate_types::stack::deeper;

use self::level::Level;
use super::tables::{TableEntry, Tables};
use crate::expr::{Forms, Parameters};

/// Lowers the queries of one statement.
struct Lowering<'l> {
    forms: Forms<'l>,
    /// By the numbers of the relations.
    tables: HashMap<Oid, &'l TableEntry>,
}

/// Hands on that something has no form here yet.
macro_rules! formed {
    ($formed:expr) => {
        match $formed? {
            Some(formed) => formed,
            None => return Ok(None),
        }
    };
}
use formed;

/// The plan of a query over these tables, its expressions typed; `None` where something in it has no form here yet.
///
/// # Errors
/// What is wrong with a constant, and what the engine says of a node.
pub(super) fn lowered(
    query: &BoundQuery,
    tables: &Tables,
    parameters: &Parameters<'_>,
) -> SqlResult<Option<LogicalPlan>> {
    let tables = tables.entries().filter_map(|entry| Some((entry.oid?, entry))).collect();
    Lowering { forms: Forms::new(parameters), tables }.query(query, None)
}

impl Lowering<'_> {
    fn query(&self, query: &BoundQuery, outer: Option<&Level<'_>>) -> SqlResult<Option<LogicalPlan>> {
        deeper(|| {
            let level = Level::new(query, outer);
            match &query.set {
                Some(set) => self.set_operation(set, &level),
                None => self.select(&level),
            }
        })
    }
}

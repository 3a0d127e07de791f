//! Queries become plans: what the binder found of one, in the nodes of the engine, each typed when it is made.
//!
//! Columns are the entries of the binder's range table, by number; the names in a plan say nothing but what they belong to. What
//! has no form here is refused (0A000).
//!
//! ```text
//!     level      one query, and those around it
//!     from       what it reads from
//!     functions  functions that it reads from
//!     select     its other clauses
//!     grouped    aggregates, and what is computed of them
//!     windows    window functions
//!     items      functions that give rows, in the list
//!     limits     LIMIT, OFFSET and FETCH
//!     set        UNION, INTERSECT, EXCEPT
//! ```

mod from;
mod functions;
mod grouped;
mod items;
mod level;
mod limits;
mod select;
mod set;
mod windows;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use tablegate_bind::{BoundQuery, Oid};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::interrupt;
use tablegate_types::stack::deeper;

use self::level::Level;
use super::held_rows::HeldRows;
use super::meaning::PartRows;
use super::size::too_complex;
use super::system::SystemRelations;
use super::tables::{TableEntry, Tables};
use crate::expr::{Forms, Parameters};
use crate::limits::MAX_RELATIONS;
use crate::syntax::unique_names;

/// What a statement is planned over.
pub(super) struct Statement<'s> {
    pub tables: &'s Tables,
    /// What the views mean that it reads from, by their numbers.
    pub views: &'s HashMap<Oid, BoundQuery>,
    /// The rows that the query is computed over, in the place of what it reads from.
    pub over: Option<&'s HeldRows>,
    /// It names system columns.
    pub names_system_columns: bool,
    /// The query whose WITH the query is in, if it is a part of a statement.
    pub around: Option<&'s BoundQuery>,
    /// The rows of parts of the statement's WITH that have run.
    pub rows: Option<&'s PartRows>,
}

impl<'s> Statement<'s> {
    /// A query that is no part of another statement.
    pub(super) fn of_query(
        tables: &'s Tables,
        views: &'s HashMap<Oid, BoundQuery>,
        names_system_columns: bool,
    ) -> Self {
        Self { tables, views, names_system_columns, over: None, around: None, rows: None }
    }
}

/// Lowers the queries of one statement.
struct Lowering<'l> {
    forms: Forms<'l>,
    /// By the numbers that they are known by.
    tables: HashMap<Oid, &'l TableEntry>,
    views: &'l HashMap<Oid, BoundQuery>,
    /// The query that is computed over given rows, and these.
    over: Option<(&'l BoundQuery, &'l HeldRows)>,
    /// The query with the statement's WITH, and the rows of parts of it that have run.
    parts: (&'l BoundQuery, Option<&'l PartRows>),
    state: &'l SessionState,
    system: &'l dyn SystemRelations,
    changes_settings: bool,
    /// The statement names system columns.
    names_system_columns: bool,
    /// How many tables and sub-queries were read from so far.
    relations: Cell<usize>,
    /// Of nodes that several read from.
    numbers: Cell<usize>,
}

/// The plan of a query over these tables, its expressions typed.
///
/// # Errors
/// 0A000 where something in it has no form here; what is wrong with a constant, and what the engine says of a node.
pub(super) fn lowered(
    query: &BoundQuery,
    statement: &Statement<'_>,
    (state, system): (&SessionState, &dyn SystemRelations),
    parameters: &Parameters<'_>,
) -> SqlResult<LogicalPlan> {
    let Statement { tables, views, over, names_system_columns, around, rows } = *statement;
    let tables = tables.entries().map(|entry| (entry.number, entry)).collect();
    let changes_settings = select::calls(query, "set_config");
    let lowering = Lowering {
        forms: Forms::new(parameters),
        tables,
        views,
        over: over.map(|rows| (query, rows)),
        parts: (around.unwrap_or(query), rows),
        state,
        system,
        changes_settings,
        names_system_columns,
        relations: Cell::new(0),
        numbers: Cell::new(0),
    };
    let around = around.map(|around| Level::new(around, None));
    lowering.query(query, around.as_ref())
}

impl Lowering<'_> {
    /// # Errors
    /// 54001 for too many of them.
    fn count_relations(&self, more: usize) -> SqlResult<()> {
        interrupt::check_now()?;
        self.relations.set(self.relations.get().saturating_add(more));
        if self.relations.get() > MAX_RELATIONS {
            let detail = format!(
                "It has more than {MAX_RELATIONS} tables and sub-queries, those of views and WITH queries wherever they \
                 are named among them."
            );
            return Err(too_complex(detail));
        }
        Ok(())
    }

    fn next_number(&self) -> usize {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    fn query(&self, query: &BoundQuery, outer: Option<&Level<'_>>) -> SqlResult<LogicalPlan> {
        deeper(|| {
            if let Some(mark) = query.row_marks.first() {
                return Err(SqlError::not_supported(format!("{} in this place", mark.strength.words()))
                    .with_hint("Lock the rows in a statement of their own."));
            }
            let level = Level::new(query, outer);
            match &query.set {
                Some(set) => self.set_operation(set, &level),
                None => self.select(&level),
            }
        })
    }

    /// The rows with their columns under these labels, made different where they are alike.
    fn renamed(&self, plan: LogicalPlan, labels: &[String]) -> SqlResult<LogicalPlan> {
        let columns: Vec<Expr> =
            columns_of(&plan).zip(unique_names(labels)).map(|(column, name)| called(column, name)).collect();
        match columns.iter().all(|column| matches!(column, Expr::Column(_))) {
            true => Ok(plan),
            false => self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?)),
        }
    }
}

/// All columns of a plan.
fn columns_of(plan: &LogicalPlan) -> impl Iterator<Item = Expr> + '_ {
    let schema = plan.schema();
    (0..schema.fields().len()).map(|at| Expr::Column(Column::from(schema.qualified_field(at))))
}

/// An expression under a name.
fn called(expr: Expr, name: String) -> Expr {
    match &expr {
        Expr::Column(column) if column.name == name => expr,
        _ => expr.alias(name),
    }
}

/// Adds the outermost parts of an expression that are wanted, each once.
fn add_parts(expr: &Expr, is_wanted: &dyn Fn(&Expr) -> bool, parts: &mut Vec<Expr>) -> Result<()> {
    expr.apply(|part| {
        if !is_wanted(part) {
            return Ok(TreeNodeRecursion::Continue);
        }
        if !parts.contains(part) {
            parts.push(part.clone());
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(())
}

/// An expression with others in the place of some of its parts, which are not looked into.
fn with_parts(expr: Expr, replaced: &dyn Fn(&Expr) -> Option<Expr>) -> Result<Expr> {
    let part = |part: Expr| {
        Ok(match replaced(&part) {
            Some(by) => Transformed::new(by, true, TreeNodeRecursion::Jump),
            None => Transformed::no(part),
        })
    };
    Ok(expr.transform_down(part)?.data)
}

//! A query while it is lowered: what the columns of its range table are, and the queries around it.

use std::cell::RefCell;
use std::collections::HashMap;

use datafusion::common::{DFSchema, DFSchemaRef, ExprSchema as _, Spans};
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use tablegate_bind::BoundQuery;
use tablegate_bind::expr::BoundExpr;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Lowering, formed};
use crate::expr::Surroundings;

pub(super) struct Level<'q> {
    pub query: &'q BoundQuery,
    outer: Option<&'q Level<'q>>,
    /// The columns of each entry that has been lowered, as expressions over what is read; `None` for one that has no form here.
    entries: RefCell<Vec<Vec<Option<Expr>>>>,
    /// The columns of what is read, for queries inside that name them.
    read: RefCell<Option<DFSchemaRef>>,
    /// The parts of its WITH that were read from: one that the next reads twice would double with each.
    parts: RefCell<HashMap<usize, LogicalPlan>>,
}

impl<'q> Level<'q> {
    pub(super) fn new(query: &'q BoundQuery, outer: Option<&'q Level<'q>>) -> Self {
        let entries = RefCell::new(vec![Vec::new(); query.range.len()]);
        Self { query, outer, entries, read: RefCell::default(), parts: RefCell::default() }
    }

    /// A part of its WITH, which is made when it is first read from.
    pub(super) fn part(
        &self,
        number: usize,
        make: impl FnOnce() -> SqlResult<Option<LogicalPlan>>,
    ) -> SqlResult<Option<LogicalPlan>> {
        if let Some(known) = self.parts.borrow().get(&number) {
            return Ok(Some(known.clone()));
        }
        let made = formed!(make());
        self.parts.borrow_mut().insert(number, made.clone());
        Ok(Some(made))
    }

    /// The query so many outside of this one.
    pub(super) fn outside(&self, level: usize) -> Option<&Level<'q>> {
        let mut at = self;
        for _ in 0..level {
            at = at.outer?;
        }
        Some(at)
    }

    pub(super) fn set_columns(&self, entry: usize, columns: Vec<Option<Expr>>) {
        if let Some(known) = self.entries.borrow_mut().get_mut(entry) {
            *known = columns;
        }
    }

    /// The columns of the plan are those of what is read.
    pub(super) fn reads(&self, plan: &LogicalPlan) {
        *self.read.borrow_mut() = Some(plan.schema().clone());
    }

    fn column(&self, entry: usize, column: usize) -> Option<Expr> {
        self.entries.borrow().get(entry)?.get(column)?.clone()
    }
}

/// An expression's surroundings: the level that it is of, and the columns of the node below it.
pub(super) struct Around<'a, 'l> {
    lowering: &'a Lowering<'l>,
    level: &'a Level<'a>,
    schema: DFSchemaRef,
}

impl<'a, 'l> Around<'a, 'l> {
    pub(super) fn new(lowering: &'a Lowering<'l>, level: &'a Level<'a>, schema: DFSchemaRef) -> Self {
        Self { lowering, level, schema }
    }

    /// An expression over these columns.
    pub(super) fn expr(&self, expr: &BoundExpr) -> SqlResult<Option<Expr>> {
        self.lowering.forms.expr(expr, self)
    }

    /// The same of several.
    pub(super) fn exprs<'e>(&self, exprs: impl IntoIterator<Item = &'e BoundExpr>) -> SqlResult<Option<Vec<Expr>>> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    pub(super) fn condition(&self, expr: &BoundExpr) -> SqlResult<Option<Expr>> {
        self.lowering.forms.condition(expr, self)
    }
}

impl Surroundings for Around<'_, '_> {
    fn schema(&self) -> &DFSchema {
        &self.schema
    }

    fn query(&self) -> Option<&BoundQuery> {
        Some(self.level.query)
    }

    fn column(&self, level: usize, entry: usize, column: usize) -> SqlResult<Option<Expr>> {
        let outside = self.level.outside(level);
        let outside = outside.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a column of no query"))?;
        let found = outside.column(entry, column);
        if level == 0 {
            return Ok(found);
        }
        let Some(Expr::Column(column)) = found else { return Ok(None) };
        let read = outside.read.borrow();
        let field = read.as_ref().and_then(|read| read.field_from_column(&column).ok().cloned());
        Ok(field.map(|field| Expr::OuterReferenceColumn(field, column)))
    }

    fn sub_query(&self, number: usize) -> SqlResult<Option<Subquery>> {
        let Some(query) = self.level.query.sub_queries.get(number) else { return Ok(None) };
        let plan = formed!(self.lowering.query(query, Some(self.level)));
        let outer_ref_columns = plan.all_out_ref_exprs();
        Ok(Some(Subquery { subquery: plan.into(), outer_ref_columns, spans: Spans::new() }))
    }
}

//! A query while it is lowered: what the columns of its range table are, and the queries around it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema as _, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Subquery};
use tablegate_bind::BoundQuery;
use tablegate_bind::expr::{BoundExpr, ExprKind};
use tablegate_bind::query::bound::{JoinColumn, RangeEntry, RangeSource};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::Lowering;
use crate::expr::{EntryRow, Surroundings, no_stored_type, outward, sub_query_of};
use crate::relation::edm_type_column;

pub(super) struct Level<'q> {
    pub query: &'q BoundQuery,
    outer: Option<&'q Level<'q>>,
    /// Of each entry that has been lowered.
    entries: RefCell<Vec<EntryColumns>>,
    /// The columns of what is read so far, for queries inside that name them.
    read: RefCell<Vec<DFSchemaRef>>,
    /// The parts of its WITH that were read from: one that the next reads twice would double with each.
    parts: RefCell<HashMap<usize, Part>>,
    /// Entries whose rows are used as values, and may be missing.
    marked: HashSet<usize>,
    /// What queries inside ask of its groups: expressions over what is read, and the columns that these are called.
    asked: RefCell<Vec<(Expr, String)>>,
}

/// A part of WITH.
#[derive(Clone)]
pub(super) struct Part {
    pub plan: LogicalPlan,
    /// How many tables and sub-queries are read from in it.
    pub relations: usize,
}

/// The columns of an entry as expressions over what is read.
#[derive(Default, Clone)]
pub(super) struct EntryColumns {
    /// `None` for one that has no form here.
    pub columns: Vec<Option<Expr>>,
    /// Whether a row is there, of an entry whose rows may be missing.
    pub is_there: Option<Expr>,
}

impl<'q> Level<'q> {
    pub(super) fn new(query: &'q BoundQuery, outer: Option<&'q Level<'q>>) -> Self {
        Self {
            query,
            outer,
            entries: RefCell::new(vec![EntryColumns::default(); query.range.len()]),
            read: RefCell::default(),
            parts: RefCell::default(),
            marked: marked(query),
            asked: RefCell::default(),
        }
    }

    /// A part of its WITH, which is made when it is first read from; and whether it was made before.
    pub(super) fn part(&self, number: usize, make: impl FnOnce() -> SqlResult<Part>) -> SqlResult<(Part, bool)> {
        if let Some(known) = self.parts.borrow().get(&number) {
            return Ok((known.clone(), true));
        }
        let made = make()?;
        self.parts.borrow_mut().insert(number, made.clone());
        Ok((made, false))
    }

    /// The rows so far of a part that is being made.
    pub(super) fn set_part(&self, number: usize, rows: LogicalPlan) {
        self.parts.borrow_mut().insert(number, Part { plan: rows, relations: 0 });
    }

    pub(super) fn forget_part(&self, number: usize) {
        self.parts.borrow_mut().remove(&number);
    }

    /// The query so many outside of this one.
    pub(super) fn outside(&self, level: usize) -> Option<&Level<'q>> {
        let mut at = self;
        for _ in 0..level {
            at = at.outer?;
        }
        Some(at)
    }

    pub(super) fn set_columns(&self, entry: usize, columns: EntryColumns) {
        if let Some(known) = self.entries.borrow_mut().get_mut(entry) {
            *known = columns;
        }
    }

    /// Columns inside of a join that has an alias are those of the join.
    pub(super) fn known_by_join(&self, join: usize, columns: &[JoinColumn]) {
        let mut entries = self.entries.borrow_mut();
        let of_join = entries[join].columns.clone();
        for (column, of_join) in columns.iter().zip(of_join) {
            if let ExprKind::Column { level: 0, entry, column } = column.expr().kind
                && let Some(known) = entries.get_mut(entry).and_then(|known| known.columns.get_mut(column))
            {
                *known = of_join;
            }
        }
    }

    /// Whether it must be told of an entry's rows whether they are there.
    pub(super) fn is_marked(&self, entry: usize) -> bool {
        self.marked.contains(&entry)
    }

    /// The columns of the plan are those of what is read.
    pub(super) fn reads(&self, plan: &LogicalPlan) {
        *self.read.borrow_mut() = vec![plan.schema().clone()];
    }

    /// What stands beside these columns, and may name them.
    pub(super) fn beside<T>(&self, columns: &DFSchemaRef, make: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        self.read.borrow_mut().push(columns.clone());
        let made = make();
        self.read.borrow_mut().pop();
        made
    }

    /// What queries inside ask of its groups.
    pub(super) fn take_asked(&self) -> Vec<(Expr, String)> {
        self.asked.take()
    }

    fn entry(&self, entry: usize) -> EntryColumns {
        self.entries.borrow().get(entry).cloned().unwrap_or_default()
    }

    /// A column of what is read, for a query inside.
    fn for_inside(&self, found: Expr) -> SqlResult<Expr> {
        let read = self.read.borrow();
        outward(found, &|column| {
            let field = read.iter().rev().find_map(|read| read.field_from_column(column).ok().cloned());
            field.ok_or_else(|| no_column(column))
        })
    }
}

/// An expression's surroundings: the level that it is of, and the columns of the node below it.
pub(super) struct Around<'a, 'l> {
    lowering: &'a Lowering<'l>,
    level: &'a Level<'a>,
    schema: DFSchemaRef,
    /// It is computed beside what the level reads, and not of it.
    is_beside: bool,
}

impl<'a, 'l> Around<'a, 'l> {
    pub(super) fn new(lowering: &'a Lowering<'l>, level: &'a Level<'a>, schema: DFSchemaRef) -> Self {
        Self { lowering, level, schema, is_beside: false }
    }

    /// The surroundings of what is read from, which may name what stands before it.
    pub(super) fn beside(lowering: &'a Lowering<'l>, level: &'a Level<'a>) -> Self {
        Self { lowering, level, schema: DFSchema::empty().into(), is_beside: true }
    }

    /// An expression over these columns.
    pub(super) fn expr(&self, expr: &BoundExpr) -> SqlResult<Expr> {
        self.lowering.forms.expr(expr, self)
    }

    /// The same of several.
    pub(super) fn exprs<'e>(&self, exprs: impl IntoIterator<Item = &'e BoundExpr>) -> SqlResult<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    pub(super) fn condition(&self, expr: &BoundExpr) -> SqlResult<Expr> {
        self.lowering.forms.condition(expr, self)
    }

    /// The level that is so many outside, and whether it reads other rows than these expressions are computed of.
    fn at(&self, level: usize) -> SqlResult<(&Level<'a>, bool)> {
        let outside = self.level.outside(level);
        let outside = outside.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a column of no query"))?;
        Ok((outside, level > 0 || self.is_beside))
    }
}

impl Surroundings for Around<'_, '_> {
    fn schema(&self) -> &DFSchema {
        &self.schema
    }

    fn query(&self) -> Option<&BoundQuery> {
        Some(self.level.query)
    }

    fn column(&self, level: usize, entry: usize, column: usize) -> SqlResult<Expr> {
        let (level, is_outside) = self.at(level)?;
        let found = level.entry(entry).columns.get(column).cloned().flatten();
        let found = found.ok_or_else(|| SqlError::not_supported("a column of what is read from in this place"))?;
        if is_outside { level.for_inside(found) } else { Ok(found) }
    }

    fn row(&self, level: usize, entry: usize) -> SqlResult<EntryRow> {
        let (level, is_outside) = self.at(level)?;
        let Some(of) = level.query.range.get(entry) else { return Err(SqlError::not_supported("a row of no table")) };
        let known = level.entry(entry);
        let seen = |expr: Expr| if is_outside { level.for_inside(expr) } else { Ok(expr) };
        let mut columns = Vec::with_capacity(of.columns.len());
        let (shown, table): (Vec<usize>, _) = match &of.source {
            RangeSource::Table { relation, .. } => (
                relation.shown_columns().map(|(number, _)| number).collect(),
                self.lowering.tables.get(&relation.oid).and_then(|table| table.row_type.clone()),
            ),
            _ => ((0..of.columns.len()).collect(), None),
        };
        for number in shown {
            let expr = known.columns.get(number).cloned().flatten();
            let expr = expr.ok_or_else(|| SqlError::not_supported("a row of a table in this place"))?;
            columns.push((of.columns[number].name.clone(), seen(expr)?));
        }
        Ok(EntryRow { table, columns, is_there: known.is_there.map(seen).transpose()? })
    }

    fn sub_query(&self, number: usize) -> SqlResult<Subquery> {
        let query = self.level.query.sub_queries.get(number);
        let query = query.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a sub-query of no query"))?;
        Ok(sub_query_of(self.lowering.query(query, Some(self.level))?))
    }

    fn known_value(&self, number: usize) -> Option<(ScalarValue, SqlType)> {
        let query = self.level.query.sub_queries.get(number)?;
        match query.range.as_slice() {
            [RangeEntry { source: RangeSource::Table { relation, .. }, .. }] => {
                self.lowering.tables.get(&relation.oid)?.only_value.clone()
            }
            _ => None,
        }
    }

    fn aggregate_outside(&self, level: usize, make: &dyn Fn(&dyn Surroundings) -> SqlResult<Expr>) -> SqlResult<Expr> {
        let (owner, _) = self.at(level)?;
        let schema = owner.read.borrow().last().cloned();
        let schema = schema.ok_or_else(|| SqlError::not_supported("an aggregate of a query around in FROM"))?;
        let outside = Around::new(self.lowering, owner, schema.clone());
        let aggregate = make(&Outside { inside: self, outside: &outside, by: level })?;
        let mut asked = owner.asked.borrow_mut();
        let known = asked.iter().find(|(known, _)| *known == aggregate).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = format!("aggregate#{}", self.lowering.next_number());
            asked.push((aggregate.clone(), name.clone()));
            name
        });
        let field = aggregate.to_field(&*schema)?.1.as_ref().clone().with_name(name.as_str()).with_nullable(true);
        Ok(Expr::OuterReferenceColumn(field.into(), Column::from_name(name)))
    }

    fn stored_type(&self, level: usize, entry: usize, column: usize) -> SqlResult<Expr> {
        let (level, is_outside) = self.at(level)?;
        let found = level.entry(entry).columns.get(column).cloned().flatten();
        let Some(Expr::Column(Column { relation, name, .. })) = found else { return Err(no_stored_type()) };
        let stored = Column::new(relation, edm_type_column(&name));
        if !level.read.borrow().iter().any(|read| read.has_column(&stored)) {
            return Err(no_stored_type());
        }
        let stored = Expr::Column(stored);
        if is_outside { level.for_inside(stored) } else { Ok(stored) }
    }

    fn changes_settings(&self) -> bool {
        self.lowering.changes_settings
    }
}

/// The surroundings of an aggregate of a query so many outside of the one where it stands.
struct Outside<'o> {
    inside: &'o dyn Surroundings,
    outside: &'o dyn Surroundings,
    by: usize,
}

impl Surroundings for Outside<'_> {
    fn schema(&self) -> &DFSchema {
        self.outside.schema()
    }

    fn column(&self, level: usize, entry: usize, column: usize) -> SqlResult<Expr> {
        match level.checked_sub(self.by) {
            Some(level) => self.outside.column(level, entry, column),
            None => Err(SqlError::not_supported("an aggregate of columns of several queries")),
        }
    }

    fn sub_query(&self, number: usize) -> SqlResult<Subquery> {
        self.inside.sub_query(number)
    }

    fn known_value(&self, number: usize) -> Option<(ScalarValue, SqlType)> {
        self.inside.known_value(number)
    }
}

fn no_column(column: &Column) -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, format!("no column {} is read", column.flat_name()))
}

/// Entries whose rows are used as values, here or in a query inside, on the side of a join that may be without a partner.
fn marked(query: &BoundQuery) -> HashSet<usize> {
    let mut missing = query.nullable_entries();
    if missing.is_empty() {
        return missing;
    }
    let mut used = HashSet::new();
    rows_used(query, 0, &mut used);
    missing.retain(|entry| used.contains(entry));
    missing
}

/// Adds the entries of the query so many outside whose rows are values in this one.
fn rows_used(query: &BoundQuery, depth: usize, used: &mut HashSet<usize>) {
    query.for_each_expr(&mut |expr| {
        expr.any(&mut |part| {
            if let ExprKind::WholeRow { level, entry } = part.kind
                && level == depth
            {
                used.insert(entry);
            }
            false
        });
    });
    query.for_each_read_query(&mut |inner| rows_used(inner, depth + 1, used));
    query.sub_queries.iter().for_each(|inner| rows_used(inner, depth + 1, used));
}

//! FROM: tables, sub-queries, VALUES and parts of WITH as nodes, and their joins.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, DFSchema, JoinType, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Values};
use datafusion::prelude::lit;
use tablegate_bind::BoundQuery;
use tablegate_bind::catalogue::{RelationColumn, RelationRef};
use tablegate_bind::expr::{BoundExpr, ExprKind};
use tablegate_bind::query::bound::{
    JoinColumn, JoinKind, JoinTree, RangeEntry, RangeSource, Sample, SetOperator, SetTree,
};
use tablegate_bind::statement::BoundStatement;
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::oid::declared_of_oid;
use tablegate_types::sql_type::{SqlType, TYPE_KEY};
use tablegate_types::stack::deeper;

use super::level::{Around, EntryColumns, Level, Part};
use super::select::is_call;
use super::{Lowering, columns_of};
use crate::expr::{is_in_sample, sub_query_of};
use crate::plan::held_rows::HeldRows;
use crate::plan::held_values::held;
use crate::plan::once::once;
use crate::plan::system_columns::SystemColumn;
use crate::plan::unnest::pieces::{one_row, values_as_union};
use crate::syntax::unique_names;

/// The column of whether a row is there. No column of a client's has such a name.
const MARKER: &str = "\u{2}there";

/// A part of WITH that reads no more tables and queries than these is computed anew by each of its readers, each of which has
/// it computed for what it asks for.
const READ_AGAIN: usize = 32;

impl Lowering<'_> {
    /// What a query reads: one row without columns where it reads nothing.
    pub(super) fn from(&self, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        if let Some((query, rows)) = self.over
            && std::ptr::eq(query, level.query)
        {
            return self.held(rows, level);
        }
        let mut joined: Option<LogicalPlan> = None;
        for tree in &level.query.from {
            let next = self.tree(tree, level)?;
            let plan = match joined {
                None => next,
                Some(before) => LogicalPlanBuilder::from(before).cross_join(next)?.build()?,
            };
            level.reads(&plan);
            joined = Some(plan);
        }
        match joined {
            Some(plan) => Ok(plan),
            None => {
                let plan = LogicalPlanBuilder::empty(true).build()?;
                level.reads(&plan);
                Ok(plan)
            }
        }
    }

    fn tree(&self, tree: &JoinTree, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        match tree {
            JoinTree::Entry(entry) => self.entry(*entry, level),
            JoinTree::Join { entry, kind, left, right, condition, .. } => deeper(|| {
                let left = self.tree(left, level)?;
                let right = level.beside(left.schema(), || self.tree(right, level))?;
                let plan = self.join(*kind, left, right, condition.as_deref(), level)?;
                let RangeSource::Join { columns } = &level.query.range[*entry].source else {
                    return Err(SqlError::not_supported("a join without columns"));
                };
                let around = Around::new(self, level, plan.schema().clone());
                let mut exprs = Vec::with_capacity(columns.len());
                for column in columns {
                    exprs.push(Some(self.joined_column(column, &around)?));
                }
                let entry_of = &level.query.range[*entry];
                if entry_of.has_alias {
                    // What is inside cannot be named any more.
                    let exprs: Vec<Expr> = exprs.into_iter().flatten().collect();
                    let names: Vec<String> = (0..exprs.len()).map(|at| format!("column{at}")).collect();
                    let shown = exprs.into_iter().zip(&names).map(|(expr, name)| expr.alias(name)).collect();
                    let plan = LogicalPlan::Projection(Projection::try_new(shown, Arc::new(plan))?);
                    let plan = self.named(self.forms.node(plan)?, *entry, level)?;
                    level.known_by_join(*entry, columns);
                    return Ok(plan);
                }
                level.set_columns(*entry, EntryColumns { columns: exprs, is_there: None });
                Ok(plan)
            }),
        }
    }

    /// The value of a join's column. One that is merged of two has the type that they have in common.
    fn joined_column(&self, column: &JoinColumn, around: &Around<'_, '_>) -> SqlResult<Expr> {
        match column {
            JoinColumn::One(value) => around.expr(value),
            JoinColumn::Merged { value, .. } => {
                let expr = around.expr(value)?;
                match (&value.kind, declared_of_oid(value.ty.oid, value.ty.typmod)) {
                    (ExprKind::Cast { .. }, Some(common)) => self.forms.cast(expr, &common, around),
                    _ => Ok(expr),
                }
            }
        }
    }

    fn join(
        &self,
        kind: JoinKind,
        left: LogicalPlan,
        right: LogicalPlan,
        condition: Option<&BoundExpr>,
        level: &Level<'_>,
    ) -> SqlResult<LogicalPlan> {
        let join_type = match kind {
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Left,
            JoinKind::Right => JoinType::Right,
            JoinKind::Full => JoinType::Full,
        };
        let condition = match (condition, kind) {
            (Some(condition), _) => {
                let both = Arc::new(left.schema().join(right.schema())?);
                level.beside(&both, || Around::new(self, level, both.clone()).condition(condition))?
            }
            (None, JoinKind::Inner) => return Ok(LogicalPlanBuilder::from(left).cross_join(right)?.build()?),
            // A NATURAL join without a column in common.
            (None, _) => lit(true),
        };
        let join = LogicalPlanBuilder::from(left).join_on(right, join_type, [condition])?.build()?;
        self.forms.node(join)
    }

    fn entry(&self, number: usize, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        self.count_relations(1)?;
        let entry = &level.query.range[number];
        match &entry.source {
            RangeSource::Table { relation, sample, .. } => match self.views.get(&relation.oid) {
                Some(view) => self.named(self.query(view, None)?, number, level),
                None => self.table(relation, sample.as_deref(), entry, number, level),
            },
            RangeSource::SubQuery(query) => {
                let plan = self.query(query, Some(level))?;
                self.named(if entry.is_lateral { beside(plan) } else { plan }, number, level)
            }
            RangeSource::Values(rows) => self.named(self.values(rows, entry, level)?, number, level),
            RangeSource::Functions { functions, with_ordinality } => {
                let plan = self.functions(functions, *with_ordinality, level)?;
                self.named(if entry.is_lateral { beside(plan) } else { plan }, number, level)
            }
            RangeSource::With { level: outside, number: part, .. } => {
                self.named(self.with_part(*outside, *part, level)?, number, level)
            }
            RangeSource::Join { .. } | RangeSource::Excluded => {
                Err(SqlError::not_supported("rows of this kind in FROM"))
            }
        }
    }

    fn with_part(&self, outside: usize, part: usize, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let owner = level.outside(outside);
        let found = owner.and_then(|owner| Some((owner, owner.query.with.get(part)?)));
        let Some((owner, with)) = found else { return Err(SqlError::not_supported("a part of no WITH")) };
        let (statement, rows) = self.parts;
        let rows = rows.filter(|_| std::ptr::eq(owner.query, statement));
        if let Some(rows) = rows.and_then(|rows| rows.get(part)) {
            return Ok(LogicalPlanBuilder::scan("part", provider_as_source(rows.clone()), None)?.build()?);
        }
        let BoundStatement::Query(query) = &with.statement else {
            return Err(SqlError::not_supported("rows that a part of WITH has changed"));
        };
        let (part, is_read_again) = owner.part(part, || {
            let before = self.relations.get();
            let plan = match with.is_recursive {
                true => self.recursive(part, &with.name, query, owner)?,
                false => self.query(query, Some(owner))?,
            };
            let relations = self.relations.get() - before;
            // Each reader would compute anew what is to be computed once, and what reads much would grow with every part that
            // reads it twice.
            let is_correlated = !query.reach.columns.is_empty() || !query.reach.aggregates.is_empty();
            let is_asked = !is_correlated && (with.materialized == Some(true) || relations > READ_AGAIN);
            if with.uses > 1 && (is_asked || is_volatile(&plan)?) {
                return Ok(Part { plan: once(plan, self.next_number()), relations: 1 });
            }
            Ok(Part { plan, relations })
        })?;
        if is_read_again {
            self.count_relations(part.relations)?;
        }
        Ok(part.plan)
    }

    /// A part of WITH that reads its own rows: they are those so far where it does.
    fn recursive(&self, part: usize, name: &str, query: &BoundQuery, owner: &Level<'_>) -> SqlResult<LogicalPlan> {
        let level = Level::new(query, Some(owner));
        let Some(SetTree::Node { operator: SetOperator::Union, all, parts, .. }) = &query.set else {
            return Err(SqlError::not_supported("a recursion that is no UNION"));
        };
        let has_more = query.limit.is_some() || query.offset.is_some() || !query.order.is_empty();
        let (Some((last, before)), false) = (parts.split_last(), has_more) else {
            return Err(SqlError::not_supported("ORDER BY or LIMIT of a recursion"));
        };
        let first = self.united(before, *all, &level)?;
        let names: Vec<String> = query.results().map(|target| target.name.clone()).collect();
        let first = self.renamed(first, &names)?;
        let other = |so_far: LogicalPlan| {
            owner.set_part(part, so_far);
            let other = self.members(last, &level);
            owner.forget_part(part);
            other
        };
        self.forms.recursive(name, first, other, !*all)
    }

    fn table(
        &self,
        relation: &RelationRef,
        sample: Option<&Sample>,
        entry: &RangeEntry,
        number: usize,
        level: &Level<'_>,
    ) -> SqlResult<LogicalPlan> {
        let table = self.tables.get(&relation.oid).filter(|table| table.view.is_none());
        let table = table.ok_or_else(|| SqlError::not_supported("a relation of this kind"))?;
        let key = TableReference::bare(table.key.as_str());
        let scan = LogicalPlanBuilder::scan(key.clone(), provider_as_source(table.provider.clone()), None)?;
        let scan = match table.oid.filter(|_| self.names_system_columns) {
            None => scan,
            Some(oid) => {
                let scan = scan.build()?;
                let mut columns: Vec<Expr> = columns_of(&scan).collect();
                let named = |column: SystemColumn| column.literal().alias_qualified(Some(key.clone()), column.name);
                columns.extend(SystemColumn::of(oid).map(named));
                LogicalPlanBuilder::from(scan).project(columns)?
            }
        };
        let (scan, name) = match entry.has_alias {
            true => {
                let alias = TableReference::bare(entry.name.as_str());
                (scan.alias(alias.clone())?, alias)
            }
            false => (scan, key),
        };
        let plan = scan.build()?;
        let schema = plan.schema();
        let column = |column: &RelationColumn| {
            let column = Column::new(Some(name.clone()), column.name.as_str());
            schema.has_column(&column).then_some(Expr::Column(column))
        };
        let columns: Vec<Option<Expr>> = relation.columns.iter().map(column).collect();
        let plan = match sample {
            Some(sample) => self.sampled(plan, sample, relation, &columns, level)?,
            None => plan,
        };
        let (plan, is_there) = self.marked(plan, number, &name, level)?;
        level.set_columns(number, EntryColumns { columns, is_there });
        Ok(plan)
    }

    /// Some of a table's rows. Those of a seed depend on their keys, or on all of their values where there is no key.
    fn sampled(
        &self,
        plan: LogicalPlan,
        sample: &Sample,
        relation: &RelationRef,
        columns: &[Option<Expr>],
        level: &Level<'_>,
    ) -> SqlResult<LogicalPlan> {
        let around = Around::beside(self, level);
        let percent = around.expr(&sample.percent)?;
        let seed = sample.seed.as_ref().map(|seed| around.expr(seed)).transpose()?;
        let columns = match relation.primary_key() {
            Some(key) => key.columns.iter().filter_map(|column| columns.get(*column)?.clone()).collect(),
            None => columns.iter().flatten().cloned().collect(),
        };
        let is_taken = is_in_sample(sample.method, percent, seed, columns);
        Ok(LogicalPlanBuilder::from(plan).filter(is_taken)?.build()?)
    }

    /// The rows that a query is computed over: each of their columns is one of an entry's.
    fn held(&self, rows: &HeldRows, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let plan = LogicalPlanBuilder::scan("held rows", provider_as_source(rows.provider()?), None)?.build()?;
        level.reads(&plan);
        for (number, entry) in level.query.range.iter().enumerate() {
            let table = match &entry.source {
                RangeSource::Table { relation, .. } => self.tables.get(&relation.oid).and_then(|table| table.oid),
                _ => None,
            };
            let mut columns = Vec::with_capacity(entry.columns.len());
            for (column, named) in entry.columns.iter().enumerate() {
                let at = rows.columns.iter().position(|known| *known == (number, column));
                columns.push(match (at, table) {
                    (Some(at), _) => Some(Expr::Column(Column::from(plan.schema().qualified_field(at)))),
                    (None, Some(oid)) => {
                        SystemColumn::of(oid).find(|column| column.name == named.name).map(|column| column.literal())
                    }
                    (None, None) => None,
                });
            }
            level.set_columns(number, EntryColumns { columns, is_there: None });
        }
        Ok(plan)
    }

    /// The rows with a column that is true in all of them, where it will be asked whether one is there.
    fn marked(
        &self,
        plan: LogicalPlan,
        number: usize,
        name: &TableReference,
        level: &Level<'_>,
    ) -> SqlResult<(LogicalPlan, Option<Expr>)> {
        if !level.is_marked(number) {
            return Ok((plan, None));
        }
        let columns = columns_of(&plan).chain([lit(true).alias_qualified(Some(name.clone()), MARKER)]).collect();
        let plan = self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))?;
        Ok((plan, Some(Expr::Column(Column::new(Some(name.clone()), MARKER)))))
    }

    /// Rows that are written out.
    fn values(&self, rows: &[Vec<BoundExpr>], entry: &RangeEntry, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let around = Around::beside(self, level);
        let mut values = rows.iter().map(|row| around.exprs(row)).collect::<SqlResult<Vec<_>>>()?;
        say_types(rows, &mut values);
        let names: Vec<String> = entry.columns.iter().map(|column| column.name.clone()).collect();
        // Their types are those of the values.
        let fields = unique_names(&names).into_iter().map(|name| Field::new(name, DataType::Null, true)).collect();
        let schema = Arc::new(DFSchema::from_unqualified_fields(fields, Default::default())?);
        let waits = |part: &BoundExpr| is_call(part, "nextval") || is_call(part, "setval");
        let counts = |value: &BoundExpr| value.any(&mut |part| waits(part));
        let is_in_turn = rows.iter().flatten().any(counts);
        let rows = self.forms.node(LogicalPlan::Values(Values { schema, values }))?;
        match rows {
            // A sequence counts row by row.
            LogicalPlan::Values(values) if is_in_turn => self.forms.node(values_as_union(&values, &one_row()?)?),
            LogicalPlan::Values(values) => Ok(held(values)?),
            rows => Ok(rows),
        }
    }

    /// The rows of a query under the names that an entry has for them.
    fn named(&self, plan: LogicalPlan, number: usize, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let entry = &level.query.range[number];
        let names: Vec<String> = entry.columns.iter().map(|column| column.name.clone()).collect();
        let plan = self.renamed(plan, &names)?;
        let name = TableReference::bare(entry.name.as_str());
        let plan = LogicalPlanBuilder::from(plan).alias(name.clone())?.build()?;
        let columns = columns_of(&plan).map(Some).collect();
        let (plan, is_there) = self.marked(plan, number, &name, level)?;
        level.set_columns(number, EntryColumns { columns, is_there });
        Ok(plan)
    }
}

/// Whether a plan calls a function whose value is another one each time.
fn is_volatile(plan: &LogicalPlan) -> SqlResult<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.is_volatile();
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

/// Rows that are others for each row of what stands before them.
fn beside(plan: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Subquery(sub_query_of(plan))
}

/// Says of all values of a column with a parameter what they are, in one way: the engine compares what it is told of them, and
/// constants say less of themselves than parameters, or more.
fn say_types(rows: &[Vec<BoundExpr>], values: &mut [Vec<Expr>]) {
    let Some(first) = rows.first().filter(|_| rows.len() > 1) else { return };
    for (column, value) in first.iter().enumerate() {
        let is_parameter = |row: &Vec<BoundExpr>| matches!(row[column].kind, ExprKind::Parameter(_));
        let sql_type = declared_of_oid(value.ty.oid, value.ty.typmod);
        // A numeric has the digits of its value.
        let Some(sql_type) = sql_type.filter(|of| !matches!(of, SqlType::Numeric(_)) && rows.iter().any(is_parameter))
        else {
            continue;
        };
        let told = sql_type.field("", true).with_metadata([(TYPE_KEY.to_owned(), sql_type.tag())].into());
        let told = Arc::new(told);
        for row in values.iter_mut() {
            let value = std::mem::take(&mut row[column]);
            row[column] = Expr::Cast(Cast::new_from_field(Box::new(value), Arc::clone(&told)));
        }
    }
}

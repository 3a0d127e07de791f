//! FROM: tables, sub-queries, VALUES and parts of WITH as nodes, and their joins.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, JoinType, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Values};
use tablegate_bind::catalogue::RelationRef;
use tablegate_bind::expr::BoundExpr;
use tablegate_bind::query::bound::{JoinColumn, JoinKind, JoinTree, RangeEntry, RangeSource};
use tablegate_bind::statement::BoundStatement;
use tablegate_types::error::SqlResult;
use tablegate_types::stack::deeper;

use super::level::{Around, Level};
use super::select::{called, is_volatile};
use super::{Lowering, formed};
use crate::syntax::unique_names;

impl Lowering<'_> {
    /// What a query reads: one row without columns where it reads nothing.
    pub(super) fn from(&self, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        let mut joined: Option<LogicalPlan> = None;
        for tree in &level.query.from {
            let next = formed!(self.tree(tree, level));
            joined = Some(match joined {
                None => next,
                Some(before) => LogicalPlanBuilder::from(before).cross_join(next)?.build()?,
            });
        }
        let plan = match joined {
            Some(plan) => plan,
            None => LogicalPlanBuilder::empty(true).build()?,
        };
        level.reads(&plan);
        Ok(Some(plan))
    }

    fn tree(&self, tree: &JoinTree, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        match tree {
            JoinTree::Entry(entry) => self.entry(*entry, level),
            JoinTree::Join { entry, kind, left, right, condition, .. } => deeper(|| {
                let left = formed!(self.tree(left, level));
                let right = formed!(self.tree(right, level));
                let plan = formed!(self.join(*kind, left, right, condition.as_deref(), level));
                let RangeSource::Join { columns } = &level.query.range[*entry].source else { return Ok(None) };
                let around = Around::new(self, level, plan.schema().clone());
                let mut exprs = Vec::with_capacity(columns.len());
                for column in columns {
                    exprs.push(around.expr(value_of(column))?);
                }
                level.set_columns(*entry, exprs);
                Ok(Some(plan))
            }),
        }
    }

    fn join(
        &self,
        kind: JoinKind,
        left: LogicalPlan,
        right: LogicalPlan,
        condition: Option<&BoundExpr>,
        level: &Level<'_>,
    ) -> SqlResult<Option<LogicalPlan>> {
        let join_type = match kind {
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Left,
            JoinKind::Right => JoinType::Right,
            JoinKind::Full => JoinType::Full,
        };
        let Some(condition) = condition else {
            return match kind {
                JoinKind::Inner => Ok(Some(LogicalPlanBuilder::from(left).cross_join(right)?.build()?)),
                _ => Ok(None),
            };
        };
        let both = Arc::new(left.schema().join(right.schema())?);
        let condition = formed!(Around::new(self, level, both).condition(condition));
        let join = LogicalPlanBuilder::from(left).join_on(right, join_type, [condition])?.build()?;
        self.forms.node(join).map(Some)
    }

    fn entry(&self, number: usize, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        let entry = &level.query.range[number];
        if entry.is_lateral {
            return Ok(None);
        }
        let plan = match &entry.source {
            RangeSource::Table { relation, .. } => formed!(self.table(relation, entry, number, level)),
            RangeSource::SubQuery(query) => {
                let plan = formed!(self.query(query, Some(level)));
                self.named(plan, number, level)?
            }
            RangeSource::Values(rows) => {
                let plan = formed!(self.values(rows, entry, level));
                self.named(plan, number, level)?
            }
            RangeSource::With { level: outside, number: part } => {
                let Some(owner) = level.outside(*outside) else { return Ok(None) };
                let Some(with) = owner.query.with.get(*part) else { return Ok(None) };
                let BoundStatement::Query(query) = &with.statement else { return Ok(None) };
                // Each reader would compute anew what is to be computed once.
                if with.is_recursive || with.materialized.is_some() || is_volatile(query) {
                    return Ok(None);
                }
                let plan = formed!(owner.part(*part, || self.query(query, Some(owner))));
                self.named(plan, number, level)?
            }
            RangeSource::Functions { .. } | RangeSource::Join { .. } | RangeSource::Excluded => return Ok(None),
        };
        Ok(Some(plan))
    }

    fn table(
        &self,
        relation: &RelationRef,
        entry: &RangeEntry,
        number: usize,
        level: &Level<'_>,
    ) -> SqlResult<Option<LogicalPlan>> {
        let Some(table) = self.tables.get(&relation.oid).filter(|table| table.view.is_none()) else { return Ok(None) };
        let key = TableReference::bare(table.key.as_str());
        let scan = LogicalPlanBuilder::scan(key.clone(), provider_as_source(table.provider.clone()), None)?;
        let (scan, name) = match entry.has_alias {
            true => {
                let alias = TableReference::bare(entry.name.as_str());
                (scan.alias(alias.clone())?, alias)
            }
            false => (scan, key),
        };
        let plan = scan.build()?;
        let schema = plan.schema();
        let column = |column: &tablegate_bind::catalogue::RelationColumn| {
            let column = Column::new(Some(name.clone()), column.name.as_str());
            schema.has_column(&column).then_some(Expr::Column(column))
        };
        level.set_columns(number, relation.columns.iter().map(column).collect());
        Ok(Some(plan))
    }

    /// Rows that are written out.
    fn values(&self, rows: &[Vec<BoundExpr>], entry: &RangeEntry, level: &Level<'_>) -> SqlResult<Option<LogicalPlan>> {
        let around = Around::new(self, level, Arc::new(DFSchema::empty()));
        let mut values = Vec::with_capacity(rows.len());
        for row in rows {
            values.push(formed!(around.exprs(row)));
        }
        let names: Vec<String> = entry.columns.iter().map(|column| column.name.clone()).collect();
        // Their types are those of the values.
        let fields = unique_names(&names).into_iter().map(|name| Field::new(name, DataType::Null, true)).collect();
        let schema = Arc::new(DFSchema::from_unqualified_fields(fields, Default::default())?);
        self.forms.node(LogicalPlan::Values(Values { schema, values })).map(Some)
    }

    /// The rows of a query under the names that an entry has for them.
    fn named(&self, plan: LogicalPlan, number: usize, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let entry = &level.query.range[number];
        let names: Vec<String> = entry.columns.iter().map(|column| column.name.clone()).collect();
        let schema = plan.schema();
        let column = |(at, name)| called(Expr::Column(Column::from(schema.qualified_field(at))), name);
        let columns: Vec<Expr> = unique_names(&names).into_iter().enumerate().map(column).collect();
        let plan = match columns.iter().all(|column| matches!(column, Expr::Column(_))) {
            true => plan,
            false => self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))?,
        };
        let plan = LogicalPlanBuilder::from(plan).alias(TableReference::bare(entry.name.as_str()))?.build()?;
        let schema = plan.schema();
        let column = |at: usize| Some(Expr::Column(Column::from(schema.qualified_field(at))));
        level.set_columns(number, (0..schema.fields().len()).map(column).collect());
        Ok(plan)
    }
}

/// The value of a join's column.
fn value_of(column: &JoinColumn) -> &BoundExpr {
    match column {
        JoinColumn::One(value) => value,
        JoinColumn::Merged { value, .. } => value,
    }
}

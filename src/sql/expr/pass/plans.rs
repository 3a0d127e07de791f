//! What a plan asks of its expressions: columns that meet have one type, conditions are boolean, LIMIT is bigint.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, ScalarValue};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{
    Distinct, Expr, Filter, Join, Limit, LogicalPlan, LogicalPlanBuilder, Operator, Projection, RecursiveQuery, Sort,
    SortExpr, Subquery, TableScan, Values,
};
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::{SqlType, TYPE_KEY};
use tablegate_types::style::Reading;

use super::conditional::all_declared;
use super::outputs::windowed;
use super::sets::{Met, is_set_operation, output_operands};
use super::{Pass, raised};
use crate::expr::operand::{Operand, is_untyped, relabelled};
use crate::expr::sort_key::{Purpose, keyed};
use crate::expr::typed::ValueType;
use crate::expr::{comparison, literal};

impl Pass<'_> {
    /// A plan whose expressions are typed, with what it asks of them.
    pub(super) fn finished(&self, plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
        match plan {
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                let expr = expr.into_iter().map(|expr| self.settled(expr)).collect::<Result<_>>()?;
                Projection::try_new(expr, input).map(LogicalPlan::Projection)
            }
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let predicate = self.truth(predicate, "WHERE", schema)?;
                Filter::try_new(predicate, input).map(LogicalPlan::Filter)
            }
            LogicalPlan::Join(join) if is_set_operation(&join) => self.set_operation(join),
            LogicalPlan::Join(join) => self.join(join, schema)?.recompute_schema(),
            LogicalPlan::Aggregate(aggregate) => self.grouped(aggregate, schema),
            LogicalPlan::Distinct(Distinct::All(input)) => self.distinct(input),
            LogicalPlan::Distinct(Distinct::On(distinct)) => self.distinct_on(distinct),
            LogicalPlan::Window(window) => windowed(window),
            LogicalPlan::Sort(sort) => self.sort(sort, schema),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Values(values) => self.values(values),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Unnest(unnest) => self.unnested(unnest),
            other => other.recompute_schema(),
        }
    }

    /// A column without a type is text.
    fn settled(&self, expr: Expr) -> Result<Expr> {
        let text = |expr: Expr| -> Result<Expr> {
            let operand = Operand { expr, value_type: ValueType::of(SqlType::Unknown) };
            operand.coerced(&SqlType::Text, self.parameters()).map_err(raised)
        };
        match expr {
            // It may yet meet a column of another type in a UNION, or be assigned to one.
            Expr::Literal(ref value, None) if !value.is_null() => Ok(expr),
            Expr::Alias(mut alias) if is_untyped(&alias.expr) => {
                alias.expr = Box::new(self.settled(*alias.expr)?);
                Ok(Expr::Alias(alias))
            }
            other if is_untyped(&other) => text(other),
            other => Ok(other),
        }
    }

    fn join(&self, mut join: Join, schema: &DFSchema) -> Result<LogicalPlan> {
        let (left_schema, right_schema) = (join.left.schema().clone(), join.right.schema().clone());
        let pair = |(left, right): (Expr, Expr)| {
            let (left, right) = (self.operand(left, &left_schema)?, self.operand(right, &right_schema)?);
            comparison::aligned(Operator::Eq, left, right, self.parameters()).map_err(raised)
        };
        join.on = join.on.into_iter().map(pair).collect::<Result<_>>()?;
        join.filter = join.filter.map(|filter| self.truth(filter, "JOIN/ON", schema)).transpose()?;
        Ok(LogicalPlan::Join(join))
    }

    /// The rows of VALUES: their expressions are typed here, because the planner has put casts of its own around them.
    fn values(&self, values: Values) -> Result<LogicalPlan> {
        let none = DFSchema::empty();
        let Values { schema, values } = values;
        let mut rows: Vec<Vec<Operand>> = Vec::with_capacity(values.len());
        for row in values {
            let cells = row.into_iter().map(|cell| self.operand(without_cast_of_literal(cell), &none));
            rows.push(cells.collect::<Result<_>>()?);
        }
        let mut targets = Vec::with_capacity(schema.fields().len());
        let mut declared = Vec::with_capacity(schema.fields().len());
        for column in 0..schema.fields().len() {
            let meeting: Vec<&Operand> = rows.iter().filter_map(|row| row.get(column)).collect();
            targets.push(self.common(&meeting, "VALUES").map_err(raised)?);
            declared.push(all_declared(&meeting, &none)?);
        }
        let mut typed = Vec::with_capacity(rows.len());
        for row in rows {
            let cells = row
                .into_iter()
                .zip(&targets)
                .map(|(cell, target)| cell.converted_to(target, self.parameters()).map_err(raised));
            typed.push(cells.collect::<Result<Vec<_>>>()?);
        }
        let fields =
            targets.iter().zip(declared).zip(schema.fields()).map(|((target, declared), field)| match declared {
                Some(declared) => declared.field(field.name(), true),
                None => target.field(field.name(), true),
            });
        let schema = DFSchema::from_unqualified_fields(fields.collect(), Default::default())?;
        Ok(LogicalPlan::Values(Values { schema: Arc::new(schema), values: typed }))
    }

    fn sort(&self, mut sort: Sort, schema: &DFSchema) -> Result<LogicalPlan> {
        self.ordered(&mut sort.expr, schema)?;
        LogicalPlan::Sort(sort).recompute_schema()
    }

    /// What is sorted by, as its keys.
    pub(super) fn ordered(&self, order: &mut [SortExpr], schema: &DFSchema) -> Result<()> {
        for item in order {
            let operand = self.operand(item.expr.clone(), schema)?;
            Self::orderable(operand.sql_type())?;
            item.expr = keyed(operand.expr, &operand.value_type.sql_type, Purpose::Order);
        }
        Ok(())
    }

    fn limit(&self, limit: Limit) -> Result<LogicalPlan> {
        let none = DFSchema::empty();
        let bigint = ValueType::of(SqlType::Int8);
        let count = |expr: Option<Box<Expr>>, clause: &str| -> Result<Option<Box<Expr>>> {
            let Some(expr) = expr else { return Ok(None) };
            let operand = self.operand(*expr, &none)?;
            let is_number =
                operand.shape().is_some() || matches!(operand.sql_type(), SqlType::Float4 | SqlType::Float8);
            if !operand.is_unknown() && !is_number {
                let message = format!("argument of {clause} must be type bigint, not type {}", operand.sql_type());
                return Err(raised(SqlError::new(ErrorKind::DatatypeMismatch, message)));
            }
            let expr = match operand.constant() {
                // As it is assigned: rounded.
                Some(value) => {
                    let value =
                        literal::cast(value, operand.sql_type(), &bigint, Reading::default()).map_err(raised)?;
                    if matches!(value, ScalarValue::Int64(Some(..0))) {
                        let kind = if clause == "LIMIT" { ErrorKind::InvalidLimit } else { ErrorKind::InvalidOffset };
                        return Err(raised(SqlError::new(kind, format!("{clause} must not be negative"))));
                    }
                    Expr::Literal(value, None)
                }
                None => match operand.converted_to(&bigint, self.parameters()).map_err(raised)? {
                    Expr::Literal(value, _) => Expr::Literal(value, None),
                    other => other,
                },
            };
            Ok(Some(Box::new(expr)))
        };
        let (skip, fetch) = (count(limit.skip, "OFFSET")?, count(limit.fetch, "LIMIT")?);
        Ok(LogicalPlan::Limit(Limit { skip, fetch, input: limit.input }))
    }

    /// Both terms of a recursive query; the second reads columns of the types that the first gives.
    pub(super) fn recursive_query(&self, query: RecursiveQuery) -> Result<LogicalPlan> {
        let RecursiveQuery { name, static_term, recursive_term, is_distinct, .. } = query;
        let first = Arc::new(self.plan(Arc::unwrap_or_clone(static_term))?);
        // A numeric may need more digits with each round.
        let targets: Vec<Met> = output_operands(&first)?
            .into_iter()
            .map(|operand| match operand.sql_type() {
                SqlType::Numeric(_) => ValueType::of(SqlType::Numeric(None)),
                SqlType::Unknown => ValueType::of(SqlType::Text),
                _ => operand.value_type,
            })
            .map(Met::undeclared)
            .collect();
        let first = plainly_typed(self.as_columns(first, &targets)?, &targets)?;
        let recursive =
            with_work_table(without_planner_casts(Arc::unwrap_or_clone(recursive_term))?, &name, first.schema())?;
        let recursive = Arc::new(self.plan(recursive)?);
        for (index, (operand, target)) in output_operands(&recursive)?.iter().zip(&targets).enumerate() {
            let target = &target.value_type;
            let common = tablegate_types::conversion::common_type([&target.sql_type, operand.sql_type()], "UNION");
            let common = common.map_err(raised)?;
            if !tablegate_types::conversion::is_same(&common, &target.sql_type) {
                return Err(raised(changed_type(&name, index + 1, &target.sql_type, &common)));
            }
        }
        let recursive = plainly_typed(self.as_columns(recursive, &targets)?, &targets)?;
        RecursiveQuery::try_new(name, first, recursive, is_distinct).map(LogicalPlan::RecursiveQuery)
    }

    /// An expression and the only column of a sub-query, in types that can be compared.
    pub(super) fn beside_subquery(
        &self,
        operator: Operator,
        expr: Expr,
        subquery: Subquery,
        schema: &DFSchema,
    ) -> Result<(Expr, Subquery)> {
        let left = self.operand(expr, schema)?;
        let inner = subquery.subquery.schema().clone();
        let column = Expr::Column(Column::from(inner.qualified_field(0)));
        let right = self.operand(column.clone(), &inner)?;
        let (left, compared) = comparison::aligned(operator, left, right, self.parameters()).map_err(raised)?;
        if compared == column {
            return Ok((left, subquery));
        }
        let (qualifier, field) = inner.qualified_field(0);
        let compared = compared.alias_qualified(qualifier.cloned(), field.name());
        let plan = LogicalPlan::Projection(Projection::try_new(vec![compared], subquery.subquery)?);
        Ok((left, Subquery { subquery: Arc::new(plan), ..subquery }))
    }
}

/// The columns with what their types alone say of them: a constant says its type where a column does not need to, and the
/// engine takes the terms of a recursive query for different where one of them says more.
fn plainly_typed(input: Arc<LogicalPlan>, targets: &[Met]) -> Result<Arc<LogicalPlan>> {
    let schema = input.schema();
    let plain = |(index, target): (usize, &Met)| {
        let (qualifier, field) = schema.qualified_field(index);
        let column = Expr::Column(Column::from((qualifier, field)));
        match target.value_type.field("", true).metadata() == field.metadata() {
            true => (column, true),
            false => {
                let named = relabelled(column, &target.value_type).alias_qualified(qualifier.cloned(), field.name());
                (named, false)
            }
        }
    };
    let (columns, are_plain): (Vec<Expr>, Vec<bool>) = targets.iter().enumerate().map(plain).unzip();
    match are_plain.contains(&false) {
        false => Ok(input),
        true => Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns, input)?))),
    }
}

/// Without the casts that the planner puts around the columns of a recursive term: ours come later.
fn without_planner_casts(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            let names = datafusion::logical_expr::expr_rewriter::NamePreserver::new_for_projection();
            let stripped = expr.into_iter().map(|expr| {
                let name = names.save(&expr);
                name.restore(without_planner_cast(expr))
            });
            Projection::try_new(stripped.collect(), input).map(LogicalPlan::Projection)
        }
        other => Ok(other),
    }
}

/// A literal without a type, without the cast that the engine's planner put around it: here its text is read by
/// PostgreSQL's rules.
fn without_cast_of_literal(expr: Expr) -> Expr {
    match expr.unalias() {
        Expr::Cast(cast) if is_untyped(&cast.expr) => *cast.expr,
        other => other,
    }
}

/// The operand of a cast that the planner put there; casts of the statement name their type.
pub(super) fn without_planner_cast(expr: Expr) -> Expr {
    match expr {
        Expr::Cast(cast) if !cast.field.metadata().contains_key(TYPE_KEY) => *cast.expr,
        Expr::Alias(mut alias) => {
            alias.expr = Box::new(without_planner_cast(*alias.expr));
            Expr::Alias(alias)
        }
        other => other,
    }
}

/// The plan with its scans of the work table giving the columns that the first term has.
fn with_work_table(plan: LogicalPlan, name: &str, schema: &DFSchemaRef) -> Result<LogicalPlan> {
    let schema: SchemaRef = schema.inner().clone();
    let replaced = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) if is_work_table(&scan, name) => {
            let source = provider_as_source(Arc::new(CteWorkTable::new(name, nullable(&schema))));
            let plan = LogicalPlanBuilder::scan(scan.table_name, source, scan.projection)?.build()?;
            Ok(Transformed::yes(plan))
        }
        LogicalPlan::SubqueryAlias(_) => plan.recompute_schema().map(Transformed::yes),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(replaced.data)
}

fn nullable(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    Arc::new(arrow::datatypes::Schema::new(fields))
}

fn is_work_table(scan: &TableScan, name: &str) -> bool {
    source_as_provider(&scan.source)
        .is_ok_and(|provider| provider.downcast_ref::<CteWorkTable>().is_some_and(|table| table.name() == name))
}

fn changed_type(query: &str, column: usize, first: &SqlType, overall: &SqlType) -> Box<SqlError> {
    let message = format!(
        "recursive query \"{query}\" column {column} has type {} in non-recursive term but type {} overall",
        tablegate_types::conversion::name(first),
        tablegate_types::conversion::name(overall)
    );
    SqlError::new(ErrorKind::DatatypeMismatch, message)
        .with_hint("Cast the output of the non-recursive term to the correct type.")
}

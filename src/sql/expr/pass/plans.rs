//! What a plan asks of its expressions: columns that meet have one type, conditions are boolean, LIMIT is bigint.

use std::sync::Arc;

use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{
    Distinct, Expr, Filter, Join, Limit, LogicalPlan, Operator, Projection, Sort, SortExpr, Subquery, Values,
};
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::conditional::all_declared;
use super::outputs::windowed;
use super::sets::{Met, is_set_operation, output_operands};
use super::{Pass, raised};
use crate::expr::operand::{Operand, is_untyped};
use crate::expr::sort_key::{Purpose, keyed};
use crate::expr::typed::ValueType;
use crate::expr::{comparison, literal};
use crate::recursion::Recursion;

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

    /// The rows of VALUES: each column has the type that its values have in common.
    fn values(&self, values: Values) -> Result<LogicalPlan> {
        let none = DFSchema::empty();
        let Values { schema, values } = values;
        let mut rows: Vec<Vec<Operand>> = Vec::with_capacity(values.len());
        for row in values {
            let cells = row.into_iter().map(|cell| self.operand(cell, &none));
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

    /// The first term, and the types that the columns of both have.
    pub(super) fn first_term(&self, first: LogicalPlan) -> Result<(Arc<LogicalPlan>, Vec<Met>)> {
        let first = Arc::new(first);
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
        let first = self.as_columns(first, &targets)?;
        Ok((first, targets))
    }

    /// Both terms together.
    pub(super) fn recursion(
        &self,
        name: &str,
        first: Arc<LogicalPlan>,
        recursive: LogicalPlan,
        targets: &[Met],
        is_distinct: bool,
    ) -> Result<LogicalPlan> {
        let recursive = Arc::new(recursive);
        for (index, (operand, target)) in output_operands(&recursive)?.iter().zip(targets).enumerate() {
            let target = &target.value_type;
            let common = tablegate_types::conversion::common_type([&target.sql_type, operand.sql_type()], "UNION");
            let common = common.map_err(raised)?;
            if !tablegate_types::conversion::is_same(&common, &target.sql_type) {
                return Err(raised(changed_type(name, index + 1, &target.sql_type, &common)));
            }
        }
        let recursive = Arc::unwrap_or_clone(self.as_columns(recursive, targets)?);
        let first = Arc::unwrap_or_clone(first);
        Ok(Recursion::new(name.to_owned(), first, recursive, is_distinct)?.into_plan())
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

fn changed_type(query: &str, column: usize, first: &SqlType, overall: &SqlType) -> Box<SqlError> {
    let message = format!(
        "recursive query \"{query}\" column {column} has type {} in non-recursive term but type {} overall",
        tablegate_types::conversion::name(first),
        tablegate_types::conversion::name(overall)
    );
    SqlError::new(ErrorKind::DatatypeMismatch, message)
        .with_hint("Cast the output of the non-recursive term to the correct type.")
}

//! Pieces of plans that are put together again and again.

use std::sync::Arc;

use datafusion::common::{Column, DFSchema, NullEquality, Result, ScalarValue, TableReference};
use datafusion::logical_expr::{
    Aggregate, Distinct, EmptyRelation, Expr, Filter, Join, JoinConstraint, JoinType, Limit, LogicalPlan, Projection,
    SubqueryAlias, Union, Values, expr, lit,
};

use crate::expr::conjunction;

/// Names that no other table or column of a statement has: `#` is in none that the store can hold.
#[derive(Default)]
pub(super) struct Names {
    last: usize,
    /// Rows were read a second time that may be others then.
    pub has_read_undecided: bool,
}

impl Names {
    pub(super) fn next(&mut self, what: &str) -> String {
        self.last += 1;
        format!("{what}#{}", self.last)
    }

    /// A number for rows that are computed once. Those that a query's text asks for count from the other end.
    pub(super) fn number(&mut self) -> usize {
        self.last += 1;
        usize::MAX - self.last
    }
}

/// The rows that sub-queries are asked for, and their answers beside them.
pub(super) struct Rows {
    /// The rows alone: what the sub-queries take from outside is in them.
    pub base: LogicalPlan,
    pub plan: LogicalPlan,
}

impl Rows {
    pub(super) fn new(plan: LogicalPlan) -> Self {
        Self { base: plan.clone(), plan }
    }

    pub(super) fn replace(&mut self, by: impl FnOnce(LogicalPlan) -> Result<LogicalPlan>) -> Result<()> {
        self.plan = by(self.plan.clone())?;
        Ok(())
    }
}

pub(in crate::plan) fn project(input: LogicalPlan, exprs: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?))
}

/// Only the rows for which all conditions are true.
pub(in crate::plan) fn filter(input: LogicalPlan, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    match conjunction(conditions) {
        None => Ok(input),
        Some(condition) => Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(input))?)),
    }
}

pub(super) fn alias(input: LogicalPlan, name: &str) -> Result<LogicalPlan> {
    Ok(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), TableReference::bare(name))?))
}

pub(super) fn aggregate(input: LogicalPlan, by: Vec<Expr>, aggregates: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), by, aggregates)?))
}

pub(super) fn distinct(input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Distinct(Distinct::All(Arc::new(input)))
}

pub(super) fn first_row(input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Limit(Limit { skip: None, fetch: Some(Box::new(lit(1_i64))), input: Arc::new(input) })
}

/// Joins on conditions over columns that are all qualified.
pub(in crate::plan) fn join(
    left: LogicalPlan,
    right: LogicalPlan,
    join_type: JoinType,
    conditions: Vec<Expr>,
) -> Result<LogicalPlan> {
    let condition = match conjunction(conditions) {
        None if join_type != JoinType::Inner => Some(lit(true)),
        other => other,
    };
    let (left, right) = (Arc::new(left), Arc::new(right));
    let nulls = NullEquality::NullEqualsNothing;
    Join::try_new(left, right, Vec::new(), condition, join_type, JoinConstraint::On, nulls, false)
        .map(LogicalPlan::Join)
}

pub(in crate::plan) fn column_exprs(columns: Vec<Column>) -> Vec<Expr> {
    columns.into_iter().map(Expr::Column).collect()
}

/// The columns of a plan, each as an expression.
pub(super) fn columns_of(plan: &LogicalPlan) -> Vec<Expr> {
    column_exprs(plan.schema().columns())
}

pub(super) fn first_column(plan: &LogicalPlan) -> Result<Column> {
    match plan.schema().columns().into_iter().next() {
        Some(column) => Ok(column),
        None => datafusion::common::plan_err!("subquery must return only one column"),
    }
}

/// `CASE WHEN condition THEN value ... ELSE otherwise END`
pub(super) fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let boxed = |(condition, value): (Expr, Expr)| (Box::new(condition), Box::new(value));
    let when_then_expr = branches.into_iter().map(boxed).collect();
    Expr::Case(expr::Case { expr: None, when_then_expr, else_expr: Some(Box::new(otherwise)) })
}

pub(super) fn null() -> Expr {
    Expr::Literal(ScalarValue::Null, None)
}

pub(super) fn unknown() -> Expr {
    Expr::Literal(ScalarValue::Boolean(None), None)
}

/// One row without columns.
pub(in crate::plan) fn one_row() -> Result<LogicalPlan> {
    Ok(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, schema: Arc::new(DFSchema::empty()) }))
}

/// The rows of a VALUES list as a union of projections over `input`, under the list's names.
pub(in crate::plan) fn values_as_union(values: &Values, input: &LogicalPlan) -> Result<LogicalPlan> {
    let names: Vec<String> = values.schema.fields().iter().map(|f| f.name().clone()).collect();
    let row = |row: &Vec<Expr>| {
        let own = row.iter().zip(&names).map(|(expr, name)| expr.clone().alias(name.clone()));
        project(input.clone(), columns_of(input).into_iter().chain(own).collect())
    };
    let rows = values.values.iter().map(row).collect::<Result<Vec<_>>>()?;
    union(rows)
}

/// UNION ALL of plans with the same number of columns, under the names of the first.
pub(in crate::plan) fn union(mut plans: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    if plans.len() == 1 {
        return Ok(plans.remove(0));
    }
    let columns = plans[0].schema().columns();
    let united = LogicalPlan::Union(Union::try_new_with_loose_types(plans.into_iter().map(Arc::new).collect())?);
    let named = united.schema().columns().into_iter().zip(columns);
    let exprs = named.map(|(from, to)| Expr::Column(from).alias_qualified(to.relation, to.name)).collect();
    project(united, exprs)
}

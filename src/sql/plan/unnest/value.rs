//! Sub-queries whose answer is a value in an expression.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, ExprSchema, Result};
use datafusion::functions_aggregate::expr_fn::{count, max, min};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, JoinType, LogicalPlan, Operator, binary_expr, lit};

use super::correlation::{Correlation, Key, refers_out};
use super::filter::without_row_order;
use super::one_row::{one_row, or_null};
use super::pieces::{
    Rows, aggregate, alias, case, columns_of, distinct, first_column, first_row, join, null, project, unknown,
};
use super::push::{Free, Pusher, is_null};
use super::{Unnester, not_supported};
use crate::expr::known_as;

/// How many rows a sub-query has, how many of them are not NULL, and the least and greatest of them.
struct Summary {
    rows: Expr,
    known: Expr,
    least: Expr,
    greatest: Expr,
}

impl Unnester {
    /// The expression with the answers of its sub-queries, which `input` gets as further columns.
    pub(super) fn value(&mut self, expr: Expr, rows: &mut Rows) -> Result<Expr> {
        let valued = expr.transform_up(|e| {
            Ok(match e {
                Expr::ScalarSubquery(subquery) => {
                    let subquery = self.rewrite(Arc::unwrap_or_clone(subquery.subquery))?;
                    Transformed::yes(self.scalar(subquery, rows)?)
                }
                Expr::Exists(Exists { subquery, negated }) => {
                    let subquery = without_row_order(self.rewrite(Arc::unwrap_or_clone(subquery.subquery))?);
                    let exists = self.exists(subquery, rows)?;
                    Transformed::yes(if negated { !exists } else { exists })
                }
                Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                    let subquery = without_row_order(self.rewrite(Arc::unwrap_or_clone(subquery.subquery))?);
                    let is_in = self.is_in(*expr, subquery, rows)?;
                    Transformed::yes(if negated { !is_in } else { is_in })
                }
                Expr::SetComparison(comparison) => Transformed::yes(self.compared(comparison, rows)?),
                other => Transformed::no(other),
            })
        })?;
        Ok(valued.data)
    }

    fn scalar(&mut self, subquery: LogicalPlan, rows: &mut Rows) -> Result<Expr> {
        if !refers_out(&subquery)? {
            return scalar_alone(subquery);
        }
        let has_one_row = subquery.max_rows().is_some_and(|rows| rows <= 1) && !has_grouping_sets(&subquery)?;
        let value = first_column(&subquery)?;
        let field = Arc::clone(subquery.schema().field_from_column(&value)?);
        let base = rows.base.clone();
        let correlation = Correlation::of(&subquery, &base)?;
        if let Some(expr) = computed(&subquery, &correlation)? {
            return Ok(expr);
        }
        let answers_of = Pusher::new(&correlation, &mut self.names).answers(subquery)?;
        let default = answers_of.on_empty.as_ref().and_then(|defaults| defaults.get(&value).cloned());
        let table = self.names.next("subquery");
        let marked = with_marker(answers_of)?;
        let (mut plan, mut keys, value) = answers(marked, Some(value), &table)?;
        let mut number = None;
        if !has_one_row {
            let counted = counted(plan, &keys, value.as_ref(), &table)?;
            (plan, keys) = (counted.0, counted.1);
            number = Some(Expr::Column(Column::new(Some(table.clone()), ROWS)));
        }
        rows.replace(|outer| join(outer, plan, JoinType::Left, correlation.conditions(&keys)))?;
        let value = value.map_or_else(null, Expr::Column);
        let value = match default.filter(|default| !is_null(default)) {
            Some(default) => {
                let absent = match &number {
                    Some(number) => number.clone().is_null(),
                    None => Expr::Column(Column::new(Some(table), MARKER)).is_null(),
                };
                known_as(case(vec![(absent, correlation.outward(default)?)], value), &field)
            }
            None => value,
        };
        Ok(match number {
            Some(number) => one_row(value, number),
            None => value,
        })
    }

    /// Whether there is a row.
    pub(super) fn exists(&mut self, subquery: LogicalPlan, rows: &mut Rows) -> Result<Expr> {
        let base = rows.base.clone();
        let correlation = Correlation::of(&subquery, &base)?;
        if correlation.parameters.is_empty() {
            // What it may depend on is farther out: here it is one value for all rows.
            let number = count(lit(1_i64)).alias(ROWS);
            let counted = aggregate(first_row(subquery), Vec::new(), vec![number])?;
            let any = Expr::Column(first_column(&counted)?).gt(lit(0_i64)).alias("exists");
            return self.scalar(project(counted, vec![any])?, rows);
        }
        let free = Pusher::new(&correlation, &mut self.names).answers(subquery)?;
        if free.on_empty.is_some() {
            return Ok(lit(true));
        }
        let table = self.names.next("subquery");
        let (plan, keys) = marked_keys(free, None, &table)?;
        rows.replace(|outer| join(outer, plan, JoinType::Left, correlation.conditions(&keys)))?;
        Ok(Expr::Column(Column::new(Some(table), MARKER)).is_not_null())
    }

    /// `operand IN (subquery)`: unknown when nothing is equal, but something is NULL.
    fn is_in(&mut self, operand: Expr, subquery: LogicalPlan, rows: &mut Rows) -> Result<Expr> {
        let member = first_column(&subquery)?;
        let may_be_null =
            operand.nullable(rows.plan.schema())? || Expr::Column(member.clone()).nullable(subquery.schema())?;
        let summary = match may_be_null {
            true => Some(self.summary(subquery.clone(), rows, false)?),
            false => None,
        };
        let base = rows.base.clone();
        let correlation = Correlation::of(&subquery, &base)?;
        let free = Pusher::new(&correlation, &mut self.names).answers_of_all(subquery)?;
        let table = self.names.next("subquery");
        let (plan, keys) = marked_keys(free, Some(member), &table)?;
        let mut conditions = correlation.conditions(&keys);
        conditions.push(operand.clone().eq(Expr::Column(Column::new(Some(table.clone()), VALUE))));
        rows.replace(|outer| join(outer, plan, JoinType::Left, conditions))?;
        let found = Expr::Column(Column::new(Some(table), MARKER)).is_not_null();
        let Some(summary) = summary else { return Ok(found) };
        Ok(case(vec![(found, lit(true)), (summary.leaves_open(operand), unknown())], lit(false)))
    }

    /// `operand op ANY (subquery)` and `operand op ALL (subquery)`.
    fn compared(&mut self, comparison: SetComparison, rows: &mut Rows) -> Result<Expr> {
        let SetComparison { expr: operand, subquery, op, quantifier } = comparison;
        let operand = *operand;
        let subquery = without_row_order(self.rewrite(Arc::unwrap_or_clone(subquery.subquery))?);
        let is_any = quantifier == SetQuantifier::Any;
        match (op, is_any) {
            (Operator::Eq, true) => return self.is_in(operand, subquery, rows),
            (Operator::NotEq, false) => return Ok(!self.is_in(operand, subquery, rows)?),
            _ => {}
        }
        let summary = self.summary(subquery, rows, true)?;
        let to = |value: &Expr| binary_expr(operand.clone(), op, value.clone());
        let (least, greatest) = (&summary.least, &summary.greatest);
        let holds = match (op, is_any) {
            (Operator::Lt | Operator::LtEq, true) | (Operator::Gt | Operator::GtEq, false) => to(greatest),
            (Operator::Gt | Operator::GtEq, true) | (Operator::Lt | Operator::LtEq, false) => to(least),
            (Operator::NotEq, _) => to(least).or(to(greatest)),
            (Operator::Eq, _) => to(least).and(to(greatest)),
            _ => return Err(not_supported(format!("{op} with ANY or ALL of a sub-query"))),
        };
        let decided = if is_any { holds } else { !holds };
        let open = summary.leaves_open(operand);
        Ok(case(vec![(decided, lit(is_any)), (open, unknown())], lit(!is_any)))
    }

    fn summary(&mut self, subquery: LogicalPlan, rows: &mut Rows, with_bounds: bool) -> Result<Summary> {
        let value = first_column(&subquery)?;
        let base = rows.base.clone();
        let correlation = Correlation::of(&subquery, &base)?;
        let free = Pusher::new(&correlation, &mut self.names).answers_of_all(subquery)?;
        let table = self.names.next("subquery");
        let (plan, keys, value) = answers(free, Some(value), &table)?;
        let value = value.map_or_else(null, Expr::Column);
        let mut aggregates = vec![count(lit(1_i64)).alias(ROWS), count(value.clone()).alias("known")];
        if with_bounds {
            aggregates.extend([min(value.clone()).alias("least"), max(value).alias("greatest")]);
        }
        let by = keys.iter().map(|k| Expr::Column(k.column.clone())).collect();
        let plan = alias(aggregate(plan, by, aggregates)?, &table)?;
        rows.replace(|outer| join(outer, plan, JoinType::Left, correlation.conditions(&keys)))?;
        let column = |name: &str| Expr::Column(Column::new(Some(table.clone()), name));
        let (least, greatest) = (column("least"), column("greatest"));
        Ok(Summary { rows: column(ROWS), known: column("known"), least, greatest })
    }
}

impl Summary {
    /// Whether a comparison with a NULL leaves open what the result is.
    fn leaves_open(&self, operand: Expr) -> Expr {
        let has_null = operand.is_null().or(self.known.clone().lt(self.rows.clone()));
        self.rows.clone().gt(lit(0_i64)).and(has_null)
    }
}

const VALUE: &str = "value#";
const MARKER: &str = "row#";
const ROWS: &str = "rows#";

/// Whether a plan groups by several sets: the engine takes the groups of all of them for no more than there are rows.
fn has_grouping_sets(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        Ok(matches!(node, LogicalPlan::Aggregate(Aggregate { group_expr, .. })
            if matches!(group_expr.as_slice(), [Expr::GroupingSet(_)])))
    })
}

/// A sub-query that depends on nothing is run once, beforehand.
fn scalar_alone(subquery: LogicalPlan) -> Result<Expr> {
    let value = first_column(&subquery)?;
    let name = value.name.clone();
    let subquery = project(subquery, vec![or_null(Expr::Column(value)).alias(name)])?;
    let subquery = Subquery { subquery: Arc::new(subquery), outer_ref_columns: Vec::new(), spans: Default::default() };
    Ok(Expr::ScalarSubquery(subquery))
}

/// A sub-query without rows of its own, `(SELECT a + b)`, is its expression.
fn computed(subquery: &LogicalPlan, correlation: &Correlation) -> Result<Option<Expr>> {
    match subquery {
        LogicalPlan::Projection(projection) => match projection.input.as_ref() {
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => {
                correlation.outward(projection.expr[0].clone().unalias()).map(Some)
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The answers under a table of their own: the keys, the value as `value#`, what else there is left out.
pub(super) fn answers(
    free: Free,
    value: Option<Column>,
    table: &str,
) -> Result<(LogicalPlan, Vec<Key>, Option<Column>)> {
    let has_marker = free.plan.schema().has_column(&Column::from_name(MARKER));
    let mut exprs: Vec<Expr> = value.iter().map(|v| Expr::Column(v.clone()).alias(VALUE)).collect();
    exprs.extend(has_marker.then(|| Expr::Column(Column::from_name(MARKER))));
    exprs.extend(free.keys.iter().map(|k| Expr::Column(k.column.clone()).alias(k.column.name.clone())));
    if exprs.is_empty() {
        exprs.push(lit(true).alias(MARKER));
    }
    let plan = alias(project(free.plan, exprs)?, table)?;
    let own = |name: &str| Column::new(Some(table.to_owned()), name);
    let keys = free.keys.into_iter().map(|k| Key { column: own(&k.column.name), ..k }).collect();
    Ok((plan, keys, value.map(|_| own(VALUE))))
}

fn with_marker(free: Free) -> Result<Free> {
    if free.on_empty.is_none() {
        return Ok(free);
    }
    let exprs = columns_of(&free.plan).into_iter().chain([lit(true).alias(MARKER)]).collect();
    Ok(Free { plan: project(free.plan, exprs)?, ..free })
}

/// The keys (and values) that there are, each once, with a marker that an outer join leaves NULL where there is none.
fn marked_keys(free: Free, value: Option<Column>, table: &str) -> Result<(LogicalPlan, Vec<Key>)> {
    let (plan, keys, _) = answers(free, value, table)?;
    let once = distinct(plan);
    let exprs = columns_of(&once).into_iter().chain([lit(true).alias(MARKER)]).collect();
    Ok((alias(project(once, exprs)?, table)?, keys))
}

/// One row a key, with the number of rows there were.
fn counted(plan: LogicalPlan, keys: &[Key], value: Option<&Column>, table: &str) -> Result<(LogicalPlan, Vec<Key>)> {
    let value = value.cloned().map_or_else(null, Expr::Column);
    let first = first_value_udaf().call(vec![value]).alias(VALUE);
    let by = keys.iter().map(|k| Expr::Column(k.column.clone())).collect();
    let plan = aggregate(plan, by, vec![first, count(lit(1_i64)).alias(ROWS)])?;
    Ok((alias(plan, table)?, keys.to_vec()))
}

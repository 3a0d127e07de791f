//! Conditions with EXISTS and IN: the rows that have an answer, or have none.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, NullEquality, Result, ScalarValue};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, Filter, Join, JoinConstraint, JoinType, LogicalPlan, Operator, Projection, lit,
};

use super::correlation::{Correlation, refers_out};
use super::pieces::{self, Rows, alias, column_exprs, first_column, project};
use super::push::Pusher;
use super::{Unnester, contains_subquery};

/// `EXISTS (subquery)`, or with an operand `operand IN (subquery)`.
struct Membership {
    operand: Option<Expr>,
    subquery: LogicalPlan,
    negated: bool,
}

/// Rows to compare with, and what they must fulfil.
struct Candidates {
    rows: LogicalPlan,
    conditions: Vec<Expr>,
    /// The expression that IN compares with.
    member: Option<Expr>,
}

impl Unnester {
    pub(super) fn filter(&mut self, plan: Filter) -> Result<LogicalPlan> {
        let columns = plan.input.schema().columns();
        let (with, without): (Vec<_>, Vec<_>) =
            split_conjunction_owned(plan.predicate).into_iter().partition(contains_subquery);
        let rows = pieces::filter(Arc::unwrap_or_clone(plan.input), without)?;
        let plan = self.over(rows, &mut |own, rows| own.filter_over(&with, rows))?;
        if plan.schema().fields().len() == columns.len() { Ok(plan) } else { project(plan, column_exprs(columns)) }
    }

    /// The rows that meet these conditions, perhaps with further columns.
    fn filter_over(&mut self, conditions: &[Expr], rows: LogicalPlan) -> Result<LogicalPlan> {
        let mut rows = Rows::new(rows);
        let mut rest = Vec::new();
        for condition in conditions {
            // Whether it is unknown or false is all the same for which rows stay.
            match membership(decided_by(condition).unwrap_or(condition).clone()) {
                Ok(membership) => self.members(membership, &mut rows)?,
                Err(other) => rest.push(other),
            }
        }
        let rest = rest.into_iter().map(|c| self.value(c, &mut rows)).collect::<Result<Vec<_>>>()?;
        pieces::filter(rows.plan, rest)
    }

    /// Leaves the rows for which the membership is true.
    fn members(&mut self, mut membership: Membership, rows: &mut Rows) -> Result<()> {
        membership.subquery = self.rewrite(membership.subquery)?;
        if let Some(operand) = membership.operand.take() {
            membership.operand = Some(self.value(operand, rows)?);
        } else {
            membership.subquery = without_row_order(membership.subquery);
            if !refers_out(&membership.subquery)? {
                let exists = self.exists(membership.subquery, rows)?;
                let condition = if membership.negated { !exists } else { exists };
                return rows.replace(|plan| pieces::filter(plan, vec![condition]));
            }
        }
        match candidates(&membership)? {
            Some(candidates) => self.matched(membership, candidates, rows),
            None => self.matched_by_keys(membership, rows),
        }
    }

    /// Joins with the rows of a plain sub-query on its own conditions.
    fn matched(&mut self, membership: Membership, candidates: Candidates, input: &mut Rows) -> Result<()> {
        let Candidates { rows, conditions, member } = candidates;
        let base = input.base.clone();
        let correlation = Correlation::of(&membership.subquery, &base)?;
        // The names of the rows' columns may be those of the input: they get others.
        let table = self.names.next("rows");
        let mut renamed: Vec<(Column, Column)> = Vec::new();
        let mut rename = |expr: Expr| {
            expr.transform(|e| {
                let Expr::Column(column) = e else { return Ok(Transformed::no(e)) };
                let known = renamed.iter().find(|(from, _)| *from == column).map(|(_, to)| to.clone());
                let to = known.unwrap_or_else(|| {
                    let to = Column::new(Some(table.clone()), format!("column#{}", renamed.len() + 1));
                    renamed.push((column, to.clone()));
                    to
                });
                Ok(Transformed::yes(Expr::Column(to)))
            })
            .map(|t| t.data)
        };
        let conditions = conditions.into_iter().map(&mut rename).collect::<Result<Vec<_>>>()?;
        let member = member.map(&mut rename).transpose()?;
        let mut conditions = conditions.into_iter().map(|c| correlation.outward(c)).collect::<Result<Vec<_>>>()?;
        let mut exprs: Vec<Expr> = renamed.into_iter().map(|(from, to)| Expr::Column(from).alias(to.name)).collect();
        if exprs.is_empty() {
            exprs.push(lit(true).alias("column#0"));
        }
        let rows = alias(project(rows, exprs)?, &table)?;
        if let (Some(operand), Some(member)) = (membership.operand, member) {
            if conditions.is_empty() && membership.negated && !operand.contains_outer() {
                return input.replace(|plan| none_equal(plan, rows, operand, member));
            }
            conditions.push(equal(&operand, &member, membership.negated, &input.plan, &rows)?);
        }
        input.replace(|plan| join_members(plan, rows, membership.negated, conditions))
    }

    /// Joins with the answers for all keys.
    fn matched_by_keys(&mut self, membership: Membership, input: &mut Rows) -> Result<()> {
        let base = input.base.clone();
        let correlation = Correlation::of(&membership.subquery, &base)?;
        let member = match membership.operand {
            Some(_) => Some(first_column(&membership.subquery)?),
            None => None,
        };
        let answers = Pusher::new(&correlation, &mut self.names).answers_of_all(membership.subquery)?;
        let table = self.names.next("rows");
        let (answers, keys, member) = super::value::answers(answers, member, &table)?;
        let mut conditions = correlation.conditions(&keys);
        if let (Some(operand), Some(member)) = (membership.operand, member) {
            conditions.push(equal(&operand, &Expr::Column(member), membership.negated, &input.plan, &answers)?);
        }
        input.replace(|plan| join_members(plan, answers, membership.negated, conditions))
    }
}

fn join_members(input: LogicalPlan, rows: LogicalPlan, negated: bool, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    let join_type = if negated { JoinType::LeftAnti } else { JoinType::LeftSemi };
    pieces::join(input, rows, join_type, conditions)
}

/// `operand = member`; for NOT IN whether that is true or unknown.
fn equal(operand: &Expr, member: &Expr, negated: bool, input: &LogicalPlan, rows: &LogicalPlan) -> Result<Expr> {
    let mut condition = operand.clone().eq(member.clone());
    if negated && operand.nullable(input.schema())? {
        condition = condition.or(operand.clone().is_null());
    }
    if negated && member.nullable(rows.schema())? {
        condition = condition.or(member.clone().is_null());
    }
    Ok(condition)
}

/// `operand NOT IN (rows)` where the rows depend on nothing: one NULL among them, and there is no answer.
fn none_equal(input: LogicalPlan, rows: LogicalPlan, operand: Expr, member: Expr) -> Result<LogicalPlan> {
    let null_aware = operand.nullable(input.schema())? || member.nullable(rows.schema())?;
    let joined = Join::try_new(
        Arc::new(input),
        Arc::new(rows),
        vec![(operand, member)],
        None,
        JoinType::LeftAnti,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        null_aware,
    )?;
    Ok(LogicalPlan::Join(joined))
}

/// The condition as a membership, where it is one.
fn membership(condition: Expr) -> Result<Membership, Expr> {
    let of = |operand, subquery: Arc<LogicalPlan>, negated| {
        Ok(Membership { operand, subquery: Arc::unwrap_or_clone(subquery), negated })
    };
    match condition {
        Expr::Exists(Exists { subquery, negated }) => of(None, subquery.subquery, negated),
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => of(Some(*expr), subquery.subquery, negated),
        Expr::SetComparison(SetComparison { expr, subquery, op: Operator::Eq, quantifier: SetQuantifier::Any }) => {
            of(Some(*expr), subquery.subquery, false)
        }
        Expr::SetComparison(SetComparison { expr, subquery, op: Operator::NotEq, quantifier: SetQuantifier::All }) => {
            of(Some(*expr), subquery.subquery, true)
        }
        Expr::Not(inner) => match membership(*inner) {
            Ok(inner) => Ok(Membership { negated: !inner.negated, ..inner }),
            Err(inner) => Err(Expr::Not(Box::new(inner))),
        },
        other => Err(other),
    }
}

/// What has to hold for `CASE WHEN it THEN true WHEN .. THEN NULL ELSE false END` to be true.
fn decided_by(condition: &Expr) -> Option<&Expr> {
    let Expr::Case(case) = condition else { return None };
    let [(decides, is_true), (_, unknown)] = case.when_then_expr.as_slice() else { return None };
    let truth = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Boolean(truth), _) => Some(*truth),
        _ => None,
    };
    let otherwise = case.else_expr.as_deref()?;
    let is_it = case.expr.is_none()
        && (truth(is_true), truth(unknown), truth(otherwise)) == (Some(Some(true)), Some(None), Some(Some(false)));
    is_it.then_some(&**decides)
}

/// The rows of a sub-query that is no more than conditions on rows that refer to nothing outside.
fn candidates(membership: &Membership) -> Result<Option<Candidates>> {
    let mut plan = without_row_order(membership.subquery.clone());
    let mut member = match membership.operand {
        Some(_) => Some(Expr::Column(first_column(&plan)?)),
        None => None,
    };
    while let LogicalPlan::Projection(projection) = plan {
        if let Some(of_output) = member {
            let Some(of_input) = before(of_output, &projection)? else { return Ok(None) };
            member = Some(of_input);
        }
        plan = without_row_order(Arc::unwrap_or_clone(projection.input));
    }
    let (rows, conditions) = match plan {
        LogicalPlan::Filter(filter) => (Arc::unwrap_or_clone(filter.input), split_conjunction_owned(filter.predicate)),
        other => (other, Vec::new()),
    };
    if refers_out(&rows)? || member.as_ref().is_some_and(Expr::contains_outer) {
        return Ok(None);
    }
    let (conditions, own): (Vec<_>, Vec<_>) = conditions.into_iter().partition(Expr::contains_outer);
    if conditions.is_empty() && member.is_none() {
        return Ok(None);
    }
    let rows = pieces::filter(rows, own)?;
    Ok(Some(Candidates { rows, conditions, member }))
}

/// An expression over what a projection gives, as one over what it reads. `None` where it cannot be computed anywhere else.
fn before(expr: Expr, projection: &Projection) -> Result<Option<Expr>> {
    let columns = projection.schema.columns();
    let mut stays = true;
    let replaced = expr.transform(|part| {
        let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
        let computed = columns.iter().position(|c| c == column).map(|at| projection.expr[at].clone().unalias());
        Ok(match computed.filter(|computed| !computed.is_volatile() && !contains_subquery(computed)) {
            Some(computed) => Transformed::new(computed, true, TreeNodeRecursion::Jump),
            None => {
                stays = false;
                Transformed::no(part)
            }
        })
    })?;
    Ok(stays.then_some(replaced.data))
}

/// The plan without what does not change which rows there are at least once.
pub(super) fn without_row_order(plan: LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => without_row_order(Arc::unwrap_or_clone(sort.input)),
        LogicalPlan::Distinct(Distinct::All(input)) => without_row_order(Arc::unwrap_or_clone(input)),
        other => other,
    }
}

//! Constant parts of a statement, computed before it reads anything.
//!
//! PostgreSQL computes them while it plans (`eval_const_expressions`) and raises what they raise, even where no row is
//! read. The engine's own simplifier does not raise such errors: it leaves the expression to be evaluated for the first
//! row, if there is one. So this pass runs before it and replaces constant parts by their values.
//!
//! [`expression`] says what is computed and what is skipped: the branches that a constant condition decides against.
//! [`foldable`] finds the expressions in which there is something to compute, [`immutable`] what may be computed at all.

mod expression;
mod foldable;
mod immutable;

use std::cell::OnceCell;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

pub(crate) use self::foldable::is_coalesce;
pub(crate) use self::immutable::is_immutable_cast;
use super::typed::ValueType;

/// Whether the plan has constant parts to compute.
///
/// # Errors
/// None are expected: the walk through the expressions returns a `Result`, but nothing in it fails.
pub(crate) fn is_foldable(plan: &LogicalPlan) -> SqlResult<bool> {
    Ok(foldable::has_foldable_expression(plan)?)
}

/// Whether the expression has constant parts to compute; a value on its own is none.
///
/// # Errors
/// None are expected: the walk through the expressions returns a `Result`, but nothing in it fails.
pub(crate) fn has_constant_part(expr: &Expr) -> Result<bool> {
    match unaliased(expr) {
        Expr::Literal(..) => Ok(false),
        other => foldable::has_foldable_part(other),
    }
}

/// Computes the constant parts of a plan whose expressions are typed and whose parameters are values. The plan is taken apart for
/// it, so whether it [`is_foldable`] is asked before.
///
/// # Errors
/// The errors of evaluating the expressions.
pub(crate) fn folded(plan: LogicalPlan, props: &ExecutionProps) -> SqlResult<LogicalPlan> {
    Ok(Fold { props }.plan(plan)?.data)
}

/// Computes the constant parts of an expression over these columns, whose parameters are values.
///
/// # Errors
/// The errors of evaluating them.
pub(crate) fn folded_over(expr: Expr, read: &DFSchemaRef, props: &ExecutionProps) -> SqlResult<Expr> {
    let columns = Columns { inputs: vec![Arc::clone(read)], merged: OnceCell::new() };
    Ok(Fold { props }.expression(expr, &columns)?)
}

/// The columns of a query that are constants, by their places, each with its type.
pub(crate) fn constants(plan: &LogicalPlan) -> Vec<(usize, &ScalarValue, SqlType)> {
    let exprs = match plan {
        LogicalPlan::Projection(projection) => &projection.expr,
        LogicalPlan::Sort(sort) => return constants(&sort.input),
        LogicalPlan::Limit(limit) => return constants(&limit.input),
        LogicalPlan::SubqueryAlias(alias) => return constants(&alias.input),
        _ => return Vec::new(),
    };
    let schema = plan.schema();
    let constant = |(place, expr): (usize, _)| match unaliased(expr) {
        Expr::Literal(value, _) => Some((place, value, ValueType::of_field(schema.field(place)).sql_type)),
        _ => None,
    };
    exprs.iter().enumerate().filter_map(constant).collect()
}

/// What an expression is under its names.
pub(crate) fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

struct Fold<'a> {
    props: &'a ExecutionProps,
}

impl Fold<'_> {
    /// A query's own expressions first, then those of what it reads, as PostgreSQL plans it.
    fn plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let columns = Columns::of(&plan);
        let names = NamePreserver::new(&plan);
        let own = plan.map_expressions(|expr| self.named(expr, &names, &columns))?;
        let whole = own.data.map_children(|input| self.plan(input))?;
        if !own.transformed && !whole.transformed {
            return Ok(Transformed::no(whole.data));
        }
        whole.data.recompute_schema().map(Transformed::yes)
    }

    /// An expression of a plan under the name it had.
    fn named(&self, expr: Expr, names: &NamePreserver, columns: &Columns) -> Result<Transformed<Expr>> {
        if !foldable::has_foldable_part(&expr)? {
            return Ok(Transformed::no(expr));
        }
        let rename = |expr: Expr| -> Result<Expr> {
            let name = names.save(&expr);
            Ok(name.restore(self.expression(expr, columns)?))
        };
        let all = |exprs: Vec<Expr>| exprs.into_iter().map(rename).collect::<Result<Vec<_>>>();
        Ok(Transformed::yes(match expr {
            // The names are those of the expressions in it.
            Expr::GroupingSet(set) => Expr::GroupingSet(match set {
                GroupingSet::Rollup(exprs) => GroupingSet::Rollup(all(exprs)?),
                GroupingSet::Cube(exprs) => GroupingSet::Cube(all(exprs)?),
                GroupingSet::GroupingSets(sets) => {
                    GroupingSet::GroupingSets(sets.into_iter().map(all).collect::<Result<_>>()?)
                }
            }),
            other => rename(other)?,
        }))
    }
}

/// The columns that an expression may name, put together once one is asked for.
struct Columns {
    inputs: Vec<DFSchemaRef>,
    merged: OnceCell<DFSchema>,
}

impl Columns {
    fn of(plan: &LogicalPlan) -> Self {
        let inputs = plan.inputs().into_iter().map(|input| input.schema().clone()).collect();
        Self { inputs, merged: OnceCell::new() }
    }

    fn schema(&self) -> &DFSchema {
        match self.inputs.as_slice() {
            [only] => only,
            inputs => self.merged.get_or_init(|| {
                inputs.iter().fold(DFSchema::empty(), |mut merged, input| {
                    merged.merge(input);
                    merged
                })
            }),
        }
    }
}

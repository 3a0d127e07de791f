//! The pass over a fresh plan that gives every expression PostgreSQL's type and operator.
//!
//! It goes from the leaves up, so that the columns an expression names have their final types; a sub-query is typed where it
//! stands, with the columns around it in sight. Column names stay what they were: expressions above refer to them.

mod aggregate;
mod array;
mod bound;
mod cast;
mod chains;
mod conditional;
mod costs;
mod identity;
mod keyed;
mod listed;
mod node;
mod outputs;
mod plans;
mod predicate;
mod rows;
mod sets;
mod sorted_set;

use std::cell::RefCell;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, DataFusionError, ExprSchema as _, Result};
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, Subquery};
use tablegate_types::error::{SqlError, SqlResult};

pub(crate) use self::bound::{Forms, Surroundings, bound as engine_form};
use super::operand::Operand;
use super::parameters::Parameters;
use crate::stoppable;

/// Gives every expression of a plan its type.
///
/// # Errors
/// 42883 for an operator that does not exist, 42804 and 42846 for types that do not go together, and what the input
/// function
/// of a type says of a literal (22P02, 22007, ...).
pub(crate) fn typed(plan: LogicalPlan, parameters: &Parameters<'_>) -> SqlResult<LogicalPlan> {
    let pass = Pass { parameters, outer: RefCell::new(Vec::new()) };
    Ok(pass.plan(plan)?)
}

struct Pass<'a> {
    parameters: &'a Parameters<'a>,
    /// The columns around the sub-query being typed, innermost last.
    outer: RefCell<Vec<DFSchemaRef>>,
}

impl Pass<'_> {
    fn parameters(&self) -> &Parameters<'_> {
        self.parameters
    }

    fn plan(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        self.below(plan, false)
    }

    /// A plan, its inputs first. What stands in a lateral sub-query sees the other side of its join: `beside` one it is
    /// typed with the join.
    fn below(&self, plan: LogicalPlan, beside: bool) -> Result<LogicalPlan> {
        let plan = match plan {
            LogicalPlan::Subquery(subquery) if beside => return Ok(LogicalPlan::Subquery(subquery)),
            LogicalPlan::Subquery(subquery) => return self.subquery_within(subquery).map(LogicalPlan::Subquery),
            // Its recursive term reads what the other term gives.
            LogicalPlan::RecursiveQuery(query) => return self.recursive_query(query),
            LogicalPlan::Join(mut join) => {
                join.left = Arc::new(self.below(Arc::unwrap_or_clone(join.left), beside)?);
                join.right = Arc::new(self.below(Arc::unwrap_or_clone(join.right), true)?);
                LogicalPlan::Join(join)
            }
            other => other.map_children(|input| self.below(input, beside).map(Transformed::yes))?.data,
        };
        self.node(plan)
    }

    fn node(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        stoppable::check()?;
        let plan = match plan {
            LogicalPlan::Join(join) => LogicalPlan::Join(self.lateral(join)?),
            other => other,
        };
        let schema = merge_schema(&plan.inputs());
        if matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_)) {
            let condition = |expr: Expr| chains::guarded(costs::cheapest_first(self.parts_typed(expr, &schema)?)?);
            let plan = plan.map_expressions(|expr| condition(expr).map(Transformed::yes))?.data;
            return self.finished(plan, &schema);
        }
        let names = NamePreserver::new(&plan);
        let plan = plan.map_expressions(|expr| self.named(expr, &names, &schema).map(Transformed::yes))?.data;
        self.finished(plan, &schema)
    }

    /// An expression of a plan under the name it had.
    fn named(&self, expr: Expr, names: &NamePreserver, schema: &DFSchema) -> Result<Expr> {
        let rename = |expr: Expr| -> Result<Expr> {
            let name = names.save(&expr);
            Ok(name.restore(self.expression(expr, schema)?))
        };
        let all = |exprs: Vec<Expr>| exprs.into_iter().map(rename).collect::<Result<Vec<_>>>();
        Ok(match expr {
            // The names are those of the expressions in it.
            Expr::GroupingSet(set) => Expr::GroupingSet(match set {
                GroupingSet::Rollup(exprs) => GroupingSet::Rollup(all(exprs)?),
                GroupingSet::Cube(exprs) => GroupingSet::Cube(all(exprs)?),
                GroupingSet::GroupingSets(sets) => {
                    GroupingSet::GroupingSets(sets.into_iter().map(all).collect::<Result<_>>()?)
                }
            }),
            other => rename(other)?,
        })
    }

    fn expression(&self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        chains::guarded(self.parts_typed(expr, schema)?)
    }

    fn parts_typed(&self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        let typed = |expr: Expr| {
            stoppable::check()?;
            self.typed(expr, schema).map(Transformed::yes)
        };
        chains::texts_evenly(expr.transform_up(typed)?.data)
    }

    /// Types what stands in a lateral sub-query, now that the other side is typed.
    fn lateral(&self, mut join: Join) -> Result<Join> {
        let outer = join.left.schema().clone();
        let right = Arc::unwrap_or_clone(join.right);
        let typed = right.transform_up(|plan| match plan {
            LogicalPlan::Subquery(subquery) => {
                Ok(Transformed::yes(LogicalPlan::Subquery(self.subquery(subquery, &outer)?)))
            }
            LogicalPlan::SubqueryAlias(_) => plan.recompute_schema().map(Transformed::yes),
            other => Ok(Transformed::no(other)),
        })?;
        join.right = Arc::new(typed.data);
        Ok(join)
    }

    fn subquery(&self, subquery: Subquery, schema: &DFSchemaRef) -> Result<Subquery> {
        self.outer.borrow_mut().push(schema.clone());
        let typed = self.subquery_within(subquery);
        self.outer.borrow_mut().pop();
        typed
    }

    fn subquery_within(&self, subquery: Subquery) -> Result<Subquery> {
        let plan = self.plan(Arc::unwrap_or_clone(subquery.subquery))?;
        let columns = subquery.outer_ref_columns.into_iter().map(|column| self.outer_column(column));
        Ok(Subquery {
            subquery: Arc::new(plan),
            outer_ref_columns: columns.collect::<Result<_>>()?,
            spans: subquery.spans,
        })
    }

    /// A column of a query around this one, with the type it has there now.
    fn outer_column(&self, expr: Expr) -> Result<Expr> {
        let Expr::OuterReferenceColumn(field, column) = expr else { return Ok(expr) };
        let outer = self.outer.borrow();
        let found = outer.iter().rev().find_map(|schema| schema.field_from_column(&column).ok().cloned());
        Ok(Expr::OuterReferenceColumn(found.unwrap_or(field), column))
    }

    fn operand(&self, expr: Expr, schema: &DFSchema) -> Result<Operand> {
        Operand::of(expr, schema)
    }
}

/// One of our errors on its way through the planner.
fn raised(error: Box<SqlError>) -> DataFusionError {
    DataFusionError::External(error)
}

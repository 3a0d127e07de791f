//! Lists of IN that the optimizer would take for another one.
//!
//! It makes one list of two about the same value. It holds items that are written differently for different: it takes `a IN (b, 1) AND
//! a IN (c, 2)` for false, and `a IN ($1, $2) AND a IN ($3, $4)` where parameters stand in their places. And it forgets NULL: it takes
//! `a NOT IN (1, 2) OR a NOT IN (3, 4)` for true, and `a IN (1, 2) AND a NOT IN (1, NULL)` for `a = 2`. So where there are several such
//! lists, they are written as the comparisons that they stand for. What is no constant always is: the engine takes a CASE over columns
//! for one, because it gives a single value for no rows.

use std::collections::HashMap;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::expr::{conjunction, disjunction};

/// The plan, whose lists mean to the optimizer what they mean.
///
/// # Errors
/// None are expected: walking through a plan returns a `Result`, but nothing in it fails.
pub(super) fn told(plan: LogicalPlan) -> Result<LogicalPlan> {
    let (mut lists, mut are_constant, mut have_nulls) = (0_usize, true, false);
    let mut excluded: HashMap<Expr, usize> = HashMap::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::InList(list) = part {
                    lists += 1;
                    are_constant &= !is_open(list);
                    have_nulls |= has_null(list);
                    if list.negated {
                        *excluded.entry(list.expr.as_ref().clone()).or_default() += 1;
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    if are_constant && (lists < 2 || !have_nulls && excluded.values().all(|lists| *lists < 2)) {
        return Ok(plan);
    }
    let is_mistaken = |list: &InList| {
        let is_excluded_twice = list.negated && excluded.get(&*list.expr).is_some_and(|lists| *lists > 1);
        is_open(list) || has_null(list) || is_excluded_twice
    };
    let told = plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|part| match part {
                Expr::InList(list) if is_mistaken(&list) && !list.expr.is_volatile() => {
                    Ok(Transformed::yes(compared(list)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(told.data)
}

/// Whether it has items that are no constants.
fn is_open(list: &InList) -> bool {
    list.list.iter().any(|item| !matches!(item, Expr::Literal(..)))
}

fn has_null(list: &InList) -> bool {
    list.list.iter().any(|item| matches!(item, Expr::Literal(value, _) if value.is_null()))
}

fn compared(list: InList) -> Expr {
    let InList { expr: value, list: items, negated } = list;
    let value = *value;
    let comparisons = items.iter().map(|item| match negated {
        true => value.clone().not_eq(item.clone()),
        false => value.clone().eq(item.clone()),
    });
    let compared = if negated { conjunction(comparisons) } else { disjunction(comparisons) };
    compared.unwrap_or_else(|| Expr::InList(InList { expr: Box::new(value), list: items, negated }))
}

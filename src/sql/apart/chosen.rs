//! Lists of sorted values of which a query makes use of one value each, as `mode` and `percentile_disc` do.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::projection::ProjectionExec;

use crate::expr::{Choice, choice_of};
use crate::passing::Plan;

/// What the uppermost node of a plan chooses of the lists in columns of its input.
///
/// # Errors
/// None is expected: looking fails nowhere.
pub(super) fn choices_of(plan: &Plan) -> Result<Vec<(usize, Choice)>> {
    match plan.downcast_ref::<ProjectionExec>() {
        Some(projection) => choices(projection.expr().iter().map(|projected| &projected.expr)),
        None => Ok(Vec::new()),
    }
}

/// The columns that are used for one choice, and nothing else.
fn choices<'e>(exprs: impl Iterator<Item = &'e Arc<dyn PhysicalExpr>>) -> Result<Vec<(usize, Choice)>> {
    let mut uses: HashMap<usize, Option<Choice>> = HashMap::new();
    for expr in exprs {
        expr.apply(|part| {
            let choice = part.downcast_ref::<ScalarFunctionExpr>().and_then(choice_of);
            if let Some((column, choice)) = choice {
                let known = uses.entry(column).or_insert(Some(choice));
                *known = known.filter(|known| *known == choice);
                return Ok(TreeNodeRecursion::Jump);
            }
            if let Some(column) = part.downcast_ref::<Column>() {
                uses.insert(column.index(), None);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let mut choices: Vec<_> = uses.into_iter().filter_map(|(column, choice)| Some((column, choice?))).collect();
    choices.sort_by_key(|(column, _)| *column);
    Ok(choices)
}

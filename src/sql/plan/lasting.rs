//! Plans that are optimized once for all runs: their parameters stand in their places, and so does what they ask of the moment.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use tablegate_types::error::SqlResult;
use tablegate_types::style::Style;

use super::asked::Asked;
use super::assigned::{Receiver, check_constants};
use super::in_lists;
use crate::engine::Engine;
use crate::expr::{folded, is_foldable, unaliased};

/// An optimized plan.
pub(super) struct Lasting {
    pub plan: LogicalPlan,
    /// What stands in it in the places of calls.
    pub asked: Asked,
}

impl Lasting {
    /// The plan that the optimizer makes of one; `None` where it would not be the same in each run.
    ///
    /// # Errors
    /// The optimizer's, which it would give for the same query in a run too.
    pub(super) fn of(
        plan: &LogicalPlan,
        style: Style,
        receivers: &[Receiver],
        engine: &Engine,
    ) -> SqlResult<Option<Self>> {
        let (mut plan, asked) = Asked::taken_out(plan.clone())?;
        if is_foldable(&plan)? {
            // What is wrong with a constant is told by the long way, in each run.
            let folded = match style == Style::PLAIN {
                true => folded(plan, engine.timeless()),
                // No constant asks the time.
                false => folded(plan, &engine.moment(&engine.moments(None, style))),
            };
            let Ok(folded) = folded else { return Ok(None) };
            if check_constants(&folded, receivers, style).is_err() {
                return Ok(None);
            }
            plan = folded;
        }
        let plan = engine.state().optimize(&in_lists::told(plan)?)?;
        Ok(Some(Self { plan: with_parts_of_runs(plan)?, asked }))
    }
}

/// The plan with what the optimizer computes once for several places, where it is of no row, in these places again: it is a constant
/// in each run, and a read by key needs no list below its list for it.
fn with_parts_of_runs(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up(|node| {
        let LogicalPlan::Projection(list) = &node else { return Ok(Transformed::no(node)) };
        let LogicalPlan::Projection(below) = &*list.input else { return Ok(Transformed::no(node)) };
        let is_of_run = |expr: &Expr| matches!(expr, Expr::Column(_)) || !expr.any_column_refs();
        if !below.expr.iter().all(|expr| is_of_run(unaliased(expr))) {
            return Ok(Transformed::no(node));
        }
        let put_back = |part: Expr| {
            let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
            let place = below.schema.maybe_index_of_column(column);
            Ok(match place.and_then(|place| below.expr.get(place)) {
                Some(expr) => Transformed::yes(unaliased(expr).clone()),
                None => Transformed::no(part),
            })
        };
        let exprs = list.expr.iter().map(|expr| {
            let (qualifier, name) = expr.qualified_name();
            let whole = expr.clone().transform(put_back).data()?;
            Ok(match whole.qualified_name() == (qualifier.clone(), name.clone()) {
                true => whole,
                false => whole.alias_qualified(qualifier, name),
            })
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        Projection::try_new(exprs, Arc::clone(&below.input)).map(|list| Transformed::yes(LogicalPlan::Projection(list)))
    })
    .data()
}

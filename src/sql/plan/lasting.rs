//! Plans that are optimized once for all runs: their parameters stand in their places, and so does what they ask of the moment.

use datafusion::logical_expr::LogicalPlan;
use tablegate_types::error::SqlResult;
use tablegate_types::style::Style;

use super::asked::Asked;
use super::assigned::{Receiver, check_constants};
use super::in_lists;
use crate::engine::Engine;
use crate::expr::{folded, is_foldable};

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
            if style != Style::PLAIN {
                return Ok(None);
            }
            // What is wrong with a constant is told by the long way, in each run.
            let Ok(folded) = folded(plan, engine.timeless()) else { return Ok(None) };
            if check_constants(&folded, receivers, style).is_err() {
                return Ok(None);
            }
            plan = folded;
        }
        Ok(Some(Self { plan: engine.state().optimize(&in_lists::told(plan)?)?, asked }))
    }
}

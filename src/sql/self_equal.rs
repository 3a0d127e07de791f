//! Conditions that a column is what is computed of it: `lower(name) = name`.
//!
//! The engine takes what a filter says to be equal for one and the same, and puts one in the place of the other when it asks how rows are
//! sorted. With a column within what it is equal to, it comes to no end of that, and takes no sort by the column for one: it refuses
//! its own plan. So such a condition is asked in a form that says nothing of its columns.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr};
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};

use crate::passing::Plan;

type Condition = Arc<dyn PhysicalExpr>;

/// The rule. It comes before those that look for sorts.
#[derive(Debug)]
pub(crate) struct SelfEqualities;

impl PhysicalOptimizerRule for SelfEqualities {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
            let conditions = split_conjunction(filter.predicate());
            if !conditions.iter().any(|condition| is_self_equality(condition)) {
                return Ok(Transformed::no(node));
            }
            let conditions = conditions.into_iter().map(|condition| match is_self_equality(condition) {
                true => Arc::new(CastExpr::new(Arc::clone(condition), DataType::Boolean, None)),
                false => Arc::clone(condition),
            });
            let filter = FilterExecBuilder::from(filter).with_predicate(conjunction(conditions)).build()?;
            Ok(Transformed::yes(Arc::new(filter) as Plan))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "self_equalities"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_self_equality(condition: &Condition) -> bool {
    let Some(equal) = condition.downcast_ref::<BinaryExpr>().filter(|condition| *condition.op() == Operator::Eq) else {
        return false;
    };
    is_within(equal.left(), equal.right()) || is_within(equal.right(), equal.left())
}

/// Whether an expression is computed of another one.
fn is_within(part: &Condition, whole: &Condition) -> bool {
    whole.children().into_iter().any(|child| child == part || is_within(part, child))
}

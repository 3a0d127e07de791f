//! Windows that are partitioned or sorted by what is computed of columns that equal others, as in `PARTITION BY a + b, c` where `a = b`.
//!
//! The engine puts one of equal columns in the place of the other when it asks how rows are sorted. It then does not find the window's
//! own expressions among those that it has sorted the rows by, and refuses its plan. So such a window's rows are told to have no
//! columns that equal others: they are sorted by just what the window says.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use crate::false_order::UnseenExec;
use crate::passing::{Plan, with_children};

/// The rule. It comes before those that look for sorts.
#[derive(Debug)]
pub(crate) struct KeysOfWindows;

impl PhysicalOptimizerRule for KeysOfWindows {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| match input_and_keys(&node) {
            Some((input, keys)) if keys.iter().any(|key| is_of_equal_columns(key, &input)) => {
                let unseen: Plan = Arc::new(UnseenExec::lasting(input));
                with_children(node, vec![unseen]).map(Transformed::yes)
            }
            _ => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "keys_of_windows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type Key = Arc<dyn PhysicalExpr>;

/// The rows of a window, and what it is partitioned and sorted by.
fn input_and_keys(node: &Plan) -> Option<(Plan, Vec<Key>)> {
    let (input, windows) = if let Some(window) = node.downcast_ref::<WindowAggExec>() {
        (window.input(), window.window_expr())
    } else {
        let window = node.downcast_ref::<BoundedWindowAggExec>()?;
        (window.input(), window.window_expr())
    };
    let window = windows.first()?;
    let sorted = window.order_by().iter().map(|item| Arc::clone(&item.expr));
    Some((Arc::clone(input), window.partition_by().iter().cloned().chain(sorted).collect()))
}

/// Whether it is computed of a column that equals another one, or a constant.
fn is_of_equal_columns(key: &Key, input: &Plan) -> bool {
    if key.is::<Column>() {
        return false;
    }
    let classes = input.equivalence_properties().eq_group();
    collect_columns(key).into_iter().any(|column| {
        let column: Key = Arc::new(column);
        classes.get_equivalence_class(&column).is_some()
    })
}

//! Window frames that DataFusion's planner would refuse although they mean something simpler.
//!
//! A RANGE frame whose bounds are only UNBOUNDED and CURRENT ROW counts whole groups of equal rows: it never computes with
//! the values it orders by. PostgreSQL has it as the default for every type, DataFusion for those it can add to. For the
//! others the same frame is written in GROUPS.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrame, WindowFrameBound, WindowFrameUnits};
use tablegate_types::error::SqlResult;

/// Writes such frames in GROUPS, in the plan and all sub-queries.
///
/// # Errors
/// When an expression has no type.
pub(super) fn in_groups(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|node| {
        if !matches!(node, LogicalPlan::Window(_)) {
            return Ok(Transformed::no(node));
        }
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(expr.transform_up(|expr| rewrite(expr, &schema))?.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(rewritten.data)
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
    let changed = needs_groups(&window, schema)?;
    if changed {
        let WindowFrame { start_bound, end_bound, .. } = window.params.window_frame;
        window.params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start_bound, end_bound);
    }
    Ok(Transformed::new_transformed(Expr::WindowFunction(window), changed))
}

fn needs_groups(window: &WindowFunction, schema: &DFSchema) -> Result<bool> {
    let frame = &window.params.window_frame;
    let Some(first) = window.params.order_by.first() else { return Ok(false) };
    if frame.units != WindowFrameUnits::Range || !is_whole(&frame.start_bound) || !is_whole(&frame.end_bound) {
        return Ok(false);
    }
    Ok(!is_computed_with(&first.expr.get_type(schema)?))
}

fn is_whole(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::CurrentRow => true,
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => ScalarValue::is_null(offset),
    }
}

/// The types that DataFusion takes for RANGE.
fn is_computed_with(data_type: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, FixedSizeList, LargeList, List, Null, Timestamp};
    data_type.is_numeric()
        || data_type.is_string()
        || matches!(data_type, Boolean | Null | Date32 | Date64 | Timestamp(..))
        || matches!(data_type, List(_) | LargeList(_) | FixedSizeList(..))
}

//! Window frames that the engine would refuse although they mean something simpler.
//!
//! A RANGE frame whose bounds are only UNBOUNDED and CURRENT ROW counts whole groups of equal rows: it never computes with
//! the values it orders by. PostgreSQL has it as the default for every type, the engine for those it can add to. For the
//! others the same frame is written in GROUPS.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};

/// Writes such a frame in GROUPS.
pub(super) fn in_groups(window: &mut WindowFunction, schema: &DFSchema) -> Result<()> {
    let frame = &window.params.window_frame;
    let Some(first) = window.params.order_by.first() else { return Ok(()) };
    let is_simple =
        frame.units == WindowFrameUnits::Range && is_whole(&frame.start_bound) && is_whole(&frame.end_bound);
    if is_simple && !is_computed_with(&first.expr.get_type(schema)?) {
        let (start, end) = (frame.start_bound.clone(), frame.end_bound.clone());
        window.params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start, end);
    }
    Ok(())
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

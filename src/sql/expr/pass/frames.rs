//! Window frames that the engine would refuse: some mean something simpler, others are computed by functions of our own.
//!
//! A RANGE frame whose bounds are only UNBOUNDED and CURRENT ROW counts whole groups of equal rows: it never computes with
//! the values it orders by. PostgreSQL has it as the default for every type, the engine for those it can add to. For the
//! others the same frame is written in GROUPS.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};

use crate::expr::windows::{Bounds, Displaced, Exclusion, Framed, Of, Tiles, definition};

/// Aggregates of the engine, and of ours under its names, that take rows off again when a frame moves on.
const SLIDING: &[&str] =
    &["count", "sum", "min", "max", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"];

/// What a frame is beyond what the engine's frames say.
#[derive(Debug)]
pub(super) struct BeyondFrame {
    pub exclusion: Exclusion,
    /// Bounds that are computed, and their distances.
    pub bounds: Option<(Bounds, Vec<Expr>)>,
}

impl Default for BeyondFrame {
    fn default() -> Self {
        Self { exclusion: Exclusion::NoOthers, bounds: None }
    }
}

impl BeyondFrame {
    /// Has a function of ours compute it where the engine's does not.
    pub(super) fn computed_by(self, window: &mut WindowFunction) {
        let is_simple = self.exclusion == Exclusion::NoOthers && self.bounds.is_none();
        let arguments = &window.params.args;
        let is_computed = |at: usize| arguments.get(at).is_some_and(|argument| !is_positive(argument));
        let of = match &window.fun {
            WindowFunctionDefinition::AggregateUDF(aggregate) => {
                let slides = is_whole(&window.params.window_frame.start_bound)
                    && window.params.window_frame.start_bound != WindowFrameBound::CurrentRow;
                if is_simple && (slides || SLIDING.contains(&aggregate.name())) {
                    return;
                }
                Of::Aggregate(aggregate.clone())
            }
            WindowFunctionDefinition::WindowUDF(function) => match function.name() {
                "ntile" => return window.fun = definition(Tiles::new()),
                name @ ("lag" | "lead") if is_computed(1) || is_computed_default(arguments.get(2)) => {
                    return window.fun = definition(Displaced::new(name == "lead"));
                }
                "first_value" if !is_simple => Of::First,
                "last_value" if !is_simple => Of::Last,
                "nth_value" if !is_simple || is_computed(1) => Of::Nth,
                _ => return,
            },
        };
        let filter = window.params.filter.take();
        let (bounds, distances) = self.bounds.unzip();
        window.fun = definition(Framed::new(of, filter.is_some(), bounds, self.exclusion));
        window.params.args.extend(filter.map(|filter| *filter));
        window.params.args.extend(distances.unwrap_or_default());
    }
}

/// Whether it is a number above zero that is written out.
fn is_positive(argument: &Expr) -> bool {
    matches!(argument, Expr::Literal(ScalarValue::Int64(Some(number)), _) if *number > 0)
}

fn is_computed_default(default: Option<&Expr>) -> bool {
    default.is_some_and(|default| !matches!(default, Expr::Literal(..)))
}

/// Writes such a frame in GROUPS.
pub(super) fn in_groups(window: &mut WindowFunction, schema: &DFSchema) -> Result<()> {
    let frame = &window.params.window_frame;
    let Some(first) = window.params.order_by.first() else {
        // All rows are peers then.
        if frame.units == WindowFrameUnits::Range {
            window.params.window_frame = WindowFrame::new(None);
        }
        return Ok(());
    };
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

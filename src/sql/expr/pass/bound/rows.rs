//! Aggregates and window functions: calls over several rows.

use std::sync::Arc;

use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_window::all_default_window_functions;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::utils::COUNT_STAR_EXPANSION;
use datafusion::logical_expr::{AggregateUDF, Expr, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits};
use tablegate_bind::BoundQuery;
use tablegate_bind::expr::{BoundExpr, ExprKind, Literal, OverRows, Window};
use tablegate_bind::query::bound::{BoundWindow, Frame, FrameBound, FrameUnit};

use super::{Surroundings, formed};
use crate::expr::aggregates::{self, SUM_OF};
use crate::expr::pass::Pass;
use crate::expr::pass::outputs::window_value;

impl Pass<'_> {
    /// An aggregate whose value hangs on each of its arguments alone; those of sorted rows and of lists have no form yet.
    pub(super) fn bound_aggregate(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> Result<Option<Expr>> {
        if rows.within_group || !has_one_delimiter(name, arguments) {
            return Ok(None);
        }
        self.or_average(name, around, &|name| {
            let Some(function) = aggregate_named(name) else { return Ok(None) };
            let order = formed!(self.bound_order(rows, around));
            let filter = formed!(self.bound_filter(rows, around));
            let arguments = formed!(self.bound_arguments(arguments, rows, around));
            let call = AggregateFunction::new_udf(function, arguments, rows.is_distinct, filter, order, None);
            self.aggregate(call, around.schema()).map(Some)
        })
    }

    /// A function, or an aggregate, over a window of the query.
    pub(super) fn bound_window_call(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> Result<Option<Expr>> {
        let (Some(Window::Numbered(number)), Some(query)) = (&rows.window, around.query()) else { return Ok(None) };
        let Some(window) = query.windows.get(*number) else { return Ok(None) };
        if rows.within_group || rows.is_distinct || !rows.order.is_empty() || !has_one_delimiter(name, arguments) {
            return Ok(None);
        }
        self.or_average(name, around, &|name| {
            let Some(function) = over_windows(name) else { return Ok(None) };
            let arguments = formed!(self.bound_arguments(arguments, rows, around));
            let mut call = WindowFunction::new(function, arguments);
            call.params.filter = formed!(self.bound_filter(rows, around));
            formed!(self.bound_window(window, query, &mut call, around));
            let call = self.window(call, around.schema())?;
            window_value(call, around.schema()).map(Some)
        })
    }

    /// The average is a sum and a count, which are computed together with those that are asked for.
    fn or_average(
        &self,
        name: &str,
        around: &dyn Surroundings,
        call: &dyn Fn(&str) -> Result<Option<Expr>>,
    ) -> Result<Option<Expr>> {
        if name != "avg" {
            return call(name);
        }
        let (sum, count) = (formed!(call(SUM_OF)), formed!(call("count")));
        let (sum, count) = (self.operand(sum, around.schema())?, self.operand(count, around.schema())?);
        self.average(sum, count).map(Some)
    }

    fn bound_arguments(
        &self,
        arguments: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> Result<Option<Vec<Expr>>> {
        if rows.is_star {
            return Ok(Some(vec![Expr::Literal(COUNT_STAR_EXPANSION, None)]));
        }
        let operands = formed!(self.bound_operands(arguments, around));
        Ok(Some(operands.into_iter().map(|operand| operand.expr).collect()))
    }

    #[expect(clippy::option_option, reason = "no filter is another absence than one that has no form")]
    fn bound_filter(&self, rows: &OverRows, around: &dyn Surroundings) -> Result<Option<Option<Box<Expr>>>> {
        let Some(filter) = &rows.filter else { return Ok(Some(None)) };
        Ok(self.bound(filter, around)?.map(|filter| Some(Box::new(filter))))
    }

    fn bound_order(&self, rows: &OverRows, around: &dyn Surroundings) -> Result<Option<Vec<SortExpr>>> {
        let mut order = Vec::with_capacity(rows.order.len());
        for key in &rows.order {
            let expr = formed!(self.bound(&key.expr, around));
            order.push(SortExpr { expr, asc: !key.descending, nulls_first: key.nulls_first });
        }
        Ok(Some(order))
    }

    /// The rows that a call looks at.
    fn bound_window(
        &self,
        window: &BoundWindow,
        query: &BoundQuery,
        call: &mut WindowFunction,
        around: &dyn Surroundings,
    ) -> Result<Option<()>> {
        let target = |number: usize| query.targets.get(number).map(|target| &target.expr);
        for by in &window.partition {
            let Some(by) = target(*by) else { return Ok(None) };
            call.params.partition_by.push(formed!(self.bound(by, around)));
        }
        for item in &window.order {
            let Some(by) = target(item.target) else { return Ok(None) };
            let expr = formed!(self.bound(by, around));
            call.params.order_by.push(SortExpr { expr, asc: !item.descending, nulls_first: item.nulls_first });
        }
        call.params.window_frame = match &window.frame {
            None => WindowFrame::new((!window.order.is_empty()).then_some(false)),
            Some(frame) => match frame_of(frame) {
                Some(frame) => frame,
                None => return Ok(None),
            },
        };
        Ok(Some(()))
    }
}

fn aggregate_named(name: &str) -> Option<Arc<AggregateUDF>> {
    aggregates::find(name, (name == "count").then(count_udaf))
}

fn over_windows(name: &str) -> Option<WindowFunctionDefinition> {
    let of_window = all_default_window_functions().into_iter().find(|function| function.name() == name);
    let of_window = of_window.map(WindowFunctionDefinition::WindowUDF);
    of_window.or_else(|| aggregate_named(name).map(WindowFunctionDefinition::AggregateUDF))
}

/// A frame without bounds, or one that counts rows; `None` for one that counts groups or is computed of the values.
fn frame_of(frame: &Frame) -> Option<WindowFrame> {
    let units = match frame.unit {
        FrameUnit::Rows => WindowFrameUnits::Rows,
        FrameUnit::Groups => WindowFrameUnits::Groups,
        FrameUnit::Range => WindowFrameUnits::Range,
    };
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => Some(WindowFrameBound::Preceding(ScalarValue::UInt64(None))),
        FrameBound::UnboundedFollowing => Some(WindowFrameBound::Following(ScalarValue::UInt64(None))),
        FrameBound::CurrentRow => Some(WindowFrameBound::CurrentRow),
        FrameBound::Preceding(offset) => counted(offset, frame.unit).map(WindowFrameBound::Preceding),
        FrameBound::Following(offset) => counted(offset, frame.unit).map(WindowFrameBound::Following),
    };
    Some(WindowFrame::new_bounds(units, bound(&frame.start)?, bound(&frame.end)?))
}

/// A number of rows that is written out.
fn counted(offset: &BoundExpr, unit: FrameUnit) -> Option<ScalarValue> {
    let ExprKind::Constant(Literal::Value(value)) = &offset.without_implicit_casts().kind else { return None };
    let count = match value {
        ScalarValue::Int32(Some(count)) => u64::try_from(*count).ok()?,
        ScalarValue::Int64(Some(count)) => u64::try_from(*count).ok()?,
        _ => return None,
    };
    (unit == FrameUnit::Rows).then_some(ScalarValue::UInt64(Some(count)))
}

/// Whether what stands between texts is the same for all rows.
fn has_one_delimiter(name: &str, arguments: &[BoundExpr]) -> bool {
    name != "string_agg" || arguments.get(1).is_some_and(|delimiter| matches!(delimiter.kind, ExprKind::Constant(_)))
}

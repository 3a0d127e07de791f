//! Aggregates and window functions: calls over several rows.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, IntervalMonthDayNano, TimeUnit};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::grouping::grouping_udaf;
use datafusion::functions_window::all_default_window_functions;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::utils::COUNT_STAR_EXPANSION;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Case, Cast, Expr, ExprSchemable, LogicalPlan, SortExpr, Subquery, WindowFrame,
    WindowFrameBound, WindowFrameUnits,
};
use datafusion::prelude::lit;
use tablegate_bind::BoundQuery;
use tablegate_bind::catalogue::oids;
use tablegate_bind::expr::{BoundExpr, ExprKind, Literal, OverRows, Window};
use tablegate_bind::query::bound::{BoundWindow, Frame, FrameBound, FrameExclusion, FrameUnit};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::input::parse_text;
use tablegate_types::oid::declared_of_oid;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::Surroundings;
use crate::expr::aggregates::{self, ITEMS_OF, NUMBERS_OF, SORTED_OF, SUM_OF};
use crate::expr::literal;
use crate::expr::meaning::{Collected, Meaning, SortedSet};
use crate::expr::operand::{Operand, relabelled};
use crate::expr::pass::Pass;
use crate::expr::pass::conditional::Numbers;
use crate::expr::pass::frames::BeyondFrame;
use crate::expr::pass::outputs::{aggregate_value, window_value};
use crate::expr::typed::{Shape, ValueType};
use crate::expr::windows::{Bound, Bounds, Exclusion};

/// Aggregates of their arguments: name, function of one row's arguments, function of the array of what it gives.
const OF_ARRAYS: &[(&str, &str, &str)] = &[
    ("json_agg", "json_item", "json_of_items"),
    ("jsonb_agg", "json_item", "jsonb_of_items"),
    ("json_object_agg", "json_member", "json_of_members"),
    ("jsonb_object_agg", "json_member", "jsonb_of_members"),
    ("string_agg", "string_agg_of_item", "string_agg_of_items"),
];

/// The aggregate that makes arrays.
const ARRAY_OF: &str = "array_agg";

impl Pass<'_> {
    pub(super) fn bound_aggregate(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        if rows.within_group {
            return self.of_sorted_rows(name, arguments, rows, around);
        }
        if let Some((of_row, of_all)) = of_array(name, arguments) {
            let item = self.bound_call(of_row, self.bound_operands(arguments, around)?, around)?;
            let array = self.aggregated(ARRAY_OF, vec![item], rows, around)?;
            return self.bound_call(of_all, vec![self.operand(array, around.schema())?], around);
        }
        self.or_average(name, around, &|name| {
            self.aggregated(name, self.bound_arguments(name, arguments, rows, around)?, rows, around)
        })
    }

    /// Which of the keys a row of a grouping set is not grouped by.
    pub(super) fn grouping(&self, keys: &[BoundExpr], around: &dyn Surroundings) -> SqlResult<Expr> {
        let keys = self.bound_operands(keys, around)?.into_iter().map(|key| key.expr).collect();
        let call = AggregateFunction::new_udf(grouping_udaf(), keys, false, None, Vec::new(), None);
        Ok(self.aggregate(call, around.schema())?)
    }

    /// The items of all rows of a query as one array, which is empty where there are none.
    pub(super) fn array_of_query(&self, query: Subquery, around: &dyn Surroundings) -> SqlResult<Expr> {
        let Subquery { subquery: plan, outer_ref_columns, spans } = query;
        let schema = plan.schema().clone();
        let item = Expr::Column(Column::from(schema.qualified_field(0)));
        let call = AggregateFunction::new_udf(aggregate_named(ITEMS_OF)?, vec![item], false, None, Vec::new(), None);
        let items = self.aggregate(call, &schema)?.alias("array");
        let node = LogicalPlan::Aggregate(Aggregate::try_new(plan, Vec::new(), vec![items])?);
        let subquery = Arc::new(self.finished(node, &schema)?);
        let array = Expr::ScalarSubquery(Subquery { subquery, outer_ref_columns, spans });
        self.bound_call("catalog_list_or_empty", vec![self.operand(array, around.schema())?], around)
    }

    fn aggregated(
        &self,
        name: &str,
        arguments: Vec<Expr>,
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let order = self.bound_order(rows, around)?;
        let filter = self.bound_filter(rows, around)?;
        let argument = field_of_first(&arguments, around.schema())?;
        let call = AggregateFunction::new_udf(aggregate_named(name)?, arguments, rows.is_distinct, filter, order, None);
        Ok(aggregate_value(self.aggregate(call, around.schema())?, argument.as_deref(), around.schema())?)
    }

    /// An aggregate WITHIN GROUP, as a function of the array of the values: NULLs are left out, so there is one order upwards.
    fn of_sorted_rows(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        if let Some(place) = self.hypothetical(name, arguments, rows, around)? {
            return Ok(place);
        }
        // The sorted values are among the arguments, behind those that are the same for all rows.
        let direct = &arguments[..arguments.len().saturating_sub(rows.order.len())];
        let (Some(set), [key]) = (SortedSet::named(name), rows.order.as_slice()) else {
            return Err(SqlError::not_supported(format!("{name} of these rows")));
        };
        let (set, collecting) = match set {
            SortedSet::PercentileCont(_) if !key.descending => {
                (SortedSet::PercentileCont(Collected::AsTheyCame), NUMBERS_OF)
            }
            SortedSet::PercentileCont(_) => (set, NUMBERS_OF),
            SortedSet::Mode | SortedSet::PercentileDisc => (set, SORTED_OF),
        };
        let value = self.bound(&key.expr, around)?;
        let is_there = self.is_null(value.clone(), true, around.schema())?;
        // The value is computed where the filter holds.
        let filter = match self.bound_filter(rows, around)? {
            None => is_there,
            Some(filter) => {
                let branch = vec![(filter, Box::new(is_there))];
                self.case(Case::new(None, branch, Some(Box::new(lit(false)))), around.schema())?
            }
        };
        let order = match set {
            SortedSet::PercentileCont(Collected::AsTheyCame) => Vec::new(),
            _ => self.bound_order(rows, around)?,
        };
        let filter = Some(Box::new(filter));
        let call = AggregateFunction::new_udf(aggregate_named(collecting)?, vec![value], false, filter, order, None);
        let values = self.operand(self.aggregate(call, around.schema())?, around.schema())?;
        let operands =
            std::iter::once(Ok(values)).chain(direct.iter().map(|direct| self.bound_operand(direct, around)));
        Ok(self.call(Meaning::OfSorted(set), operands.collect::<SqlResult<_>>()?, around.schema())?)
    }

    /// A function, or an aggregate, over a window of the query.
    pub(super) fn bound_window_call(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let (Some(Window::Numbered(number)), Some(query)) = (&rows.window, around.query()) else {
            return Err(SqlError::not_supported("a window function in this place"));
        };
        let Some(window) = query.windows.get(*number) else {
            return Err(SqlError::not_supported("a window of this kind"));
        };
        if let Some((of_row, of_all)) = of_array(name, arguments) {
            let item = self.bound_call(of_row, self.bound_operands(arguments, around)?, around)?;
            let array = self.windowed_call(ARRAY_OF, vec![item], rows, (window, query), around)?;
            return self.bound_call(of_all, vec![self.operand(array, around.schema())?], around);
        }
        self.or_average(name, around, &|name| {
            let mut values = self.bound_arguments(name, arguments, rows, around)?;
            if matches!(name, "lag" | "lead") {
                // The value and what stands for one that is not there have one type.
                if let [value, _, default] = values.as_mut_slice() {
                    let (one, other) = (
                        self.operand(value.clone(), around.schema())?,
                        self.operand(default.clone(), around.schema())?,
                    );
                    let common = self.common_where(&[&one, &other], name, Numbers::StandIn)?;
                    *value = one.converted_to(&common, self.parameters())?;
                    *default = other.converted_to(&common, self.parameters())?;
                }
            }
            self.windowed_call(name, values, rows, (window, query), around)
        })
    }

    fn windowed_call(
        &self,
        name: &str,
        arguments: Vec<Expr>,
        rows: &OverRows,
        (window, query): (&BoundWindow, &BoundQuery),
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let argument = field_of_first(&arguments, around.schema())?;
        let mut call = WindowFunction::new(over_windows(name)?, arguments);
        call.params.filter = self.bound_filter(rows, around)?;
        let beyond = self.bound_window(window, query, &mut call, around)?;
        let call = self.window(call, beyond, around.schema())?;
        Ok(window_value(call, argument.as_deref(), around.schema())?)
    }

    /// The average is a sum and a count, which are computed together with those that are asked for.
    fn or_average(
        &self,
        name: &str,
        around: &dyn Surroundings,
        call: &dyn Fn(&str) -> SqlResult<Expr>,
    ) -> SqlResult<Expr> {
        if name != "avg" {
            return call(name);
        }
        let (sum, count) = (call(SUM_OF)?, call("count")?);
        let (sum, count) = (self.operand(sum, around.schema())?, self.operand(count, around.schema())?);
        Ok(self.average(sum, count)?)
    }

    fn bound_arguments(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> SqlResult<Vec<Expr>> {
        if rows.is_star {
            return Ok(vec![Expr::Literal(COUNT_STAR_EXPANSION, None)]);
        }
        let operands = self.bound_operands(arguments, around)?.into_iter();
        match arguments {
            [summed] if name == "sum" => operands.map(|operand| self.summed(summed, operand, around)).collect(),
            _ => Ok(operands.map(|operand| operand.expr).collect()),
        }
    }

    /// A sum is shown with the digits of what is summed: a number that is written out in a CASE, mostly `ELSE 0`, adds none.
    fn summed(&self, bound: &BoundExpr, operand: Operand, around: &dyn Surroundings) -> SqlResult<Expr> {
        let (ExprKind::Case { branches, otherwise, .. }, Some(shape)) = (&bound.kind, operand.shape()) else {
            return Ok(operand.expr);
        };
        if shape.fixed || !matches!(operand.sql_type(), SqlType::Numeric(_)) {
            return Ok(operand.expr);
        }
        let mut computed: Option<Shape> = None;
        for value in branches.iter().map(|(_, then)| then).chain([otherwise.as_ref()]) {
            let value = value.without_implicit_casts();
            if constant(value).is_some() || matches!(value.kind, ExprKind::Constant(Literal::Null)) {
                continue;
            }
            let Some(next) = self.bound_operand(value, around)?.shape() else { return Ok(operand.expr) };
            computed = Some(computed.map_or(next, |shape| shape.union(next)));
        }
        Ok(match computed {
            Some(computed) if computed.fixed && computed.scale == shape.scale => {
                relabelled(operand.expr, &Shape { fixed: true, ..shape }.value_type())
            }
            _ => operand.expr,
        })
    }

    pub(super) fn bound_filter(&self, rows: &OverRows, around: &dyn Surroundings) -> SqlResult<Option<Box<Expr>>> {
        rows.filter.as_ref().map(|filter| self.bound(filter, around).map(Box::new)).transpose()
    }

    fn bound_order(&self, rows: &OverRows, around: &dyn Surroundings) -> SqlResult<Vec<SortExpr>> {
        let mut order = Vec::with_capacity(rows.order.len());
        for key in &rows.order {
            let expr = self.bound(&key.expr, around)?;
            order.push(SortExpr { expr, asc: !key.descending, nulls_first: key.nulls_first });
        }
        Ok(order)
    }

    /// The rows that a call looks at.
    fn bound_window(
        &self,
        window: &BoundWindow,
        query: &BoundQuery,
        call: &mut WindowFunction,
        around: &dyn Surroundings,
    ) -> SqlResult<BeyondFrame> {
        let target = |number: usize| match query.targets.get(number) {
            Some(target) => self.bound(&target.expr, around),
            None => Err(SqlError::not_supported("a window over what is no target")),
        };
        for by in &window.partition {
            call.params.partition_by.push(target(*by)?);
        }
        for item in &window.order {
            let expr = target(item.target)?;
            call.params.order_by.push(SortExpr { expr, asc: !item.descending, nulls_first: item.nulls_first });
        }
        let mut beyond = BeyondFrame::default();
        call.params.window_frame = match &window.frame {
            None => WindowFrame::new((!window.order.is_empty()).then_some(false)),
            Some(frame) => {
                beyond.exclusion = exclusion_of(frame);
                beyond.bounds = self.computed_bounds(frame, around)?;
                let mut is_of_times = false;
                if let (FrameUnit::Range, Some(key)) = (frame.unit, call.params.order_by.first_mut()) {
                    self.with_digits_of(frame, &mut key.expr, around)?;
                    is_of_times = self.instants_of_times(frame, &mut key.expr, around)?;
                }
                let key = call.params.order_by.first().map(|key| self.operand(key.expr.clone(), around.schema()));
                let key = key.transpose()?.map(|key| key.value_type.data_type);
                match beyond.bounds {
                    Some(_) => WindowFrame::new(None),
                    None => frame_of(frame, key.as_ref(), is_of_times)?,
                }
            }
        };
        Ok(beyond)
    }

    /// Bounds that are counted in rows or groups, of which one is not written out, and their distances.
    fn computed_bounds(&self, frame: &Frame, around: &dyn Surroundings) -> SqlResult<Option<(Bounds, Vec<Expr>)>> {
        let mut distances = Vec::new();
        let mut is_computed = false;
        let mut bound = |bound: &FrameBound| {
            let (offset, kind) = match bound {
                FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => {
                    return SqlResult::Ok(Bound::Unbounded);
                }
                FrameBound::CurrentRow => return Ok(Bound::CurrentRow),
                FrameBound::Preceding(offset) => (offset, Bound::Preceding),
                FrameBound::Following(offset) => (offset, Bound::Following),
            };
            is_computed |= constant(offset).is_none();
            let distance = self.cast_to(self.bound_operand(offset, around)?, &SqlType::Int8)?;
            distances.push(distance);
            Ok(kind)
        };
        if frame.unit == FrameUnit::Range {
            return Ok(None);
        }
        let (start, end) = (bound(&frame.start)?, bound(&frame.end)?);
        let bounds = Bounds { counts_groups: frame.unit == FrameUnit::Groups, start, end };
        Ok(is_computed.then_some((bounds, distances)))
    }

    /// What is sorted by as the engine can take the distances of a frame off it and put them on: a time of day as an instant of
    /// one day, and an instant, where the distances are days, as a time in the session's zone, where days have other lengths.
    /// Whether it is a time of day.
    ///
    /// # Errors
    /// 0A000 for intervals.
    fn instants_of_times(&self, frame: &Frame, key: &mut Expr, around: &dyn Surroundings) -> SqlResult<bool> {
        let is_distance = |bound: &FrameBound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
        if !is_distance(&frame.start) && !is_distance(&frame.end) {
            return Ok(false);
        }
        let operand = self.operand(key.clone(), around.schema())?;
        match operand.value_type.data_type {
            DataType::Time64(TimeUnit::Microsecond) => {
                let micros = Expr::Cast(Cast::new(Box::new(operand.expr), DataType::Int64));
                *key = Expr::Cast(Cast::new(Box::new(micros), DataType::Timestamp(TimeUnit::Microsecond, None)));
                Ok(true)
            }
            DataType::Timestamp(_, Some(_)) if is_distance_of_days(&frame.start) && is_distance_of_days(&frame.end) => {
                *key = self.cast_to(operand, &SqlType::Timestamp)?;
                Ok(false)
            }
            DataType::Interval(_) => Err(SqlError::not_supported("a RANGE frame with a distance over intervals")
                .with_hint("Order by EXTRACT(epoch FROM ...), with distances in seconds.")),
            _ => Ok(false),
        }
    }

    /// A number that is sorted by, with as many digits behind the point as the distances of a frame have.
    fn with_digits_of(&self, frame: &Frame, key: &mut Expr, around: &dyn Surroundings) -> SqlResult<()> {
        for bound in [&frame.start, &frame.end] {
            let (FrameBound::Preceding(offset) | FrameBound::Following(offset)) = bound else { continue };
            let mut operand = self.operand(key.clone(), around.schema())?;
            if *operand.sql_type() == SqlType::Float4 {
                // Distances are of double precision, and so is what is computed with them.
                *key = operand.converted_to(&ValueType::of(SqlType::Float8), self.parameters())?;
                continue;
            }
            if matches!(operand.sql_type(), SqlType::Int2 | SqlType::Int4 | SqlType::Int8) {
                // A distance may be greater than any number of the type.
                let wide = operand.converted_to(&ValueType::of(SqlType::Numeric(Some((38, 0)))), self.parameters())?;
                operand = self.operand(wide, around.schema())?;
                *key = operand.expr.clone();
            }
            let digits = constant(offset).and_then(|offset| shape_of(&offset));
            let (Some(own), Some(digits), SqlType::Numeric(_)) = (operand.shape(), digits, operand.sql_type()) else {
                continue;
            };
            // The engine adds distances to numbers, and compares with numbers of the same precision only: it stays the greatest.
            let all = own.union(digits);
            let scale = i8::try_from(all.scale).unwrap_or(0);
            let precision = if all.whole + all.scale <= 37 { 38 } else { 76 };
            let sql_type = SqlType::Numeric(Some((precision, scale)));
            *key = operand.converted_to(&ValueType::of(sql_type), self.parameters())?;
        }
        Ok(())
    }
}

fn shape_of(number: &ScalarValue) -> Option<Shape> {
    let own = ValueType::of_field(&Field::new("", number.data_type(), true));
    Shape::of_literal(number).or_else(|| Shape::of(&own))
}

/// The functions of one row and of all rows, for an aggregate that is made of an array. Texts are joined by the engine where
/// what stands between them is the same for all rows.
fn of_array(name: &str, arguments: &[BoundExpr]) -> Option<(&'static str, &'static str)> {
    let is_same_text =
        |between: &BoundExpr| between.ty.oid == oids::TEXT && matches!(between.kind, ExprKind::Constant(_));
    if name == "string_agg" && arguments.get(1).is_some_and(is_same_text) {
        return None;
    }
    OF_ARRAYS.iter().find(|(known, ..)| *known == name).map(|(_, of_row, of_all)| (*of_row, *of_all))
}

/// What the schema says of the first argument of a call.
fn field_of_first(arguments: &[Expr], schema: &DFSchema) -> SqlResult<Option<FieldRef>> {
    Ok(arguments.first().map(|argument| argument.to_field(schema)).transpose()?.map(|(_, field)| field))
}

fn aggregate_named(name: &str) -> SqlResult<Arc<AggregateUDF>> {
    let known = aggregates::find(name, (name == "count").then(count_udaf));
    known.ok_or_else(|| SqlError::not_supported(format!("the aggregate {name}")))
}

fn over_windows(name: &str) -> SqlResult<WindowFunctionDefinition> {
    let of_window = all_default_window_functions().into_iter().find(|function| function.name() == name);
    match of_window {
        Some(function) => Ok(WindowFunctionDefinition::WindowUDF(function)),
        None => aggregate_named(name).map(WindowFunctionDefinition::AggregateUDF),
    }
}

fn exclusion_of(frame: &Frame) -> Exclusion {
    match frame.exclusion {
        FrameExclusion::NoOthers => Exclusion::NoOthers,
        FrameExclusion::CurrentRow => Exclusion::CurrentRow,
        FrameExclusion::Group => Exclusion::Group,
        FrameExclusion::Ties => Exclusion::Ties,
    }
}

/// # Errors
/// 22013 for a bound before the first row that there can be; 0A000 for one that is not written out.
fn frame_of(frame: &Frame, key: Option<&DataType>, is_of_times: bool) -> SqlResult<WindowFrame> {
    let units = match frame.unit {
        FrameUnit::Rows => WindowFrameUnits::Rows,
        FrameUnit::Groups => WindowFrameUnits::Groups,
        FrameUnit::Range => WindowFrameUnits::Range,
    };
    let distance = |offset: &BoundExpr, which: &str| distance(offset, (frame.unit, is_of_times), key, which);
    let bound = |bound: &FrameBound, which: &str| {
        SqlResult::Ok(match bound {
            FrameBound::UnboundedPreceding => WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
            FrameBound::UnboundedFollowing => WindowFrameBound::Following(ScalarValue::UInt64(None)),
            FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
            FrameBound::Preceding(offset) => WindowFrameBound::Preceding(distance(offset, which)?),
            FrameBound::Following(offset) => WindowFrameBound::Following(distance(offset, which)?),
        })
    };
    let (start, end) = (bound(&frame.start, "starting")?, bound(&frame.end, "ending")?);
    Ok(WindowFrame::new_bounds(units, start, end))
}

/// Whether a bound is no distance, or one without hours and what is below them.
fn is_distance_of_days(bound: &FrameBound) -> bool {
    let (FrameBound::Preceding(offset) | FrameBound::Following(offset)) = bound else { return true };
    matches!(constant(offset), Some(ScalarValue::IntervalMonthDayNano(Some(span))) if span.nanoseconds == 0)
}

/// The sign of an interval is that of all of it, in months of 30 days.
fn is_before_zero(span: &IntervalMonthDayNano) -> bool {
    const DAY: i128 = 24 * 60 * 60 * 1_000_000_000;
    (i128::from(span.months) * 30 + i128::from(span.days)) * DAY + i128::from(span.nanoseconds) < 0
}

/// An interval over times of day: its hours count, and what is below them.
fn within_a_day(distance: ScalarValue) -> ScalarValue {
    match distance {
        ScalarValue::IntervalMonthDayNano(Some(span)) => {
            ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano { months: 0, days: 0, ..span }))
        }
        other => other,
    }
}

/// A number of rows or groups, or the distance between values of the type that is sorted by.
fn distance(
    offset: &BoundExpr,
    (unit, is_of_times): (FrameUnit, bool),
    key: Option<&DataType>,
    which: &str,
) -> SqlResult<ScalarValue> {
    let refused = || SqlError::not_supported("a bound of a window frame that is not written out");
    let value = match &offset.without_implicit_casts().kind {
        ExprKind::Constant(Literal::Null) => ScalarValue::Null,
        _ => constant(offset).ok_or_else(refused)?,
    };
    let value = if is_of_times { within_a_day(value) } else { value };
    let is_negative = match &value {
        ScalarValue::IntervalMonthDayNano(Some(span)) => is_before_zero(span),
        ScalarValue::IntervalMonthDayNano(None) => false,
        number => matches!(number.cast_to(&DataType::Float64)?, ScalarValue::Float64(Some(number)) if number < 0.0),
    };
    if value.is_null() {
        let message = format!("frame {which} offset must not be null");
        return Err(SqlError::new(ErrorKind::NullValueNotAllowed, message));
    }
    match unit {
        FrameUnit::Rows | FrameUnit::Groups if is_negative => {
            let message = format!("frame {which} offset must not be negative");
            Err(SqlError::new(ErrorKind::InvalidFrameOffset, message))
        }
        FrameUnit::Range if is_negative => {
            let message = "invalid preceding or following size in window function";
            Err(SqlError::new(ErrorKind::InvalidFrameOffset, message))
        }
        FrameUnit::Rows | FrameUnit::Groups => Ok(whole(&value)?.cast_to(&DataType::UInt64)?),
        FrameUnit::Range if matches!(value, ScalarValue::IntervalMonthDayNano(_)) => Ok(value),
        FrameUnit::Range => Ok(value.cast_to(key.ok_or_else(refused)?)?),
    }
}

/// A number of rows, rounded as a cast to bigint rounds.
fn whole(value: &ScalarValue) -> SqlResult<ScalarValue> {
    match value.data_type() {
        DataType::Decimal128(..) | DataType::Decimal256(..) | DataType::Float64 => {
            match value.cast_to(&DataType::Float64)? {
                ScalarValue::Float64(Some(number)) => Ok(ScalarValue::from(number.round())),
                other => Ok(other),
            }
        }
        _ => Ok(value.clone()),
    }
}

/// A value that is written out.
fn constant(expr: &BoundExpr) -> Option<ScalarValue> {
    match &expr.kind {
        ExprKind::Constant(Literal::Value(value) | Literal::Read { value, .. }) => Some(value.clone()),
        ExprKind::Constant(Literal::Text(text)) => {
            let declared = declared_of_oid(expr.ty.oid, -1)?;
            match declared {
                // With the digits that it is written with.
                SqlType::Numeric(_) => literal::read(text, &declared, Reading::default()).ok(),
                _ => parse_text(&declared, text).ok(),
            }
        }
        ExprKind::Cast { value, .. } => constant(value),
        ExprKind::Prefix { operator, operand } if operator.name == "-" => constant(operand)?.arithmetic_negate().ok(),
        _ => None,
    }
}

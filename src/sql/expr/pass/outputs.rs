//! Aggregates and window functions give columns, which expressions above them name. Where PostgreSQL's have another type, or
//! two names stand for one computation, a projection stands between.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Aggregate, Cast, Expr, ExprSchemable, LogicalPlan, Projection, Window};
use tablegate_types::sql_type::SqlType;

use crate::expr::operand::relabelled;
use crate::expr::typed::ValueType;

/// Whether a column is the one by which the engine tells grouping sets apart. It is the engine's own affair: GROUPING is not computed
/// from it here, and in the end it is not there.
pub(crate) fn is_number_of_set(column: &str) -> bool {
    column == Aggregate::INTERNAL_GROUPING_ID
}

/// The aggregates, with those computed once that are the same now that they are typed: the sum that an average takes, and
/// that sum itself.
pub(super) fn computed_once(aggregate: Aggregate) -> Result<LogicalPlan> {
    let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
    let mut kept: Vec<Expr> = Vec::with_capacity(aggr_expr.len());
    // For each aggregate the place of what computes it.
    let mut places = Vec::with_capacity(aggr_expr.len());
    for expr in &aggr_expr {
        let computed = expr.clone().unalias();
        let known = kept.iter().position(|other| other.clone().unalias() == computed);
        places.push(known.unwrap_or_else(|| {
            kept.push(expr.clone());
            kept.len() - 1
        }));
    }
    if kept.len() == aggr_expr.len() {
        return Aggregate::try_new(input, group_expr, aggr_expr).map(LogicalPlan::Aggregate);
    }
    let computed = Aggregate::try_new(input, group_expr, kept)?;
    let first = computed.schema.fields().len() - computed.aggr_expr.len();
    let column = |place: usize| Expr::Column(Column::from(computed.schema.qualified_field(place)));
    let is_own = |place: &usize| is_number_of_set(computed.schema.field(*place).name());
    let groups = (0..first).filter(|place| !is_own(place)).map(column);
    let aggregates = aggr_expr.iter().zip(places).map(|(expr, place)| {
        let name = expr.schema_name().to_string();
        let computed = column(first + place);
        if computed.schema_name().to_string() == name { computed } else { computed.alias(name) }
    });
    let columns = groups.chain(aggregates).collect();
    Projection::try_new(columns, Arc::new(LogicalPlan::Aggregate(computed))).map(LogicalPlan::Projection)
}

/// The window functions: what one gives has no length or precision, and a number of rows is a bigint.
pub(super) fn windowed(window: Window) -> Result<LogicalPlan> {
    let Window { input, window_expr, .. } = window;
    let calls = window_expr.len();
    let window = Window::try_new(window_expr, input)?;
    let before = window.schema.fields().len() - calls;
    let mut changed = false;
    let columns = window.schema.iter().enumerate().map(|(place, (qualifier, field))| {
        let column = Expr::Column(Column::from((qualifier, field)));
        if place < before {
            return column;
        }
        let plain = plain(column.clone(), field);
        changed |= plain.is_some();
        plain.map_or(column, |plain| plain.alias_qualified(qualifier.cloned(), field.name()))
    });
    let is_own = |column: &Expr| matches!(column, Expr::Column(column) if is_number_of_set(&column.name));
    let columns: Vec<Expr> = columns.filter(|column| !is_own(column)).collect();
    if !changed {
        return Ok(LogicalPlan::Window(window));
    }
    Projection::try_new(columns, Arc::new(LogicalPlan::Window(window))).map(LogicalPlan::Projection)
}

/// The value of a window function of this argument, with the type that [`windowed`] gives its column.
pub(super) fn window_value(call: Expr, argument: Option<&Field>, schema: &DFSchema) -> Result<Expr> {
    let field = call.to_field(schema)?.1;
    if let Expr::WindowFunction(function) = &call
        && let Some(said) = said_of_argument(function.fun.name(), argument, &field)
    {
        return Ok(relabelled(call, &said));
    }
    Ok(plain(call.clone(), &field).unwrap_or(call))
}

/// The value of an aggregate of this argument: texts that the engine puts together have the layout of all others, and the
/// limits of a time type are those of what it is made of.
pub(super) fn aggregate_value(call: Expr, argument: Option<&Field>, schema: &DFSchema) -> Result<Expr> {
    let field = call.to_field(schema)?.1;
    if let Expr::AggregateFunction(function) = &call
        && let Some(said) = said_of_argument(function.func.name(), argument, &field)
    {
        return Ok(relabelled(call, &said));
    }
    Ok(of_rows(call.clone(), &field).unwrap_or(call))
}

/// What a sum, and the least or the greatest value, is as its argument is: how its digits or spaces are shown. The engine says of these
/// how they are laid out, and no more. `None` for all others.
fn said_of_argument(name: &str, argument: Option<&Field>, field: &Field) -> Option<ValueType> {
    let ("min" | "max" | "sum", Some(argument)) = (name, argument) else { return None };
    let said = ValueType { sql_type: SqlType::declared_in(argument), data_type: field.data_type().clone() };
    match said.sql_type {
        SqlType::Char(_) | SqlType::Quotient => Some(said),
        SqlType::Numeric(None) if !said.is_obvious() => Some(said),
        _ => None,
    }
}

/// What was computed of several rows, where its type is another than PostgreSQL's.
fn of_rows(value: Expr, field: &Field) -> Option<Expr> {
    match SqlType::declared_in(field) {
        _ if *field.data_type() == DataType::LargeUtf8 => Some(cast(value, DataType::Utf8)),
        SqlType::Limited(_) => Some(relabelled(value, &ValueType::of_field(field))),
        _ => None,
    }
}

fn cast(value: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(value), to))
}

/// What a window function gave, with the type that PostgreSQL's would have: a length or precision is not told of what is
/// computed, and numbers of rows, which the engine has unsigned, are bigint. `None` where it has that type.
fn plain(value: Expr, field: &Field) -> Option<Expr> {
    if *field.data_type() == DataType::UInt64 {
        return Some(cast(value, DataType::Int64));
    }
    let value_type = ValueType::of_field(field);
    match &value_type.sql_type {
        SqlType::Numeric(Some(_)) if SqlType::is_declared(field) => Some(relabelled(value, &value_type)),
        SqlType::Varchar(Some(_)) => Some(relabelled(value, &ValueType::of(SqlType::Varchar(None)))),
        _ => of_rows(value, field),
    }
}

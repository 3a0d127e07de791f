//! Keys of values that the engine would put in another order than PostgreSQL does, or take for different where they are
//! equal: `1 mon` and `30 days`, `1` and `1.0` in jsonb, arrays with NULL in them, rows.
//!
//! Wherever values of such a type are sorted, grouped, joined or compared, their keys are in their place. What a query shows
//! are the values themselves. Values of all other types have no keys: their own layout compares as it should.

use datafusion::logical_expr::Expr;
use tablegate_types::sql_type::SqlType;

use super::kernels::{ARRAY_KEY, Computation, INTERVAL_SPAN, ITEM_KEYS, JSONB_KEY, Kernel, RECORD_KEY, SPAN_DIGITS};
use super::operand::Operand;
use super::typed::ValueType;

/// What values are compared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Whether they are equal.
    Equality,
    /// Which of them is the greater one.
    Order,
}

/// The key of a value; `None` for a type whose values need none.
pub(super) fn key(value: &Expr, sql_type: &SqlType, purpose: Purpose) -> Option<Expr> {
    let (kernel, result): (&'static Kernel, SqlType) = match sql_type {
        SqlType::Interval => (&INTERVAL_SPAN, span()),
        SqlType::Jsonb => (&JSONB_KEY, SqlType::Bytea),
        SqlType::Record(_) => (&RECORD_KEY, SqlType::Bytea),
        SqlType::Array(item) if purpose == Purpose::Order || is_written_variously(item) => (&ARRAY_KEY, SqlType::Bytea),
        _ => return None,
    };
    Some(Computation::call(kernel, None, ValueType::of(result), vec![value.clone()]))
}

/// What a value is compared by: its key, or itself.
pub(super) fn keyed(value: Expr, sql_type: &SqlType, purpose: Purpose) -> Expr {
    key(&value, sql_type, purpose).unwrap_or(value)
}

/// An array of what its items are compared by.
pub(super) fn keyed_items(array: Expr, item: &SqlType) -> Expr {
    let item = match item {
        SqlType::Interval => span(),
        SqlType::Jsonb | SqlType::Record(_) => SqlType::Bytea,
        _ => return array,
    };
    Computation::call(&ITEM_KEYS, None, ValueType::of(SqlType::Array(Box::new(item))), vec![array])
}

/// A value, or an array of values, as what it is found by among others.
pub(super) fn found_by(operand: Operand) -> Operand {
    let Operand { expr, value_type } = operand;
    let keyed_type = |sql_type: &SqlType| match sql_type {
        SqlType::Interval => Some(span()),
        SqlType::Jsonb | SqlType::Record(_) => Some(SqlType::Bytea),
        _ => None,
    };
    match &value_type.sql_type {
        SqlType::Array(item) => match keyed_type(item) {
            Some(key) => {
                Operand { expr: keyed_items(expr, item), value_type: ValueType::of(SqlType::Array(Box::new(key))) }
            }
            None => Operand { expr, value_type },
        },
        sql_type => match keyed_type(sql_type) {
            Some(key) => Operand { expr: keyed(expr, sql_type, Purpose::Equality), value_type: ValueType::of(key) },
            None => Operand { expr, value_type },
        },
    }
}

fn span() -> SqlType {
    SqlType::Numeric(Some(SPAN_DIGITS))
}

/// Whether there are equal items that the engine tells apart.
fn is_written_variously(item: &SqlType) -> bool {
    match item {
        SqlType::Interval | SqlType::Jsonb | SqlType::Record(_) | SqlType::Float4 | SqlType::Float8 => true,
        SqlType::Array(item) => is_written_variously(item),
        _ => false,
    }
}

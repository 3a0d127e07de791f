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
    let (kernel, key_type) = match sql_type {
        SqlType::Array(item) if purpose == Purpose::Order || is_written_variously(item) => (&ARRAY_KEY, SqlType::Bytea),
        sql_type => of_scalar(sql_type)?,
    };
    Some(Computation::call(kernel, None, ValueType::of(key_type), vec![value.clone()]))
}

/// What makes the keys of a type that is no array, and the type that they have.
fn of_scalar(sql_type: &SqlType) -> Option<(&'static Kernel, SqlType)> {
    match sql_type {
        SqlType::Interval => Some((&INTERVAL_SPAN, SqlType::Numeric(Some(SPAN_DIGITS)))),
        SqlType::Jsonb => Some((&JSONB_KEY, SqlType::Bytea)),
        SqlType::Record(_) => Some((&RECORD_KEY, SqlType::Bytea)),
        _ => None,
    }
}

/// What a value is compared by: its key, or itself.
pub(super) fn keyed(value: Expr, sql_type: &SqlType, purpose: Purpose) -> Expr {
    key(&value, sql_type, purpose).unwrap_or(value)
}

/// An array of what its items are compared by.
pub(super) fn keyed_items(array: Expr, item: &SqlType) -> Expr {
    match of_scalar(item) {
        Some((_, key_type)) => Computation::call(&ITEM_KEYS, None, array_of(key_type), vec![array]),
        None => array,
    }
}

/// A value, or an array of values, as what it is found by among others.
pub(super) fn found_by(operand: Operand) -> Operand {
    let Operand { expr, value_type } = operand;
    let (sql_type, is_array) = match &value_type.sql_type {
        SqlType::Array(item) => (&**item, true),
        sql_type => (sql_type, false),
    };
    match of_scalar(sql_type) {
        Some((_, key_type)) if is_array => {
            Operand { expr: keyed_items(expr, sql_type), value_type: array_of(key_type) }
        }
        Some((_, key_type)) => {
            Operand { expr: keyed(expr, sql_type, Purpose::Equality), value_type: ValueType::of(key_type) }
        }
        None => Operand { expr, value_type },
    }
}

fn array_of(item: SqlType) -> ValueType {
    ValueType::of(SqlType::Array(Box::new(item)))
}

/// Whether there are equal items that the engine tells apart.
fn is_written_variously(item: &SqlType) -> bool {
    match item {
        SqlType::Interval | SqlType::Jsonb | SqlType::Record(_) | SqlType::Float4 | SqlType::Float8 => true,
        SqlType::Array(item) => is_written_variously(item),
        _ => false,
    }
}

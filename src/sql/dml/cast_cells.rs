//! Casts in a VALUES list that need no plan: of parameters and literals to common types, as drivers write them around all values.

use std::borrow::Cow;

use datafusion::common::ScalarValue;
use sqlparser::ast::{CastKind, Expr, Value};
use tablegate_types::input::parse_text_as;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::values::Cell;
use crate::expr::parameter_number;
use crate::syntax::sql_type;

/// The cell of such a cast; `None` for any other expression, and where the value has to be computed or refused. A parameter
/// whose type is open gets that of its cast.
pub(super) fn cast_cell(expr: &Expr, declared: &mut Vec<SqlType>, reading: Reading) -> Option<Cell> {
    let Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, array: false, format: None } = expr
    else {
        return None;
    };
    let Expr::Value(value) = &**expr else { return None };
    let to = sql_type(data_type).ok().filter(reads_as_written)?;
    match &value.value {
        Value::Placeholder(name) => {
            let index = parameter_number(name)?.checked_sub(1)?;
            match declared.get(index).filter(|known| **known != SqlType::Unknown) {
                Some(known) if *known != to && !is_widened(known, &to) => return None,
                Some(_) => {}
                None => {
                    declared.resize(declared.len().max(index + 1), SqlType::Unknown);
                    declared[index] = to.clone();
                }
            }
            Some(Cell::Cast(index, to))
        }
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
            // What is wrong with it, or means the time, is for the plan.
            parse_text_as(&to, text, Reading { now: None, ..reading }).ok()?;
            Some(Cell::Typed(to, text.clone()))
        }
        _ => None,
    }
}

/// Whether a cast of a text to the type is what reading it as the type is.
fn reads_as_written(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Bool
            | SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Float4
            | SqlType::Float8
            | SqlType::Text
            | SqlType::Varchar(None)
            | SqlType::Bytea
            | SqlType::Uuid
            | SqlType::Date
            | SqlType::Time
            | SqlType::Timestamp
            | SqlType::Timestamptz
    )
}

/// Whether each value of one type is a value of the other, which is what [`widened`] makes.
fn is_widened(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::{Int2, Int4, Int8, Text, Varchar};
    matches!((from, to), (Int2, Int4 | Int8) | (Int4, Int8) | (Text, Varchar(None)) | (Varchar(None), Text))
}

/// The value of a parameter, as the type it is cast to; `None` where it is no value of a type that it may be cast from.
pub(super) fn widened<'v>(value: &'v ScalarValue, to: &SqlType) -> Option<Cow<'v, ScalarValue>> {
    if value.data_type() == to.arrow() {
        return Some(Cow::Borrowed(value));
    }
    Some(Cow::Owned(match (value, to) {
        (ScalarValue::Int16(value), SqlType::Int4) => ScalarValue::Int32(value.map(i32::from)),
        (ScalarValue::Int16(value), SqlType::Int8) => ScalarValue::Int64(value.map(i64::from)),
        (ScalarValue::Int32(value), SqlType::Int8) => ScalarValue::Int64(value.map(i64::from)),
        (ScalarValue::Null, _) => ScalarValue::try_from(to.arrow()).ok()?,
        _ => return None,
    }))
}

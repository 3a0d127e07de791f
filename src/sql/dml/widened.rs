//! Casts of parameters that need no plan: drivers write them around all values.

use std::borrow::Cow;

use datafusion::common::ScalarValue;
use tablegate_types::sql_type::SqlType;

/// Whether each value of one type is a value of the other, which is what [`widened`] makes.
pub(super) fn is_widened(from: &SqlType, to: &SqlType) -> bool {
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

//! Which functions and casts always give the same value for the same arguments, as PostgreSQL says in
//! `pg_proc.provolatile`.
//!
//! The text of a date or an array is read and written as settings say, so these conversions wait for a row; the text of a
//! number does not.

use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{ExprSchemable, Volatility};
use tablegate_types::conversion::is_text;
use tablegate_types::sql_type::SqlType;

use crate::expr::kernels;
use crate::expr::typed::ValueType;

/// Whether a call of constants may be computed ahead of all rows.
pub(super) fn is_immutable(call: &ScalarFunction) -> bool {
    if call.func.signature().volatility != Volatility::Immutable {
        return false;
    }
    let Some(kernel) = kernels::kernel_of(&call.func) else { return true };
    let Some(result) = kernels::result_of(&call.func) else { return true };
    if kernel.name == kernels::RELABEL.name {
        return true;
    }
    let none = DFSchema::empty();
    let type_of = |place: usize| {
        let field = call.args.get(place)?.to_field(&none).ok()?.1;
        Some(ValueType::of_field(&field).sql_type)
    };
    match type_of(0) {
        Some(from) if kernel.name == kernels::CAST.name => is_immutable_cast(&from, &result.sql_type),
        // In a time zone a day may have 23 hours.
        Some(_) => result.sql_type != SqlType::Timestamptz,
        None => true,
    }
}

/// Whether a conversion between two types asks no setting.
pub(crate) fn is_immutable_cast(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as T;
    let asks_settings = |sql_type: &T| {
        matches!(sql_type, T::Date | T::Time | T::Timestamp | T::Timestamptz | T::Interval | T::Array(_))
    };
    match (&*from.bare(), &*to.bare()) {
        // Written in one way only.
        (T::Time, to) if is_text(to) => true,
        (from, to) if is_text(from) => !asks_settings(to),
        (from, to) if is_text(to) => !asks_settings(from),
        (T::Array(from), T::Array(to)) => is_immutable_cast(from, to),
        (T::Timestamptz, to) => *to == T::Timestamptz,
        (from, T::Timestamptz) => *from == T::Timestamptz,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_settings_say_is_not_immutable() {
        assert!(is_immutable_cast(&SqlType::Text, &SqlType::Int4));
        assert!(is_immutable_cast(&SqlType::Text, &SqlType::Uuid));
        assert!(is_immutable_cast(&SqlType::Float8, &SqlType::Text));
        assert!(is_immutable_cast(&SqlType::Time, &SqlType::Varchar(Some(5))));
        assert!(is_immutable_cast(&SqlType::Date, &SqlType::Timestamp));
        assert!(!is_immutable_cast(&SqlType::Text, &SqlType::Date));
        assert!(!is_immutable_cast(&SqlType::Varchar(None), &SqlType::Array(Box::new(SqlType::Int4))));
        assert!(!is_immutable_cast(&SqlType::Timestamp, &SqlType::Text));
        assert!(!is_immutable_cast(&SqlType::Date, &SqlType::Timestamptz));
    }
}

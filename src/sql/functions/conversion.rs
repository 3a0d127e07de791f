//! Which types PostgreSQL converts to which without being asked, and their categories.
//!
//! The rows of `pg_cast` with context "implicit" and the categories of `pg_type`, for the types that there are here.

use crate::sql::types::SqlType;

/// PostgreSQL's type category, which decides among functions for literals without a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    Bool,
    Number,
    Text,
    DateTime,
    Timespan,
    Array,
    Other,
}

pub(super) fn category(sql_type: &SqlType) -> Category {
    match sql_type {
        SqlType::Bool => Category::Bool,
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Float4
        | SqlType::Float8
        | SqlType::Numeric(_)
        | SqlType::Oid
        | SqlType::Regclass
        | SqlType::Regtype
        | SqlType::Regproc => Category::Number,
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name => Category::Text,
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz => Category::DateTime,
        SqlType::Interval => Category::Timespan,
        SqlType::Array(_) | SqlType::Int2Vector | SqlType::OidVector => Category::Array,
        SqlType::Json
        | SqlType::Jsonb
        | SqlType::Bytea
        | SqlType::Uuid
        | SqlType::InternalChar
        | SqlType::Void
        | SqlType::Unknown => Category::Other,
    }
}

/// Whether the type is the one its category leans to.
pub(super) fn is_preferred(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Bool | SqlType::Float8 | SqlType::Oid | SqlType::Text | SqlType::Timestamptz | SqlType::Interval
    )
}

/// Whether two types are one but for their parameters: `varchar(3)` and `varchar`.
pub(super) fn is_same(a: &SqlType, b: &SqlType) -> bool {
    match (a, b) {
        (SqlType::Array(a), SqlType::Array(b)) => is_same(a, b),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Whether a value of type `from` is taken where one of type `to` is asked for.
pub(super) fn is_implicit(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as T;
    if is_same(from, to) {
        return true;
    }
    match (from, to) {
        (T::Int2, T::Int4 | T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid)
        | (T::Int4, T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid)
        | (T::Int8, T::Numeric(_) | T::Float4 | T::Float8 | T::Oid)
        | (T::Oid, T::Int8)
        | (T::Numeric(_), T::Float4 | T::Float8)
        | (T::Float4, T::Float8)
        | (T::Varchar(_) | T::Char(_) | T::Name | T::InternalChar, T::Text)
        | (T::Text | T::Char(_), T::Varchar(_))
        | (T::Text | T::Varchar(_), T::Char(_) | T::Name)
        // A relation or a type is its name here, and PostgreSQL prints it so.
        | (T::Regclass | T::Regtype | T::Regproc, T::Text)
        | (T::Date, T::Timestamp | T::Timestamptz)
        | (T::Timestamp, T::Timestamptz)
        | (T::Time, T::Interval) => true,
        (T::Int2Vector, T::Array(item)) => **item == T::Int2,
        (T::OidVector, T::Array(item)) => **item == T::Oid,
        // Only where the items need no conversion.
        (T::Array(from), T::Array(to)) => category(from) == Category::Text && category(to) == Category::Text,
        _ => false,
    }
}

/// The type that both can be taken for.
pub(super) fn common(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    match (a, b) {
        (SqlType::Numeric(a), SqlType::Numeric(b)) if a != b => Some(SqlType::Numeric(None)),
        _ if is_implicit(b, a) => Some(a.clone()),
        _ if is_implicit(a, b) => Some(b.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_go_one_way() {
        assert!(is_implicit(&SqlType::Int4, &SqlType::Numeric(None)));
        assert!(!is_implicit(&SqlType::Int8, &SqlType::Int4));
        assert!(!is_implicit(&SqlType::Int4, &SqlType::Text));
        assert!(is_implicit(&SqlType::Date, &SqlType::Timestamptz));
        assert!(!is_implicit(&SqlType::Timestamptz, &SqlType::Timestamp));
        let list = |item| SqlType::Array(Box::new(item));
        assert!(is_implicit(&list(SqlType::Varchar(Some(3))), &list(SqlType::Text)));
        assert!(!is_implicit(&list(SqlType::Int4), &list(SqlType::Int8)));
    }

    #[test]
    fn a_common_type_is_the_wider_one() {
        assert_eq!(common(&SqlType::Int4, &SqlType::Float8), Some(SqlType::Float8));
        assert_eq!(common(&SqlType::Date, &SqlType::Text), None);
    }
}

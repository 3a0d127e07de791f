//! Which types PostgreSQL converts to which, when it is asked and when it is not.
//!
//! The rows of `pg_cast` and the categories of `pg_type`, for the types that there are here. The types that name objects
//! (`regclass`, ...) are texts here, so they go where text goes; only `regproc` is a number, as they all are there.

use crate::error::{ErrorKind, SqlError};
use crate::sql_type::{CatalogType, SqlType};

/// PostgreSQL's type category: it decides what a literal without a type is taken for, and which types have a common one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    Bool,
    Number,
    Text,
    DateTime,
    Timespan,
    Array,
    Unknown,
    /// Types that are alone in what they are.
    Other,
}

pub fn category(sql_type: &SqlType) -> Category {
    match sql_type {
        SqlType::Bool => Category::Bool,
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Float4
        | SqlType::Float8
        | SqlType::Numeric(_)
        | SqlType::Quotient
        | SqlType::Oid
        | SqlType::Regproc => Category::Number,
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Name
        | SqlType::Regclass
        | SqlType::Regtype => Category::Text,
        SqlType::Catalog(catalog) if catalog.names_objects() => Category::Text,
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz => Category::DateTime,
        SqlType::Interval => Category::Timespan,
        SqlType::Limited(limits) => category(limits.of().bare()),
        SqlType::Array(_) | SqlType::Int2Vector | SqlType::OidVector => Category::Array,
        SqlType::Unknown => Category::Unknown,
        SqlType::Json
        | SqlType::Jsonb
        | SqlType::Bytea
        | SqlType::Uuid
        | SqlType::InternalChar
        | SqlType::Catalog(_)
        | SqlType::Record(_)
        | SqlType::Void => Category::Other,
    }
}

/// Whether the type is the one its category leans to.
pub fn is_preferred(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Bool | SqlType::Float8 | SqlType::Oid | SqlType::Text | SqlType::Timestamptz | SqlType::Interval
    )
}

pub fn is_text(sql_type: &SqlType) -> bool {
    matches!(category(sql_type), Category::Text | Category::Unknown)
}

/// Whether two types are one but for their parameters: `varchar(3)` and `varchar`.
pub fn is_same(a: &SqlType, b: &SqlType) -> bool {
    match (a, b) {
        (SqlType::Array(a), SqlType::Array(b)) => is_same(a, b),
        (SqlType::Record(a), SqlType::Record(b)) => a.table == b.table,
        (SqlType::Catalog(a), SqlType::Catalog(b)) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Whether a value of type `from` is taken where one of type `to` is asked for.
pub fn is_implicit(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as T;
    if is_same(from, to) || *from == T::Unknown {
        return true;
    }
    if from.names_objects() && *from != T::Regproc && matches!(to, T::Text | T::Name) {
        return true;
    }
    match (from, to) {
        (T::Int2, T::Int4 | T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid)
        | (T::Int4, T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid)
        | (T::Int8, T::Numeric(_) | T::Float4 | T::Float8 | T::Oid)
        | (T::Regproc, T::Oid)
        | (T::Oid, T::Regproc)
        | (T::Numeric(_), T::Float4 | T::Float8)
        | (T::Float4, T::Float8)
        | (T::Varchar(_) | T::Char(_) | T::Name | T::InternalChar, T::Text)
        | (T::Text | T::Char(_), T::Varchar(_))
        | (T::Text | T::Varchar(_), T::Char(_))
        | (T::Text | T::Varchar(_) | T::Char(_), T::Name)
        | (T::Catalog(CatalogType::NodeTree), T::Text)
        | (T::Date, T::Timestamp | T::Timestamptz)
        | (T::Timestamp, T::Timestamptz)
        | (T::Time, T::Interval) => true,
        // A table's row is a row.
        (T::Record(_), T::Record(row)) => row.table.is_none(),
        (T::Int2Vector, T::Array(item)) => **item == T::Int2,
        (T::OidVector, T::Array(item)) => **item == T::Oid,
        (T::Array(from), T::Array(to)) => is_implicit(from, to),
        _ => false,
    }
}

/// Whether CAST takes a value of type `from` to type `to`.
pub fn is_castable(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as T;
    if is_implicit(from, to) || is_text(from) || is_text(to) {
        return true;
    }
    if from.names_objects() && matches!(to, T::Oid | T::Int4 | T::Int8) {
        return true;
    }
    let integer = |t: &SqlType| matches!(t, T::Int2 | T::Int4 | T::Int8);
    let number = |t: &SqlType| integer(t) || matches!(t, T::Float4 | T::Float8 | T::Numeric(_));
    match (from, to) {
        (_, _) if number(from) && number(to) => true,
        (T::Oid, T::Int4 | T::Int8)
        | (T::Bool, T::Int4)
        | (T::Int4, T::Bool | T::InternalChar)
        | (T::InternalChar, T::Int4)
        | (T::Json, T::Jsonb)
        | (T::Jsonb, T::Json)
        | (T::Timestamp | T::Timestamptz, T::Date | T::Time | T::Timestamp)
        | (T::Interval, T::Time) => true,
        (T::Jsonb, T::Bool) => true,
        (T::Jsonb, _) => number(to),
        (T::Array(from), T::Array(to)) => is_castable(from, to),
        _ => false,
    }
}

/// The type that several values have in common: of a CASE, a UNION, an array (`select_common_type`). Literals without a
/// type do not count; of nothing else it is text.
///
/// # Errors
/// 42804 when two of them are of different kinds, `context` saying where they stand.
pub fn common_type<'t>(types: impl IntoIterator<Item = &'t SqlType>, context: &str) -> Result<SqlType, Box<SqlError>> {
    let mut known = types.into_iter().filter(|t| **t != SqlType::Unknown);
    let Some(mut common) = known.next() else { return Ok(SqlType::Text) };
    let mut same = true;
    for next in known {
        if common == next {
            continue;
        }
        same = false;
        if is_same(common, next) {
            continue;
        }
        // What names an object is a number beside numbers.
        if common.names_objects() && *next == SqlType::Oid {
            common = next;
            continue;
        }
        if next.names_objects() && *common == SqlType::Oid {
            continue;
        }
        if category(common) != category(next) || category(common) == Category::Other {
            let message = format!("{context} types {} and {} cannot be matched", name(common), name(next));
            return Err(SqlError::new(ErrorKind::DatatypeMismatch, message));
        }
        if !is_preferred(common) && is_implicit(common, next) && !is_implicit(next, common) {
            common = next;
        }
    }
    Ok(if same { common.clone() } else { without_parameters(common) })
}

/// The type of an array's items; `None` for what is not an array.
pub fn item_of(sql_type: &SqlType) -> Option<SqlType> {
    match sql_type {
        SqlType::Array(item) => Some((**item).clone()),
        SqlType::Int2Vector => Some(SqlType::Int2),
        SqlType::OidVector => Some(SqlType::Oid),
        _ => None,
    }
}

/// How many dimensions an array has by its type: each has a pair of brackets there. 1 for what has one, and for vectors; 0 for
/// what is no array.
pub fn dimensions(sql_type: &SqlType) -> usize {
    match sql_type {
        SqlType::Array(item) => 1 + dimensions(item),
        SqlType::Int2Vector | SqlType::OidVector => 1,
        _ => 0,
    }
}

/// The type of the items of an array, however many dimensions it has; of anything else that itself.
pub fn innermost(sql_type: &SqlType) -> &SqlType {
    match sql_type {
        SqlType::Array(item) => innermost(item),
        other => other,
    }
}

/// The type that an array of the first type becomes by a cast to the second: it keeps its dimensions.
pub fn with_dimensions_of(from: &SqlType, to: &SqlType) -> SqlType {
    match (from, to) {
        (SqlType::Array(inner), SqlType::Array(item)) if dimensions(from) > dimensions(to) => {
            SqlType::Array(Box::new(match dimensions(to) {
                1 => with_dimensions_of(inner, to),
                _ => with_dimensions_of(inner, item),
            }))
        }
        _ => to.clone(),
    }
}

/// `varchar` for `varchar(3)`. A `char(n)` keeps its length: one without would be cut to one character.
pub fn without_parameters(sql_type: &SqlType) -> SqlType {
    match sql_type {
        SqlType::Numeric(_) => SqlType::Numeric(None),
        SqlType::Varchar(_) => SqlType::Varchar(None),
        SqlType::Array(item) => SqlType::Array(Box::new(without_parameters(item))),
        other => other.clone(),
    }
}

/// A type's name without parameters, as messages give it.
pub fn name(sql_type: &SqlType) -> String {
    match sql_type.bare().as_ref() {
        SqlType::Numeric(_) => "numeric".to_owned(),
        SqlType::Varchar(_) => "character varying".to_owned(),
        SqlType::Char(_) => "character".to_owned(),
        SqlType::Array(item) => match &**item {
            // However many dimensions an array has, its type has one pair of brackets.
            SqlType::Array(_) => name(item),
            _ => format!("{}[]", name(item)),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(item: SqlType) -> SqlType {
        SqlType::Array(Box::new(item))
    }

    #[test]
    fn conversions_go_one_way() {
        assert!(is_implicit(&SqlType::Int4, &SqlType::Numeric(None)));
        assert!(!is_implicit(&SqlType::Int8, &SqlType::Int4));
        assert!(!is_implicit(&SqlType::Int4, &SqlType::Text));
        assert!(is_implicit(&SqlType::Date, &SqlType::Timestamptz));
        assert!(!is_implicit(&SqlType::Timestamptz, &SqlType::Timestamp));
        assert!(is_implicit(&array(SqlType::Varchar(Some(3))), &array(SqlType::Text)));
    }

    #[test]
    fn casts_are_those_of_postgresql() {
        for (from, to, can) in [
            (SqlType::Int8, SqlType::Int2, true),
            (SqlType::Bool, SqlType::Int4, true),
            (SqlType::Bool, SqlType::Int8, false),
            (SqlType::Int4, SqlType::Text, true),
            (SqlType::Text, SqlType::Uuid, true),
            (SqlType::Int4, SqlType::Date, false),
            (SqlType::Date, SqlType::Int4, false),
            (SqlType::Timestamptz, SqlType::Date, true),
            (SqlType::Date, SqlType::Time, false),
            (SqlType::Json, SqlType::Int4, false),
            (SqlType::Jsonb, SqlType::Int4, true),
            (SqlType::Uuid, SqlType::Bytea, false),
            (array(SqlType::Int8), array(SqlType::Int4), true),
        ] {
            assert_eq!(is_castable(&from, &to), can, "{from} -> {to}");
        }
    }

    #[test]
    fn a_common_type_holds_them_all() {
        let common = |types: &[SqlType]| common_type(types, "CASE").map_err(|error| error.message);
        assert_eq!(common(&[SqlType::Unknown, SqlType::Unknown]), Ok(SqlType::Text));
        assert_eq!(common(&[SqlType::Int4, SqlType::Unknown, SqlType::Int8]), Ok(SqlType::Int8));
        assert_eq!(common(&[SqlType::Numeric(Some((3, 1))), SqlType::Int4]), Ok(SqlType::Numeric(None)));
        assert_eq!(common(&[SqlType::Float8, SqlType::Numeric(None)]), Ok(SqlType::Float8));
        assert_eq!(common(&[SqlType::Varchar(Some(3)), SqlType::Varchar(Some(3))]), Ok(SqlType::Varchar(Some(3))));
        assert_eq!(common(&[SqlType::Varchar(Some(3)), SqlType::Varchar(Some(4))]), Ok(SqlType::Varchar(None)));
        assert_eq!(common(&[SqlType::Text, SqlType::Varchar(Some(3))]), Ok(SqlType::Text));
        assert_eq!(common(&[SqlType::Date, SqlType::Timestamp]), Ok(SqlType::Timestamp));
        assert_eq!(
            common(&[SqlType::Text, SqlType::Int4]),
            Err("CASE types text and integer cannot be matched".to_owned())
        );
        assert_eq!(
            common(&[SqlType::Uuid, SqlType::Bytea]),
            Err("CASE types uuid and bytea cannot be matched".to_owned())
        );
    }
}

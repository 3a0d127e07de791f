//! SQL values and stored values: which EDM type keeps which SQL type, and the ways between them.

mod assign;
mod columns;
mod load;
mod numbers;
mod save;
mod value;

use tablegate_store::model::EdmType;
use tablegate_store::table::{ColumnType, TypeSet};

pub use self::assign::{assign, assign_as, limited, texts};
pub use self::columns::to_edm_column;
pub use self::load::{is_read_from_text, not_of_type, to_sql};
pub use self::save::{to_edm, value_to_edm};
pub use self::value::to_value;
use super::sql_type::SqlType;

/// How the store must hand out a property that holds values of this type: as the EDM type that [`to_edm`] makes.
pub fn column_type(sql_type: &SqlType) -> ColumnType {
    match sql_type {
        SqlType::Int2 | SqlType::Int4 => ColumnType::Int32,
        SqlType::Int8 | SqlType::Oid => ColumnType::Int64,
        SqlType::Float4 | SqlType::Float8 => ColumnType::Double,
        SqlType::Bool => ColumnType::Boolean,
        SqlType::Timestamp | SqlType::Timestamptz | SqlType::Date => ColumnType::DateTime,
        SqlType::Limited(limits) => column_type(limits.of().bare()),
        SqlType::Uuid => ColumnType::Guid,
        SqlType::Bytea => ColumnType::Binary,
        SqlType::Numeric(_)
        | SqlType::Quotient
        | SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Name
        | SqlType::Json
        | SqlType::Jsonb
        | SqlType::Time
        | SqlType::Interval
        | SqlType::InternalChar
        | SqlType::Regclass
        | SqlType::Regtype
        | SqlType::Regproc
        | SqlType::Int2Vector
        | SqlType::OidVector
        | SqlType::Catalog(_)
        | SqlType::Array(_)
        | SqlType::Record(_)
        | SqlType::Void
        | SqlType::Unknown => ColumnType::Text,
    }
}

/// The type of an undeclared property: the narrowest one that holds all the EDM types seen without loss.
pub fn sql_type_of(types: TypeSet) -> SqlType {
    let mut all = types.iter();
    let (first, second) = (all.next(), all.next());
    match (first, second) {
        (Some(EdmType::Int32), None) => SqlType::Int4,
        (Some(EdmType::Int64), None) => SqlType::Int8,
        (Some(EdmType::Double), None) => SqlType::Float8,
        (Some(EdmType::Boolean), None) => SqlType::Bool,
        (Some(EdmType::DateTime), None) => SqlType::Timestamptz,
        (Some(EdmType::Guid), None) => SqlType::Uuid,
        (Some(EdmType::Binary), None) => SqlType::Bytea,
        _ => mixed(types),
    }
}

fn mixed(types: TypeSet) -> SqlType {
    let numbers = [EdmType::Int32, EdmType::Int64, EdmType::Double];
    let only_numbers = types.iter().all(|t| numbers.contains(&t));
    let some = types.iter().next().is_some();
    match (some && only_numbers, types.contains(EdmType::Double)) {
        (true, false) => SqlType::Int8,
        // A double holds every integer up to 2^53.
        (true, true) if !types.has_wide_int64() => SqlType::Float8,
        _ => SqlType::Text,
    }
}

#[cfg(test)]
mod tests;

//! The types and functions that are always there, and how types are numbered and printed.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::objects::Objects;
use super::quoting::quote_ident;
use crate::sql::types::{SqlType, TimeLimits, TimeType};

const TYPES: &str = include_str!("data/types.txt");
const FUNCTIONS: &str = include_str!("data/functions.txt");
/// Header that PostgreSQL counts into the modifier of a length or precision.
const MODIFIER_HEADER: i32 = 4;

/// One base or array type of `pg_type`, as the text table gives it.
pub(super) struct TypeRow {
    pub oid: u32,
    pub name: &'static str,
    /// The other columns, by their position in the table.
    pub words: Vec<&'static str>,
}

impl TypeRow {
    pub fn element(&self) -> u32 {
        self.words.get(9).and_then(|w| w.parse().ok()).unwrap_or(0)
    }

    pub fn is_array(&self) -> bool {
        self.words.get(11) == Some(&"array_in")
    }
}

static TYPE_ROWS: LazyLock<Vec<TypeRow>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let words: Vec<&str> = line.split(' ').collect();
        Some(TypeRow { oid: words.first()?.parse().ok()?, name: words.get(1)?, words })
    };
    TYPES.lines().filter_map(row).collect()
});

static TYPE_BY_OID: LazyLock<HashMap<u32, &'static TypeRow>> =
    LazyLock::new(|| TYPE_ROWS.iter().map(|t| (t.oid, t)).collect());

pub(super) fn types() -> &'static [TypeRow] {
    &TYPE_ROWS
}

pub(super) fn type_by_oid(oid: u32) -> Option<&'static TypeRow> {
    TYPE_BY_OID.get(&oid).copied()
}

/// The built-in functions that other catalogue rows refer to, with their OIDs.
pub(super) fn functions() -> impl Iterator<Item = (u32, &'static str)> {
    FUNCTIONS.lines().filter_map(|line| {
        let (oid, name) = line.split_once(' ')?;
        Some((oid.parse().ok()?, name))
    })
}

/// OID of a SQL type, as in `pg_type`.
pub(super) fn type_oid(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Bool => 16,
        SqlType::Int2 => 21,
        SqlType::Int4 => 23,
        SqlType::Int8 => 20,
        SqlType::Float4 => 700,
        SqlType::Float8 => 701,
        SqlType::Numeric(_) => 1700,
        SqlType::Text => 25,
        SqlType::Varchar(_) => 1043,
        SqlType::Char(_) => 1042,
        SqlType::Name => 19,
        SqlType::Json => 114,
        SqlType::Jsonb => 3802,
        SqlType::Bytea => 17,
        SqlType::Uuid => 2950,
        SqlType::Date => 1082,
        SqlType::Time => 1083,
        SqlType::Timestamp => 1114,
        SqlType::Timestamptz => 1184,
        SqlType::Interval => 1186,
        SqlType::Limited(limits) => type_oid(limits.of().bare()),
        SqlType::Oid => 26,
        SqlType::InternalChar => 18,
        SqlType::Regclass => 2205,
        SqlType::Regtype => 2206,
        SqlType::Regproc => 24,
        SqlType::Int2Vector => 22,
        SqlType::OidVector => 30,
        SqlType::Array(item) => {
            let item = type_oid(item);
            types().iter().find(|t| t.is_array() && t.element() == item).map_or(1009, |t| t.oid)
        }
        SqlType::Record(row) => row.table.as_ref().map_or(2249, |table| table.oid),
        SqlType::Void => 2278,
        SqlType::Unknown => 705,
    }
}

/// The modifier of a type's length or precision, -1 for none.
pub(super) fn type_modifier(sql_type: &SqlType) -> i32 {
    match sql_type {
        SqlType::Varchar(Some(n)) | SqlType::Char(n) => i32::try_from(*n).map_or(-1, |n| n + MODIFIER_HEADER),
        SqlType::Numeric(Some((p, s))) => (i32::from(*p) << 16) + i32::from(*s) + MODIFIER_HEADER,
        SqlType::Limited(limits) => limits.modifier(),
        SqlType::Array(item) => type_modifier(item),
        _ => -1,
    }
}

/// What `format_type` prints for an OID and a modifier.
pub(super) fn format_type(objects: &Objects, oid: u32, modifier: Option<i64>) -> String {
    let bare = |text: &str| text.to_owned();
    let given = modifier.unwrap_or(-1);
    let of_time = |of: TimeType| {
        TimeLimits::of_modifier(of, given).map_or_else(|| of.bare().to_string(), |limits| limits.to_string())
    };
    let modifier = modifier.filter(|m| *m >= i64::from(MODIFIER_HEADER)).map(|m| m - i64::from(MODIFIER_HEADER));
    let with_length = |name: &str| modifier.map_or_else(|| name.to_owned(), |n| format!("{name}({n})"));
    let Some(row) = type_by_oid(oid) else {
        return match objects.table_of_row_type(oid) {
            Some((table, is_array)) => quote_ident(&table.name) + if is_array { "[]" } else { "" },
            None => bare(if oid == 0 { "-" } else { "???" }),
        };
    };
    if row.is_array() && row.element() != 0 {
        return format_type(objects, row.element(), Some(given)) + "[]";
    }
    match row.name {
        "bool" => bare("boolean"),
        "int2" => bare("smallint"),
        "int4" => bare("integer"),
        "int8" => bare("bigint"),
        "float4" => bare("real"),
        "float8" => bare("double precision"),
        "varchar" => with_length("character varying"),
        "bpchar" => with_length(if modifier.is_some() { "character" } else { "bpchar" }),
        "numeric" => modifier.map_or_else(|| bare("numeric"), |m| format!("numeric({},{})", m >> 16, m & 0x7ff)),
        "time" => of_time(TimeType::Time),
        "timetz" => bare("time with time zone"),
        "timestamp" => of_time(TimeType::Timestamp),
        "timestamptz" => of_time(TimeType::Timestamptz),
        "interval" => of_time(TimeType::Interval),
        "varbit" => with_length("bit varying"),
        "bit" => with_length("bit"),
        "char" => bare("\"char\""),
        "any" => bare("\"any\""),
        other => bare(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::types::IntervalFields;

    #[test]
    fn types_print_as_declared() {
        let objects = Objects::new(Vec::new(), Vec::new());
        for sql_type in [
            SqlType::Bool,
            SqlType::Varchar(Some(10)),
            SqlType::Char(3),
            SqlType::Numeric(Some((12, 2))),
            SqlType::Numeric(None),
            SqlType::Timestamptz,
            SqlType::Limited(TimeLimits::digits(TimeType::Time, 0)),
            SqlType::Limited(TimeLimits::interval(IntervalFields::YEAR_TO_MONTH, None)),
            SqlType::Array(Box::new(SqlType::Limited(TimeLimits::digits(TimeType::Timestamptz, 3)))),
            SqlType::InternalChar,
            SqlType::Array(Box::new(SqlType::Varchar(Some(3)))),
            SqlType::Array(Box::new(SqlType::Int4)),
            SqlType::Uuid,
        ] {
            let printed = format_type(&objects, type_oid(&sql_type), Some(type_modifier(&sql_type).into()));
            assert_eq!(printed, sql_type.to_string());
        }
        assert_eq!(format_type(&objects, 22, None), "int2vector");
    }
}

//! The types that are always there, and how types are numbered and printed.

use std::collections::HashMap;
use std::sync::LazyLock;

use tablegate_types::built_in::RecordedFile;
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::{TimeLimits, TimeType};

use super::objects::{Objects, PG_CATALOG};

/// Header that PostgreSQL counts into the modifier of a length or precision.
const MODIFIER_HEADER: i32 = 4;

/// OID of `array_in`, which every array type and no vector has as its input function.
const ARRAY_IN: u32 = 750;

/// One type of `pg_type`: what the rest of the catalogue asks about it.
pub(super) struct TypeRow {
    pub oid: u32,
    pub name: &'static str,
    pub schema: u32,
    /// Bytes of a value; -1 where values differ.
    pub length: i64,
    pub by_value: bool,
    pub align: &'static str,
    pub storage: &'static str,
    pub collation: u32,
    element: u32,
    /// The relation whose rows these are, else 0.
    relation: u32,
    input: u32,
}

impl TypeRow {
    pub(super) fn element(&self) -> u32 {
        self.element
    }

    pub(super) fn is_array(&self) -> bool {
        self.input == ARRAY_IN
    }
}

static TYPE_ROWS: LazyLock<Vec<TypeRow>> = LazyLock::new(|| {
    let Some(file) = RecordedFile::of("pg_type") else { return Vec::new() };
    let columns = [
        "oid",
        "typname",
        "typnamespace",
        "typlen",
        "typbyval",
        "typalign",
        "typstorage",
        "typcollation",
        "typelem",
        "typrelid",
        "typinput",
    ]
    .map(|column| file.position(column).unwrap_or(usize::MAX));
    let row = |row: Vec<&'static str>| {
        let [oid, name, schema, length, by_value, align, storage, collation, element, relation, input] =
            columns.map(|at| row.get(at).copied().unwrap_or_default());
        let number = |text: &str| text.parse().unwrap_or(0);
        TypeRow {
            oid: number(oid),
            name,
            schema: number(schema),
            length: length.parse().unwrap_or(-1),
            by_value: by_value == "t",
            align,
            storage,
            collation: number(collation),
            element: number(element),
            relation: number(relation),
            input: number(input),
        }
    };
    file.rows().map(row).collect()
});

static TYPE_BY_OID: LazyLock<HashMap<u32, &'static TypeRow>> =
    LazyLock::new(|| TYPE_ROWS.iter().map(|t| (t.oid, t)).collect());

static ROW_TYPE_OF: LazyLock<HashMap<u32, u32>> =
    LazyLock::new(|| TYPE_ROWS.iter().filter(|t| t.relation != 0).map(|t| (t.relation, t.oid)).collect());

pub(super) fn types() -> &'static [TypeRow] {
    &TYPE_ROWS
}

pub(super) fn type_by_oid(oid: u32) -> Option<&'static TypeRow> {
    TYPE_BY_OID.get(&oid).copied()
}

/// The type of a system relation's rows, 0 where there is none.
pub(super) fn row_type_of(relation: u32) -> u32 {
    ROW_TYPE_OF.get(&relation).copied().unwrap_or(0)
}

/// What `format_type` prints for an OID and a modifier.
pub(super) fn format_type(objects: &Objects, oid: u32, modifier: Option<i64>) -> String {
    let bare = |text: &str| text.to_owned();
    let given = modifier.unwrap_or(-1);
    let of_time = |of: TimeType| {
        TimeLimits::of_modifier(of, given).map_or_else(|| of.bare().to_string(), |limits| limits.to_string())
    };
    let is_asked = modifier.is_some();
    let modifier = modifier.filter(|m| *m >= i64::from(MODIFIER_HEADER)).map(|m| m - i64::from(MODIFIER_HEADER));
    let with_length = |name: &str| modifier.map_or_else(|| name.to_owned(), |n| format!("{name}({n})"));
    let Some(row) = type_by_oid(oid) else {
        return match objects.row_type(oid) {
            Some((row, is_array)) => quote_ident(row.name) + if is_array { "[]" } else { "" },
            None => bare(if oid == 0 { "-" } else { "???" }),
        };
    };
    if row.is_array() && row.element() != 0 {
        return format_type(objects, row.element(), is_asked.then_some(given)) + "[]";
    }
    if row.schema != PG_CATALOG {
        return format!("information_schema.{}", quote_ident(row.name));
    }
    match row.name {
        "bool" => bare("boolean"),
        "int2" => bare("smallint"),
        "int4" => bare("integer"),
        "int8" => bare("bigint"),
        "float4" => bare("real"),
        "float8" => bare("double precision"),
        "varchar" => with_length("character varying"),
        // Without a length these two are not what SQL means by their names.
        "bpchar" => with_length(if modifier.is_some() || !is_asked { "character" } else { "bpchar" }),
        "bit" if !is_asked => bare("bit"),
        "numeric" => modifier.map_or_else(|| bare("numeric"), |m| format!("numeric({},{})", m >> 16, m & 0x7ff)),
        "time" => of_time(TimeType::Time),
        "timetz" => bare("time with time zone"),
        "timestamp" => of_time(TimeType::Timestamp),
        "timestamptz" => of_time(TimeType::Timestamptz),
        "interval" => of_time(TimeType::Interval),
        // Their lengths have no header.
        "varbit" if given >= 0 => format!("bit varying({given})"),
        "varbit" => bare("bit varying"),
        "bit" if given >= 0 => format!("bit({given})"),
        "char" => bare("\"char\""),
        "any" => bare("\"any\""),
        other => quote_ident(other),
    }
}

#[cfg(test)]
mod tests {
    use tablegate_types::oid::{modifier as type_modifier, oid as type_oid};
    use tablegate_types::sql_type::{IntervalFields, SqlType};

    use super::*;

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
        assert_eq!(format_type(&objects, 1560, Some(3)), "bit(3)");
        assert_eq!(format_type(&objects, 13_234, None), "information_schema.yes_or_no");
    }
}

//! The objects of one database as the catalogue numbers and names them: tables, their keys, their types.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::layout::{self, Layout};
use crate::sql::relation::{Relation, RelationColumn};
use crate::sql::types::SqlType;

/// Schemas that are always there.
pub(super) const PG_CATALOG: u32 = 11;
pub(super) const PUBLIC: u32 = 2200;
pub(super) const INFORMATION_SCHEMA: u32 = 13_207;
/// The role that owns everything: whoever is connected.
pub(super) const OWNER: u32 = 10;
/// The database's own OID.
pub(super) const DATABASE: u32 = 5;
/// Default collation of text.
pub(super) const DEFAULT_COLLATION: u32 = 100;

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
        SqlType::Void => 2278,
        SqlType::Unknown => 705,
    }
}

/// The modifier of a type's length or precision, -1 for none.
pub(super) fn type_modifier(sql_type: &SqlType) -> i32 {
    match sql_type {
        SqlType::Varchar(Some(n)) | SqlType::Char(n) => i32::try_from(*n).map_or(-1, |n| n + MODIFIER_HEADER),
        SqlType::Numeric(Some((p, s))) => (i32::from(*p) << 16) + i32::from(*s) + MODIFIER_HEADER,
        SqlType::Array(item) => type_modifier(item),
        _ => -1,
    }
}

/// What `format_type` prints for an OID and a modifier.
pub(super) fn format_type(objects: &Objects, oid: u32, modifier: Option<i64>) -> String {
    let bare = |text: &str| text.to_owned();
    let modifier = modifier.filter(|m| *m >= i64::from(MODIFIER_HEADER)).map(|m| m - i64::from(MODIFIER_HEADER));
    let with_length = |name: &str| modifier.map_or_else(|| name.to_owned(), |n| format!("{name}({n})"));
    let Some(row) = type_by_oid(oid) else {
        return match objects.table_of_row_type(oid) {
            Some((table, is_array)) => quote_ident(&table.name) + if is_array { "[]" } else { "" },
            None => bare(if oid == 0 { "-" } else { "???" }),
        };
    };
    if row.is_array() && row.element() != 0 {
        return format_type(objects, row.element(), modifier.map(|m| m + i64::from(MODIFIER_HEADER))) + "[]";
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
        "time" => bare("time without time zone"),
        "timetz" => bare("time with time zone"),
        "timestamp" => bare("timestamp without time zone"),
        "timestamptz" => bare("timestamp with time zone"),
        "varbit" => with_length("bit varying"),
        "bit" => with_length("bit"),
        "char" => bare("\"char\""),
        "any" => bare("\"any\""),
        other => bare(other),
    }
}

/// A name as SQL must write it.
pub(super) fn quote_ident(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '$');
    if plain && !RESERVED.contains(&name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Words that cannot stand unquoted as a column's or table's name.
const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "between",
    "bigint",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "column",
    "constraint",
    "create",
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "not",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
];

/// What an OID of `pg_class` stands for.
#[derive(Clone, Copy)]
pub(super) enum Class<'a> {
    Table(&'a Relation),
    Index(&'a Relation),
    System(&'static Layout),
}

impl Class<'_> {
    pub fn name(&self) -> String {
        match self {
            Class::Table(table) => table.name.clone(),
            Class::Index(table) => table.primary_key_name(),
            Class::System(layout) => layout.name.to_owned(),
        }
    }

    pub fn schema(&self) -> &str {
        match self {
            Class::Table(table) | Class::Index(table) => &table.schema_name,
            Class::System(layout) => layout.schema,
        }
    }

    /// Whether its bare name finds it.
    pub fn is_visible(&self) -> bool {
        matches!(self.schema(), "public" | "pg_catalog")
    }

    /// As `regclass` prints it.
    pub fn printed(&self) -> String {
        let name = quote_ident(&self.name());
        if self.is_visible() { name } else { format!("{}.{name}", quote_ident(self.schema())) }
    }
}

/// The user's tables.
pub(super) struct Objects {
    pub tables: Vec<Arc<Relation>>,
}

impl Objects {
    pub fn new(tables: Vec<Arc<Relation>>) -> Self {
        Self { tables }
    }

    pub fn class_by_oid(&self, oid: u32) -> Option<Class<'_>> {
        let of_table = self.tables.iter().find_map(|table| match oid {
            _ if oid == table.oid => Some(Class::Table(table)),
            _ if oid == index_oid(table) && has_key(table) => Some(Class::Index(table)),
            _ => None,
        });
        of_table.or_else(|| layout::all().iter().find(|l| l.oid == oid).map(Class::System))
    }

    /// The relation that `regclass` input means, with its OID.
    pub fn class_by_name(&self, text: &str) -> Option<(u32, Class<'_>)> {
        let parts = split_name(text);
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name.as_str()),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name.as_str()),
            _ => return None,
        };
        if let Some(layout) = layout::find(schema, name) {
            return Some((layout.oid, Class::System(layout)));
        }
        let in_schema = |table: &&Arc<Relation>| schema.is_none_or(|s| s == table.schema_name);
        let mut tables = self.tables.iter().filter(in_schema);
        let exact = tables.clone().find(|t| t.name == name).map(|t| (t.oid, Class::Table(t)));
        let index = || tables.clone().find(|t| has_key(t) && t.primary_key_name() == name);
        exact
            .or_else(|| index().map(|t| (index_oid(t), Class::Index(t))))
            .or_else(|| tables.find(|t| t.name.eq_ignore_ascii_case(name)).map(|t| (t.oid, Class::Table(t))))
    }

    pub fn table_of_constraint(&self, oid: u32) -> Option<&Relation> {
        self.tables.iter().find(|t| constraint_oid(t) == oid && has_key(t)).map(|t| &**t)
    }

    /// The table of a row type, and whether the OID is that of the type's array.
    pub fn table_of_row_type(&self, oid: u32) -> Option<(&Relation, bool)> {
        self.tables.iter().find_map(|t| {
            let found = oid == row_type_oid(t) || oid == row_array_oid(t);
            found.then(|| (&**t, oid == row_array_oid(t)))
        })
    }

    /// Every schema with its OID: the fixed ones, then those of tables elsewhere.
    pub fn schemas(&self) -> Vec<(u32, String)> {
        let mut schemas = vec![
            (PG_CATALOG, "pg_catalog".to_owned()),
            (PUBLIC, "public".to_owned()),
            (INFORMATION_SCHEMA, "information_schema".to_owned()),
        ];
        let mut next = INFORMATION_SCHEMA + 1;
        for table in &self.tables {
            if !schemas.iter().any(|(_, name)| *name == table.schema_name) {
                schemas.push((next, table.schema_name.clone()));
                next += 1;
            }
        }
        schemas
    }

    pub fn schema_oid(&self, name: &str) -> Option<u32> {
        self.schemas().into_iter().find(|(_, n)| n == name).map(|(oid, _)| oid)
    }
}

/// The columns a table shows, numbered from 1 as in `pg_attribute`.
pub(super) fn visible_columns(table: &Relation) -> impl Iterator<Item = (i32, &RelationColumn)> {
    (1..).zip(table.columns.iter().filter(|c| !c.hidden))
}

/// The numbers of the key's columns, in key order.
pub(super) fn key_numbers(table: &Relation) -> Vec<i32> {
    let keys = table.key_columns();
    let number = |key: &usize| {
        let name = &table.columns.get(*key)?.name;
        visible_columns(table).find(|(_, c)| c.name == *name).map(|(n, _)| n)
    };
    keys.iter().filter_map(number).collect()
}

/// Whether the table has a primary key that SQL can see.
pub(super) fn has_key(table: &Relation) -> bool {
    table.generated_partition.is_none() && !key_numbers(table).is_empty()
}

/// The key's columns as a list, quoted where they must be.
pub(super) fn key_list(table: &Relation) -> String {
    let names: Vec<String> = key_numbers(table).iter().filter_map(|n| column_name(table, *n)).collect();
    names.join(", ")
}

/// The quoted name of a numbered column.
pub(super) fn column_name(table: &Relation, number: i32) -> Option<String> {
    visible_columns(table).find(|(n, _)| *n == number).map(|(_, c)| quote_ident(&c.name))
}

pub(super) fn index_oid(table: &Relation) -> u32 {
    table.oid.wrapping_add(1)
}

pub(super) fn constraint_oid(table: &Relation) -> u32 {
    table.oid.wrapping_add(2)
}

pub(super) fn row_type_oid(table: &Relation) -> u32 {
    table.oid.wrapping_add(3)
}

pub(super) fn row_array_oid(table: &Relation) -> u32 {
    table.oid.wrapping_add(4)
}

/// OID of the default of a numbered column.
pub(super) fn default_oid(table: &Relation, number: i32) -> u32 {
    const FIRST_DEFAULT: u32 = 8;
    table.oid.wrapping_add(FIRST_DEFAULT).wrapping_add(number.unsigned_abs())
}

/// The parts of a dotted name, quotes taken off and unquoted parts folded.
pub(super) fn split_name(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let Some(part) = parts.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            _ if quoted => part.push(c),
            _ => part.extend(c.to_lowercase()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_print_as_declared() {
        let objects = Objects::new(Vec::new());
        for sql_type in [
            SqlType::Bool,
            SqlType::Varchar(Some(10)),
            SqlType::Char(3),
            SqlType::Numeric(Some((12, 2))),
            SqlType::Numeric(None),
            SqlType::Timestamptz,
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

    #[test]
    fn names_are_split_and_quoted() {
        assert_eq!(split_name("Public.\"My \"\"T.t\""), ["public", "My \"T.t"]);
        assert_eq!(quote_ident("PartitionKey"), "\"PartitionKey\"");
        assert_eq!((quote_ident("order"), quote_ident("orders")), ("\"order\"".to_owned(), "orders".to_owned()));
    }
}

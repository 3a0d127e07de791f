//! The columns of every system relation, in PostgreSQL 15's order, read from a compact text table.
//!
//! One line of the table is `schema.relation oid kind column:type ...`; `!` behind a type says NOT NULL, `@` and a number
//! a collation that is not the type's. A column of one of `information_schema`'s domains has the domain's base type.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{Schema, SchemaRef};
use tablegate_types::oid;
use tablegate_types::sql_type::{SqlType, TimeLimits, TimeType};

const TABLE: &str = tablegate_types::built_in::RELATIONS;

/// A system relation.
pub(super) struct Layout {
    pub schema: &'static str,
    pub name: &'static str,
    pub oid: u32,
    /// `r` or `v`, as in `pg_class.relkind`.
    pub kind: &'static str,
    pub columns: Vec<LayoutColumn>,
    pub arrow: SchemaRef,
}

pub(super) struct LayoutColumn {
    pub name: &'static str,
    pub sql_type: SqlType,
    /// The type's OID in `pg_type`: of a domain its own.
    pub type_oid: u32,
    pub not_null: bool,
    /// Where it is not the type's.
    pub collation: Option<u32>,
}

impl Layout {
    pub(super) fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }
}

static LAYOUTS: LazyLock<Vec<Layout>> = LazyLock::new(|| TABLE.lines().filter_map(read_line).collect());

static BY_NAME: LazyLock<HashMap<(&'static str, &'static str), &'static Layout>> =
    LazyLock::new(|| LAYOUTS.iter().map(|layout| ((layout.schema, layout.name), layout)).collect());

/// All system relations.
pub(super) fn all() -> &'static [Layout] {
    &LAYOUTS
}

/// The relation of this name; without a schema, in `pg_catalog`.
pub(super) fn find(schema: Option<&str>, table: &str) -> Option<&'static Layout> {
    // The key's lifetime is that of the table, so the name is looked up through the stored spelling.
    let by_name: &HashMap<(&str, &str), &'static Layout> = &BY_NAME;
    by_name.get(&(schema.unwrap_or("pg_catalog"), table)).copied()
}

fn read_line(line: &'static str) -> Option<Layout> {
    let mut words = line.split(' ');
    let (schema, name) = words.next()?.split_once('.')?;
    let oid = words.next()?.parse().ok()?;
    let kind = words.next()?;
    let columns: Vec<LayoutColumn> = words.filter_map(read_column).collect();
    let fields: Vec<_> = columns.iter().map(|c| c.sql_type.field(c.name, !c.not_null)).collect();
    Some(Layout { schema, name, oid, kind, columns, arrow: Arc::new(Schema::new(fields)) })
}

fn read_column(word: &'static str) -> Option<LayoutColumn> {
    let (name, rest) = word.split_once(':')?;
    let (rest, collation) = match rest.split_once('@') {
        Some((rest, collation)) => (rest, Some(collation.parse().ok()?)),
        None => (rest, None),
    };
    let (typname, not_null) = match rest.strip_suffix('!') {
        Some(typname) => (typname, true),
        None => (rest, false),
    };
    let (type_oid, sql_type) = match DOMAINS.iter().find(|(domain, ..)| *domain == typname) {
        Some((_, oid, base)) => (*oid, base.clone()),
        None => {
            let sql_type = SqlType::of_typname(typname)?;
            (oid::oid(&sql_type), sql_type)
        }
    };
    Some(LayoutColumn { name, sql_type, type_oid, not_null, collation })
}

/// The domains of `information_schema`, with their OIDs and base types.
pub(super) static DOMAINS: LazyLock<[(&str, u32, SqlType); 5]> = LazyLock::new(|| {
    let seconds = SqlType::Limited(TimeLimits::digits(TimeType::Timestamptz, 2));
    [
        ("cardinal_number", 13_221, SqlType::Int4),
        ("character_data", 13_224, SqlType::Varchar(None)),
        ("sql_identifier", 13_226, SqlType::Name),
        ("time_stamp", 13_232, seconds),
        ("yes_or_no", 13_234, SqlType::Varchar(Some(3))),
    ]
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_and_every_column_is_read() {
        assert_eq!(all().len(), TABLE.lines().count());
        let columns: usize = all().iter().map(|l| l.columns.len()).sum();
        let words: usize = TABLE.lines().map(|line| line.split(' ').count() - 3).sum();
        assert_eq!(columns, words);
        assert_eq!(find(None, "pg_class").map(|l| (l.oid, l.columns.len())), Some((1259, 33)));
    }

    #[test]
    fn information_schema_needs_its_name() {
        assert!(find(None, "tables").is_none());
        assert!(find(Some("information_schema"), "tables").is_some());
    }
}

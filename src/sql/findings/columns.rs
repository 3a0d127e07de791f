//! Columns: types that are kept as text, values that are too long or too early, tables that are nearly full.

use tablegate_store::model::limits::CUSTOM_PROPERTIES_MAX;
use tablegate_types::sql_type::SqlType;

use super::{Finding, Kind, Severity, listed};
use crate::relation::{ColumnSource, Relation, RelationColumn};

/// So close to the most properties an entity can have that it is said.
const NEARLY_FULL: usize = 200;

pub(super) fn findings(table: &Relation, found: &mut Vec<Finding>) {
    let stored: Vec<&RelationColumn> = table
        .columns
        .iter()
        .filter(|column| !column.hidden && matches!(column.source, ColumnSource::Property { .. }))
        .collect();
    let of = |wanted: fn(&SqlType) -> bool| -> Vec<&str> {
        stored.iter().filter(|c| wanted(&c.sql_type)).map(|c| c.name.as_str()).collect()
    };
    let mut say = |columns: Vec<&str>, kind, severity, meaning: &str, advice: &str| {
        if columns.is_empty() {
            return;
        }
        found.push(Finding {
            table: Some(table.name.clone()),
            object: Some(listed(&columns)),
            kind,
            severity,
            meaning: meaning.to_owned(),
            advice: advice.to_owned(),
        });
    };
    say(
        of(is_text_inside),
        Kind::StoredAsText,
        Severity::Low,
        "Stored as Edm.String: the gateway computes and compares it as declared, the store filters it as text or not at all, \
         and other clients of the store see text.",
        "Where rows are found by it, prefer integer, bigint, double precision, boolean, timestamptz or uuid.",
    );
    say(
        of(is_unbounded),
        Kind::LongValues,
        Severity::Low,
        "A value over 64 KiB (32,768 UTF-16 units of text) is refused (54000), and so is a row over 1 MiB.",
        "Keep long values elsewhere, in blobs, and their address here.",
    );
    say(
        of(|t| matches!(*t.bare(), SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz)),
        Kind::TimeRange,
        Severity::Info,
        "Edm.DateTime holds 1601-01-01 to 9999-12-31: earlier and later times, and infinity, are refused (22008).",
        "Nothing to do, unless the data has such times.",
    );
    if stored.len() > NEARLY_FULL {
        found.push(Finding {
            table: Some(table.name.clone()),
            object: None,
            kind: Kind::ManyColumns,
            severity: Severity::Low,
            meaning: format!("{} of the {CUSTOM_PROPERTIES_MAX} properties of an entity are taken.", stored.len()),
            advice: "Move groups of columns to a table of their own with the same key.".to_owned(),
        });
    }
}

/// Types that the store has no type for.
fn is_text_inside(sql_type: &SqlType) -> bool {
    matches!(
        *sql_type.bare(),
        SqlType::Numeric(_) | SqlType::Json | SqlType::Jsonb | SqlType::Time | SqlType::Interval | SqlType::Array(_)
    )
}

/// Types whose values can be longer than a property can.
fn is_unbounded(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Text | SqlType::Varchar(None) | SqlType::Json | SqlType::Jsonb | SqlType::Bytea => true,
        SqlType::Varchar(Some(n)) | SqlType::Char(n) => {
            *n as usize > tablegate_store::model::limits::STRING_MAX_UTF16_UNITS
        }
        _ => false,
    }
}

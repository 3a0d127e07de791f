//! Primary keys: what a partition holds, how it grows, and how long keys can become.

use tablegate_store::model::TableName;
use tablegate_store::model::limits::{KEY_MAX_CHARS, KEY_SAFE_UTF16_UNITS};
use tablegate_types::key_codec::PartitionScheme;
use tablegate_types::sql_type::SqlType;

use super::{Finding, Kind, Severity, key_of, listed};
use crate::catalog::why_another_name;
use crate::relation::{Relation, RelationKind};

pub(super) fn findings(table: &Relation, found: &mut Vec<Finding>) {
    let mut say = |kind, severity, meaning: String, advice: &str| {
        let advice = advice.to_owned();
        found.push(Finding { table: Some(table.name.clone()), object: None, kind, severity, meaning, advice });
    };
    if table.generated_partition.is_some() {
        say(
            Kind::NoPrimaryKey,
            Severity::Medium,
            "Rows get keys of the gateway's making, all in one partition: no query can address a row, each reads the table; \
             a partition takes about 2,000 entities a second."
                .to_owned(),
            "Declare a primary key that begins with what queries and transactions have in common.",
        );
        return;
    }
    if table.kind != RelationKind::DeclaredRelational {
        return;
    }
    let key = key_of(table);
    match table.codec.partition() {
        PartitionScheme::Constant(constant) => say(
            Kind::OnePartition,
            Severity::Medium,
            format!(
                "All rows are in the partition '{constant}': any 100 of them can change in one transaction, and all of them \
                 together take about 2,000 entities a second."
            ),
            "Split by a column that transactions share, WITH (partition_key = ...), when the table grows or is busy.",
        ),
        PartitionScheme::Bucket(_) => {}
        PartitionScheme::Columns(parts) => {
            if *parts >= key.len() {
                say(
                    Kind::SingleRowPartitions,
                    Severity::Medium,
                    format!(
                        "({}) is all PartitionKey: every row is a partition of its own, so a transaction can change one row \
                         of this table only, and a scan of a range goes from partition to partition.",
                        listed(&key)
                    ),
                    "Put a column before it that rows changing together share, or choose the split WITH (partition_key = \
                     ..., row_key = ...).",
                );
            }
            rising(table, *parts, &mut say);
        }
    }
    lengths(table, &mut say);
}

/// The name that other clients of the store know the table by.
pub(super) fn stored_name(table: &Relation, found: &mut Vec<Finding>) {
    let stored = &table.stored.name;
    if TableName::parse(&table.name).is_ok() {
        return;
    }
    found.push(Finding {
        table: Some(table.name.clone()),
        object: Some(stored.to_string()),
        kind: Kind::StoredName,
        severity: Severity::Info,
        meaning: format!(
            "Other clients of the store know the table as \"{stored}\": {}.",
            why_another_name(&table.name)
        ),
        advice: "Nothing to do, unless they want another name: WITH (table = 'Name').".to_owned(),
    });
}

/// New rows that all go to the end of the partitions.
fn rising(table: &Relation, parts: usize, say: &mut impl FnMut(Kind, Severity, String, &str)) {
    let Some(first) = table.codec.columns().first().filter(|_| parts > 0) else { return };
    let column = table.columns.iter().find(|column| column.name == first.name);
    let counted = column.is_some_and(|column| {
        column.identity.is_some() || column.default.as_ref().is_some_and(|default| default.starts_with("nextval("))
    });
    let timed = matches!(*first.sql_type.bare(), SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz);
    if !counted && !timed {
        return;
    }
    say(
        Kind::RisingPartitions,
        Severity::Low,
        format!(
            "The PartitionKey begins with \"{}\", which rises with each new row: all inserts go to the last partition server, \
             while the others are idle.",
            first.name
        ),
        "Where inserts are many, begin with another column, or use WITH (partition_key = 'bucket(16)').",
    );
}

/// Keys that can become longer than the service takes, or hold what it does not.
fn lengths(table: &Relation, say: &mut impl FnMut(Kind, Severity, String, &str)) {
    let columns = table.codec.columns();
    let textual = |sql_type: &SqlType| matches!(sql_type, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_));
    let texts: Vec<&str> = columns.iter().filter(|c| textual(&c.sql_type)).map(|c| c.name.as_str()).collect();
    if texts.is_empty() {
        return;
    }
    let length = |sql_type: &SqlType| match sql_type {
        SqlType::Varchar(Some(n)) | SqlType::Char(n) => Some(*n as usize),
        SqlType::Text | SqlType::Varchar(None) => None,
        // Every other type takes fewer characters than this.
        _ => Some(40),
    };
    let longest = columns.iter().try_fold(0_usize, |sum, column| Some(sum + length(&column.sql_type)?));
    if longest.is_none_or(|longest| longest > KEY_SAFE_UTF16_UNITS) {
        say(
            Kind::WideKey,
            Severity::Low,
            format!(
                "With ({}) in it a key can become too long: over {KEY_SAFE_UTF16_UNITS} UTF-16 units the service's \
                 documents disagree, over {KEY_MAX_CHARS} characters it is refused (22023).",
                listed(&texts)
            ),
            "Declare the length, varchar(n), or make a shorter column the key.",
        );
    }
    say(
        Kind::KeyCharacters,
        Severity::Low,
        format!(
            "A value of ({}) with one of / \\ # ? or a control character cannot be a key: it is refused (22023).",
            listed(&texts)
        ),
        "WITH (key_escape = true) stores such characters escaped; other clients of the store see the escapes.",
    );
}

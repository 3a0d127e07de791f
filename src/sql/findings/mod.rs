//! What a declared schema means in the Table model: the rows of the view `schema_findings`.
//!
//! A team that brings a PostgreSQL schema here wants to know, before it brings the data, which of its promises are not
//! kept, which statements will read a whole table, and which keys will hold transactions back. Everything said here is
//! derived from the declarations alone, so it is the same for an empty database.

mod columns;
mod counters;
mod keys;
mod unenforced;

use std::sync::Arc;

use super::catalog::Sequence;
use super::relation::{Relation, RelationKind};

/// One thing worth knowing about a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// The table it is about; none for a sequence of its own.
    pub table: Option<String>,
    /// The constraint, index, column or sequence; none for the table as a whole.
    pub object: Option<String>,
    pub kind: Kind,
    pub severity: Severity,
    /// What it means in the Table model.
    pub meaning: String,
    pub advice: String,
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// PostgreSQL keeps a promise that is not kept here: data can become wrong.
    High,
    /// It works and costs: whole tables are read, or transactions are held to few rows.
    Medium,
    /// A limit or a cost that some schemas never meet.
    Low,
    /// Nothing to do.
    Info,
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
            Severity::Info => "info",
        }
    }
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ForeignKey,
    Unique,
    UniqueIndex,
    Index,
    Check,
    SingleRowPartitions,
    OnePartition,
    NoPrimaryKey,
    RisingPartitions,
    WideKey,
    KeyCharacters,
    Counter,
    StoredAsText,
    LongValues,
    TimeRange,
    ManyColumns,
    StoredName,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::ForeignKey => "foreign key not enforced",
            Kind::Unique => "unique constraint",
            Kind::UniqueIndex => "unique index not built",
            Kind::Index => "index not built",
            Kind::Check => "check constraint",
            Kind::SingleRowPartitions => "every row is a partition",
            Kind::OnePartition => "one partition",
            Kind::NoPrimaryKey => "no primary key",
            Kind::RisingPartitions => "rising partition key",
            Kind::WideKey => "wide key",
            Kind::KeyCharacters => "characters in keys",
            Kind::Counter => "counter",
            Kind::StoredAsText => "stored as text",
            Kind::LongValues => "long values",
            Kind::TimeRange => "range of times",
            Kind::ManyColumns => "many columns",
            Kind::StoredName => "stored under another name",
        }
    }
}

/// Everything there is to say about these tables and sequences, as far as they are in the Table service: by table, the
/// gravest first.
pub(super) fn findings(tables: &[Arc<Relation>], sequences: &[Arc<Sequence>]) -> Vec<Finding> {
    let has_rules = |table: &&Arc<Relation>| table.place().has_rules();
    let tables: Vec<Arc<Relation>> = tables.iter().filter(has_rules).cloned().collect();
    let sequences: Vec<Arc<Sequence>> = sequences.iter().filter(|s| s.place.has_rules()).cloned().collect();
    let declared = || tables.iter().filter(|table| table.kind != RelationKind::Found);
    let mut found = Vec::new();
    for table in declared() {
        unenforced::findings(table, &mut found);
        keys::stored_name(table, &mut found);
        keys::findings(table, &mut found);
        columns::findings(table, &mut found);
    }
    counters::findings(&tables, &sequences, &mut found);
    found.sort_by(|a, b| (&a.table, a.severity, &a.object).cmp(&(&b.table, b.severity, &b.object)));
    found
}

/// The columns of a table's primary key; none without one.
fn key_of(table: &Relation) -> Vec<&str> {
    if table.generated_partition.is_some() {
        return Vec::new();
    }
    table.key_columns().into_iter().map(|index| table.columns[index].name.as_str()).collect()
}

/// Names as a list for people.
fn listed<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;

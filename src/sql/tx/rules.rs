//! The rules of entity group transactions, checked as a transaction collects its writes.
//!
//! In `egt.mode = strict` the statement that would break a rule is refused when it runs, not at COMMIT: the message names
//! the rule, the DETAIL what the transaction already holds, the HINT how to stay within it. Observe mode asks the same
//! question and only notes the answer, so both modes mean the same by a rule.

use std::collections::BTreeSet;

use tablegate_store::model::PartitionKey;
use tablegate_store::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};
use tablegate_store::table::payload;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::WriteSet;
use crate::observe::{Rule, broken_by_size};
use crate::place::Place;
use crate::relation::Relation;

/// The rules that the collected writes break, in the order they are told.
pub(super) fn broken(writes: &WriteSet) -> impl Iterator<Item = Rule> {
    let tables = writes.has_several_tables().then_some(Rule::SecondTable);
    let partitions = writes.has_several_partitions().then_some(Rule::SecondPartition);
    tables.into_iter().chain(partitions).chain(broken_by_size(writes.operations(), body_bytes(writes)))
}

/// Whether the collected writes are still one EGT.
///
/// # Errors
/// 0A000 for a second table or partition, 54000 for a 101st entity or 4 MiB.
pub(super) fn check(writes: &mut WriteSet, what: Unit) -> SqlResult<()> {
    if broken(writes).next().is_none() {
        return Ok(());
    }
    writes.recount();
    match broken(writes).next() {
        None => Ok(()),
        Some(rule) => Err(refusal(rule, writes, what)),
    }
}

/// Whether these are places of one store.
///
/// # Errors
/// 0A000 naming two schemas.
pub(crate) fn check_one_store(places: &BTreeSet<Place>) -> SqlResult<()> {
    let mut schemas = places.iter().map(|place| place.schema());
    let (Some(one), Some(other)) = (schemas.next(), schemas.next()) else { return Ok(()) };
    Err(SqlError::new(
        ErrorKind::FeatureNotSupported,
        format!("a transaction cannot write to two stores: schemas \"{one}\" and \"{other}\""),
    )
    .with_detail("Each mounted schema is a store of its own, and no two stores commit together.")
    .with_hint("Write to one schema in each transaction; reading from several is free."))
}

/// Refuses to move a row to another partition: its delete and its insert would not be in one EGT.
pub(crate) fn moved_row(relation: &Relation, from: &PartitionKey, to: &PartitionKey) -> Box<SqlError> {
    SqlError::not_supported("moving a row to another partition")
        .with_detail(format!(
            "A row of \"{}\" would move from partition '{from}' to '{to}'; a move is a delete and an insert in one entity group transaction.",
            relation.name
        ))
        .with_hint("Insert the row under its new key, then delete the old one.")
}

fn refusal(rule: Rule, writes: &WriteSet, what: Unit) -> Box<SqlError> {
    match rule {
        Rule::SecondTable => SqlError::new(
            ErrorKind::FeatureNotSupported,
            format!(
                "{what} cannot write to two tables: {}",
                first_two(writes.tables().map(|t| format!("\"{}\"", t.name)))
            ),
        )
        .with_detail(holds(writes))
        .with_hint(what.way_out("Write to one table in each transaction")),
        Rule::SecondPartition | Rule::MovedRow => {
            let names: Vec<&Relation> = writes.tables().map(AsRef::as_ref).collect();
            let partitions = names.iter().flat_map(|table| writes.partitions(table)).map(|p| format!("'{p}'"));
            let tables: Vec<String> = names.iter().map(|table| format!("\"{}\"", table.name)).collect();
            SqlError::new(
                ErrorKind::FeatureNotSupported,
                format!("{what} cannot write to two partitions of {}: {}", tables.join(", "), first_two(partitions)),
            )
            .with_detail(holds(writes))
            .with_hint(what.way_out_of_partitions(writes))
        }
        Rule::TooManyEntities => SqlError::new(
            ErrorKind::LimitExceeded,
            format!("{what} cannot write more than {EGT_MAX_OPERATIONS} entities"),
        )
        .with_detail(holds(writes))
        .with_hint(what.way_out_of_many()),
        Rule::TooLarge => SqlError::new(ErrorKind::LimitExceeded, format!("{what} cannot carry 4 MiB or more"))
            .with_detail(format!(
                "Its payload would be {} bytes; it must be smaller than {EGT_MAX_BYTES}.",
                body_bytes(writes)
            ))
            .with_hint(what.way_out("Commit after fewer rows")),
    }
}

/// What has to be one EGT.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// Of a store where observe mode can carry out what breaks the rules, or cannot.
    Block { is_observable: bool },
    /// A statement under `egt.autocommit = strict`.
    Statement,
}

impl Unit {
    fn way_out(self, advice: &str) -> String {
        match self {
            Unit::Block { is_observable: true } => {
                format!("{advice}, or SET egt.mode = observe to have it done and recorded.")
            }
            Unit::Block { is_observable: false } => format!("{advice}."),
            Unit::Statement => format!("{advice}, or SET egt.autocommit = split to run the statement as several."),
        }
    }

    fn way_out_of_partitions(self, writes: &WriteSet) -> String {
        let advice = "Entities that change together need one PartitionKey; write to one partition in each transaction";
        let way_out = self.way_out(advice);
        match self {
            // As loaders do that replace a table.
            Unit::Block { .. } if writes.only_deletes() => {
                format!(
                    "{way_out} Where all rows of the table go, TRUNCATE it: the block may then fill it with any number."
                )
            }
            _ => way_out,
        }
    }

    fn way_out_of_many(self) -> String {
        let advice = format!("Commit after at most {EGT_MAX_OPERATIONS} rows");
        match self {
            Unit::Block { is_observable } => {
                let observe = if is_observable { "; or SET egt.mode = observe" } else { "" };
                format!(
                    "{advice}; or write outside a transaction block (AUTOCOMMIT), where one INSERT or COPY takes any number of \
                     rows; or make the table in the same block{observe}."
                )
            }
            Unit::Statement => self.way_out(&advice),
        }
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unit::Block { .. } => "a transaction is one entity group transaction: it",
            Unit::Statement => "under egt.autocommit = strict a statement is one entity group transaction: it",
        })
    }
}

fn body_bytes(writes: &WriteSet) -> usize {
    payload::ENVELOPE_BYTES + writes.payload_bytes()
}

fn first_two(names: impl Iterator<Item = String>) -> String {
    names.take(2).collect::<Vec<_>>().join(" and ")
}

fn holds(writes: &WriteSet) -> String {
    let list: Vec<String> = writes.tables().map(|table| describe(writes, table)).collect();
    format!("With this statement the transaction holds {} entities: {}.", writes.operations(), list.join("; "))
}

fn describe(writes: &WriteSet, table: &Relation) -> String {
    let partitions: Vec<String> = writes.partitions(table).take(3).map(|p| format!("'{p}'")).collect();
    let noun = if partitions.len() == 1 { "partition" } else { "partitions" };
    format!("table \"{}\", {noun} {}", table.name, partitions.join(", "))
}

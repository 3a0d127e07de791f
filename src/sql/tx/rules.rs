//! The rules of entity group transactions, checked as a block collects its writes.
//!
//! The statement that would break a rule is refused when it runs, not at COMMIT: the message names the rule, the DETAIL
//! what the transaction already holds, the HINT how to stay within it.

use super::WriteSet;
use crate::model::TableName;
use crate::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::table::payload;

/// Whether the collected writes are still one EGT.
///
/// # Errors
/// 0A000 for a second table or partition, 54000 for a 101st entity or 4 MiB.
pub(super) fn check(writes: &WriteSet, what: Unit) -> SqlResult<()> {
    let mut tables = writes.tables();
    let Some(first) = tables.next() else { return Ok(()) };
    if let Some(second) = tables.next() {
        return Err(SqlError::new(
            ErrorKind::FeatureNotSupported,
            format!("{what} cannot write to two tables: \"{first}\" and \"{second}\""),
        )
        .with_detail(holds(writes))
        .with_hint(what.way_out("Write to one table in each transaction")));
    }
    let mut partitions = writes.partitions(first);
    if let (Some(one), Some(other)) = (partitions.next(), partitions.next()) {
        return Err(SqlError::new(
            ErrorKind::FeatureNotSupported,
            format!("{what} cannot write to two partitions of \"{first}\": '{one}' and '{other}'"),
        )
        .with_detail(holds(writes))
        .with_hint(
            what.way_out(
                "Entities that change together need one PartitionKey; write to one partition in each transaction",
            ),
        ));
    }
    if writes.operations() > EGT_MAX_OPERATIONS {
        return Err(SqlError::new(
            ErrorKind::LimitExceeded,
            format!("{what} cannot write more than {EGT_MAX_OPERATIONS} entities"),
        )
        .with_detail(format!("It writes {} entities of \"{first}\".", writes.operations()))
        .with_hint(what.way_out(&format!("Commit after at most {EGT_MAX_OPERATIONS} rows"))));
    }
    let bytes = payload::ENVELOPE_BYTES + writes.payload_bytes();
    if bytes >= EGT_MAX_BYTES {
        return Err(SqlError::new(ErrorKind::LimitExceeded, format!("{what} cannot carry 4 MiB or more"))
            .with_detail(format!("Its payload would be {bytes} bytes; it must be smaller than {EGT_MAX_BYTES}."))
            .with_hint(what.way_out("Commit after fewer rows")));
    }
    Ok(())
}

/// What has to be one EGT.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    Block,
    /// A statement under `egt.autocommit = strict`.
    Statement,
}

impl Unit {
    fn way_out(self, advice: &str) -> String {
        match self {
            Unit::Block => format!("{advice}."),
            Unit::Statement => format!("{advice}, or SET egt.autocommit = split to run the statement as several."),
        }
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unit::Block => "a transaction is one entity group transaction: it",
            Unit::Statement => "under egt.autocommit = strict a statement is one entity group transaction: it",
        })
    }
}

fn holds(writes: &WriteSet) -> String {
    let list: Vec<String> = writes.tables().map(|table| describe(writes, table)).collect();
    format!("With this statement the transaction holds {} entities: {}.", writes.operations(), list.join("; "))
}

fn describe(writes: &WriteSet, table: &TableName) -> String {
    let partitions: Vec<String> = writes.partitions(table).take(3).map(|p| format!("'{p}'")).collect();
    let noun = if partitions.len() == 1 { "partition" } else { "partitions" };
    format!("table \"{table}\", {noun} {}", partitions.join(", "))
}

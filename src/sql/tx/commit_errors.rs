//! What a client is told of a commit that failed, and of what was committed before.

use tablegate_store::model::EntityKey;
use tablegate_store::table::{CommitError, Rejection, StoreError};
use tablegate_types::error::{ErrorKind, SqlError};

use super::EgtCount;
use crate::progress::Tally;
use crate::relation::Relation;

/// The error of a statement that failed by itself, with what it has committed.
pub(super) fn with_committed(error: Box<SqlError>, committed: EgtCount) -> Box<SqlError> {
    if committed == EgtCount::default() {
        return error;
    }
    let note = format!("{} of them with {} rows were committed before it failed.", committed.egts, committed.rows);
    with_note(after_commits(error), &note)
}

/// The error of a statement of which something is committed, so that it cannot be run again behind its client's back.
pub(crate) fn after_commits(mut error: Box<SqlError>) -> Box<SqlError> {
    if error.kind == ErrorKind::TableMoved {
        error.kind = ErrorKind::SerializationFailure;
    }
    if error.kind == ErrorKind::StoredTableMissing {
        let message = "could not serialize access due to concurrent DDL";
        return SqlError::new(ErrorKind::SerializationFailure, message)
            .with_detail("A table that the statement reads was dropped, emptied or rewritten meanwhile.");
    }
    error
}

/// As the error of a statement that failed by itself: so many entity group transactions and rows are known to be committed, and some
/// may have been under way.
pub(crate) fn with_known(error: Box<SqlError>, tally: &Tally) -> Box<SqlError> {
    match (tally.egts(), tally.rows()) {
        (0, _) => error,
        (egts, rows) => {
            with_note(error, &format!("at least {egts} of them with {rows} rows were committed before it was stopped."))
        }
    }
}

fn with_note(mut error: Box<SqlError>, note: &str) -> Box<SqlError> {
    let note = format!("The statement ran as several entity group transactions: {note}");
    error.detail = Some(match error.detail.take() {
        Some(detail) => format!("{detail} {note}"),
        None => note,
    });
    error
}

/// A commit's failure in SQL terms.
pub(super) fn commit_error(relation: &Relation, error: CommitError) -> Box<SqlError> {
    match error {
        CommitError::Store(StoreError::TableMissing(_)) => {
            SqlError::new(ErrorKind::TableMoved, "could not serialize access due to concurrent DDL")
                .with_detail(format!(
                    "Table \"{}\" was dropped, emptied, changed or rewritten meanwhile.",
                    relation.name
                ))
                .with_hint("Run the transaction again.")
        }
        CommitError::Store(error) => error.into(),
        CommitError::Rejected { key, reason, .. } => rejection(relation, &key, reason),
    }
}

fn rejection(relation: &Relation, key: &EntityKey, reason: Rejection) -> Box<SqlError> {
    match reason {
        Rejection::EntityExists => relation.duplicate_key(key),
        Rejection::EntityMissing | Rejection::ETagMismatch => {
            let message = "could not serialize access due to concurrent update".to_owned();
            relation
                .error(ErrorKind::SerializationFailure, message)
                .showing_row(format!("Entity {key} of table \"{}\": {reason}.", relation.name))
                .with_hint("Run the transaction again.")
        }
        Rejection::TooManyProperties { .. } => SqlError::new(ErrorKind::TooManyColumns, reason.to_string())
            .with_detail(format!("The entity is {key} of table \"{}\".", relation.name)),
        Rejection::EntityTooLarge { .. } => SqlError::new(ErrorKind::LimitExceeded, reason.to_string())
            .with_detail(format!("The entity is {key} of table \"{}\".", relation.name)),
    }
}

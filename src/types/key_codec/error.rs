//! What can be wrong with a key, and what the client is told.

use arrow::error::ArrowError;
use tablegate_store::model::KeyError;
use thiserror::Error;

use crate::error::{ErrorKind, SqlError};
use crate::sql_type::SqlType;

#[derive(Debug, Error)]
pub enum KeyCodecError {
    #[error("null value in column \"{column}\" violates not-null constraint")]
    Null { column: String },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("{sql_type} out of range for key column \"{column}\"")]
    DatetimeOutOfRange { column: String, sql_type: SqlType },
    #[error("value out of range for key column \"{column}\" of type {sql_type}")]
    NumberOutOfRange { column: String, sql_type: SqlType },
    #[error("stored key (PartitionKey={partition:?}, RowKey={row:?}) does not decode")]
    Stored { partition: String, row: String },
    #[error("a key column of type {sql_type} (\"{column}\") is not supported")]
    Type { column: String, sql_type: SqlType },
    #[error("a descending key column of type {sql_type} (\"{column}\") is not supported")]
    Descending { column: String, sql_type: SqlType },
    #[error("{0}")]
    Scheme(String),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    #[error("key columns of unequal shape")]
    Shape,
}

impl KeyCodecError {
    pub(super) fn stored(partition: &str, row: &str) -> Self {
        KeyCodecError::Stored { partition: partition.to_owned(), row: row.to_owned() }
    }
}

impl From<KeyCodecError> for Box<SqlError> {
    fn from(error: KeyCodecError) -> Self {
        let message = error.to_string();
        match error {
            KeyCodecError::Null { column } => SqlError::new(ErrorKind::NotNullViolation, message).for_column(&column),
            KeyCodecError::Key(error) => error.into(),
            KeyCodecError::DatetimeOutOfRange { column, .. } => SqlError::new(ErrorKind::DatetimeOverflow, message)
                .with_detail("Dates in keys lie between the years 1 and 9999; infinity has no key.")
                .for_column(&column),
            KeyCodecError::NumberOutOfRange { column, .. } => {
                SqlError::new(ErrorKind::NumericOutOfRange, message).for_column(&column)
            }
            KeyCodecError::Stored { .. } => SqlError::new(ErrorKind::InvalidTextRepresentation, message).with_hint(
                "The entity was not written by this table's key layout. Read the stored table by its raw keys.",
            ),
            KeyCodecError::Type { column, sql_type } => {
                let error = SqlError::new(ErrorKind::FeatureNotSupported, message).for_column(&column);
                match sql_type {
                    SqlType::Numeric(None) => error.with_hint("Declare it numeric(p, s): keys need a fixed width."),
                    _ => error.with_hint(
                        "Use a key of text, uuid, numbers, dates or times, and keep this one as a column beside it.",
                    ),
                }
            }
            KeyCodecError::Descending { column, .. } => SqlError::new(ErrorKind::FeatureNotSupported, message)
                .with_hint("DESC is for types of fixed width: integers, numeric(p, s), dates, timestamps, uuid.")
                .for_column(&column),
            KeyCodecError::Scheme(_) => SqlError::new(ErrorKind::InvalidTableDefinition, message),
            KeyCodecError::Arrow(error) => error.into(),
            KeyCodecError::Shape => SqlError::new(ErrorKind::Internal, message),
        }
    }
}

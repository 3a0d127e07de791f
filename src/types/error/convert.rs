//! How the errors of other layers and of DataFusion become SQL errors.

use std::error::Error;

use arrow::error::ArrowError;
use datafusion_common::DataFusionError;
use tablegate_store::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};
use tablegate_store::model::{KeyError, NameError, PropertyError, ValueError};
use tablegate_store::table::{BatchError, GroupError, StoreError};

use super::{ErrorKind, SqlError};

impl From<StoreError> for Box<SqlError> {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::TableMissing(_) => ErrorKind::StoredTableMissing,
            StoreError::TableExists(_) => ErrorKind::DuplicateTable,
            StoreError::Unfit(_) => ErrorKind::StoredValueUnfit,
            StoreError::Underived(error) => match error.downcast_ref::<SqlError>() {
                Some(error) => return Box::new(error.clone()),
                None => ErrorKind::InvalidTextRepresentation,
            },
            StoreError::Damaged { .. } | StoreError::Unavailable(_) | StoreError::Refused(_) => ErrorKind::StoreFailure,
            StoreError::DiskFull(_) => ErrorKind::DiskFull,
            StoreError::Throttled(_) => ErrorKind::Throttled,
            StoreError::OutcomeUnknown(_) => ErrorKind::OutcomeUnknown,
            StoreError::ReadOnly => ErrorKind::ReadOnlyTransaction,
            StoreError::Unsupported(_) => ErrorKind::FeatureNotSupported,
            StoreError::ShuttingDown => ErrorKind::Shutdown,
        };
        let told = SqlError::new(kind, error.to_string());
        match error {
            StoreError::Unavailable(_) => told.with_hint("Try again once the store can be reached."),
            StoreError::Throttled(_) => {
                told.with_hint("Try again after a while, with fewer statements at a time or fewer rows in each.")
            }
            StoreError::OutcomeUnknown(_) => {
                told.with_hint("Read the rows before the statement is tried again: they show whether it was applied.")
            }
            StoreError::Unfit(_) => {
                told.with_hint("Write the value anew with the program that wrote it, or DELETE the row by its keys.")
            }
            _ => told,
        }
    }
}

impl From<GroupError> for Box<SqlError> {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Store(error) => error.into(),
            GroupError::Rejected { .. } | GroupError::NotEmpty { .. } => {
                SqlError::new(ErrorKind::SerializationFailure, error.to_string())
            }
            GroupError::DuplicateKey { .. } => SqlError::new(ErrorKind::Internal, error.to_string()),
        }
    }
}

impl From<NameError> for Box<SqlError> {
    fn from(error: NameError) -> Self {
        let kind = match error {
            NameError::Table(_) | NameError::Property(_) => ErrorKind::InvalidName,
            NameError::ReservedTable(_) | NameError::ReservedProperty(_) => ErrorKind::ReservedName,
        };
        SqlError::new(kind, error.to_string())
    }
}

impl From<KeyError> for Box<SqlError> {
    fn from(error: KeyError) -> Self {
        let hint = match error {
            KeyError::IllegalCharacter { .. } => {
                "Declare the table WITH (key_escape = true), or ALTER TABLE .. SET (key_escape = true) if it is there \
                 already; or keep / \\ # ? and control characters out of keys."
            }
            KeyError::TooLong { .. } => {
                "Make a short column the key, such as an identity or md5() of the long one: other columns hold 64 KiB."
            }
        };
        SqlError::new(ErrorKind::InvalidParameterValue, error.to_string()).with_hint(hint)
    }
}

/// What to do with values, and rows, that are too long.
const LONG_VALUES: &str = "Keep long texts and files elsewhere, such as in a blob store, and their address in the row; or divide them \
                           among several rows or tables.";

impl From<PropertyError> for Box<SqlError> {
    fn from(error: PropertyError) -> Self {
        let kind = match error {
            PropertyError::TooMany { .. } => ErrorKind::TooManyColumns,
            PropertyError::Value { .. } | PropertyError::EntityTooLarge { .. } => ErrorKind::LimitExceeded,
        };
        let told = SqlError::new(kind, error.to_string());
        if kind == ErrorKind::LimitExceeded { told.with_hint(LONG_VALUES) } else { told }
    }
}

impl From<ValueError> for Box<SqlError> {
    fn from(error: ValueError) -> Self {
        SqlError::new(ErrorKind::LimitExceeded, error.to_string()).with_hint(LONG_VALUES)
    }
}

impl From<BatchError> for Box<SqlError> {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::Entity { key, source } => {
                Box::<SqlError>::from(source).with_detail(format!("The entity is {key}."))
            }
            BatchError::OtherPartition { .. } => SqlError::new(ErrorKind::FeatureNotSupported, error.to_string()),
            BatchError::TooManyOperations => SqlError::new(ErrorKind::LimitExceeded, error.to_string())
                .with_hint(format!("Commit after at most {EGT_MAX_OPERATIONS} rows.")),
            BatchError::TooLarge { .. } => SqlError::new(ErrorKind::LimitExceeded, error.to_string())
                .with_hint(format!("Commit before the payload reaches {EGT_MAX_BYTES} bytes.")),
            BatchError::DuplicateEntity(_) | BatchError::Empty => SqlError::new(ErrorKind::Internal, error.to_string()),
        }
    }
}

impl From<ArrowError> for Box<SqlError> {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => from_external(inner),
            ArrowError::DivideByZero => SqlError::new(ErrorKind::DivisionByZero, "division by zero"),
            ArrowError::ArithmeticOverflow(text) => SqlError::new(ErrorKind::NumericOutOfRange, text),
            ArrowError::CastError(_) | ArrowError::ParseError(_) => uncast(),
            ArrowError::NotYetImplemented(_) => unplanned(),
            ArrowError::OffsetOverflowError(_) => too_long(),
            ArrowError::IoError(_, error) => unwritten(&error),
            other => SqlError::new(ErrorKind::Internal, other.to_string()),
        }
    }
}

/// How the engine says that what queries have written to disk is more than they may.
const BEYOND_ALLOWANCE: &str = "The used disk space during the spilling process has exceeded";

/// ENFILE and EMFILE: the system, or the process, has as many files open as it may.
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// What a query writes to disk while it runs could not be written, or read again.
fn unwritten(error: &std::io::Error) -> Box<SqlError> {
    let error = innermost(error);
    if error.kind() == std::io::ErrorKind::StorageFull {
        return SqlError::new(ErrorKind::DiskFull, "no space left on device for temporary files");
    }
    if error.to_string().starts_with(BEYOND_ALLOWANCE) {
        return SqlError::new(ErrorKind::TemporaryFileLimit, "temporary files of queries exceed the limit")
            .with_hint("Narrow the query by its keys, or run fewer of its kind at a time.");
    }
    if error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code)) {
        return SqlError::too_many_temporary_files();
    }
    SqlError::new(ErrorKind::Internal, format!("temporary files of queries: {error}"))
}

/// What the system said, where the engine has put errors of its own around it.
fn innermost(error: &std::io::Error) -> &std::io::Error {
    let mut innermost = error;
    let mut next: Option<&(dyn Error + 'static)> = error.get_ref().map(|inner| inner as _);
    while let Some(inner) = next {
        innermost = inner.downcast_ref().unwrap_or(innermost);
        next = inner.source();
    }
    innermost
}

/// Which memory was wanted and not there: the engine's words also name its operators.
fn wanted_memory(text: &str) -> Option<String> {
    let (wanted, rest) = text.split_once("additional ")?.1.split_once(" for ")?;
    let (_, left) = rest.split_once(" reservation - ")?;
    let (left, _) = left.split_once(" remain")?;
    Some(format!("{wanted} more were wanted, and {left} are left."))
}

/// The texts of a batch are as long together as no column can be.
fn too_long() -> Box<SqlError> {
    SqlError::new(ErrorKind::LimitExceeded, "requested length too large")
        .with_hint("Make shorter values, or put together fewer rows at a time.")
}

/// The binder has found the casts that there are, and ours say what is wrong with a value; the engine's own words are for
/// whoever knows it.
fn uncast() -> Box<SqlError> {
    SqlError::new(ErrorKind::DataException, "a value cannot be cast to the type that is asked for")
}

/// What a statement means is known before it is planned: the engine cannot do it, and its words say nothing to who wrote it.
fn unplanned() -> Box<SqlError> {
    SqlError::not_supported("a query of this form")
}

impl From<DataFusionError> for Box<SqlError> {
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(inner) => from_external(inner),
            DataFusionError::ArrowError(inner, _) => (*inner).into(),
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => (*inner).into(),
            DataFusionError::Shared(inner) => from_shared(&inner),
            DataFusionError::Collection(mut errors) if !errors.is_empty() => errors.remove(0).into(),
            DataFusionError::Plan(_) | DataFusionError::NotImplemented(_) | DataFusionError::SchemaError(..) => {
                unplanned()
            }
            DataFusionError::ResourcesExhausted(text) => {
                let error = SqlError::new(ErrorKind::OutOfMemory, "out of the query memory limit");
                match wanted_memory(&text) {
                    Some(wanted) => error.with_detail(wanted),
                    None => error,
                }
                .with_hint("Narrow the query by its keys, or raise the limit with --query-memory.")
            }
            DataFusionError::Execution(text) => from_execution_text(&text),
            DataFusionError::IoError(error) => unwritten(&error),
            other => SqlError::new(ErrorKind::Internal, first_line(&other.strip_backtrace())),
        }
    }
}

/// One of our own errors that travelled through DataFusion or Arrow.
fn from_external(inner: Box<dyn Error + Send + Sync>) -> Box<SqlError> {
    let inner = match inner.downcast::<SqlError>() {
        Ok(own) => return own,
        Err(other) => other,
    };
    let inner = match inner.downcast::<StoreError>() {
        Ok(store) => return (*store).into(),
        Err(other) => other,
    };
    let inner = match inner.downcast::<ArrowError>() {
        Ok(arrow) => return (*arrow).into(),
        Err(other) => other,
    };
    match inner.downcast::<DataFusionError>() {
        Ok(datafusion) => (*datafusion).into(),
        Err(other) => SqlError::new(ErrorKind::Internal, other.to_string()),
    }
}

/// Several operators may hold one error: what is ours is copied out of it.
fn from_shared(error: &DataFusionError) -> Box<SqlError> {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(current) = source {
        if let Some(own) = current.downcast_ref::<SqlError>() {
            return Box::new(own.clone());
        }
        if let Some(store) = current.downcast_ref::<StoreError>() {
            return store.clone().into();
        }
        source = current.source();
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(text) => DataFusionError::ResourcesExhausted(text.clone()).into(),
        DataFusionError::Plan(_) | DataFusionError::NotImplemented(_) | DataFusionError::SchemaError(..) => unplanned(),
        DataFusionError::Execution(text) => from_execution_text(text),
        DataFusionError::ArrowError(arrow, _) => match &**arrow {
            ArrowError::DivideByZero => SqlError::new(ErrorKind::DivisionByZero, "division by zero"),
            ArrowError::ArithmeticOverflow(text) => SqlError::new(ErrorKind::NumericOutOfRange, text.clone()),
            ArrowError::CastError(_) | ArrowError::ParseError(_) => uncast(),
            ArrowError::OffsetOverflowError(_) => too_long(),
            ArrowError::IoError(_, error) => unwritten(error),
            other => SqlError::new(ErrorKind::Internal, other.to_string()),
        },
        DataFusionError::IoError(error) => unwritten(error),
        other => SqlError::new(ErrorKind::Internal, first_line(&other.strip_backtrace())),
    }
}

/// How the engine says that a sub-query without columns of the query around has several rows where one value is wanted.
const SEVERAL_ROWS: &str = "Scalar subquery returned more than one row";
/// How it begins to say that a date is no moment.
const DATE_TOO_FAR: &str = "Cannot cast Date32 value ";

/// What the engine finds while it runs, and says in words alone: these are those of release 55.
fn from_execution_text(text: &str) -> Box<SqlError> {
    if text.starts_with(DATE_TOO_FAR) {
        return SqlError::new(ErrorKind::DatetimeOverflow, "date out of range for timestamp");
    }
    if text.starts_with(SEVERAL_ROWS) {
        let message = "more than one row returned by a subquery used as an expression";
        return SqlError::new(ErrorKind::CardinalityViolation, message);
    }
    SqlError::new(ErrorKind::DataException, first_line(text))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_the_system_says_is_told_through_the_errors_around_it() {
        for (code, kind) in [(28, ErrorKind::DiskFull), (24, ErrorKind::TemporaryFileLimit), (5, ErrorKind::Internal)] {
            let plain = || io::Error::from_raw_os_error(code);
            let nested = io::Error::other(DataFusionError::IoError(plain()));
            let twice = io::Error::other(ArrowError::IoError("reading".to_owned(), plain()));
            for error in [plain(), nested, twice] {
                assert_eq!(Box::<SqlError>::from(DataFusionError::IoError(error)).kind, kind);
            }
        }
    }
}

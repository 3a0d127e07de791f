//! How the errors of other layers and of DataFusion become SQL errors.

use std::error::Error;

use arrow::error::ArrowError;
use datafusion_common::{DataFusionError, SchemaError};
use tablegate_store::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};
use tablegate_store::model::{KeyError, NameError, PropertyError};
use tablegate_store::table::{BatchError, GroupError, StoreError};

use super::{ErrorKind, SqlError};

impl From<StoreError> for Box<SqlError> {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::TableMissing(_) => ErrorKind::UndefinedTable,
            StoreError::TableExists(_) => ErrorKind::DuplicateTable,
            StoreError::Unfit(_) => ErrorKind::InvalidTextRepresentation,
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
        SqlError::new(kind, error.to_string())
    }
}

impl From<GroupError> for Box<SqlError> {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Store(error) => error.into(),
            GroupError::Rejected { .. } => SqlError::new(ErrorKind::SerializationFailure, error.to_string()),
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
        let illegal = matches!(error, KeyError::IllegalCharacter { .. });
        let sql = SqlError::new(ErrorKind::InvalidParameterValue, error.to_string());
        if illegal {
            sql.with_hint(
                "Declare the table WITH (key_escape = true), or keep / \\ # ? and control characters out of keys.",
            )
        } else {
            sql
        }
    }
}

impl From<PropertyError> for Box<SqlError> {
    fn from(error: PropertyError) -> Self {
        let kind = match error {
            PropertyError::TooMany { .. } => ErrorKind::TooManyColumns,
            PropertyError::Value { .. } | PropertyError::EntityTooLarge { .. } => ErrorKind::LimitExceeded,
        };
        SqlError::new(kind, error.to_string())
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
            ArrowError::CastError(text) | ArrowError::ParseError(text) => cast_error(text),
            ArrowError::NotYetImplemented(text) => SqlError::new(ErrorKind::FeatureNotSupported, text),
            ArrowError::OffsetOverflowError(_) => too_long(),
            other => SqlError::new(ErrorKind::Internal, other.to_string()),
        }
    }
}

/// The texts of a batch are as long together as no column can be.
fn too_long() -> Box<SqlError> {
    SqlError::new(ErrorKind::LimitExceeded, "requested length too large")
        .with_hint("Make shorter values, or put together fewer rows at a time.")
}

/// Arrow says only in words what kind of cast failed.
fn cast_error(text: String) -> Box<SqlError> {
    let kind = if text.contains("overflow") || text.contains("out of range") || text.contains("Can't cast value") {
        ErrorKind::NumericOutOfRange
    } else if text.contains("imestamp") || text.contains("date") || text.contains("Date") {
        ErrorKind::InvalidDatetimeFormat
    } else {
        ErrorKind::InvalidTextRepresentation
    };
    SqlError::new(kind, text)
}

impl From<DataFusionError> for Box<SqlError> {
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(inner) => from_external(inner),
            DataFusionError::ArrowError(inner, _) => (*inner).into(),
            DataFusionError::SchemaError(inner, _) => from_schema_error(&inner),
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => (*inner).into(),
            DataFusionError::Shared(inner) => from_shared(&inner),
            DataFusionError::Collection(mut errors) if !errors.is_empty() => errors.remove(0).into(),
            DataFusionError::NotImplemented(text) => SqlError::new(ErrorKind::FeatureNotSupported, text),
            DataFusionError::ResourcesExhausted(text) => {
                SqlError::new(ErrorKind::OutOfMemory, "out of the query memory limit")
                    .with_detail(text)
                    .with_hint("Narrow the query by its keys, or raise the limit with --query-memory.")
            }
            DataFusionError::Plan(text) => from_plan_text(text),
            DataFusionError::Execution(text) => from_execution_text(text),
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
        DataFusionError::NotImplemented(text) => DataFusionError::NotImplemented(text.clone()).into(),
        DataFusionError::Plan(text) => from_plan_text(text.clone()),
        DataFusionError::Execution(text) => from_execution_text(text.clone()),
        DataFusionError::ArrowError(arrow, _) => match &**arrow {
            ArrowError::DivideByZero => SqlError::new(ErrorKind::DivisionByZero, "division by zero"),
            ArrowError::ArithmeticOverflow(text) => SqlError::new(ErrorKind::NumericOutOfRange, text.clone()),
            ArrowError::CastError(text) | ArrowError::ParseError(text) => cast_error(text.clone()),
            ArrowError::OffsetOverflowError(_) => too_long(),
            other => SqlError::new(ErrorKind::Internal, other.to_string()),
        },
        other => SqlError::new(ErrorKind::Internal, first_line(&other.strip_backtrace())),
    }
}

fn from_schema_error(error: &SchemaError) -> Box<SqlError> {
    match error {
        SchemaError::FieldNotFound { field, .. } => {
            let column = field.name();
            let message = match &field.relation {
                Some(table) => format!("column {}.{column} does not exist", table.table()),
                None => format!("column \"{column}\" does not exist"),
            };
            SqlError::new(ErrorKind::UndefinedColumn, message)
        }
        SchemaError::AmbiguousReference { field } => {
            SqlError::new(ErrorKind::AmbiguousColumn, format!("column reference \"{}\" is ambiguous", field.name()))
        }
        SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => {
            SqlError::new(ErrorKind::DuplicateColumn, format!("column name \"{name}\" appears more than once"))
        }
    }
}

/// DataFusion's planner gives text only; these are the messages of release 55.
fn from_plan_text(text: String) -> Box<SqlError> {
    let kind = if text.starts_with("Invalid function") || text.contains("No function matches") {
        ErrorKind::UndefinedFunction
    } else if text.contains("must be in the GROUP BY clause")
        || text.contains("must appear in the GROUP BY clause")
        || text.contains("could not be resolved from available columns")
    {
        ErrorKind::Grouping
    } else if text.starts_with("table function") {
        ErrorKind::UndefinedFunction
    } else if text.contains("Cannot coerce")
        || text.contains("cannot be cast")
        || text.contains("Cannot infer common")
        || text.contains("type_coercion")
    {
        ErrorKind::DatatypeMismatch
    } else if text.contains("calls cannot be nested") || text.contains("not allowed in the WHERE clause") {
        ErrorKind::Grouping
    } else if text.contains("non-boolean predicate") {
        ErrorKind::DatatypeMismatch
    } else if text.contains("ORDER BY expressions") || text.starts_with("Order by column out of bounds") {
        ErrorKind::InvalidColumnReference
    } else if text.starts_with("LIMIT must be") {
        ErrorKind::InvalidLimit
    } else if text.starts_with("OFFSET must be") {
        ErrorKind::InvalidOffset
    } else if text.starts_with("Unknown placeholder") {
        ErrorKind::UndefinedParameter
    } else if text.contains("Unsupported") || text.contains("not supported") {
        ErrorKind::FeatureNotSupported
    } else {
        // What a statement means is known before: the engine cannot do it, and its words say nothing to who wrote it.
        return SqlError::not_supported("a query of this form");
    };
    if let (ErrorKind::UndefinedFunction, Some(call)) = (kind, call_in(&text)) {
        return SqlError::new(kind, format!("function {call} does not exist")).with_hint(
            "No function matches the given name and argument types. You might need to add explicit type casts.",
        );
    }
    SqlError::new(kind, first_line(&text))
}

/// The call that `No function matches the given name and argument types 'f(Int32)'.` names, its types as PostgreSQL's.
fn call_in(text: &str) -> Option<String> {
    let (_, call) = text.split_once("argument types '")?;
    let (name, types) = call.split_once("'.")?.0.split_once('(')?;
    let types = types.strip_suffix(')')?.split(", ").map(|arrow| match arrow {
        "Int16" => "smallint",
        "Int32" => "integer",
        "Int64" => "bigint",
        "Float32" => "real",
        "Float64" => "double precision",
        "Utf8" => "text",
        "Boolean" => "boolean",
        "Binary" => "bytea",
        "Date32" => "date",
        "Null" => "unknown",
        other => other,
    });
    Some(format!("{name}({})", types.collect::<Vec<_>>().join(", ")))
}

fn from_execution_text(text: String) -> Box<SqlError> {
    if text.starts_with("Cannot cast Date32 value ") {
        return SqlError::new(ErrorKind::DatetimeOverflow, "date out of range for timestamp");
    }
    if text.contains("more than one row") {
        let message = "more than one row returned by a subquery used as an expression";
        return SqlError::new(ErrorKind::CardinalityViolation, message);
    }
    if text.starts_with("Cannot cast Date32 value") {
        return SqlError::new(ErrorKind::DatetimeOverflow, "date out of range for timestamp");
    }
    SqlError::new(ErrorKind::DataException, first_line(&text))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

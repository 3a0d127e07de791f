//! Errors of the SQL layer: what went wrong, in which closed kind, and the way out.
//!
//! The kind is data; its SQLSTATE is given in `pg/error.rs` and nowhere else. DETAIL says what the facts are, HINT
//! names the way out.

mod convert;
mod shown;

use std::fmt;

pub use self::shown::Shown;

/// What kind of error: one per SQLSTATE this product uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// 42601
    Syntax,
    /// 0A000: valid SQL, or a transaction, that this product does not do.
    FeatureNotSupported,
    /// 0A000: a prepared statement would no longer give the columns it was described with.
    PlanChanged,
    /// 42P01
    UndefinedTable,
    /// 42P01: of the store, for a stored table that was there when the statement was planned.
    StoredTableMissing,
    /// 42P07
    DuplicateTable,
    /// 42703
    UndefinedColumn,
    /// 42702
    AmbiguousColumn,
    /// 42P09
    AmbiguousAlias,
    /// 42701
    DuplicateColumn,
    /// 42883
    UndefinedFunction,
    /// 42725: several functions or operators would do.
    AmbiguousFunction,
    /// 42704
    UndefinedObject,
    /// 42710
    DuplicateObject,
    /// 3F000
    UndefinedSchema,
    /// 42P06
    DuplicateSchema,
    /// 3D000
    UndefinedDatabase,
    /// 42602
    InvalidName,
    /// 42939
    ReservedName,
    /// 42P16
    InvalidTableDefinition,
    /// 42P10
    InvalidColumnReference,
    /// 42611
    InvalidColumnDefinition,
    /// 428C9
    GeneratedAlways,
    /// 42P17
    InvalidObjectDefinition,
    /// 42830
    InvalidForeignKey,
    /// 42804
    DatatypeMismatch,
    /// 42846
    CannotCoerce,
    /// 42803
    Grouping,
    /// 42P20
    Windowing,
    /// 42P19
    InvalidRecursion,
    /// 54023
    TooManyArguments,
    /// 42809
    WrongObjectType,
    /// 42712
    DuplicateAlias,
    /// 42P02
    UndefinedParameter,
    /// 42P18
    IndeterminateDatatype,
    /// 42P08: a parameter would have several types.
    AmbiguousParameter,
    /// 42P21
    CollationMismatch,
    /// 42501
    InsufficientPrivilege,
    /// 0LP01
    InvalidGrant,
    /// 23505
    UniqueViolation,
    /// 23502
    NotNullViolation,
    /// 23514
    CheckViolation,
    /// 21000
    CardinalityViolation,
    /// 22P02
    InvalidTextRepresentation,
    /// 22P02: of the store, for a stored value that is not one of its column's type.
    StoredValueUnfit,
    /// 22P03
    InvalidBinaryRepresentation,
    /// 22P04
    BadCopyFileFormat,
    /// 08P01: a value that ends before it is complete.
    ValueCutShort,
    /// 2201W
    InvalidLimit,
    /// 2201X
    InvalidOffset,
    /// 2202H
    InvalidSampleSize,
    /// 2202G
    InvalidSampleSeed,
    /// 22013
    InvalidFrameOffset,
    /// 22014
    InvalidNtile,
    /// 22016
    InvalidNthValue,
    /// 22001
    StringTooLong,
    /// 22004
    NullValueNotAllowed,
    /// 22009
    InvalidZoneDisplacement,
    /// 22011
    SubstringError,
    /// 2200C
    InvalidEscapeUse,
    /// 2201B
    InvalidRegularExpression,
    /// 2201E
    InvalidLogarithmArgument,
    /// 2201G
    InvalidBucketArgument,
    /// 2202E
    SubscriptError,
    /// 22003
    NumericOutOfRange,
    /// 22007
    InvalidDatetimeFormat,
    /// 22008
    DatetimeOverflow,
    /// 22015
    IntervalFieldOverflow,
    /// 22012
    DivisionByZero,
    /// 2201F
    InvalidPower,
    /// 2200H
    SequenceLimit,
    /// 22021
    CharacterNotInRepertoire,
    /// 22P05
    UntranslatableCharacter,
    /// 22023
    InvalidParameterValue,
    /// 22025
    InvalidEscape,
    /// 22000
    DataException,
    /// 54000
    LimitExceeded,
    /// 54011
    TooManyColumns,
    /// 54001
    TooComplex,
    /// 40001
    SerializationFailure,
    /// 40001: a table was dropped, emptied or rewritten before anything of the statement was committed.
    TableMoved,
    /// 40P01
    DeadlockDetected,
    /// 55P03
    LockNotAvailable,
    /// 40003
    OutcomeUnknown,
    /// 25P02
    InFailedTransaction,
    /// 25P01
    NoActiveTransaction,
    /// 25001
    ActiveTransaction,
    /// 25006
    ReadOnlyTransaction,
    /// 3B001
    InvalidSavepoint,
    /// 26000
    UndefinedStatement,
    /// 42P05
    DuplicateStatement,
    /// 34000
    UndefinedCursor,
    /// 42P03
    DuplicateCursor,
    /// 55000
    ObjectNotInState,
    /// 55006
    ObjectInUse,
    /// 55P02
    CannotChangeNow,
    /// 2BP01
    DependentObjects,
    /// 53000
    Throttled,
    /// 53100
    DiskFull,
    /// What queries write to disk while they run is more than they may.
    TemporaryFileLimit,
    /// 53200
    OutOfMemory,
    /// 57014
    QueryCanceled,
    /// 57P01
    Shutdown,
    /// 58030, and the end of the session: a transaction over several stores is committed in one of them alone.
    HalfCommitted,
    /// 58030
    StoreFailure,
    /// XX001
    DataCorrupted,
    /// XX000: a defect of ours.
    Internal,
}

/// A place in a text as parsers count it, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    pub line: u64,
    pub column: u64,
}

/// An error with everything a client is told.
#[derive(Debug, Clone)]
pub struct SqlError {
    pub kind: ErrorKind,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Character position in the statement's text, from 1.
    pub position: Option<usize>,
    /// The same as the parser counts it; the statement makes it the position.
    pub location: Option<Location>,
    /// The schema of the table.
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
    /// The CONTEXT line: where in the input the error was met (`COPY t, line 3, column a: "x"`).
    pub context: Option<String>,
    /// What of the table's rows the DETAIL shows, which is not for everybody's eyes.
    pub shown: Option<Box<Shown>>,
}

/// Errors are boxed: they are rare and large.
pub type SqlResult<T> = Result<T, Box<SqlError>>;

impl SqlError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            location: None,
            schema: None,
            table: None,
            column: None,
            constraint: None,
            context: None,
            shown: None,
        })
    }

    /// Valid SQL that this product does not do.
    pub fn not_supported(what: impl fmt::Display) -> Box<Self> {
        Self::new(ErrorKind::FeatureNotSupported, format!("{what} is not supported"))
    }

    /// Queries write to more files at a time than they, or the whole process, may have open.
    pub fn too_many_temporary_files() -> Box<Self> {
        Self::new(ErrorKind::TemporaryFileLimit, "there are too many temporary files of queries").with_hint(
            "Narrow the query by its keys, run fewer of its kind at a time, raise --query-memory (files are then fewer), \
             or let the server have more files open (ulimit -Hn).",
        )
    }

    #[must_use]
    pub fn with_detail(mut self: Box<Self>, detail: impl Into<String>) -> Box<Self> {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn with_hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// Names the table the error is about.
    #[must_use]
    pub fn for_table(mut self: Box<Self>, schema: &str, table: &str) -> Box<Self> {
        self.schema = Some(schema.to_owned());
        self.table = Some(table.to_owned());
        self
    }

    /// Names the column the error is about.
    #[must_use]
    pub fn for_column(mut self: Box<Self>, column: &str) -> Box<Self> {
        self.column.get_or_insert_with(|| column.to_owned());
        self
    }

    #[must_use]
    pub fn at(mut self: Box<Self>, position: usize) -> Box<Self> {
        self.position = Some(position);
        self
    }

    /// It is about a text that is not the statement's.
    #[must_use]
    pub fn without_position(mut self: Box<Self>) -> Box<Self> {
        (self.position, self.location) = (None, None);
        self
    }

    /// Names the piece of the statement that the error is about, unless something inside it was named already.
    #[must_use]
    pub fn at_location(mut self: Box<Self>, location: Location) -> Box<Self> {
        self.location.get_or_insert(location);
        self
    }

    #[must_use]
    pub fn with_context(mut self: Box<Self>, context: impl Into<String>) -> Box<Self> {
        self.context = Some(context.into());
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SqlError {}

/// Something a client is told without failing: NOTICE or WARNING.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub severity: Severity,
    /// What an error would be that says the same, where PostgreSQL gives a notice its SQLSTATE.
    pub kind: Option<ErrorKind>,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// A session is told of it once, whatever table it is about.
    pub once: Option<Topic>,
}

/// What holds for many tables and statements: said of the first, and of all where it can be asked (`schema_findings`, EXPLAIN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    StoredName,
    SingleRowPartitions,
    NoPrimaryKey,
    SplitStatement,
    StorageParameters,
    NoSnapshots,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Notice,
    Warning,
}

impl Notice {
    pub fn info(message: impl Into<String>) -> Self {
        Self { severity: Severity::Notice, kind: None, message: message.into(), detail: None, hint: None, once: None }
    }

    pub fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, kind: None, message: message.into(), detail: None, hint: None, once: None }
    }

    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = Some(kind);
        self
    }

    #[must_use]
    pub fn once(mut self, topic: Topic) -> Self {
        self.once = Some(topic);
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

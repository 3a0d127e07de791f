//! What went wrong, as a client reads it: the only place where SQLSTATEs are given.

use std::borrow::Cow;

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};
use tablegate_types::error::{ErrorKind, Notice, Severity, SqlError};

/// What a client is told whose connection the server ends.
pub(super) const SHUTDOWN: &str = "terminating connection due to administrator command";

/// What PostgreSQL names as the place of a [`ErrorKind::PlanChanged`]: drivers (asyncpg, pgjdbc, Rails) that find it prepare the
/// statement anew and try again.
const REVALIDATES: &str = "RevalidateCachedQuery";

/// An error of a statement, or of the protocol.
#[derive(Debug)]
pub(super) enum Failure {
    Sql(Box<SqlError>),
    /// 08P01: the client broke the protocol.
    Protocol(String),
    /// 53300
    TooManyConnections,
    /// 53300, of one user.
    TooManyConnectionsOf(String),
    /// 28000
    NoUser,
    /// 28000: a connection that is refused whatever the client proves.
    NotAuthorized(String),
    /// 28P01, also for a name that is not a user's.
    WrongPassword(String),
    /// 57P05
    IdleSession,
    /// 25P03
    IdleInTransaction,
}

/// Whether the connection survives the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gravity {
    Error,
    Fatal,
}

impl Failure {
    pub(crate) fn sql(kind: ErrorKind, message: impl Into<String>) -> Self {
        Failure::Sql(SqlError::new(kind, message))
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Failure::Protocol(message.into())
    }

    pub(crate) fn shutdown() -> Self {
        Self::sql(ErrorKind::Shutdown, SHUTDOWN)
    }

    /// The ErrorResponse.
    pub(crate) fn message(&self, gravity: Gravity) -> PgWireBackendMessage {
        let severity = match gravity {
            Gravity::Error => "ERROR",
            Gravity::Fatal => "FATAL",
        };
        let (code, text) = self.code_and_text();
        let mut fields = vec![
            (b'S', severity.to_owned()),
            (b'V', severity.to_owned()),
            (b'C', code.to_owned()),
            (b'M', without_nul(&text)),
        ];
        if let Failure::Sql(error) = self {
            add_details(&mut fields, error);
        }
        if self.is_plan_changed() {
            fields.push((b'R', REVALIDATES.to_owned()));
        }
        PgWireBackendMessage::ErrorResponse(ErrorResponse::new(fields))
    }

    /// Whether a prepared statement would give other columns than it was described with.
    pub(crate) fn is_plan_changed(&self) -> bool {
        matches!(self, Failure::Sql(error) if error.kind == ErrorKind::PlanChanged)
    }

    /// Its SQLSTATE.
    pub(crate) fn code(&self) -> &'static str {
        self.code_and_text().0
    }

    fn code_and_text(&self) -> (&'static str, Cow<'_, str>) {
        match self {
            Failure::Sql(error) => (sqlstate(error.kind), error.message.as_str().into()),
            Failure::Protocol(text) => ("08P01", text.into()),
            Failure::TooManyConnections => ("53300", "sorry, too many clients already".into()),
            Failure::TooManyConnectionsOf(user) => {
                ("53300", format!("too many connections for role \"{user}\"").into())
            }
            Failure::NoUser => ("28000", "no PostgreSQL user name specified in startup packet".into()),
            Failure::NotAuthorized(text) => ("28000", text.into()),
            Failure::WrongPassword(user) => {
                ("28P01", format!("password authentication failed for user \"{user}\"").into())
            }
            Failure::IdleSession => ("57P05", "terminating connection due to idle-session timeout".into()),
            Failure::IdleInTransaction => ("25P03", "terminating connection due to idle-in-transaction timeout".into()),
        }
    }
}

fn add_details(fields: &mut Vec<(u8, String)>, error: &SqlError) {
    let mut add = |field: u8, value: Option<&str>| {
        if let Some(value) = value {
            fields.push((field, without_nul(value)));
        }
    };
    add(b'D', error.detail.as_deref());
    add(b'H', error.hint.as_deref());
    add(b'P', error.position.map(|p| p.to_string()).as_deref());
    add(b'W', error.context.as_deref());
    add(b's', error.schema.as_deref());
    add(b't', error.table.as_deref());
    add(b'c', error.column.as_deref());
    add(b'n', error.constraint.as_deref());
}

/// The NoticeResponse of a NOTICE or WARNING.
pub(super) fn notice(notice: &Notice) -> PgWireBackendMessage {
    let (severity, code) = match notice.severity {
        Severity::Notice => ("NOTICE", "00000"),
        Severity::Warning => ("WARNING", "01000"),
    };
    let mut fields = vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', notice.kind.map_or(code, sqlstate).to_owned()),
        (b'M', without_nul(&notice.message)),
    ];
    fields.extend(notice.detail.as_deref().map(|detail| (b'D', without_nul(detail))));
    fields.extend(notice.hint.as_deref().map(|hint| (b'H', without_nul(hint))));
    PgWireBackendMessage::NoticeResponse(NoticeResponse::new(fields))
}

/// Strings of the protocol end at the first NUL; one inside would make the rest of the message unreadable.
pub(super) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The SQLSTATE of each kind of error.
fn sqlstate(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Syntax => "42601",
        ErrorKind::FeatureNotSupported | ErrorKind::PlanChanged => "0A000",
        ErrorKind::UndefinedTable | ErrorKind::StoredTableMissing => "42P01",
        ErrorKind::DuplicateTable => "42P07",
        ErrorKind::UndefinedColumn => "42703",
        ErrorKind::AmbiguousColumn => "42702",
        ErrorKind::AmbiguousAlias => "42P09",
        ErrorKind::DuplicateColumn => "42701",
        ErrorKind::UndefinedFunction => "42883",
        ErrorKind::AmbiguousFunction => "42725",
        ErrorKind::UndefinedObject => "42704",
        ErrorKind::DuplicateObject => "42710",
        ErrorKind::UndefinedSchema => "3F000",
        ErrorKind::DuplicateSchema => "42P06",
        ErrorKind::UndefinedDatabase => "3D000",
        ErrorKind::InvalidName => "42602",
        ErrorKind::ReservedName => "42939",
        ErrorKind::InvalidTableDefinition => "42P16",
        ErrorKind::InvalidColumnReference => "42P10",
        ErrorKind::InvalidColumnDefinition => "42611",
        ErrorKind::GeneratedAlways => "428C9",
        ErrorKind::InvalidObjectDefinition => "42P17",
        ErrorKind::InvalidForeignKey => "42830",
        ErrorKind::DatatypeMismatch => "42804",
        ErrorKind::CannotCoerce => "42846",
        ErrorKind::Grouping => "42803",
        ErrorKind::Windowing => "42P20",
        ErrorKind::InvalidRecursion => "42P19",
        ErrorKind::TooManyArguments => "54023",
        ErrorKind::WrongObjectType => "42809",
        ErrorKind::DuplicateAlias => "42712",
        ErrorKind::UndefinedParameter => "42P02",
        ErrorKind::IndeterminateDatatype => "42P18",
        ErrorKind::AmbiguousParameter => "42P08",
        ErrorKind::CollationMismatch => "42P21",
        ErrorKind::InsufficientPrivilege => "42501",
        ErrorKind::InvalidGrant => "0LP01",
        ErrorKind::UniqueViolation => "23505",
        ErrorKind::NotNullViolation => "23502",
        ErrorKind::CheckViolation => "23514",
        ErrorKind::CardinalityViolation => "21000",
        ErrorKind::InvalidTextRepresentation | ErrorKind::StoredValueUnfit => "22P02",
        ErrorKind::InvalidBinaryRepresentation => "22P03",
        ErrorKind::BadCopyFileFormat => "22P04",
        ErrorKind::ValueCutShort => "08P01",
        ErrorKind::UntranslatableCharacter => "22P05",
        ErrorKind::InvalidLimit => "2201W",
        ErrorKind::InvalidOffset => "2201X",
        ErrorKind::InvalidSampleSize => "2202H",
        ErrorKind::InvalidSampleSeed => "2202G",
        ErrorKind::InvalidFrameOffset => "22013",
        ErrorKind::InvalidNtile => "22014",
        ErrorKind::InvalidNthValue => "22016",
        ErrorKind::StringTooLong => "22001",
        ErrorKind::NullValueNotAllowed => "22004",
        ErrorKind::InvalidZoneDisplacement => "22009",
        ErrorKind::SubstringError => "22011",
        ErrorKind::InvalidEscapeUse => "2200C",
        ErrorKind::InvalidRegularExpression => "2201B",
        ErrorKind::InvalidLogarithmArgument => "2201E",
        ErrorKind::InvalidBucketArgument => "2201G",
        ErrorKind::SubscriptError => "2202E",
        ErrorKind::NumericOutOfRange => "22003",
        ErrorKind::InvalidDatetimeFormat => "22007",
        ErrorKind::DatetimeOverflow => "22008",
        ErrorKind::IntervalFieldOverflow => "22015",
        ErrorKind::DivisionByZero => "22012",
        ErrorKind::InvalidPower => "2201F",
        ErrorKind::SequenceLimit => "2200H",
        ErrorKind::CharacterNotInRepertoire => "22021",
        ErrorKind::InvalidParameterValue => "22023",
        ErrorKind::InvalidEscape => "22025",
        ErrorKind::DataException => "22000",
        ErrorKind::LimitExceeded => "54000",
        ErrorKind::TooManyColumns => "54011",
        ErrorKind::TooComplex => "54001",
        ErrorKind::SerializationFailure | ErrorKind::TableMoved => "40001",
        ErrorKind::DeadlockDetected => "40P01",
        ErrorKind::LockNotAvailable => "55P03",
        ErrorKind::OutcomeUnknown => "40003",
        ErrorKind::InFailedTransaction => "25P02",
        ErrorKind::NoActiveTransaction => "25P01",
        ErrorKind::ActiveTransaction => "25001",
        ErrorKind::ReadOnlyTransaction => "25006",
        ErrorKind::InvalidSavepoint => "3B001",
        ErrorKind::UndefinedStatement => "26000",
        ErrorKind::DuplicateStatement => "42P05",
        ErrorKind::UndefinedCursor => "34000",
        ErrorKind::DuplicateCursor => "42P03",
        ErrorKind::ObjectNotInState => "55000",
        ErrorKind::ObjectInUse => "55006",
        ErrorKind::CannotChangeNow => "55P02",
        ErrorKind::DependentObjects => "2BP01",
        ErrorKind::Throttled => "53000",
        ErrorKind::DiskFull => "53100",
        ErrorKind::TemporaryFileLimit => "53400",
        ErrorKind::OutOfMemory => "53200",
        ErrorKind::QueryCanceled => "57014",
        ErrorKind::Shutdown => "57P01",
        ErrorKind::StoreFailure | ErrorKind::HalfCommitted => "58030",
        ErrorKind::DataCorrupted => "XX001",
        ErrorKind::Internal => "XX000",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(message: PgWireBackendMessage) -> Vec<(u8, String)> {
        match message {
            PgWireBackendMessage::ErrorResponse(error) => error.fields,
            PgWireBackendMessage::NoticeResponse(notice) => notice.fields,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_error_carries_everything_known() {
        let mut error = SqlError::new(ErrorKind::UniqueViolation, "m")
            .with_detail("d")
            .with_hint("h")
            .at(7)
            .for_table("s", "t")
            .for_column("c")
            .with_context("w");
        error.constraint = Some("n".to_owned());
        let got = fields(Failure::Sql(error).message(Gravity::Error));
        let got: Vec<(char, &str)> = got.iter().map(|(field, value)| (char::from(*field), value.as_str())).collect();
        let expected = [
            ('S', "ERROR"),
            ('V', "ERROR"),
            ('C', "23505"),
            ('M', "m"),
            ('D', "d"),
            ('H', "h"),
            ('P', "7"),
            ('W', "w"),
            ('s', "s"),
            ('t', "t"),
            ('c', "c"),
            ('n', "n"),
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn a_nul_in_a_message_does_not_end_it() {
        let got = fields(Failure::sql(ErrorKind::Internal, "a\0b").message(Gravity::Fatal));
        assert_eq!(got[0].1, "FATAL");
        assert_eq!(got[3].1, "a\u{fffd}b");
    }

    #[test]
    fn a_warning_has_its_class() {
        let got = fields(notice(&Notice::warning("w").with_hint("h")));
        assert_eq!((got[0].1.as_str(), got[2].1.as_str(), got[4].1.as_str()), ("WARNING", "01000", "h"));
    }
}

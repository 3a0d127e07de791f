//! Names of types in DDL: what the SQL parser read becomes a [`SqlType`].

use std::fmt;

use sqlparser::ast::{CharacterLength, DataType, ExactNumberInfo, ObjectName, TimezoneInfo};
use tablegate_bind::items_of;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{IntervalFields, SqlType, TimeLimits, TimeType};

use crate::syntax::fold;

/// A type as a statement writes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypeName(DataType);

impl TypeName {
    /// # Errors
    /// 42704 for an unknown type, 0A000 for one that cannot be stored, 22023 for bad parameters.
    pub(crate) fn sql_type(&self) -> SqlResult<SqlType> {
        sql_type(&self.0)
    }

    /// The integer type of a column declared `serial` or the like.
    pub(crate) fn serial_type(&self) -> Option<SqlType> {
        let DataType::Custom(name, arguments) = &self.0 else { return None };
        let last = name.0.last().and_then(|p| p.as_ident()).map(fold)?;
        match (last.as_str(), arguments.as_slice()) {
            ("smallserial" | "serial2", []) => Some(SqlType::Int2),
            ("serial" | "serial4", []) => Some(SqlType::Int4),
            ("bigserial" | "serial8", []) => Some(SqlType::Int8),
            _ => None,
        }
    }
}

impl From<DataType> for TypeName {
    fn from(data_type: DataType) -> Self {
        Self(data_type)
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Longest `varchar(n)` PostgreSQL declares, in characters.
const MAX_CHARACTERS: u64 = 10_485_760;

pub(super) fn sql_type(data_type: &DataType) -> SqlResult<SqlType> {
    Ok(match data_type {
        DataType::Bool | DataType::Boolean => SqlType::Bool,
        DataType::SmallInt(_) | DataType::Int2(_) => SqlType::Int2,
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => SqlType::Int4,
        DataType::BigInt(_) | DataType::Int8(_) => SqlType::Int8,
        DataType::Real | DataType::Float4 => SqlType::Float4,
        DataType::Float8 | DataType::DoublePrecision | DataType::Double(_) => SqlType::Float8,
        DataType::Float(info) => float(info)?,
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info)?,
        DataType::Text | DataType::String(None) => SqlType::Text,
        DataType::Varchar(n) | DataType::CharacterVarying(n) | DataType::CharVarying(n) => {
            SqlType::Varchar(length(n.as_ref())?)
        }
        DataType::Char(n) | DataType::Character(n) => SqlType::Char(length(n.as_ref())?.unwrap_or(1)),
        DataType::Uuid => SqlType::Uuid,
        DataType::Bytea => SqlType::Bytea,
        DataType::JSON => SqlType::Json,
        DataType::JSONB => SqlType::Jsonb,
        DataType::Date => SqlType::Date,
        DataType::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => of_time(TimeType::Time, *digits),
        DataType::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            of_time(TimeType::Timestamp, *digits)
        }
        DataType::Timestamp(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            of_time(TimeType::Timestamptz, *digits)
        }
        DataType::Interval { fields: None, precision } => of_time(TimeType::Interval, *precision),
        DataType::Interval { fields: Some(fields), precision } => {
            let known = IntervalFields::named(&fields.to_string())
                .ok_or_else(|| SqlError::not_supported(format!("type interval {fields}")))?;
            SqlType::Limited(TimeLimits::interval(known, *precision))
        }
        DataType::Array(items) => SqlType::Array(Box::new(sql_type(items_of(items)?)?)),
        DataType::Custom(name, arguments) => custom(name, arguments)?,
        DataType::TsVector
        | DataType::TsQuery
        | DataType::Bit(_)
        | DataType::BitVarying(_)
        | DataType::VarBit(_)
        | DataType::GeometricType(_)
        | DataType::Regclass
        | DataType::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            return Err(not_stored(&data_type.to_string().to_lowercase()));
        }
        other => return Err(SqlError::not_supported(format!("type {other}"))),
    })
}

/// Types of PostgreSQL's, some of extensions, that no column has.
const NOT_STORED: &[&str] = &[
    "bit",
    "box",
    "cid",
    "cidr",
    "circle",
    "citext",
    "datemultirange",
    "daterange",
    "inet",
    "int4multirange",
    "int4range",
    "int8multirange",
    "int8range",
    "jsonpath",
    "line",
    "lseg",
    "macaddr",
    "macaddr8",
    "money",
    "nummultirange",
    "numrange",
    "pg_lsn",
    "point",
    "polygon",
    "tid",
    "timetz",
    "tsmultirange",
    "tsquery",
    "tsrange",
    "tstzmultirange",
    "tstzrange",
    "tsvector",
    "varbit",
    "xid",
    "xid8",
    "xml",
];

/// Refuses a constant of a type that is not done here: `inet '10.0.0.1'`.
///
/// # Errors
/// 0A000 where the name is that of such a type. Bit strings are constants.
pub(super) fn refuse_constant_of(name: &str) -> SqlResult<()> {
    match NOT_STORED.contains(&name) && name != "bit" && name != "varbit" {
        true => Err(not_stored(name)),
        false => Ok(()),
    }
}

fn not_stored(name: &str) -> Box<SqlError> {
    let hint = match name {
        _ if name.ends_with("range") => "Store its bounds in two columns.",
        "money" => "Use numeric.",
        "xid" | "xid8" | "cid" => "Use bigint.",
        "tsvector" | "tsquery" => {
            "Leave it out: there is no text search here. LIKE, ILIKE and regular expressions look at the texts themselves."
        }
        _ => "Store it as text.",
    };
    SqlError::not_supported(format!("type {name}")).with_hint(hint)
}

fn custom(name: &ObjectName, arguments: &[String]) -> SqlResult<SqlType> {
    let last = name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default();
    match (last.as_str(), arguments) {
        ("timestamptz", []) => Ok(SqlType::Timestamptz),
        ("timestamptz", [digits]) => Ok(of_time(TimeType::Timestamptz, digits.parse().ok())),
        ("bpchar", _) => Ok(SqlType::Text),
        ("name", []) => Ok(SqlType::Name),
        ("oid", []) => Ok(SqlType::Oid),
        ("char", []) => Ok(SqlType::InternalChar),
        ("int2vector", []) => Ok(SqlType::Int2Vector),
        ("oidvector", []) => Ok(SqlType::OidVector),
        (name, _) if NOT_STORED.contains(&name) => Err(not_stored(name)),
        _ => Err(SqlError::new(ErrorKind::UndefinedObject, format!("type \"{last}\" does not exist"))
            .with_hint("There are built-in types alone: an enum is text, and a domain its base type, with a CHECK.")),
    }
}

/// A time type, perhaps with so many digits of its seconds.
fn of_time(of: TimeType, digits: Option<u64>) -> SqlType {
    match digits {
        Some(digits) => SqlType::Limited(TimeLimits::digits(of, digits)),
        None => of.bare().clone(),
    }
}

fn float(info: &ExactNumberInfo) -> SqlResult<SqlType> {
    match info {
        ExactNumberInfo::None => Ok(SqlType::Float8),
        ExactNumberInfo::Precision(1..=24) => Ok(SqlType::Float4),
        ExactNumberInfo::Precision(25..=53) => Ok(SqlType::Float8),
        _ => Err(SqlError::new(ErrorKind::InvalidParameterValue, "precision for type float must be 1 to 53 bits")),
    }
}

fn numeric(info: &ExactNumberInfo) -> SqlResult<SqlType> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Ok(SqlType::Numeric(None)),
        ExactNumberInfo::Precision(p) => (p, 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => (p, s),
    };
    if !(1..=1000).contains(&precision) {
        let message = format!("NUMERIC precision {precision} must be between 1 and 1000");
        return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
    }
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(p @ 1..=76), Ok(s)) if s >= 0 && scale.unsigned_abs() <= precision => Ok(SqlType::Numeric(Some((p, s)))),
        _ => Err(SqlError::not_supported(format!("numeric({precision},{scale})"))
            .with_hint("Use a precision of at most 76 and a scale between 0 and the precision.")),
    }
}

fn length(length: Option<&CharacterLength>) -> SqlResult<Option<u32>> {
    match length {
        None | Some(CharacterLength::Max) => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) => match u32::try_from(*length) {
            Ok(n) if n >= 1 && *length <= MAX_CHARACTERS => Ok(Some(n)),
            _ => Err(SqlError::new(
                ErrorKind::InvalidParameterValue,
                format!("length for type varchar must be between 1 and {MAX_CHARACTERS}"),
            )),
        },
    }
}

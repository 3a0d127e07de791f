//! Values bound to a statement's parameters: text and binary forms become typed values.

use arrow::datatypes::IntervalMonthDayNano;
use bytes::Buf;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::input::{parse_text, parse_text_as};
use tablegate_types::sql_type::{CatalogType, SqlType, TimeLimits};
use tablegate_types::style::Reading;
use tablegate_types::{ScalarValue, oid};

use super::binary::{EPOCH_DAYS, EPOCH_MICROS, JSONB_VERSION};
use super::body::utf8;
use super::error::Failure;
use super::numeric;

/// Most items of an array, as in PostgreSQL.
const MAX_ITEMS: usize = 134_217_727;

/// The form of a value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Binary,
}

impl Format {
    /// Spreads format codes over `count` values: none is all text, one is for all.
    ///
    /// # Errors
    /// 08P01 for another number of codes, as `what` says it; 22023 for a code that is not one.
    pub(crate) fn spread(codes: &[i16], count: usize, mismatch: impl FnOnce() -> String) -> Result<Vec<Self>, Failure> {
        match codes {
            [] => Ok(vec![Format::Text; count]),
            [code] => Ok(vec![Format::of_code(*code)?; count]),
            codes if codes.len() == count => codes.iter().map(|code| Format::of_code(*code)).collect(),
            _ => Err(Failure::Protocol(mismatch())),
        }
    }

    pub(crate) fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }

    fn of_code(code: i16) -> Result<Self, Failure> {
        match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            _ => Err(Failure::sql(ErrorKind::InvalidParameterValue, format!("unsupported format code: {code}"))),
        }
    }
}

/// The value of a parameter; `position` counts from 1.
///
/// # Errors
/// 22021 for text that is not UTF-8, 22P02 or 22P03 for what is not a value of the type.
pub(super) fn decode(
    sql_type: &SqlType,
    format: Format,
    bytes: Option<&[u8]>,
    position: usize,
    reading: Reading,
) -> Result<ScalarValue, Failure> {
    let Some(bytes) = bytes else { return null(sql_type).map_err(Failure::Sql) };
    match format {
        Format::Text => parse_text_as(sql_type, utf8(bytes)?, reading).map_err(Failure::Sql),
        Format::Binary => binary(sql_type, bytes).map_err(|failure| match failure {
            Failure::Sql(error) if is_of_form(error.kind) && error.context.is_none() => {
                Failure::Sql(error.with_context(format!("parameter ${position} in binary format")))
            }
            other => other,
        }),
    }
}

/// Whether the error is about the bytes and not about the value.
fn is_of_form(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidBinaryRepresentation | ErrorKind::ValueCutShort)
}

fn null(sql_type: &SqlType) -> SqlResult<ScalarValue> {
    ScalarValue::try_new_null(&sql_type.arrow())
        .map_err(|error| SqlError::new(ErrorKind::Internal, format!("no NULL of type {sql_type}: {error}")))
}

fn binary(sql_type: &SqlType, bytes: &[u8]) -> Result<ScalarValue, Failure> {
    let value = match sql_type {
        SqlType::Bool => ScalarValue::Boolean(Some(fixed::<1>(bytes)? != [0])),
        SqlType::Int2 => ScalarValue::Int16(Some(i16::from_be_bytes(fixed(bytes)?))),
        SqlType::Int4 => ScalarValue::Int32(Some(i32::from_be_bytes(fixed(bytes)?))),
        SqlType::Int8 => ScalarValue::Int64(Some(i64::from_be_bytes(fixed(bytes)?))),
        SqlType::Oid | SqlType::Catalog(CatalogType::Xid) => {
            ScalarValue::UInt32(Some(u32::from_be_bytes(fixed(bytes)?)))
        }
        SqlType::Float4 => ScalarValue::Float32(Some(f32::from_be_bytes(fixed(bytes)?))),
        SqlType::Float8 => ScalarValue::Float64(Some(f64::from_be_bytes(fixed(bytes)?))),
        SqlType::Numeric(_) | SqlType::Quotient => parse_text(sql_type, &numeric::read(bytes)?)?,
        SqlType::Varchar(Some(_)) | SqlType::Char(_) => parse_text(sql_type, utf8(bytes)?)?,
        SqlType::Text | SqlType::Varchar(None) | SqlType::Name | SqlType::Unknown => {
            ScalarValue::Utf8(Some(utf8(bytes)?.to_owned()))
        }
        SqlType::InternalChar => {
            let byte = fixed::<1>(bytes)?;
            ScalarValue::Utf8(Some(if byte == [0] { String::new() } else { utf8(&byte)?.to_owned() }))
        }
        SqlType::Json => parse_text(sql_type, utf8(bytes)?)?,
        SqlType::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, text)) => parse_text(sql_type, utf8(text)?)?,
            Some((version, _)) => return Err(invalid(format!("unsupported jsonb version number {version}")).into()),
            None => return Err(insufficient().into()),
        },
        SqlType::Bytea => ScalarValue::Binary(Some(bytes.to_vec())),
        SqlType::Uuid => ScalarValue::FixedSizeBinary(16, Some(fixed::<16>(bytes)?.to_vec())),
        SqlType::Date => ScalarValue::Date32(Some(date(i32::from_be_bytes(fixed(bytes)?))?)),
        SqlType::Time => ScalarValue::Time64Microsecond(Some(time(i64::from_be_bytes(fixed(bytes)?))?)),
        SqlType::Timestamp => {
            ScalarValue::TimestampMicrosecond(Some(timestamp(i64::from_be_bytes(fixed(bytes)?))?), None)
        }
        SqlType::Timestamptz => {
            let micros = timestamp(i64::from_be_bytes(fixed(bytes)?))?;
            ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()))
        }
        SqlType::Interval => ScalarValue::IntervalMonthDayNano(Some(interval(fixed(bytes)?)?)),
        SqlType::Regclass | SqlType::Regtype | SqlType::Regproc => {
            parse_text(sql_type, &u32::from_be_bytes(fixed(bytes)?).to_string())?
        }
        SqlType::Limited(limits) => limited(binary(limits.of().bare(), bytes)?, *limits),
        SqlType::Catalog(catalog) if catalog.names_objects() => {
            parse_text(sql_type, &u32::from_be_bytes(fixed(bytes)?).to_string())?
        }
        SqlType::Int2Vector => array(&SqlType::Int2, bytes)?,
        SqlType::OidVector => array(&SqlType::Oid, bytes)?,
        SqlType::Array(item) => array(item, bytes)?,
        SqlType::Record(_) | SqlType::Catalog(_) | SqlType::Void => {
            return Err(SqlError::not_supported(format!("a parameter of type {sql_type}")).into());
        }
    };
    Ok(value)
}

/// The bytes of a value that has so many.
///
/// # Errors
/// 08P01 for too few, 22P03 for too many.
pub(super) fn fixed<const N: usize>(bytes: &[u8]) -> SqlResult<[u8; N]> {
    bytes.try_into().map_err(|_| if bytes.len() < N { insufficient() } else { invalid("incorrect binary data format") })
}

/// Days since 1970 of PostgreSQL's days.
///
/// # Errors
/// 22008 for infinity.
pub(super) fn date(days: i32) -> SqlResult<i32> {
    let finite = !matches!(days, i32::MIN | i32::MAX);
    days.checked_add(EPOCH_DAYS).filter(|_| finite).ok_or_else(|| out_of_range("date out of range"))
}

/// Microseconds since 1970 of PostgreSQL's.
///
/// # Errors
/// 22008 for infinity.
pub(super) fn timestamp(micros: i64) -> SqlResult<i64> {
    let finite = !matches!(micros, i64::MIN | i64::MAX);
    micros.checked_add(EPOCH_MICROS).filter(|_| finite).ok_or_else(|| out_of_range("timestamp out of range"))
}

fn time(micros: i64) -> SqlResult<i64> {
    const DAY: i64 = 86_400_000_000;
    if (0..=DAY).contains(&micros) { Ok(micros) } else { Err(out_of_range("time out of range")) }
}

/// What the limits of a time type keep of a value.
fn limited(value: ScalarValue, limits: TimeLimits) -> ScalarValue {
    match value {
        ScalarValue::Time64Microsecond(Some(time)) => ScalarValue::Time64Microsecond(Some(limits.time(time))),
        ScalarValue::TimestampMicrosecond(Some(time), zone) => {
            ScalarValue::TimestampMicrosecond(Some(limits.timestamp(time)), zone)
        }
        ScalarValue::IntervalMonthDayNano(Some(value)) => {
            ScalarValue::IntervalMonthDayNano(Some(limits.interval_of(value)))
        }
        other => other,
    }
}

fn interval(bytes: [u8; 16]) -> SqlResult<IntervalMonthDayNano> {
    let mut bytes = &bytes[..];
    let nanos = bytes.get_i64().checked_mul(1000).ok_or_else(|| out_of_range("interval out of range"))?;
    let days = bytes.get_i32();
    Ok(IntervalMonthDayNano::new(bytes.get_i32(), days, nanos))
}

/// An array of at most one dimension.
fn array(item: &SqlType, mut bytes: &[u8]) -> Result<ScalarValue, Failure> {
    let dimensions = integer(&mut bytes)?;
    let _has_nulls = integer(&mut bytes)?;
    let item_oid = integer(&mut bytes)?.cast_unsigned();
    check_item(item, item_oid)?;
    let count = match dimensions {
        0 => 0,
        1 => {
            let count = integer(&mut bytes)?;
            let _first_index = integer(&mut bytes)?;
            let count = usize::try_from(count).map_err(|_| invalid("invalid number of array elements"))?;
            if count > MAX_ITEMS {
                let message = format!("array size exceeds the maximum allowed ({MAX_ITEMS})");
                return Err(SqlError::new(ErrorKind::LimitExceeded, message).into());
            }
            count
        }
        2..=6 => return Err(SqlError::not_supported("an array of more than one dimension").into()),
        _ => return Err(invalid(format!("invalid number of dimensions: {dimensions}")).into()),
    };
    let mut values = Vec::new();
    for _ in 0..count {
        let length = integer(&mut bytes)?;
        let value = match usize::try_from(length) {
            Ok(length) => {
                let (value, rest) = bytes.split_at_checked(length).ok_or_else(cut_item)?;
                bytes = rest;
                binary(item, value)?
            }
            Err(_) if length == -1 => null(item)?,
            Err(_) => return Err(cut_item().into()),
        };
        values.push(value);
    }
    if !bytes.is_empty() {
        return Err(invalid("incorrect binary data format").into());
    }
    Ok(ScalarValue::List(ScalarValue::new_list_nullable(&values, &item.arrow())))
}

/// An array must be of what the statement expects; the members of the text family are all the same on the wire.
fn check_item(item: &SqlType, oid: u32) -> SqlResult<()> {
    let given = oid::of_oid(oid);
    let fits = given.as_ref().is_some_and(|given| {
        oid::sent_oid(given) == oid::sent_oid(item)
            || (given.arrow() == item.arrow() && !matches!(item, SqlType::Jsonb))
    });
    if fits {
        return Ok(());
    }
    let given = given.map_or_else(|| format!("OID {oid}"), |given| format!("type {given}"));
    let message = format!("binary data has array element {given} instead of expected type {item}");
    Err(SqlError::new(ErrorKind::DatatypeMismatch, message))
}

fn integer(bytes: &mut &[u8]) -> SqlResult<i32> {
    bytes.try_get_i32().map_err(|_| insufficient())
}

/// An item of an array that is longer than the array.
fn cut_item() -> Box<SqlError> {
    invalid("insufficient data left in message")
}

fn insufficient() -> Box<SqlError> {
    SqlError::new(ErrorKind::ValueCutShort, "insufficient data left in message")
}

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidBinaryRepresentation, message)
}

fn out_of_range(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::DatetimeOverflow, message)
}

impl From<Box<SqlError>> for Failure {
    fn from(error: Box<SqlError>) -> Self {
        Failure::Sql(error)
    }
}

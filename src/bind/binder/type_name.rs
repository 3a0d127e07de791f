//! Types as statements write them.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, GeometricTypeKind, ObjectName, TimezoneInfo,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{IntervalFields, TimeLimits};

use super::Binder;
use crate::catalogue::names::MODIFIER_HEADER;
use crate::catalogue::oids::{self, Oid};
use crate::coerce::polymorphic::no_array;
use crate::name::folded;
use crate::place::{AtPlace, Place};

/// Longest `varchar(n)`, in characters.
const MOST_CHARACTERS: u64 = 10_485_760;
/// Most digits of a numeric that is declared with a precision, and the ends of its scale.
const MOST_DIGITS: u64 = 1000;
const LEAST_SCALE: i64 = -1000;

impl Binder<'_> {
    /// The type that is written, with its modifier.
    ///
    /// # Errors
    /// 42704 for one that there is not, 22023 for a modifier that it does not take.
    pub fn type_of(&self, data_type: &DataType) -> SqlResult<(Oid, i32)> {
        let plain = |oid: Oid| Ok((oid, -1));
        match data_type {
            DataType::Bool | DataType::Boolean => plain(oids::BOOL),
            DataType::SmallInt(None) | DataType::Int2(None) => plain(oids::INT2),
            DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => plain(oids::INT4),
            DataType::BigInt(None) | DataType::Int8(None) => plain(oids::INT8),
            DataType::Real | DataType::Float4 => plain(oids::FLOAT4),
            DataType::Float8 | DataType::DoublePrecision | DataType::Double(ExactNumberInfo::None) => {
                plain(oids::FLOAT8)
            }
            DataType::Float(info) => float(info),
            DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info),
            DataType::Text => plain(oids::TEXT),
            DataType::Varchar(n) | DataType::CharacterVarying(n) | DataType::CharVarying(n) => {
                Ok((oids::VARCHAR, length(n.as_ref(), "varchar")?))
            }
            DataType::Char(n) | DataType::Character(n) => match length(n.as_ref(), "char")? {
                -1 => Ok((oids::BPCHAR, MODIFIER_HEADER + 1)),
                typmod => Ok((oids::BPCHAR, typmod)),
            },
            DataType::Bit(n) => Ok((oids::BIT, bits(*n)?.max(1))),
            DataType::BitVarying(n) | DataType::VarBit(n) => Ok((oids::VARBIT, bits(*n)?)),
            DataType::Date => plain(oids::DATE),
            DataType::Time(digits, zone) => {
                Ok((if with_zone(zone) { oids::TIMETZ } else { oids::TIME }, seconds(*digits)))
            }
            DataType::Timestamp(digits, zone) => {
                Ok((if with_zone(zone) { oids::TIMESTAMPTZ } else { oids::TIMESTAMP }, seconds(*digits)))
            }
            DataType::Interval { fields: None, precision: None } => plain(oids::INTERVAL),
            DataType::Interval { fields, precision } => {
                let fields = match fields {
                    None => IntervalFields::ALL,
                    Some(fields) => IntervalFields::named(&fields.to_string())
                        .ok_or_else(|| SqlError::not_supported(format!("type interval {fields}")))?,
                };
                Ok((oids::INTERVAL, TimeLimits::interval(fields, *precision).modifier()))
            }
            DataType::Array(items) => self.array_type(items),
            DataType::Custom(name, arguments) => self.named_type(name, arguments),
            DataType::GeometricType(kind) => self.simple(match kind {
                GeometricTypeKind::Point => "point",
                GeometricTypeKind::Line => "line",
                GeometricTypeKind::LineSegment => "lseg",
                GeometricTypeKind::GeometricBox => "box",
                GeometricTypeKind::GeometricPath => "path",
                GeometricTypeKind::Polygon => "polygon",
                GeometricTypeKind::Circle => "circle",
            }),
            other => self.simple(&other.to_string().to_ascii_lowercase()),
        }
    }

    fn simple(&self, name: &str) -> SqlResult<(Oid, i32)> {
        match self.lookup.type_named(None, name) {
            Some(known) => Ok((known.oid, -1)),
            None => Err(no_type(name)),
        }
    }

    fn array_type(&self, items: &ArrayElemTypeDef) -> SqlResult<(Oid, i32)> {
        let (element, typmod) = self.type_of(items_of(items)?)?;
        let array = self.lookup.array(element).ok_or_else(|| no_array(self.lookup, element))?;
        Ok((array, typmod))
    }

    fn named_type(&self, name: &ObjectName, arguments: &[String]) -> SqlResult<(Oid, i32)> {
        let idents: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        let place = idents.first().map_or(Place::NOWHERE, |first| Place::start(first.span));
        let parts: Vec<String> = idents.iter().map(|ident| folded(ident)).collect();
        let (schema, last) = match parts.as_slice() {
            [name] => (None, name.as_str()),
            [schema, name] => (Some(schema.as_str()), name.as_str()),
            _ => return Err(no_type(&parts.join(".")).at_place(place)),
        };
        // An array may be called so too.
        let Some(known) = self.lookup.type_named(schema, last) else {
            if let Some(schema) = schema.filter(|schema| !self.lookup.has_schema(schema)) {
                let message = format!("schema \"{schema}\" does not exist");
                return Err(SqlError::new(ErrorKind::UndefinedSchema, message).at_place(place));
            }
            return Err(no_type(&parts.join(".")).at_place(place));
        };
        if arguments.is_empty() {
            return Ok((known.oid, -1));
        }
        let numbers: Vec<Option<i64>> = arguments.iter().map(|argument| argument.trim().parse().ok()).collect();
        let small = |number: i64| i32::try_from(number).unwrap_or(i32::MAX - MODIFIER_HEADER);
        match (known.oid, numbers.as_slice()) {
            (oids::VARCHAR | oids::BPCHAR, [Some(n)]) => Ok((known.oid, small(*n) + MODIFIER_HEADER)),
            (oids::TIMESTAMPTZ | oids::TIMESTAMP | oids::TIME | oids::TIMETZ, [Some(digits)]) => {
                Ok((known.oid, seconds(u64::try_from(*digits).ok())))
            }
            (oids::NUMERIC, [Some(p)]) => packed(*p, 0),
            (oids::NUMERIC, [Some(p), Some(s)]) => packed(*p, *s),
            (oids::VARBIT | oids::BIT, [Some(n)]) => Ok((known.oid, small(*n))),
            _ => {
                let message = format!("type modifier is not allowed for type \"{last}\"");
                Err(SqlError::new(ErrorKind::Syntax, message).at_place(place))
            }
        }
    }
}

fn no_type(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedObject, format!("type \"{name}\" does not exist"))
}

fn with_zone(zone: &TimezoneInfo) -> bool {
    matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz)
}

/// Digits of seconds, of which more than six are cut.
fn seconds(digits: Option<u64>) -> i32 {
    digits.map_or(-1, |digits| i32::try_from(digits.min(6)).unwrap_or(6))
}

fn bits(length: Option<u64>) -> SqlResult<i32> {
    Ok(match length {
        None => -1,
        Some(length) => i32::try_from(length).map_err(|_| wrong("length for type bit cannot exceed 83886080"))?,
    })
}

fn length(length: Option<&CharacterLength>, name: &str) -> SqlResult<i32> {
    match length {
        None | Some(CharacterLength::Max) => Ok(-1),
        Some(CharacterLength::IntegerLength { length: 0, .. }) => {
            Err(wrong(&format!("length for type {name} must be at least 1")))
        }
        Some(CharacterLength::IntegerLength { length, .. }) => match i32::try_from(*length) {
            Ok(short) if *length <= MOST_CHARACTERS => Ok(short + MODIFIER_HEADER),
            _ => Err(wrong(&format!("length for type {name} cannot exceed {MOST_CHARACTERS}"))),
        },
    }
}

fn float(info: &ExactNumberInfo) -> SqlResult<(Oid, i32)> {
    match info {
        ExactNumberInfo::None => Ok((oids::FLOAT8, -1)),
        ExactNumberInfo::Precision(0) => Err(wrong("precision for type float must be at least 1 bit")),
        ExactNumberInfo::Precision(1..=24) => Ok((oids::FLOAT4, -1)),
        ExactNumberInfo::Precision(25..=53) => Ok((oids::FLOAT8, -1)),
        _ => Err(wrong("precision for type float must be less than 54 bits")),
    }
}

fn numeric(info: &ExactNumberInfo) -> SqlResult<(Oid, i32)> {
    match info {
        ExactNumberInfo::None => Ok((oids::NUMERIC, -1)),
        ExactNumberInfo::Precision(p) => packed(i64::try_from(*p).unwrap_or(i64::MAX), 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => packed(i64::try_from(*p).unwrap_or(i64::MAX), *s),
    }
}

fn packed(precision: i64, scale: i64) -> SqlResult<(Oid, i32)> {
    let most = i64::try_from(MOST_DIGITS).unwrap_or(i64::MAX);
    if !(1..=most).contains(&precision) {
        return Err(wrong(&format!("NUMERIC precision {precision} must be between 1 and {MOST_DIGITS}")));
    }
    if !(LEAST_SCALE..=most).contains(&scale) {
        return Err(wrong(&format!("NUMERIC scale {scale} must be between {LEAST_SCALE} and {MOST_DIGITS}")));
    }
    let short = |number: i64| i32::try_from(number).unwrap_or(0);
    Ok((oids::NUMERIC, ((short(precision) << 16) | (short(scale) & 0x7ff)) + MODIFIER_HEADER))
}

fn wrong(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

/// The type of an array's items. How many dimensions are written makes no difference: `int[][]` is `int[]`.
///
/// # Errors
/// 0A000 for an array without one.
pub fn items_of(items: &ArrayElemTypeDef) -> SqlResult<&DataType> {
    let mut items = items;
    loop {
        let (ArrayElemTypeDef::SquareBracket(item, _)
        | ArrayElemTypeDef::AngleBracket(item)
        | ArrayElemTypeDef::Parenthesis(item)) = items
        else {
            return Err(SqlError::not_supported("an array without a type of its items"));
        };
        match &**item {
            DataType::Array(inner) => items = inner,
            item => return Ok(item),
        }
    }
}

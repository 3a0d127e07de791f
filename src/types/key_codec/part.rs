//! How one key column is written: its kind, and where in the key it stands.

use std::borrow::Cow;

use arrow::datatypes::i256;
use tablegate_store::model::KeyPart;

use super::{KeyCodecError, KeyColumn};
use crate::single_row::Value;
use crate::sql_type::SqlType;

/// The ways to write a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Bool,
    /// Zero-padded to this many digits. `scale`: the value is a decimal, multiplied by ten to this power.
    Number {
        digits: usize,
        scale: i8,
        range: NumberRange,
    },
    Float4,
    Float8,
    Uuid,
    Bytea,
    Date,
    Time,
    Timestamp {
        tz: bool,
    },
    /// `trim`: trailing blanks do not count.
    Text {
        trim: bool,
    },
}

/// Which numbers a [`PartKind::Number`] can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberRange {
    Int2,
    Int4,
    Int8,
    Oid,
    /// Everything its digits can say.
    Digits,
}

impl NumberRange {
    /// Smallest and largest number; `None`: the digits decide.
    pub(super) fn bounds(self) -> Option<(i128, i128)> {
        match self {
            NumberRange::Int2 => Some((i16::MIN.into(), i16::MAX.into())),
            NumberRange::Int4 => Some((i32::MIN.into(), i32::MAX.into())),
            NumberRange::Int8 => Some((i64::MIN.into(), i64::MAX.into())),
            NumberRange::Oid => Some((u32::MIN.into(), u32::MAX.into())),
            NumberRange::Digits => None,
        }
    }
}

impl PartKind {
    fn of(sql_type: &SqlType) -> Option<Self> {
        let integer = |digits, range| PartKind::Number { digits, scale: 0, range };
        Some(match sql_type {
            SqlType::Bool => PartKind::Bool,
            SqlType::Int2 => integer(5, NumberRange::Int2),
            SqlType::Int4 => integer(10, NumberRange::Int4),
            SqlType::Int8 => integer(19, NumberRange::Int8),
            SqlType::Oid => integer(10, NumberRange::Oid),
            SqlType::Numeric(Some((precision, scale))) => {
                PartKind::Number { digits: usize::from(*precision), scale: *scale, range: NumberRange::Digits }
            }
            SqlType::Float4 => PartKind::Float4,
            SqlType::Float8 => PartKind::Float8,
            SqlType::Uuid => PartKind::Uuid,
            SqlType::Bytea => PartKind::Bytea,
            SqlType::Date => PartKind::Date,
            SqlType::Time => PartKind::Time,
            SqlType::Timestamp => PartKind::Timestamp { tz: false },
            SqlType::Timestamptz => PartKind::Timestamp { tz: true },
            SqlType::Limited(limits) => return PartKind::of(limits.of().bare()),
            SqlType::Text | SqlType::Varchar(_) | SqlType::Name => PartKind::Text { trim: false },
            SqlType::Char(_) => PartKind::Text { trim: true },
            SqlType::Numeric(None)
            | SqlType::Quotient
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Interval
            | SqlType::InternalChar
            | SqlType::Regclass
            | SqlType::Regtype
            | SqlType::Regproc
            | SqlType::Int2Vector
            | SqlType::OidVector
            | SqlType::Catalog(_)
            | SqlType::Array(_)
            | SqlType::Record(_)
            | SqlType::Void
            | SqlType::Unknown => return None,
        })
    }

    /// Says itself where it ends.
    pub(super) fn is_fixed_width(self) -> bool {
        !matches!(self, PartKind::Text { .. } | PartKind::Bytea)
    }
}

/// One part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartLayout {
    pub kind: PartKind,
    pub descending: bool,
    /// Nothing follows it in its key.
    pub last: bool,
    /// Characters that keys cannot hold are escaped.
    pub escape: bool,
    /// The key it is part of.
    pub key: KeyPart,
}

impl PartLayout {
    pub(super) fn of(column: &KeyColumn, key: KeyPart, last: bool, escape: bool) -> Result<Self, KeyCodecError> {
        let refused = || (column.name.clone(), column.sql_type.clone());
        let Some(kind) = PartKind::of(&column.sql_type) else {
            let (column, sql_type) = refused();
            return Err(KeyCodecError::Type { column, sql_type });
        };
        if column.descending && !kind.is_fixed_width() {
            let (column, sql_type) = refused();
            return Err(KeyCodecError::Descending { column, sql_type });
        }
        Ok(Self { kind, descending: column.descending, last, escape, key })
    }

    /// Ends with a space: its width varies and something follows.
    pub(super) fn is_terminated(&self) -> bool {
        !self.last && !self.kind.is_fixed_width()
    }

    /// Its text is written with escapes: to keep the terminator apart, or to make every text legal.
    pub(super) fn is_escaped(&self) -> bool {
        self.escape || !self.last
    }
}

/// A value of a key column, on its way in or out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum KeyValue<'a> {
    Bool(bool),
    /// An integer, or the unscaled value of a decimal.
    Number(i128),
    /// The unscaled value of a decimal too wide for 128 bits.
    Wide(i256),
    Float4(f32),
    Float8(f64),
    /// Days since 1970-01-01.
    Days(i32),
    /// Microseconds since midnight, or since 1970-01-01.
    Micros(i64),
    Bytes(Cow<'a, [u8]>),
    Text(Cow<'a, str>),
}

impl KeyValue<'_> {
    /// The value as one of a type that is shown as it is stored; `None` when it is not.
    pub(super) fn shown_as(&self, sql_type: &SqlType) -> Option<Value<'_>> {
        Some(match (&*sql_type.bare(), self) {
            (SqlType::Bool, KeyValue::Bool(value)) => Value::Bool(*value),
            (SqlType::Int2, KeyValue::Number(value)) => Value::Int2(i16::try_from(*value).ok()?),
            (SqlType::Int4, KeyValue::Number(value)) => Value::Int4(i32::try_from(*value).ok()?),
            (SqlType::Int8, KeyValue::Number(value)) => Value::Int8(i64::try_from(*value).ok()?),
            (SqlType::Float4, KeyValue::Float4(value)) => Value::Float4(*value),
            (SqlType::Float8, KeyValue::Float8(value)) => Value::Float8(*value),
            (SqlType::Numeric(Some((_, scale))), KeyValue::Number(value)) => {
                Value::Decimal { unscaled: i64::try_from(*value).ok()?, scale: u8::try_from(*scale).ok()? }
            }
            (SqlType::Text | SqlType::Varchar(_), KeyValue::Text(text)) => Value::Text(text),
            (SqlType::Char(width), KeyValue::Text(text)) => Value::Char(text, *width),
            (SqlType::Bytea, KeyValue::Bytes(bytes)) => Value::Bytea(bytes),
            (SqlType::Uuid, KeyValue::Bytes(bytes)) => Value::Uuid(<[u8; 16]>::try_from(&**bytes).ok()?),
            (SqlType::Date, KeyValue::Days(days)) => Value::Date(*days),
            (SqlType::Timestamp, KeyValue::Micros(micros)) => Value::Timestamp(*micros),
            (SqlType::Timestamptz, KeyValue::Micros(micros)) => Value::Timestamptz(*micros),
            _ => return None,
        })
    }
}

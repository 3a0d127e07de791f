//! Typed property values: the eight EDM types.

use std::fmt;

use thiserror::Error;
use uuid::Uuid;

use super::EdmDateTime;
use super::limits::{BINARY_MAX_BYTES, STRING_MAX_UTF16_UNITS};

/// The type of a property value. Each entity carries its own; two entities may disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EdmType {
    String = 0,
    Int32 = 1,
    Int64 = 2,
    Double = 3,
    Boolean = 4,
    DateTime = 5,
    Guid = 6,
    Binary = 7,
}

impl EdmType {
    pub const ALL: [EdmType; 8] = [
        EdmType::String,
        EdmType::Int32,
        EdmType::Int64,
        EdmType::Double,
        EdmType::Boolean,
        EdmType::DateTime,
        EdmType::Guid,
        EdmType::Binary,
    ];

    /// `Edm.String`, `Edm.Int32`, ...
    pub fn name(self) -> &'static str {
        match self {
            EdmType::String => "Edm.String",
            EdmType::Int32 => "Edm.Int32",
            EdmType::Int64 => "Edm.Int64",
            EdmType::Double => "Edm.Double",
            EdmType::Boolean => "Edm.Boolean",
            EdmType::DateTime => "Edm.DateTime",
            EdmType::Guid => "Edm.Guid",
            EdmType::Binary => "Edm.Binary",
        }
    }

    /// The number that stands for this type on disk and in bit sets: its discriminant.
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for EdmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a value is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    #[error("the string has {units} UTF-16 units; the Table service stores {STRING_MAX_UTF16_UNITS} (64 KiB)")]
    StringTooLong { units: usize },
    #[error("the binary value has {bytes} bytes; the Table service stores {BINARY_MAX_BYTES} (64 KiB)")]
    BinaryTooLong { bytes: usize },
}

/// A property value on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum EdmValue {
    String(Box<str>),
    Int32(i32),
    Int64(i64),
    Double(f64),
    Boolean(bool),
    DateTime(EdmDateTime),
    Guid(Uuid),
    Binary(Box<[u8]>),
}

/// A property value borrowed from a row: what backends hand to column builders, cell by cell, without a heap object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EdmRef<'a> {
    String(&'a str),
    Int32(i32),
    Int64(i64),
    Double(f64),
    Boolean(bool),
    DateTime(EdmDateTime),
    Guid(Uuid),
    Binary(&'a [u8]),
}

impl EdmValue {
    pub fn string(text: impl Into<Box<str>>) -> Self {
        EdmValue::String(text.into())
    }

    pub fn as_ref(&self) -> EdmRef<'_> {
        match self {
            EdmValue::String(v) => EdmRef::String(v),
            EdmValue::Int32(v) => EdmRef::Int32(*v),
            EdmValue::Int64(v) => EdmRef::Int64(*v),
            EdmValue::Double(v) => EdmRef::Double(*v),
            EdmValue::Boolean(v) => EdmRef::Boolean(*v),
            EdmValue::DateTime(v) => EdmRef::DateTime(*v),
            EdmValue::Guid(v) => EdmRef::Guid(*v),
            EdmValue::Binary(v) => EdmRef::Binary(v),
        }
    }

    pub fn edm_type(&self) -> EdmType {
        self.as_ref().edm_type()
    }
}

impl<'a> EdmRef<'a> {
    pub fn edm_type(self) -> EdmType {
        match self {
            EdmRef::String(_) => EdmType::String,
            EdmRef::Int32(_) => EdmType::Int32,
            EdmRef::Int64(_) => EdmType::Int64,
            EdmRef::Double(_) => EdmType::Double,
            EdmRef::Boolean(_) => EdmType::Boolean,
            EdmRef::DateTime(_) => EdmType::DateTime,
            EdmRef::Guid(_) => EdmType::Guid,
            EdmRef::Binary(_) => EdmType::Binary,
        }
    }

    pub fn to_owned(self) -> EdmValue {
        match self {
            EdmRef::String(v) => EdmValue::String(v.into()),
            EdmRef::Int32(v) => EdmValue::Int32(v),
            EdmRef::Int64(v) => EdmValue::Int64(v),
            EdmRef::Double(v) => EdmValue::Double(v),
            EdmRef::Boolean(v) => EdmValue::Boolean(v),
            EdmRef::DateTime(v) => EdmValue::DateTime(v),
            EdmRef::Guid(v) => EdmValue::Guid(v),
            EdmRef::Binary(v) => EdmValue::Binary(v.into()),
        }
    }

    /// # Errors
    /// [`ValueError`] when a string or a binary value is longer than the service stores.
    pub fn check(self) -> Result<(), ValueError> {
        match self {
            // No string has more UTF-16 units than UTF-8 bytes, so only long ones need counting.
            EdmRef::String(v) if v.len() > STRING_MAX_UTF16_UNITS => {
                let units = v.encode_utf16().count();
                if units > STRING_MAX_UTF16_UNITS { Err(ValueError::StringTooLong { units }) } else { Ok(()) }
            }
            EdmRef::Binary(v) if v.len() > BINARY_MAX_BYTES => Err(ValueError::BinaryTooLong { bytes: v.len() }),
            _ => Ok(()),
        }
    }

    /// Bytes this value counts towards the 1 MiB of an entity: String 4 + 2 per UTF-16 unit, Binary 4 + length,
    /// Int32 4, Int64, Double and DateTime 8, Guid 16, Boolean 1 (the service's billing formula).
    pub fn stored_size(self) -> usize {
        match self {
            EdmRef::String(v) => 4 + 2 * utf16_units(v),
            EdmRef::Binary(v) => 4 + v.len(),
            EdmRef::Int32(_) => 4,
            EdmRef::Int64(_) | EdmRef::Double(_) | EdmRef::DateTime(_) => 8,
            EdmRef::Guid(_) => 16,
            EdmRef::Boolean(_) => 1,
        }
    }
}

impl fmt::Display for EdmRef<'_> {
    /// The text a value has in a column of mixed types: numbers in the shortest form that reads back, doubles as
    /// PostgreSQL prints them, `true`/`false`, ISO 8601, hyphenated lower-case GUIDs, `\x` and hex for binary.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdmRef::String(v) => f.write_str(v),
            EdmRef::Int32(v) => write!(f, "{v}"),
            EdmRef::Int64(v) => write!(f, "{v}"),
            EdmRef::Double(v) => write_double(f, *v),
            EdmRef::Boolean(v) => write!(f, "{v}"),
            EdmRef::DateTime(v) => write!(f, "{v}"),
            EdmRef::Guid(v) => write!(f, "{v}"),
            EdmRef::Binary(v) => {
                f.write_str("\\x")?;
                v.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// How long a text is where the service measures it. Most are ASCII, which is found out many bytes at a time.
pub(super) fn utf16_units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// Shortest digits; from 1e15 up and below 1e-4 with an exponent of a sign and at least two digits.
fn write_double(f: &mut fmt::Formatter<'_>, v: f64) -> fmt::Result {
    let magnitude = v.abs();
    if v.is_nan() || magnitude == 0.0 || (1e-4..1e15).contains(&magnitude) {
        return write!(f, "{v}");
    }
    if v.is_infinite() {
        return f.write_str(if v > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let scientific = format!("{v:e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            write!(f, "{digits}e{sign}{exponent:0>2}")
        }
        None => f.write_str(&scientific),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_for_types() {
        for edm_type in EdmType::ALL {
            assert_eq!(EdmType::from_code(edm_type.code()), Some(edm_type));
        }
        assert_eq!(EdmType::from_code(8), None);
    }

    #[test]
    fn strings_are_limited_in_utf16_units() {
        assert_eq!(EdmRef::String(&"a".repeat(32_768)).check(), Ok(()));
        assert_eq!(EdmRef::String(&"é".repeat(32_768)).check(), Ok(()));
        assert_eq!(EdmRef::String(&"😀".repeat(16_384)).check(), Ok(()));
        let one_over = "a".repeat(32_769);
        assert_eq!(EdmRef::String(&one_over).check(), Err(ValueError::StringTooLong { units: 32_769 }));
        let one_pair_over = "😀".repeat(16_385);
        assert_eq!(EdmRef::String(&one_pair_over).check(), Err(ValueError::StringTooLong { units: 32_770 }));
    }

    #[test]
    fn binaries_are_limited_in_bytes() {
        assert_eq!(EdmRef::Binary(&[0; 65_536]).check(), Ok(()));
        assert_eq!(EdmRef::Binary(&[0; 65_537]).check(), Err(ValueError::BinaryTooLong { bytes: 65_537 }));
    }

    #[test]
    fn sizes_follow_the_billing_formula() {
        let sizes = [
            (EdmRef::String("aé😀"), 4 + 2 * 4),
            (EdmRef::Binary(&[1, 2, 3]), 7),
            (EdmRef::Int32(1), 4),
            (EdmRef::Int64(1), 8),
            (EdmRef::Double(1.0), 8),
            (EdmRef::DateTime(EdmDateTime::MIN), 8),
            (EdmRef::Guid(Uuid::nil()), 16),
            (EdmRef::Boolean(true), 1),
        ];
        for (value, size) in sizes {
            assert_eq!(value.stored_size(), size, "{value:?}");
        }
    }

    #[test]
    fn text_of_doubles_is_postgresqls() {
        let texts = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (9.9e-5, "9.9e-05"),
            (123_456_789_012_345.6, "123456789012345.6"),
            (1e15, "1e+15"),
            (-1.5e300, "-1.5e+300"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in texts {
            assert_eq!(EdmRef::Double(value).to_string(), text);
        }
    }

    #[test]
    fn text_of_other_types() {
        let texts = [
            (EdmRef::String("a\"b"), "a\"b"),
            (EdmRef::Int64(i64::MIN), "-9223372036854775808"),
            (EdmRef::Boolean(false), "false"),
            (EdmRef::DateTime(EdmDateTime::MAX), "9999-12-31T23:59:59.9999999Z"),
            (EdmRef::Guid(Uuid::from_u128(0xAB)), "00000000-0000-0000-0000-0000000000ab"),
            (EdmRef::Binary(&[0, 255]), "\\x00ff"),
        ];
        for (value, text) in texts {
            assert_eq!(value.to_string(), text);
        }
    }
}

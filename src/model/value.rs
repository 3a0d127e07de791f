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
            EdmRef::String(v) => 4 + 2 * v.encode_utf16().count(),
            EdmRef::Binary(v) => 4 + v.len(),
            EdmRef::Int32(_) => 4,
            EdmRef::Int64(_) | EdmRef::Double(_) | EdmRef::DateTime(_) => 8,
            EdmRef::Guid(_) => 16,
            EdmRef::Boolean(_) => 1,
        }
    }
}

impl fmt::Display for EdmRef<'_> {
    /// The text a value has in a column of mixed types: numbers in shortest form, `true`/`false`, ISO 8601, hyphenated
    /// lower-case GUIDs, `\x` and hex for binary.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdmRef::String(v) => f.write_str(v),
            EdmRef::Int32(v) => write!(f, "{v}"),
            EdmRef::Int64(v) => write!(f, "{v}"),
            EdmRef::Double(v) if v.is_infinite() => f.write_str(if *v > 0.0 { "Infinity" } else { "-Infinity" }),
            EdmRef::Double(v) => write!(f, "{v}"),
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

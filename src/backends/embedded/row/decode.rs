//! From a row's bytes to its values, each step checked: the bytes may be damaged.

use tablegate_store::model::{EdmDateTime, EdmRef, EdmType, Properties, PropertyName};
use thiserror::Error;
use uuid::Uuid;

use super::super::bytes::Bytes;
use super::shape::{ShapeProperty, Slot, fixed_width};
use super::{Shape, Shapes, VERSION};

/// Why bytes are not a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(in crate::embedded) enum RowError {
    #[error("the row ends too early")]
    TooShort,
    #[error("the row has format version {0}, this program reads {VERSION}")]
    OtherVersion(u8),
    #[error("the row's shape {0} is not known")]
    UnknownShape(u64),
    #[error("the shape in the row cannot be read")]
    BadShape,
    #[error("the row has an instant outside the range of Edm.DateTime")]
    BadInstant,
    #[error("the lengths in the row do not fit its size")]
    BadLengths,
    #[error("a text in the row is not UTF-8")]
    BadText,
    #[error("a boolean in the row is neither true nor false")]
    BadBoolean,
}

/// A row whose areas were found; values are read one by one when asked for.
#[derive(Debug)]
pub(in crate::embedded) struct Row<'a> {
    pub(in crate::embedded) timestamp: EdmDateTime,
    shape: RowShape<'a>,
    pub(super) is_wide: bool,
    pub(super) fixed: &'a [u8],
    pub(super) ends: &'a [u8],
    pub(super) texts: &'a [u8],
}

#[derive(Debug)]
enum RowShape<'a> {
    Kept(u32, &'a Shape),
    InRow(Shape),
}

impl<'a> Row<'a> {
    /// # Errors
    /// [`RowError`] when the bytes are not a row of one of these shapes.
    pub(in crate::embedded) fn parse(bytes: &'a [u8], shapes: &'a Shapes) -> Result<Self, RowError> {
        let mut bytes = Bytes::new(bytes);
        match bytes.byte().ok_or(RowError::TooShort)? {
            VERSION => {}
            other => return Err(RowError::OtherVersion(other)),
        }
        let head = bytes.varint().ok_or(RowError::TooShort)?;
        let is_wide = head & 1 == 1;
        let ticks = i64::from_le_bytes(bytes.array().ok_or(RowError::TooShort)?);
        let timestamp = EdmDateTime::from_unix_ticks(ticks).ok_or(RowError::BadInstant)?;
        let shape = match (head >> 1).checked_sub(1) {
            None => RowShape::InRow(Shape::take(&mut bytes).ok_or(RowError::BadShape)?),
            Some(number) => {
                let kept = u32::try_from(number).ok().and_then(|number| Some((number, shapes.get(number)?)));
                let (number, shape) = kept.ok_or(RowError::UnknownShape(number))?;
                RowShape::Kept(number, shape)
            }
        };
        let (fixed_bytes, variables) = (shape.get().fixed_bytes, shape.get().variables);
        let fixed = bytes.take(fixed_bytes).ok_or(RowError::TooShort)?;
        let ends = bytes.take(variables * end_width(is_wide)).ok_or(RowError::TooShort)?;
        let row = Self { timestamp, shape, is_wide, fixed, ends, texts: bytes.rest() };
        let length = match variables.checked_sub(1) {
            None => 0,
            Some(last) => row.end(last).ok_or(RowError::TooShort)?,
        };
        if length == row.texts.len() { Ok(row) } else { Err(RowError::BadLengths) }
    }

    pub(in crate::embedded) fn shape(&self) -> &Shape {
        self.shape.get()
    }

    /// The index in [`Row::shape`] of the property of this name.
    pub(in crate::embedded) fn place_of(&self, name: &PropertyName) -> Option<usize> {
        self.shape().properties().iter().position(|property| property.name == *name)
    }

    /// The number of the row's shape, unless it stands in the row.
    pub(in crate::embedded) fn shape_number(&self) -> Option<u32> {
        match self.shape {
            RowShape::Kept(number, _) => Some(number),
            RowShape::InRow(_) => None,
        }
    }

    /// The value of the property at this index of [`Row::shape`].
    ///
    /// # Errors
    /// [`RowError`] when the bytes are not of the property's type.
    pub(in crate::embedded) fn value(&self, index: usize) -> Result<EdmRef<'a>, RowError> {
        let property = self.shape().properties().get(index).ok_or(RowError::BadShape)?;
        self.value_of(property)
    }

    /// # Errors
    /// [`RowError`], as [`Row::value`].
    pub(in crate::embedded) fn properties(&self) -> Result<Properties, RowError> {
        let owned = |property: &ShapeProperty| Ok((property.name.clone(), self.value_of(property)?.to_owned()));
        self.shape().properties().iter().map(owned).collect()
    }

    fn value_of(&self, property: &ShapeProperty) -> Result<EdmRef<'a>, RowError> {
        let bytes = match property.slot {
            Slot::Fixed(offset) => {
                let width = fixed_width(property.edm_type).unwrap_or_default();
                self.fixed.get(offset..offset + width)
            }
            Slot::Variable(index) => self.variable(index),
        };
        read(property.edm_type, bytes.ok_or(RowError::BadLengths)?)
    }

    pub(super) fn variable(&self, index: usize) -> Option<&'a [u8]> {
        let from = match index.checked_sub(1) {
            None => 0,
            Some(before) => self.end(before)?,
        };
        self.texts.get(from..self.end(index)?)
    }

    fn end(&self, index: usize) -> Option<usize> {
        let width = end_width(self.is_wide);
        let bytes = self.ends.get(index * width..(index + 1) * width)?;
        if self.is_wide {
            usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
        } else {
            Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?)))
        }
    }
}

impl RowShape<'_> {
    fn get(&self) -> &Shape {
        match self {
            RowShape::Kept(_, shape) => shape,
            RowShape::InRow(shape) => shape,
        }
    }
}

fn end_width(is_wide: bool) -> usize {
    if is_wide { 4 } else { 2 }
}

fn read(edm_type: EdmType, bytes: &[u8]) -> Result<EdmRef<'_>, RowError> {
    let short = |_| RowError::TooShort;
    Ok(match edm_type {
        EdmType::String => EdmRef::String(std::str::from_utf8(bytes).map_err(|_| RowError::BadText)?),
        EdmType::Binary => EdmRef::Binary(bytes),
        EdmType::Int32 => EdmRef::Int32(i32::from_le_bytes(bytes.try_into().map_err(short)?)),
        EdmType::Int64 => EdmRef::Int64(i64::from_le_bytes(bytes.try_into().map_err(short)?)),
        EdmType::Double => EdmRef::Double(f64::from_bits(u64::from_le_bytes(bytes.try_into().map_err(short)?))),
        EdmType::Boolean => match bytes {
            [0] => EdmRef::Boolean(false),
            [1] => EdmRef::Boolean(true),
            _ => return Err(RowError::BadBoolean),
        },
        EdmType::DateTime => {
            let ticks = i64::from_le_bytes(bytes.try_into().map_err(short)?);
            EdmRef::DateTime(EdmDateTime::from_unix_ticks(ticks).ok_or(RowError::BadInstant)?)
        }
        EdmType::Guid => EdmRef::Guid(Uuid::from_bytes(bytes.try_into().map_err(short)?)),
    })
}

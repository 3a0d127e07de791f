//! The values of one property of many entities, as a column of its EDM type.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array,
    StringArray, TimestampMicrosecondArray, UInt64Array, make_array, new_null_array,
};
use arrow::compute::{interleave, take};
use uuid::Uuid;

use super::TypeSet;
use super::columns::timestamp_type;
use crate::model::limits::{BINARY_MAX_BYTES, STRING_MAX_UTF16_UNITS};
use crate::model::{EdmDateTime, EdmRef, EdmType, PropertyName};

/// The values of one property: NULL where an entity does not have it.
#[derive(Debug, Clone)]
pub enum EdmColumn {
    String(StringArray),
    Int32(Int32Array),
    Int64(Int64Array),
    Double(Float64Array),
    Boolean(BooleanArray),
    /// Ticks as [`EdmDateTime::unix_ticks`] gives them.
    DateTime(Int64Array),
    /// Of 16 bytes each.
    Guid(FixedSizeBinaryArray),
    Binary(BinaryArray),
}

impl EdmColumn {
    pub fn edm_type(&self) -> EdmType {
        match self {
            EdmColumn::String(_) => EdmType::String,
            EdmColumn::Int32(_) => EdmType::Int32,
            EdmColumn::Int64(_) => EdmType::Int64,
            EdmColumn::Double(_) => EdmType::Double,
            EdmColumn::Boolean(_) => EdmType::Boolean,
            EdmColumn::DateTime(_) => EdmType::DateTime,
            EdmColumn::Guid(_) => EdmType::Guid,
            EdmColumn::Binary(_) => EdmType::Binary,
        }
    }

    /// How many entities it has a value or NULL for.
    pub fn rows(&self) -> usize {
        self.array().len()
    }

    pub fn has_nulls(&self) -> bool {
        self.array().null_count() > 0
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array().is_null(row)
    }

    /// The value in a row that has one.
    pub fn value(&self, row: usize) -> EdmRef<'_> {
        match self {
            EdmColumn::String(array) => EdmRef::String(array.value(row)),
            EdmColumn::Int32(array) => EdmRef::Int32(array.value(row)),
            EdmColumn::Int64(array) => EdmRef::Int64(array.value(row)),
            EdmColumn::Double(array) => EdmRef::Double(array.value(row)),
            EdmColumn::Boolean(array) => EdmRef::Boolean(array.value(row)),
            EdmColumn::DateTime(array) => {
                EdmRef::DateTime(EdmDateTime::from_unix_ticks(array.value(row)).unwrap_or(EdmDateTime::MIN))
            }
            EdmColumn::Guid(array) => EdmRef::Guid(Uuid::from_slice(array.value(row)).unwrap_or_default()),
            EdmColumn::Binary(array) => EdmRef::Binary(array.value(row)),
        }
    }

    /// The types that its values show. Of integers one that is wide makes all of them so.
    pub fn types(&self) -> TypeSet {
        match self {
            EdmColumn::Int64(array) => {
                let values = (0..array.len()).filter(|row| array.is_valid(*row)).map(|row| array.value(row));
                values
                    .map(|value| TypeSet::of(EdmRef::Int64(value)))
                    .fold(TypeSet::of(EdmRef::Int64(0)), TypeSet::union)
            }
            other => TypeSet::of_type(other.edm_type()),
        }
    }

    /// The values of some rows.
    pub(super) fn some(&self, rows: &UInt64Array) -> Option<Self> {
        self.with(&*take(self.array(), rows, None).ok()?)
    }

    /// Values of several columns of this type, by the number of each and the row in it; `None` where one is of another type.
    pub(super) fn gathered(&self, of: &[&Self], rows: &[(usize, usize)]) -> Option<Self> {
        if of.iter().any(|column| column.edm_type() != self.edm_type()) {
            return None;
        }
        let arrays: Vec<&dyn Array> = of.iter().map(|column| column.array()).collect();
        self.with(&*interleave(&arrays, rows).ok()?)
    }

    /// As many NULLs of its type.
    pub(super) fn of_nulls(&self, rows: usize) -> Option<Self> {
        self.with(&*new_null_array(self.array().data_type(), rows))
    }

    /// Its values as an array.
    pub fn to_array(&self) -> ArrayRef {
        make_array(self.array().to_data())
    }

    /// These values, which are of the same type; `None` where they are not.
    pub(super) fn with(&self, array: &dyn Array) -> Option<Self> {
        Some(match self {
            EdmColumn::String(_) => EdmColumn::String(array.as_string_opt()?.clone()),
            EdmColumn::Int32(_) => EdmColumn::Int32(array.as_primitive_opt()?.clone()),
            EdmColumn::Int64(_) => EdmColumn::Int64(array.as_primitive_opt()?.clone()),
            EdmColumn::Double(_) => EdmColumn::Double(array.as_primitive_opt()?.clone()),
            EdmColumn::Boolean(_) => EdmColumn::Boolean(array.as_boolean_opt()?.clone()),
            EdmColumn::DateTime(_) => EdmColumn::DateTime(array.as_primitive_opt()?.clone()),
            EdmColumn::Guid(_) => EdmColumn::Guid(array.as_fixed_size_binary_opt()?.clone()),
            EdmColumn::Binary(_) => EdmColumn::Binary(array.as_binary_opt()?.clone()),
        })
    }

    /// As a scan hands them out that asks for values of this type.
    pub fn as_scanned(&self) -> ArrayRef {
        match self {
            EdmColumn::DateTime(ticks) => {
                let micros = |ticks| EdmDateTime::from_unix_ticks(ticks).unwrap_or(EdmDateTime::MIN).unix_micros();
                let micros: TimestampMicrosecondArray = ticks.unary(micros);
                Arc::new(micros.with_data_type(timestamp_type()))
            }
            other => other.to_array(),
        }
    }

    fn array(&self) -> &dyn Array {
        match self {
            EdmColumn::String(array) => array,
            EdmColumn::Int32(array) => array,
            EdmColumn::Int64(array) | EdmColumn::DateTime(array) => array,
            EdmColumn::Double(array) => array,
            EdmColumn::Boolean(array) => array,
            EdmColumn::Guid(array) => array,
            EdmColumn::Binary(array) => array,
        }
    }

    /// Bytes of its longest text or binary; 0 of what is neither.
    pub fn longest(&self) -> usize {
        let longest = |ends: &[i32]| ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        usize::try_from(match self {
            EdmColumn::String(array) => longest(array.value_offsets()),
            EdmColumn::Binary(array) => longest(array.value_offsets()),
            _ => 0,
        })
        .unwrap_or(usize::MAX)
    }

    /// About how much memory its values take.
    pub(super) fn bytes(&self) -> usize {
        let of_texts = |ends: &[i32]| {
            let bytes = ends.last().zip(ends.first()).map_or(0, |(last, first)| last - first);
            usize::try_from(bytes).unwrap_or_default()
        };
        match self {
            EdmColumn::String(array) => of_texts(array.value_offsets()) + 4 * array.len(),
            EdmColumn::Binary(array) => of_texts(array.value_offsets()) + 4 * array.len(),
            EdmColumn::Int32(array) => 4 * array.len(),
            EdmColumn::Boolean(array) => array.len() / 8,
            EdmColumn::Guid(array) => 16 * array.len(),
            EdmColumn::Int64(array) | EdmColumn::DateTime(array) => 8 * array.len(),
            EdmColumn::Double(array) => 8 * array.len(),
        }
    }

    /// Whether each value is certainly within the service's limits.
    pub(super) fn is_short(&self, longest: usize) -> bool {
        match self {
            EdmColumn::String(_) => longest <= STRING_MAX_UTF16_UNITS,
            EdmColumn::Binary(_) => longest <= BINARY_MAX_BYTES,
            EdmColumn::Guid(array) => array.value_length() == 16,
            EdmColumn::DateTime(array) => {
                let is_legal = |ticks: i64| EdmDateTime::from_unix_ticks(ticks).is_some();
                array.iter().flatten().all(is_legal)
            }
            _ => true,
        }
    }
}

/// The values of some rows of columns.
pub(super) fn some_values(
    columns: &[(PropertyName, EdmColumn)],
    rows: &[usize],
) -> Option<Vec<(PropertyName, EdmColumn)>> {
    let rows = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
    columns.iter().map(|(name, column)| Some((name.clone(), column.some(&rows)?))).collect()
}

/// About how much memory the values of columns take.
pub(super) fn values_bytes(columns: &[(PropertyName, EdmColumn)]) -> usize {
    columns.iter().map(|(_, column)| column.bytes()).sum()
}

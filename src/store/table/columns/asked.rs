//! Which columns a scan asks for, which stored columns must be read for them, and which are then derived from those.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::DerivedColumn;
use crate::model::{EdmType, PropertyName};
use crate::table::StoreError;

/// The type a property has in a scan. Stored values of other types widen when nothing is lost: Int32 to Int64, integers
/// to Double up to 2^53, everything to Text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    Text,
    Int32,
    Int64,
    Double,
    Boolean,
    DateTime,
    Guid,
    Binary,
}

impl ColumnType {
    /// What a property of this type is stored as.
    pub fn edm_type(self) -> EdmType {
        match self {
            ColumnType::Text => EdmType::String,
            ColumnType::Int32 => EdmType::Int32,
            ColumnType::Int64 => EdmType::Int64,
            ColumnType::Double => EdmType::Double,
            ColumnType::Boolean => EdmType::Boolean,
            ColumnType::DateTime => EdmType::DateTime,
            ColumnType::Guid => EdmType::Guid,
            ColumnType::Binary => EdmType::Binary,
        }
    }

    pub fn arrow(self) -> DataType {
        match self {
            ColumnType::Text => DataType::Utf8,
            ColumnType::Int32 => DataType::Int32,
            ColumnType::Int64 => DataType::Int64,
            ColumnType::Double => DataType::Float64,
            ColumnType::Boolean => DataType::Boolean,
            ColumnType::DateTime => timestamp_type(),
            ColumnType::Guid => DataType::FixedSizeBinary(16),
            ColumnType::Binary => DataType::Binary,
        }
    }

    /// The column type that shows exactly the values of one EDM type.
    pub fn of(edm_type: EdmType) -> Self {
        match edm_type {
            EdmType::String => ColumnType::Text,
            EdmType::Int32 => ColumnType::Int32,
            EdmType::Int64 => ColumnType::Int64,
            EdmType::Double => ColumnType::Double,
            EdmType::Boolean => ColumnType::Boolean,
            EdmType::DateTime => ColumnType::DateTime,
            EdmType::Guid => ColumnType::Guid,
            EdmType::Binary => ColumnType::Binary,
        }
    }
}

pub(in crate::table) fn timestamp_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// One column of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanColumn {
    PartitionKey,
    RowKey,
    /// Timestamp(us, UTC): the 100 ns digit is rounded down.
    Timestamp,
    /// Utf8.
    ETag,
    Property {
        name: PropertyName,
        column_type: ColumnType,
    },
    /// Utf8: the name of the EDM type the property has in this row, NULL where it is absent.
    EdmTypeOf(PropertyName),
    /// Made of others when rows are complete.
    Derived(Arc<DerivedColumn>),
}

/// The columns of a scan, in output order, with their Arrow schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanColumns {
    columns: Vec<ScanColumn>,
    schema: SchemaRef,
    /// What rows are read into: the columns that are not derived, then what else derived ones are made of.
    pub(super) stored: Vec<ScanColumn>,
    /// Where each column comes from.
    sources: Vec<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// It is the stored one of this index.
    Stored(usize),
    /// It is made of the stored ones of these indexes.
    Derived(Arc<DerivedColumn>, Vec<usize>),
}

impl ScanColumns {
    pub fn new(columns: Vec<ScanColumn>) -> Self {
        let fields: Vec<Field> = columns
            .iter()
            .map(|column| match column {
                ScanColumn::PartitionKey => Field::new("PartitionKey", DataType::Utf8, false),
                ScanColumn::RowKey => Field::new("RowKey", DataType::Utf8, false),
                ScanColumn::Timestamp => Field::new("Timestamp", timestamp_type(), false),
                ScanColumn::ETag => Field::new("etag", DataType::Utf8, false),
                ScanColumn::Property { name, column_type } => Field::new(name.as_str(), column_type.arrow(), true),
                ScanColumn::EdmTypeOf(name) => Field::new(format!("edm_type({name})"), DataType::Utf8, true),
                ScanColumn::Derived(column) => Field::new(column.id(), column.data_type().clone(), true),
            })
            .collect();
        let is_stored = |column: &&ScanColumn| !matches!(column, ScanColumn::Derived(_));
        let mut stored: Vec<ScanColumn> = columns.iter().filter(is_stored).cloned().collect();
        let mut plain = 0..;
        let mut place = |input: &ScanColumn| {
            stored.iter().position(|known| known == input).unwrap_or_else(|| {
                stored.push(input.clone());
                stored.len() - 1
            })
        };
        let source = |column: &ScanColumn| match column {
            ScanColumn::Derived(column) => {
                Source::Derived(Arc::clone(column), column.inputs().iter().map(&mut place).collect())
            }
            _ => Source::Stored(plain.next().unwrap_or_default()),
        };
        let sources = columns.iter().map(source).collect();
        Self { columns, schema: Arc::new(Schema::new(fields)), stored, sources }
    }

    pub fn columns(&self) -> &[ScanColumn] {
        &self.columns
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// For each property that is read, as often as it is: the place for [`EntityColumns::set`](super::EntityColumns::set) and its name. A backend
    /// resolves these once per scan (or per shape). Where no column is derived, a place is a column's index.
    pub fn properties(&self) -> impl Iterator<Item = (usize, &PropertyName)> {
        self.stored.iter().enumerate().filter_map(|(place, column)| match column {
            ScanColumn::Property { name, .. } | ScanColumn::EdmTypeOf(name) => Some((place, name)),
            ScanColumn::PartitionKey
            | ScanColumn::RowKey
            | ScanColumn::Timestamp
            | ScanColumn::ETag
            | ScanColumn::Derived(_) => None,
        })
    }

    /// The columns, out of what was read of rows.
    pub(super) fn complete(&self, stored: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, StoreError> {
        if self.sources.iter().all(|source| matches!(source, Source::Stored(_))) {
            return Ok(stored);
        }
        let make = |source: &Source| match source {
            Source::Stored(place) => Ok(Arc::clone(&stored[*place])),
            Source::Derived(column, inputs) => {
                let inputs: Vec<ArrayRef> = inputs.iter().map(|place| Arc::clone(&stored[*place])).collect();
                column.derive(&inputs).map_err(StoreError::Underived)
            }
        };
        self.sources.iter().map(make).collect()
    }
}

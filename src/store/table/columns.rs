//! Builds the Arrow columns of a scan, cell by cell, from borrowed values.
//!
//! Every backend decodes its rows straight into [`EntityColumns`]: no entity, no map and no string per cell stands
//! between stored bytes and a record batch. How a stored type shows in a column of another type is decided here, once,
//! for all stores.

mod asked;
mod derived;
mod dictionary;

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int32Builder, Int64Builder,
    StringBuilder, TimestampMicrosecondBuilder,
};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use thiserror::Error;

pub(super) use self::asked::timestamp_type;
pub use self::asked::{ColumnType, ScanColumn, ScanColumns};
pub use self::derived::{DeriveError, DerivedColumn};
pub use self::dictionary::{
    TextNumbers, dictionary_texts, dictionary_type, first_rows, text_for_each_row, texts_of_rows,
};
use super::{EdmColumn, NewEntities, StoreError};
use crate::model::limits::DOUBLE_EXACT_INTEGER_MAX;
use crate::model::{ETag, EdmDateTime, EdmRef, EdmType, EntityKey, PropertyName, StoredEntity};

/// A stored value that its column cannot show without loss.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "property \"{property}\" of entity {key} holds {stored} {value:?}, which is not a value of the column's type {expected:?}"
)]
pub struct Unfit {
    pub key: Box<EntityKey>,
    pub property: PropertyName,
    pub stored: EdmType,
    pub value: String,
    pub expected: ColumnType,
}

impl Unfit {
    fn new(key: EntityKey, property: PropertyName, value: EdmRef<'_>, expected: ColumnType) -> Self {
        let stored = value.edm_type();
        // Enough to recognise the value by; it can be 64 KiB long.
        let value = value.to_string().chars().take(64).collect();
        Self { key: Box::new(key), property, stored, value, expected }
    }
}

/// Columns under construction. For each entity: [`start`](Self::start), [`set`](Self::set) for the properties it has,
/// [`finish_row`](Self::finish_row); what was not set becomes NULL.
#[derive(Debug)]
pub struct EntityColumns {
    columns: Arc<ScanColumns>,
    builders: Vec<Builder>,
    rows: usize,
    /// Bytes of the texts and binaries so far.
    variable_bytes: usize,
}

/// Which of the columns of entities each property is in that is read: its place, and theirs.
#[derive(Debug)]
pub struct ColumnSources(Vec<(usize, usize)>);

/// A record batch ends when its texts and binaries reach this: 64 KiB values times thousands of rows would not fit a
/// scan's memory, nor Arrow's 32-bit offsets.
const BATCH_VARIABLE_BYTES: usize = 8 * 1024 * 1024;

/// How many rows to make room for when the number of rows to come is unknown.
const MANY_ROWS: usize = 1024;

/// Bytes that there is room for in each text.
const TEXT_BYTES: usize = 16;

#[derive(Debug)]
enum Builder {
    Text(StringBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Double(Float64Builder),
    Boolean(BooleanBuilder),
    DateTime(TimestampMicrosecondBuilder),
    Guid(FixedSizeBinaryBuilder),
    Binary(BinaryBuilder),
}

/// Where a row's ETag comes from.
#[derive(Debug, Clone, Copy)]
pub enum RowETag<'a> {
    /// It is the service's form of this Timestamp, mostly the row's own.
    Of(EdmDateTime),
    /// As the store printed it.
    Text(&'a str),
}

impl<'a> From<&'a ETag> for RowETag<'a> {
    fn from(etag: &'a ETag) -> Self {
        match etag.timestamp() {
            Ok(timestamp) => RowETag::Of(timestamp),
            Err(text) => RowETag::Text(text),
        }
    }
}

impl EntityColumns {
    pub fn new(columns: Arc<ScanColumns>) -> Self {
        Self::with_capacity(columns, MANY_ROWS)
    }

    /// With room for so many rows, which may become more.
    pub fn with_capacity(columns: Arc<ScanColumns>, rows: usize) -> Self {
        let builders = columns.stored.iter().map(|column| Builder::for_column(column, rows)).collect();
        Self { columns, builders, rows: 0, variable_bytes: 0 }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it is time to [`take`](Self::take) what there is: `batch_rows` are reached, or values are so long that
    /// fewer rows make a full batch.
    pub fn is_full(&self, batch_rows: usize) -> bool {
        self.rows >= batch_rows.max(1) || self.variable_bytes >= BATCH_VARIABLE_BYTES
    }

    /// Adds a whole entity as a row, for stores that keep entities as such.
    ///
    /// # Errors
    /// [`Unfit`], as [`EntityColumns::set`].
    pub fn push(&mut self, stored: &StoredEntity) -> Result<(), Unfit> {
        let key = &stored.entity.key;
        self.start(key.partition.as_str(), key.row.as_str(), stored.timestamp, RowETag::from(&stored.etag));
        let columns = Arc::clone(&self.columns);
        for (index, name) in columns.properties() {
            if let Some(value) = stored.entity.properties.get(name.as_str()) {
                self.set(index, value.as_ref())
                    .map_err(|expected| Unfit::new(key.clone(), name.clone(), value.as_ref(), expected))?;
            }
        }
        self.finish_row();
        Ok(())
    }

    /// Where the values of entities go that are columns.
    pub fn sources(&self, columns: &[(PropertyName, EdmColumn)]) -> ColumnSources {
        let source = |(place, name)| Some((place, columns.iter().position(|(known, _)| known == name)?));
        ColumnSources(self.columns.properties().filter_map(source).collect())
    }

    /// Adds one of new entities, by its place among them, as if it had been written at this time. The sources are those of their columns.
    ///
    /// # Errors
    /// [`Unfit`], as [`EntityColumns::set`].
    pub fn push_new(
        &mut self,
        new: &NewEntities,
        place: usize,
        written: EdmDateTime,
        sources: &ColumnSources,
    ) -> Result<(), Unfit> {
        let (partition, row) = new.keys().pair(place);
        self.start(partition, row, written, RowETag::Of(written));
        for (index, source) in &sources.0 {
            let (name, column) = &new.columns()[*source];
            if !column.is_null(place) {
                let value = column.value(place);
                self.set(*index, value)
                    .map_err(|expected| Unfit::new(new.keys().key(place), name.clone(), value, expected))?;
            }
        }
        self.finish_row();
        Ok(())
    }

    /// Begins a row: fills the columns that every entity has.
    pub fn start(&mut self, partition: &str, row: &str, timestamp: EdmDateTime, etag: RowETag<'_>) {
        for (column, builder) in self.columns.stored.iter().zip(&mut self.builders) {
            match (column, builder) {
                (ScanColumn::PartitionKey, Builder::Text(b)) => b.append_value(partition),
                (ScanColumn::RowKey, Builder::Text(b)) => b.append_value(row),
                (ScanColumn::Timestamp, Builder::DateTime(b)) => b.append_value(timestamp.unix_micros()),
                (ScanColumn::ETag, Builder::Text(b)) => match etag {
                    RowETag::Text(text) => b.append_value(text),
                    RowETag::Of(timestamp) => {
                        // Writing into a builder cannot fail; the empty append ends the value.
                        let _ = ETag::write_of_timestamp(timestamp, b);
                        b.append_value("");
                    }
                },
                _ => {}
            }
        }
    }

    /// Sets the value at a place of [`ScanColumns::properties`] in the row that was started.
    ///
    /// # Errors
    /// The column's type, when this value does not fit it: pass it to [`EntityColumns::unfit`]. The row then stays
    /// unfinished, so nothing more can be built here: the scan ends with the error.
    pub fn set(&mut self, place: usize, value: EdmRef<'_>) -> Result<(), ColumnType> {
        match &self.columns.stored[place] {
            ScanColumn::EdmTypeOf(_) => {
                if let Builder::Text(b) = &mut self.builders[place] {
                    b.append_value(value.edm_type().name());
                }
                Ok(())
            }
            ScanColumn::Property { column_type, .. } => {
                if self.builders[place].append(value) {
                    self.variable_bytes += variable_bytes(value);
                    Ok(())
                } else {
                    Err(*column_type)
                }
            }
            ScanColumn::PartitionKey
            | ScanColumn::RowKey
            | ScanColumn::Timestamp
            | ScanColumn::ETag
            | ScanColumn::Derived(_) => Ok(()),
        }
    }

    /// The error for a value that [`EntityColumns::set`] refused.
    pub fn unfit(&self, place: usize, key: EntityKey, value: EdmRef<'_>, expected: ColumnType) -> Option<Unfit> {
        let ScanColumn::Property { name, .. } = &self.columns.stored[place] else { return None };
        Some(Unfit::new(key, name.clone(), value, expected))
    }

    /// Ends the row: columns that were not set get NULL.
    pub fn finish_row(&mut self) {
        self.rows += 1;
        for builder in &mut self.builders {
            if builder.len() < self.rows {
                builder.append_null();
            }
        }
    }

    /// The rows so far as a record batch; the builder starts anew. `None` when there are none.
    ///
    /// # Errors
    /// [`StoreError::Underived`] for a derived column that cannot be made of them.
    pub fn take(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        if self.rows == 0 {
            return Ok(None);
        }
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        self.variable_bytes = 0;
        let arrays = self.columns.complete(arrays)?;
        let batch = RecordBatch::try_new_with_options(Arc::clone(self.columns.schema()), arrays, &options);
        Ok(Some(batch.expect("builders follow the schema and finish_row keeps them at one length")))
    }
}

fn variable_bytes(value: EdmRef<'_>) -> usize {
    match value {
        EdmRef::String(v) => v.len(),
        EdmRef::Binary(v) => v.len(),
        EdmRef::Int32(_)
        | EdmRef::Int64(_)
        | EdmRef::Double(_)
        | EdmRef::Boolean(_)
        | EdmRef::DateTime(_)
        | EdmRef::Guid(_) => 0,
    }
}

impl Builder {
    fn for_column(column: &ScanColumn, rows: usize) -> Self {
        match column {
            ScanColumn::PartitionKey | ScanColumn::RowKey | ScanColumn::ETag | ScanColumn::EdmTypeOf(_) => {
                Builder::for_type(ColumnType::Text, rows)
            }
            ScanColumn::Timestamp => Builder::for_type(ColumnType::DateTime, rows),
            ScanColumn::Property { column_type, .. } => Builder::for_type(*column_type, rows),
            // Never read into: derived columns are made of stored ones.
            ScanColumn::Derived(_) => Builder::for_type(ColumnType::Boolean, 0),
        }
    }

    fn for_type(column_type: ColumnType, rows: usize) -> Self {
        match column_type {
            ColumnType::Text => Builder::Text(StringBuilder::with_capacity(rows, rows * TEXT_BYTES)),
            ColumnType::Int32 => Builder::Int32(Int32Builder::with_capacity(rows)),
            ColumnType::Int64 => Builder::Int64(Int64Builder::with_capacity(rows)),
            ColumnType::Double => Builder::Double(Float64Builder::with_capacity(rows)),
            ColumnType::Boolean => Builder::Boolean(BooleanBuilder::with_capacity(rows)),
            ColumnType::DateTime => {
                Builder::DateTime(TimestampMicrosecondBuilder::with_capacity(rows).with_data_type(timestamp_type()))
            }
            ColumnType::Guid => Builder::Guid(FixedSizeBinaryBuilder::with_capacity(rows, 16)),
            ColumnType::Binary => Builder::Binary(BinaryBuilder::with_capacity(rows, rows * TEXT_BYTES)),
        }
    }

    /// False when the value does not fit; nothing was appended then.
    fn append(&mut self, value: EdmRef<'_>) -> bool {
        match (self, value) {
            (Builder::Text(b), EdmRef::String(v)) => b.append_value(v),
            (Builder::Text(b), other) => {
                // Mixed types show as text; writing into a builder cannot fail, the empty append ends the value.
                let _ = write!(b, "{other}");
                b.append_value("");
            }
            (Builder::Int32(b), EdmRef::Int32(v)) => b.append_value(v),
            (Builder::Int64(b), EdmRef::Int64(v)) => b.append_value(v),
            (Builder::Int64(b), EdmRef::Int32(v)) => b.append_value(v.into()),
            (Builder::Double(b), EdmRef::Double(v)) => b.append_value(v),
            (Builder::Double(b), EdmRef::Int32(v)) => b.append_value(v.into()),
            (Builder::Double(b), EdmRef::Int64(v)) if v.unsigned_abs() <= DOUBLE_EXACT_INTEGER_MAX => {
                #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, as the guard says")]
                b.append_value(v as f64);
            }
            (Builder::Boolean(b), EdmRef::Boolean(v)) => b.append_value(v),
            (Builder::DateTime(b), EdmRef::DateTime(v)) => b.append_value(v.unix_micros()),
            (Builder::Guid(b), EdmRef::Guid(v)) => return b.append_value(v.as_bytes()).is_ok(),
            (Builder::Binary(b), EdmRef::Binary(v)) => b.append_value(v),
            _ => return false,
        }
        true
    }

    fn append_null(&mut self) {
        match self {
            Builder::Text(b) => b.append_null(),
            Builder::Int32(b) => b.append_null(),
            Builder::Int64(b) => b.append_null(),
            Builder::Double(b) => b.append_null(),
            Builder::Boolean(b) => b.append_null(),
            Builder::DateTime(b) => b.append_null(),
            Builder::Guid(b) => b.append_null(),
            Builder::Binary(b) => b.append_null(),
        }
    }

    fn len(&self) -> usize {
        use arrow::array::ArrayBuilder;
        match self {
            Builder::Text(b) => b.len(),
            Builder::Int32(b) => b.len(),
            Builder::Int64(b) => b.len(),
            Builder::Double(b) => b.len(),
            Builder::Boolean(b) => b.len(),
            Builder::DateTime(b) => b.len(),
            Builder::Guid(b) => b.len(),
            Builder::Binary(b) => b.len(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Text(b) => Arc::new(b.finish()),
            Builder::Int32(b) => Arc::new(b.finish()),
            Builder::Int64(b) => Arc::new(b.finish()),
            Builder::Double(b) => Arc::new(b.finish()),
            Builder::Boolean(b) => Arc::new(b.finish()),
            Builder::DateTime(b) => Arc::new(b.finish()),
            Builder::Guid(b) => Arc::new(b.finish()),
            Builder::Binary(b) => Arc::new(b.finish()),
        }
    }
}

#[cfg(test)]
mod tests;

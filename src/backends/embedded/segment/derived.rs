//! Derived columns in segments: made when the file is, of the rows that are in it, so that scans need not make them.
//!
//! The catalogue says for each table which derived columns to keep. A segment that lacks some of them still gives right
//! answers: they are computed from its stored columns, and the segment is made anew when there is time.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use arrow::array::{ArrayRef, AsArray, new_null_array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use tablegate_store::model::TableName;
use tablegate_store::table::{ColumnType, DerivedColumn, ScanColumn, first_rows};

use super::manifest::SegmentColumn;
use super::write::{COLLECTED_PARTITION_KEY, COLLECTED_PROPERTIES, COLLECTED_ROW_KEY};

/// What is asked for of each table.
#[derive(Debug, Default)]
pub(in crate::embedded) struct Derivations(RwLock<BTreeMap<TableName, Arc<[Arc<DerivedColumn>]>>>);

impl Derivations {
    pub(in crate::embedded) fn set(&self, table: &TableName, columns: Vec<Arc<DerivedColumn>>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if columns.is_empty() {
            all.remove(table);
        } else {
            all.insert(table.clone(), columns.into());
        }
    }

    pub(super) fn of(&self, table: &TableName) -> Arc<[Arc<DerivedColumn>]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(table).cloned().unwrap_or_default()
    }
}

/// A derived column of a file that is being written.
pub(super) struct Kept {
    column: Arc<DerivedColumn>,
    /// Where its inputs are among the columns that rows are collected in.
    inputs: Vec<usize>,
}

impl Kept {
    /// Those that can be made of a segment with these columns: a property that has several types there is shown by its
    /// rows.
    pub(super) fn of(columns: &[SegmentColumn], derived: &[Arc<DerivedColumn>]) -> Vec<Self> {
        let kept = |column: &Arc<DerivedColumn>| {
            let inputs = column.inputs().iter().map(|input| place(columns, input)).collect::<Option<Vec<_>>>()?;
            Some(Self { column: Arc::clone(column), inputs })
        };
        derived.iter().filter_map(kept).collect()
    }

    pub(super) fn id(&self) -> &str {
        self.column.id()
    }

    /// Its values in a batch. All are NULL where one cannot be made: who needs them then meets the error. The same where a
    /// dictionary does not pay.
    pub(super) fn make(&self, collected: &RecordBatch) -> ArrayRef {
        let data_type = kept_type(&self.column);
        let inputs: Vec<ArrayRef> = self.inputs.iter().map(|place| Arc::clone(collected.column(*place))).collect();
        let made = match self.column.is_dictionary() {
            true => inputs[0].as_string_opt().and_then(first_rows).map(|rows| Arc::new(rows) as ArrayRef),
            false => self.column.derive(&inputs).ok(),
        };
        let made = made.filter(|made| *made.data_type() == data_type);
        made.unwrap_or_else(|| new_null_array(&data_type, collected.num_rows()))
    }
}

/// What a file keeps of it: of a dictionary the keys.
pub(super) fn kept_type(column: &DerivedColumn) -> DataType {
    if column.is_dictionary() { DataType::UInt32 } else { column.data_type().clone() }
}

/// The columns of a file that hold them, each under its id.
pub(super) fn schema(kept: &[Kept]) -> SchemaRef {
    let field = |kept: &Kept| Field::new(kept.id(), kept_type(&kept.column), true);
    Arc::new(Schema::new(kept.iter().map(field).collect::<Vec<_>>()))
}

fn place(columns: &[SegmentColumn], input: &ScanColumn) -> Option<usize> {
    match input {
        ScanColumn::PartitionKey => Some(COLLECTED_PARTITION_KEY),
        ScanColumn::RowKey => Some(COLLECTED_ROW_KEY),
        ScanColumn::Property { name, column_type } => {
            let mut same = columns.iter().enumerate().filter(|(_, column)| column.name == *name);
            let (index, column) = same.next().filter(|_| same.next().is_none())?;
            (ColumnType::of(column.edm_type) == *column_type).then_some(COLLECTED_PROPERTIES + index)
        }
        ScanColumn::Timestamp | ScanColumn::ETag | ScanColumn::EdmTypeOf(_) | ScanColumn::Derived(_) => None,
    }
}

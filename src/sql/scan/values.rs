//! One stored entity as a row of values: what [`RowLayout`](super::layout::RowLayout) makes of a batch, where that needs no
//! more than a look at each value.

use tablegate_store::model::{EdmDateTime, EdmRef, EntityKey, StoredEntity};
use tablegate_store::table::{AtOnce, ScanColumn, ScanColumns, StoreError, TableReader};
use tablegate_types::edm;
use tablegate_types::single_row::{SingleRow, Value};
use tablegate_types::sql_type::SqlType;

use crate::relation::{ColumnSource, Relation};

/// Where the values of some of a relation's columns are found.
#[derive(Debug)]
pub(super) struct ValueLayout {
    scan: ScanColumns,
    sources: Vec<Source>,
    /// Which of them are declared NOT NULL.
    required: Vec<bool>,
    /// Some of them are columns of the key.
    has_key_parts: bool,
}

#[derive(Debug)]
enum Source {
    PartitionKey,
    RowKey,
    Timestamp,
    /// The key column at this index of the codec's.
    KeyPart(usize),
    /// The scan's column at this index, as a value of the type.
    Property(usize, SqlType),
}

impl ValueLayout {
    /// `None` where a column has values that take more than a look, or is not stored.
    pub(super) fn new(relation: &Relation, columns: &[usize]) -> Option<Self> {
        let (mut scan, mut sources) = (Vec::new(), Vec::with_capacity(columns.len()));
        for column in columns.iter().map(|&index| &relation.columns[index]) {
            if !Value::has_type(&column.sql_type) {
                return None;
            }
            sources.push(match &column.source {
                ColumnSource::PartitionKey => Source::PartitionKey,
                ColumnSource::RowKey => Source::RowKey,
                ColumnSource::Timestamp => Source::Timestamp,
                ColumnSource::KeyPart(part) => Source::KeyPart(*part),
                ColumnSource::Property { name, column_type } if *column_type == edm::column_type(&column.sql_type) => {
                    scan.push(ScanColumn::Property { name: name.clone(), column_type: *column_type });
                    Source::Property(scan.len() - 1, column.sql_type.clone())
                }
                ColumnSource::Property { .. } | ColumnSource::ETag | ColumnSource::EdmTypeOf(_) => return None,
            });
        }
        let has_key_parts = sources.iter().any(|source| matches!(source, Source::KeyPart(_)));
        let required = columns.iter().map(|&index| !relation.arrow_schema.field(index).is_nullable()).collect();
        Some(Self { scan: ScanColumns::new(scan), sources, required, has_key_parts })
    }

    /// The row of one key, if there is one; outer `None` where that takes another way.
    ///
    /// # Errors
    /// When the table cannot be read.
    #[expect(clippy::option_option, reason = "as DirectScan::single")]
    pub(super) fn read(
        &self,
        reader: &dyn TableReader,
        relation: &Relation,
        key: &EntityKey,
        outputs: &[usize],
    ) -> Result<Option<Option<SingleRow>>, StoreError> {
        let mut row = SingleRow::nulls(outputs.len());
        let mut take = |column: usize, stored: EdmRef<'_>| self.take(&mut row, outputs, column, stored);
        match reader.get_at_once(&relation.stored.name, key.as_pair(), &self.scan, &mut take)? {
            AtOnce::Entity(timestamp) => Ok(self.with_keys(row, relation, key.as_pair(), timestamp, outputs).map(Some)),
            AtOnce::Nothing => Ok(Some(None)),
            AtOnce::No => Ok(None),
        }
    }

    /// The row of an entity that was read; `None` where that takes another way.
    pub(super) fn of(&self, stored: &StoredEntity, relation: &Relation, outputs: &[usize]) -> Option<SingleRow> {
        let mut row = SingleRow::nulls(outputs.len());
        for (index, column) in self.scan.columns().iter().enumerate() {
            let ScanColumn::Property { name, .. } = column else { continue };
            if let Some(value) = stored.entity.properties.get(name.as_str())
                && !self.take(&mut row, outputs, index, value.as_ref())
            {
                return None;
            }
        }
        self.with_keys(row, relation, stored.entity.key.as_pair(), stored.timestamp, outputs)
    }

    /// Puts the value of a scan's column where it comes out; false where it takes more than a look.
    fn take(&self, row: &mut SingleRow, outputs: &[usize], column: usize, stored: EdmRef<'_>) -> bool {
        outputs.iter().enumerate().all(|(place, output)| match &self.sources[*output] {
            Source::Property(index, sql_type) if *index == column => {
                let value = edm::to_value(stored, sql_type);
                if let Some(value) = value {
                    row.set(place, value);
                }
                value.is_some()
            }
            _ => true,
        })
    }

    /// The row with what its key says; `None` where that takes another way, or a value is not there that has to be.
    fn with_keys(
        &self,
        mut row: SingleRow,
        relation: &Relation,
        key: (&str, &str),
        timestamp: EdmDateTime,
        outputs: &[usize],
    ) -> Option<SingleRow> {
        let places = || outputs.iter().enumerate().map(|(place, output)| (place, &self.sources[*output]));
        for (place, source) in places() {
            match source {
                Source::PartitionKey => row.set(place, Value::Text(key.0)),
                Source::RowKey => row.set(place, Value::Text(key.1)),
                Source::Timestamp => row.set(place, Value::Timestamptz(timestamp.unix_micros())),
                Source::KeyPart(_) | Source::Property(..) => {}
            }
        }
        if self.has_key_parts {
            let are_values = relation.codec.values_of(key, &mut |part, value| {
                for (place, source) in places() {
                    if matches!(source, Source::KeyPart(wanted) if *wanted == part) {
                        row.set(place, value);
                    }
                }
            });
            if !are_values {
                return None;
            }
        }
        // What is said of a row without a value that has to be there, the other way says.
        let has_all = row.values().zip(outputs).all(|(value, output)| value != Value::Null || !self.required[*output]);
        has_all.then_some(row)
    }
}

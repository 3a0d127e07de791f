//! One stored entity as a row of values: what [`RowLayout`](super::layout::RowLayout) makes of a batch, where that needs no
//! more than a look at each value.

use tablegate_store::model::{EdmRef, EntityKey};
use tablegate_store::table::{AtOnce, ScanColumn, ScanColumns, StoreError, TableReader};
use tablegate_types::calendar::MICROS_PER_DAY;
use tablegate_types::edm;
use tablegate_types::single_row::{SingleRow, Value};
use tablegate_types::sql_type::SqlType;

use crate::relation::{ColumnSource, Relation};

/// Where the values of some of a relation's columns are found.
#[derive(Debug)]
pub(super) struct ValueLayout {
    scan: ScanColumns,
    sources: Vec<Source>,
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
        Some(Self { scan: ScanColumns::new(scan), sources, has_key_parts })
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
        let key = key.as_pair();
        let mut row = SingleRow::nulls(outputs.len());
        let places = || outputs.iter().enumerate().map(|(place, output)| (place, &self.sources[*output]));
        let mut take = |column: usize, stored: EdmRef<'_>| {
            places().all(|(place, source)| match source {
                Source::Property(index, sql_type) if *index == column => {
                    let value = shown_as(stored, sql_type);
                    if let Some(value) = value {
                        row.set(place, value);
                    }
                    value.is_some()
                }
                _ => true,
            })
        };
        let timestamp = match reader.get_at_once(&relation.stored.name, key, &self.scan, &mut take)? {
            AtOnce::Entity(timestamp) => timestamp,
            AtOnce::Nothing => return Ok(Some(None)),
            AtOnce::No => return Ok(None),
        };
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
                return Ok(None);
            }
        }
        Ok(Some(Some(row)))
    }
}

/// A stored value as one of the SQL type; `None` where it is of another type, or the type has to be looked at.
fn shown_as<'a>(stored: EdmRef<'a>, sql_type: &SqlType) -> Option<Value<'a>> {
    Some(match (sql_type, stored) {
        (SqlType::Int4, EdmRef::Int32(value)) => Value::Int4(value),
        (SqlType::Int2, EdmRef::Int32(value)) => Value::Int2(i16::try_from(value).ok()?),
        (SqlType::Int8, EdmRef::Int64(value)) => Value::Int8(value),
        (SqlType::Int8, EdmRef::Int32(value)) => Value::Int8(value.into()),
        (SqlType::Float8, EdmRef::Double(value)) => Value::Float8(value),
        (SqlType::Bool, EdmRef::Boolean(value)) => Value::Bool(value),
        (SqlType::Text | SqlType::Varchar(None), EdmRef::String(text)) => Value::Text(text),
        // No text has more characters than bytes.
        (SqlType::Varchar(Some(length)), EdmRef::String(text))
            if u32::try_from(text.len()).is_ok_and(|bytes| bytes <= *length) && !text.contains('\0') =>
        {
            Value::Text(text)
        }
        (SqlType::Timestamptz, EdmRef::DateTime(value)) => Value::Timestamptz(value.unix_micros()),
        (SqlType::Timestamp, EdmRef::DateTime(value)) => Value::Timestamp(value.unix_micros()),
        (SqlType::Date, EdmRef::DateTime(value)) => {
            let micros = value.unix_micros();
            let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
            Value::Date(Some(days).filter(|_| micros.rem_euclid(MICROS_PER_DAY) == 0)?)
        }
        (SqlType::Uuid, EdmRef::Guid(value)) => Value::Uuid(value.into_bytes()),
        (SqlType::Bytea, EdmRef::Binary(bytes)) => Value::Bytea(bytes),
        _ => return None,
    })
}

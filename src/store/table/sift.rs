//! Whole entities of which a predicate may be true, found by the columns that it is about: for looking for few among many where
//! the store keeps columns.
//!
//! The predicate is evaluated on the columns of a scan, and what it may be true of is got whole, one by one. That costs more for
//! each entity than walking past it. So where the predicate turns out to be true of many the entities are walked through from
//! there on.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use futures::StreamExt;
use uuid::Uuid;

use super::predicate::StoredValue;
use super::walk::{EntityView, EntityWalk, Visit, walk};
use super::{
    ColumnType, KeyRange, Predicate, ScanColumn, ScanColumns, ScanRequest, ScanStream, StoreError, TableReader,
};
use crate::model::{EdmDateTime, EdmRef, EntityKey, PropertyName};

/// One of so many is as cheap to get as it is to walk past all of them.
const WORTH_GETTING: usize = 8;

/// Walks through the entities of the request's ranges of which its predicate may be true, and perhaps through others; its columns
/// are of no meaning here.
///
/// # Errors
/// [`StoreError::TableMissing`], here or when the walk begins.
pub async fn sift(reader: &Arc<dyn TableReader>, request: ScanRequest) -> Result<Box<dyn EntityWalk>, StoreError> {
    match asked(reader, &request).await? {
        None => walk(reader, request),
        Some((predicate, columns)) => {
            let mut all = vec![ScanColumn::PartitionKey, ScanColumn::RowKey, ScanColumn::Timestamp];
            all.extend(
                columns
                    .iter()
                    .map(|(name, column_type)| ScanColumn::Property { name: name.clone(), column_type: *column_type }),
            );
            let scan = reader.scan(ScanRequest { columns: Arc::new(ScanColumns::new(all)), ..request.clone() })?;
            let columns = columns.into_iter().map(|(name, _)| name).collect();
            let state = State::Columns { scan, found: VecDeque::new() };
            Ok(Box::new(Sifting { reader: Arc::clone(reader), request, predicate, columns, last: None, state }))
        }
    }
}

/// The predicate, and the columns that it is about: properties which were seen with one type alone. `None` where they do not say
/// it all.
async fn asked(
    reader: &Arc<dyn TableReader>,
    request: &ScanRequest,
) -> Result<Option<(Predicate, Vec<(PropertyName, ColumnType)>)>, StoreError> {
    let Some(predicate) = request.predicate.clone() else { return Ok(None) };
    let schema = reader.observed_schema(&request.table).await?;
    let column = |name: &&PropertyName| {
        let mut types = schema.get(name.as_str())?.types.iter();
        let only = types.next().filter(|_| types.next().is_none()).map(ColumnType::of)?;
        (only != ColumnType::Binary).then(|| ((*name).clone(), only))
    };
    let names = predicate.properties();
    let columns: Vec<_> = names.iter().filter_map(column).collect();
    Ok((columns.len() == names.len()).then_some((predicate, columns)))
}

struct Sifting {
    reader: Arc<dyn TableReader>,
    request: ScanRequest,
    predicate: Predicate,
    /// The properties behind the keys and the Timestamp.
    columns: Vec<PropertyName>,
    /// What was looked at last.
    last: Option<EntityKey>,
    state: State,
}

enum State {
    Columns {
        scan: ScanStream,
        /// Of the last batch.
        found: VecDeque<EntityKey>,
    },
    Rows(Box<dyn EntityWalk>),
}

#[async_trait]
impl EntityWalk for Sifting {
    async fn advance(&mut self, entities: usize, visit: &mut Visit<'_>) -> Result<bool, StoreError> {
        let mut shown = 0;
        while shown < entities {
            let (scan, found) = match &mut self.state {
                State::Columns { scan, found } => (scan, found),
                State::Rows(rows) => return rows.advance(entities - shown, visit).await,
            };
            if let Some(key) = found.pop_front() {
                // It may have gone since its key was read, where a view is not one moment.
                let Some(stored) = self.reader.get(&self.request.table, &key).await? else { continue };
                shown += 1;
                if visit(&EntityView::from(&stored))?.is_break() {
                    return Ok(true);
                }
                continue;
            }
            match scan.next().await {
                None => return Ok(false),
                Some(Ok(batch)) => self.look_at(&batch)?,
                // What a column cannot show is in the entity.
                Some(Err(StoreError::Unfit(_))) => self.walk_on()?,
                Some(Err(error)) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl Sifting {
    fn look_at(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        let last = batch.num_rows().saturating_sub(1);
        // The last one is shown in any case: who looks at the clock now and then is to come to it.
        let mut shown: Vec<usize> = (0..last).filter(|row| self.may_hold(batch, *row)).collect();
        shown.push(last);
        if shown.len().saturating_mul(WORTH_GETTING) > batch.num_rows().max(2 * WORTH_GETTING) {
            return self.walk_on();
        }
        let keys = shown.into_iter().map(|row| self.key(batch, row)).collect::<Result<_, _>>()?;
        self.last = Some(self.key(batch, last)?);
        if let State::Columns { found, .. } = &mut self.state {
            *found = keys;
        }
        Ok(())
    }

    fn may_hold(&self, batch: &RecordBatch, row: usize) -> bool {
        let micros = batch.column(2).as_primitive::<TimestampMicrosecondType>().value(row);
        let timestamp = EdmDateTime::from_unix_micros_saturating(micros);
        self.predicate.may_hold(timestamp, &mut |name| {
            let place = self.columns.iter().position(|known| known == name);
            place.map_or(StoredValue::Unknown, |place| value(&**batch.column(place + 3), row))
        })
    }

    fn key(&self, batch: &RecordBatch, row: usize) -> Result<EntityKey, StoreError> {
        let text = |column: usize| batch.column(column).as_string::<i32>().value(row);
        EntityKey::parse(text(0), text(1)).map_err(|error| StoreError::Damaged {
            place: format!("table {}", self.request.table),
            detail: error.to_string(),
        })
    }

    /// From here on every entity is walked past.
    fn walk_on(&mut self) -> Result<(), StoreError> {
        let ranges = match &self.last {
            None => self.request.ranges.to_vec(),
            Some(last) => behind(&self.request, last),
        };
        let rest = ScanRequest { ranges: ranges.into(), ..self.request.clone() };
        self.state = State::Rows(walk(&self.reader, rest)?);
        Ok(())
    }
}

/// The ranges without what is not behind this key, which is in one of them.
fn behind(request: &ScanRequest, key: &EntityKey) -> Vec<KeyRange> {
    let mut rest = request.ranges.iter().skip_while(|range| !range.contains(key));
    let cut = rest.next().map(|range| range.behind(key, request.direction)).into_iter().flatten();
    cut.chain(rest.cloned()).filter(|range| !range.partitions.is_empty()).collect()
}

/// What a column shows in this row, as it is stored.
fn value(column: &dyn Array, row: usize) -> StoredValue<'_> {
    use arrow::datatypes::DataType;
    if column.is_null(row) {
        return StoredValue::Absent;
    }
    StoredValue::Value(match column.data_type() {
        DataType::Utf8 => EdmRef::String(column.as_string::<i32>().value(row)),
        DataType::Int32 => EdmRef::Int32(column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => EdmRef::Int64(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => EdmRef::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => EdmRef::Boolean(column.as_boolean().value(row)),
        DataType::Timestamp(..) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            EdmRef::DateTime(EdmDateTime::from_unix_micros_saturating(micros))
        }
        DataType::FixedSizeBinary(16) => match Uuid::from_slice(column.as_fixed_size_binary().value(row)) {
            Ok(guid) => EdmRef::Guid(guid),
            Err(_) => return StoredValue::Unknown,
        },
        _ => return StoredValue::Unknown,
    })
}

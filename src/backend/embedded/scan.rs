//! Scans: rows into record batches, one batch at a time and each on a thread that may block.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use futures::stream;

use super::analyze::{damaged_key, damaged_row};
use super::key_bytes;
use super::meta::TableMeta;
use super::reader::View;
use super::row::Row;
use super::walk::Walk;
use crate::model::{EdmRef, EntityKey, PropertyName};
use crate::table::{ColumnType, EntityColumns, RowETag, ScanRequest, ScanStream, StoreError};

/// Scans of this many single rows or fewer are read where they are asked for: handing them to another thread would take
/// longer than the look-ups.
const FEW_POINTS: usize = 16;

pub(super) struct Scan {
    walk: Walk,
    table: Arc<TableMeta>,
    request: Arc<ScanRequest>,
    projection: Projection,
    columns: EntityColumns,
    rows_left: usize,
    is_short: bool,
    is_done: bool,
}

impl Scan {
    pub(super) fn new(view: Arc<View>, table: Arc<TableMeta>, request: ScanRequest) -> Self {
        let request = Arc::new(request);
        Self {
            walk: Walk::new(view, Arc::clone(&table), Arc::clone(&request)),
            table,
            projection: Projection::new(&request),
            columns: EntityColumns::new(Arc::clone(&request.columns)),
            rows_left: request.limit.unwrap_or(usize::MAX),
            is_short: request.ranges.len() <= FEW_POINTS
                && request.ranges.iter().all(|range| range.as_point().is_some()),
            is_done: false,
            request,
        }
    }

    pub(super) fn into_stream(self) -> ScanStream {
        Box::pin(stream::try_unfold(Some(self), |scan| async move {
            let Some(scan) = scan else { return Ok(None) };
            scan.advance().await
        }))
    }

    /// The next batch, and the scan unless it is at its end.
    async fn advance(mut self) -> Result<Option<(RecordBatch, Option<Self>)>, StoreError> {
        let (scan, batch) = if self.is_short {
            let batch = self.next_batch()?;
            (self, batch)
        } else {
            let read = tokio::task::spawn_blocking(move || self.next_batch().map(|batch| (self, batch))).await;
            read.map_err(|stopped| match stopped.is_cancelled() {
                true => StoreError::ShuttingDown,
                false => StoreError::Unavailable(format!("a scan failed: {stopped}")),
            })??
        };
        Ok(batch.map(|batch| (batch, (!scan.is_done).then_some(scan))))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        let engine = self.walk.engine()?;
        while self.rows_left > 0 && !self.columns.is_full(self.request.batch_rows) {
            let Some((key, value)) = self.walk.next_row(&engine)? else {
                self.is_done = true;
                break;
            };
            self.push(&key, &value)?;
            self.rows_left -= 1;
        }
        self.is_done |= self.rows_left == 0;
        Ok(self.columns.take())
    }

    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.request.stats.add_entities_scanned(1);
        self.request.stats.add_bytes(key.len() + value.len());
        let damaged = |error| damaged_row(&self.table, key, error);
        let (partition, row_key) = key_bytes::parse(key).ok_or_else(|| damaged_key(&self.table, key))?;
        let row = self.table.parse_row(value).map_err(damaged)?;
        self.columns.start(partition, row_key, row.timestamp, RowETag::FromTimestamp);
        let plan = self.projection.plan(&row);
        for (column, property) in plan.iter().copied() {
            let value = row.value(property).map_err(damaged)?;
            if let Err(expected) = self.columns.set(column, value) {
                return Err(unfit(&self.columns, column, key, value, expected, &self.table));
            }
        }
        self.columns.finish_row();
        Ok(())
    }
}

/// The error for a value that does not fit its column.
fn unfit(
    columns: &EntityColumns,
    column: usize,
    key: &[u8],
    value: EdmRef<'_>,
    expected: ColumnType,
    table: &TableMeta,
) -> StoreError {
    let entity = key_bytes::parse(key).and_then(|(partition, row)| EntityKey::parse(partition, row).ok());
    match entity.and_then(|entity| columns.unfit(column, entity, value, expected)) {
        Some(unfit) => unfit.into(),
        None => damaged_key(table, key),
    }
}

/// Which columns of a scan want which properties, and where those are in the rows of each shape.
struct Projection {
    wanted: Vec<(usize, PropertyName)>,
    /// For each shape: columns, and the indexes of their properties in it.
    plans: HashMap<u32, Plan>,
}

type Plan = Arc<[(usize, usize)]>;

impl Projection {
    fn new(request: &ScanRequest) -> Self {
        let wanted = request.columns.properties().map(|(column, name)| (column, name.clone())).collect();
        Self { wanted, plans: HashMap::new() }
    }

    fn plan(&mut self, row: &Row<'_>) -> Plan {
        let Some(number) = row.shape_number() else { return self.find(row) };
        if let Some(plan) = self.plans.get(&number) {
            return Arc::clone(plan);
        }
        let plan = self.find(row);
        self.plans.insert(number, Arc::clone(&plan));
        plan
    }

    fn find(&self, row: &Row<'_>) -> Plan {
        let properties = row.shape().properties();
        let place = |(column, name): &(usize, PropertyName)| {
            Some((*column, properties.iter().position(|property| property.name == *name)?))
        };
        self.wanted.iter().filter_map(place).collect()
    }
}

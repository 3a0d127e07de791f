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
use crate::table::{ColumnType, EntityColumns, KeyRange, RowETag, ScanRequest, ScanStream, StoreError};

/// Ranges of a scan that begins where it is asked for: handing it to another thread would take longer than a few look-ups.
const FEW_RANGES: usize = 16;
/// Rows of a batch that there is room for at once.
const MANY_ROWS: usize = 1024;
/// Rows that are read there before the rest of the scan goes to a thread that may block.
const FEW_ROWS: usize = 128;

pub(super) struct Scan {
    walk: Walk,
    table: Arc<TableMeta>,
    request: Arc<ScanRequest>,
    projection: Projection,
    columns: EntityColumns,
    rows_left: usize,
    /// Rows that may still be read where the scan is asked for.
    rows_here: usize,
    is_done: bool,
}

impl Scan {
    pub(super) fn new(view: Arc<View>, table: Arc<TableMeta>, request: ScanRequest) -> Self {
        let request = Arc::new(request);
        // Where partitions have to be looked for, nobody knows how many there are before the first row.
        let is_near = |range: &KeyRange| range.partitions.as_point().is_some();
        let is_short = request.ranges.len() <= FEW_RANGES && request.ranges.iter().all(is_near);
        let is_point = |range: &KeyRange| range.as_point().is_some();
        let rows_at_most = if request.ranges.iter().all(is_point) { request.ranges.len() } else { usize::MAX };
        let rows = rows_at_most.min(request.limit.unwrap_or(usize::MAX)).min(request.batch_rows).min(MANY_ROWS);
        Self {
            walk: Walk::new(view, Arc::clone(&table), Arc::clone(&request)),
            table,
            projection: Projection::new(&request),
            columns: EntityColumns::with_capacity(Arc::clone(&request.columns), rows),
            rows_left: request.limit.unwrap_or(usize::MAX),
            rows_here: if is_short { FEW_ROWS } else { 0 },
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
        let rows_here = std::mem::take(&mut self.rows_here);
        let (scan, batch) = if rows_here > 0
            && let Some(batch) = self.begin_batch(rows_here)?
        {
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
        self.read(usize::MAX)?;
        Ok(self.columns.take())
    }

    /// Reads so many rows; `None` when the batch has room for more, and there may be more.
    #[expect(clippy::option_option, reason = "no batch yet, and no further one, told apart at the only caller")]
    fn begin_batch(&mut self, rows: usize) -> Result<Option<Option<RecordBatch>>, StoreError> {
        self.read(rows)?;
        let is_whole = self.is_done || self.columns.is_full(self.request.batch_rows);
        Ok(is_whole.then(|| self.columns.take()))
    }

    /// Reads rows into the batch until it is full, there are no more, or so many were read.
    fn read(&mut self, rows: usize) -> Result<(), StoreError> {
        let engine = self.walk.engine()?;
        let mut read = 0;
        while read < rows && self.rows_left > 0 && !self.columns.is_full(self.request.batch_rows) {
            let Some((key, value)) = self.walk.next_row(&engine)? else {
                self.is_done = true;
                break;
            };
            self.push(&key, &value)?;
            self.rows_left -= 1;
            read += 1;
        }
        self.is_done |= self.rows_left == 0;
        Ok(())
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

//! Rows into the columns of a scan.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use tablegate_store::model::{EdmRef, EntityKey, PropertyName};
use tablegate_store::table::{ColumnType, EntityColumns, RowETag, ScanColumns, StoreError};

use super::analyze::{damaged_key, damaged_row};
use super::key_bytes;
use super::meta::TableMeta;
use super::row::Row;

/// The columns that a scan asks for, being filled with rows.
pub(super) struct RowColumns {
    table: Arc<TableMeta>,
    asked: Arc<ScanColumns>,
    projection: Projection,
    columns: EntityColumns,
}

impl RowColumns {
    /// With room for so many rows at once.
    pub(super) fn with_capacity(table: Arc<TableMeta>, asked: Arc<ScanColumns>, rows: usize) -> Self {
        let (projection, columns) = (Projection::new(&asked), EntityColumns::with_capacity(Arc::clone(&asked), rows));
        Self { table, asked, projection, columns }
    }

    /// The same columns of the same table, empty, with room for so many rows at once.
    pub(super) fn another(&self, rows: usize) -> Self {
        Self::with_capacity(Arc::clone(&self.table), Arc::clone(&self.asked), rows)
    }

    pub(super) fn columns(&self) -> &ScanColumns {
        &self.asked
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        self.asked.schema()
    }

    pub(super) fn len(&self) -> usize {
        self.columns.rows()
    }

    pub(super) fn is_full(&self, batch_rows: usize) -> bool {
        self.columns.is_full(batch_rows)
    }

    /// # Errors
    /// [`StoreError::Underived`].
    pub(super) fn take(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        self.columns.take()
    }

    /// # Errors
    /// [`StoreError::Damaged`], or [`StoreError::Unfit`] for a value that a column cannot show.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let damaged = |error| damaged_row(&self.table, key, error);
        let (partition, row_key) = key_bytes::parse(key).ok_or_else(|| damaged_key(&self.table, key))?;
        let row = self.table.parse_row(value).map_err(damaged)?;
        self.columns.start(partition, row_key, row.timestamp, RowETag::Of(row.timestamp));
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
    fn new(columns: &ScanColumns) -> Self {
        let wanted = columns.properties().map(|(column, name)| (column, name.clone())).collect();
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
        let place = |(column, name): &(usize, PropertyName)| Some((*column, row.place_of(name)?));
        self.wanted.iter().filter_map(place).collect()
    }
}

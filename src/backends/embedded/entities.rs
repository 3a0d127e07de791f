//! Whole entities, shown out of their rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use tablegate_store::model::EdmRef;
use tablegate_store::table::{EntityProperties, EntityView, EntityWalk, RowETag, ScanRequest, StoreError, Visit};

use super::analyze::{damaged_key, damaged_row};
use super::key_bytes;
use super::meta::TableMeta;
use super::reader::View;
use super::row::Row;
use super::walk::{Next, Walk};

/// A walk through rows. What is kept as columns too is read from its rows: all of a row is wanted.
pub(super) struct Entities {
    walk: Walk,
    table: Arc<TableMeta>,
    request: Arc<ScanRequest>,
}

impl Entities {
    pub(super) fn new(view: Arc<View>, table: Arc<TableMeta>, request: ScanRequest) -> Self {
        let request = Arc::new(request);
        Self { walk: Walk::of_rows(view, Arc::clone(&table), Arc::clone(&request)), table, request }
    }

    fn show(&self, key: &[u8], value: &[u8], visit: &mut Visit<'_>) -> Result<ControlFlow<()>, StoreError> {
        let (partition, row_key) = key_bytes::parse(key).ok_or_else(|| damaged_key(&self.table, key))?;
        let row = self.table.parse_row(value).map_err(|error| damaged_row(&self.table, key, error))?;
        let timestamp = row.timestamp;
        let properties = &RowProperties { row, key, table: &self.table };
        visit(&EntityView { partition, row: row_key, timestamp, etag: RowETag::Of(timestamp), properties })
    }
}

#[async_trait]
impl EntityWalk for Entities {
    async fn advance(&mut self, entities: usize, visit: &mut Visit<'_>) -> Result<bool, StoreError> {
        let engine = self.walk.engine()?;
        for _ in 0..entities {
            match self.walk.next(&engine)? {
                Next::Row(key, value) => {
                    self.request.stats.add_entities_scanned(1);
                    self.request.stats.add_bytes(key.len() + value.len());
                    if self.show(&key, &value, visit)?.is_break() {
                        break;
                    }
                }
                // It has been asked for rows alone.
                Next::Piece(_) | Next::End => return Ok(false),
            }
        }
        Ok(true)
    }
}

struct RowProperties<'a> {
    row: Row<'a>,
    key: &'a [u8],
    table: &'a TableMeta,
}

impl RowProperties<'_> {
    fn value(&self, index: usize) -> Result<EdmRef<'_>, StoreError> {
        self.row.value(index).map_err(|error| damaged_row(self.table, self.key, error))
    }
}

impl EntityProperties for RowProperties<'_> {
    fn get(&self, name: &str) -> Result<Option<EdmRef<'_>>, StoreError> {
        let properties = self.row.shape().properties();
        let index = properties.iter().position(|property| property.name.as_str() == name);
        index.map(|index| self.value(index)).transpose()
    }

    fn each(&self, show: &mut dyn FnMut(&str, EdmRef<'_>)) -> Result<(), StoreError> {
        for (index, property) in self.row.shape().properties().iter().enumerate() {
            show(property.name.as_str(), self.value(index)?);
        }
        Ok(())
    }
}

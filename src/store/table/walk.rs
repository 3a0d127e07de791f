//! Whole entities in key order, each shown where it lies: for front-ends that hand out entities, not columns.
//!
//! A scan has the columns that were asked for and shows instants by the microsecond; a walk has every property with the
//! type it is stored as, in stored order. Who walks decides entity by entity whether to go on.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;

use super::{RowETag, ScanRequest, StoreError, TableReader};
use crate::model::{EdmDateTime, EdmRef, EntityKey, Properties, StoredEntity};

/// An entity as a walk shows it.
#[derive(Clone, Copy)]
pub struct EntityView<'a> {
    pub partition: &'a str,
    pub row: &'a str,
    pub timestamp: EdmDateTime,
    pub etag: RowETag<'a>,
    pub properties: &'a dyn EntityProperties,
}

/// The custom properties of an entity, read where they lie.
pub trait EntityProperties {
    /// The property of this name, if the entity has it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    fn get(&self, name: &str) -> Result<Option<EdmRef<'_>>, StoreError>;

    /// Every property, in stored order.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    fn each(&self, show: &mut dyn FnMut(&str, EdmRef<'_>)) -> Result<(), StoreError>;
}

impl EntityProperties for Properties {
    fn get(&self, name: &str) -> Result<Option<EdmRef<'_>>, StoreError> {
        Ok(Properties::get(self, name).map(|value| value.as_ref()))
    }

    fn each(&self, show: &mut dyn FnMut(&str, EdmRef<'_>)) -> Result<(), StoreError> {
        self.iter().for_each(|(name, value)| show(name.as_str(), value));
        Ok(())
    }
}

impl<'a> From<&'a StoredEntity> for EntityView<'a> {
    fn from(stored: &'a StoredEntity) -> Self {
        let key = &stored.entity.key;
        EntityView {
            partition: key.partition.as_str(),
            row: key.row.as_str(),
            timestamp: stored.timestamp,
            etag: RowETag::from(&stored.etag),
            properties: &stored.entity.properties,
        }
    }
}

/// Looks at an entity, and says whether to go on behind it.
pub type Visit<'v> = dyn FnMut(&EntityView<'_>) -> Result<ControlFlow<()>, StoreError> + Send + 'v;

/// A walk, and how far it is.
#[async_trait]
pub trait EntityWalk: Send {
    /// Shows the next entities, so many at most, until `visit` has enough. True when there may be more behind them.
    ///
    /// It may block its thread while it reads: many entities are for a thread that may be blocked.
    ///
    /// # Errors
    /// When the store cannot be read, and what `visit` says.
    async fn advance(&mut self, entities: usize, visit: &mut Visit<'_>) -> Result<bool, StoreError>;
}

/// Walks through the entities of the request's ranges; its columns are of no meaning here.
///
/// # Errors
/// [`StoreError::TableMissing`], here or when the walk begins.
pub fn walk(reader: &Arc<dyn TableReader>, request: ScanRequest) -> Result<Box<dyn EntityWalk>, StoreError> {
    match reader.walk(&request)? {
        Some(walk) => Ok(walk),
        None => Ok(Box::new(by_keys::KeyWalk::new(Arc::clone(reader), request)?)),
    }
}

/// Where a store shows no entities where they lie: it is scanned for their keys, and each is got.
mod by_keys {
    use arrow::array::AsArray;
    use arrow::record_batch::RecordBatch;
    use futures::StreamExt;

    use super::*;
    use crate::table::{ScanColumn, ScanColumns, ScanStream};

    pub(super) struct KeyWalk {
        reader: Arc<dyn TableReader>,
        request: ScanRequest,
        scan: ScanStream,
        batch: Option<(RecordBatch, usize)>,
    }

    impl KeyWalk {
        pub(super) fn new(reader: Arc<dyn TableReader>, mut request: ScanRequest) -> Result<Self, StoreError> {
            request.columns = Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, ScanColumn::RowKey]));
            let scan = reader.scan(request.clone())?;
            Ok(Self { reader, request, scan, batch: None })
        }

        async fn next_key(&mut self) -> Result<Option<EntityKey>, StoreError> {
            loop {
                if let Some((batch, at)) = &mut self.batch
                    && *at < batch.num_rows()
                {
                    let text = |column: usize| batch.column(column).as_string::<i32>().value(*at);
                    let key = EntityKey::parse(text(0), text(1));
                    *at += 1;
                    return key.map(Some).map_err(|error| StoreError::Damaged {
                        place: format!("table {}", self.request.table),
                        detail: error.to_string(),
                    });
                }
                match self.scan.next().await.transpose()? {
                    Some(batch) => self.batch = Some((batch, 0)),
                    None => return Ok(None),
                }
            }
        }
    }

    #[async_trait]
    impl EntityWalk for KeyWalk {
        async fn advance(&mut self, entities: usize, visit: &mut Visit<'_>) -> Result<bool, StoreError> {
            for _ in 0..entities {
                let Some(key) = self.next_key().await? else { return Ok(false) };
                // It may have gone since its key was read.
                let Some(stored) = self.reader.get(&self.request.table, &key).await? else { continue };
                if visit(&EntityView::from(&stored))?.is_break() {
                    break;
                }
            }
            Ok(true)
        }
    }
}

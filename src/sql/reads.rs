//! What one statement reads from: a snapshot of each store and of the catalogue, what its transaction changed in both, and the
//! time.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt, stream};
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_store::table::KeyRange;
use tablegate_types::error::SqlResult;
use tablegate_types::functions::Moments;

use crate::catalog::CatalogView;
use crate::newest::{NewestRows, TargetNumber};
use crate::place::{PlacedName, Readers, StoredTable};
use crate::read_log::ReadLog;
use crate::relation::Relation;
use crate::statistics::Meter;
use crate::tx::OwnWrites;

/// So many entities are asked for at the same time where each is read on its own.
const READ_AT_ONCE: usize = 16;

/// The view of one statement. Plans do not hold it: they find it in the session configuration when they start to run,
/// so a plan can be kept and run again on a later snapshot.
#[derive(Clone)]
pub(crate) struct Reads {
    pub readers: Readers,
    pub catalog: CatalogView,
    pub moments: Moments,
    own: BTreeMap<StoredTable, OwnWrites>,
    log: Option<Arc<ReadLog>>,
    meter: Option<Arc<Meter>>,
    pushes_filters: bool,
    /// What stands in the place of the tables whose rows are locked, when rows are looked at again.
    newest: Option<Arc<NewestRows>>,
    /// Of these tables whose rows are locked, only rows that it locks count as read (SKIP LOCKED).
    skipping: Arc<[TargetNumber]>,
}

impl Reads {
    pub(crate) fn new(
        readers: Readers,
        catalog: CatalogView,
        own: BTreeMap<StoredTable, OwnWrites>,
        moments: Moments,
    ) -> Self {
        Self {
            readers,
            catalog,
            moments,
            own,
            log: None,
            meter: None,
            pushes_filters: true,
            newest: None,
            skipping: Arc::new([]),
        }
    }

    /// Notes where it is read, for a serializable transaction.
    #[must_use]
    pub(crate) fn noted_in(mut self, log: Option<Arc<ReadLog>>) -> Self {
        self.log = log;
        self
    }

    /// Counts what it reads.
    #[must_use]
    pub(crate) fn metered(mut self, meter: Arc<Meter>) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Whether stores are told what filters say about stored values.
    #[must_use]
    pub(crate) fn pushing_filters(mut self, pushes: bool) -> Self {
        self.pushes_filters = pushes;
        self
    }

    pub(crate) fn pushes_filters(&self) -> bool {
        self.pushes_filters
    }

    /// The same view, but of the tables whose rows are locked nothing but these rows.
    #[must_use]
    pub(crate) fn looking_again(&self, newest: NewestRows) -> Self {
        Self { newest: Some(Arc::new(newest)), ..self.clone() }
    }

    /// The same view, of which scans of these tables do not count as read: who locks rows of them and skips others notes the
    /// ones it locks.
    #[must_use]
    pub(crate) fn skipping(&self, tables: impl IntoIterator<Item = TargetNumber>) -> Self {
        Self { skipping: tables.into_iter().collect(), ..self.clone() }
    }

    /// What is read instead of a table whose rows are locked, when rows are looked at again.
    pub(crate) fn newest_rows(&self, target: Option<TargetNumber>) -> Option<(TargetNumber, &Arc<NewestRows>)> {
        target.zip(self.newest.as_ref())
    }

    /// So many entities came from the store, and so many of them met the condition.
    pub(crate) fn count_entities(&self, scanned: usize, returned: usize) {
        if let Some(meter) = &self.meter {
            meter.add_entities(scanned, returned);
        }
    }

    /// A plan of the engine's is about to run.
    pub(crate) fn count_plan(&self) {
        if let Some(meter) = &self.meter {
            meter.add_plan();
        }
    }

    /// These ranges are about to be scanned.
    pub(crate) fn note_scan(&self, table: &StoredTable, target: Option<TargetNumber>, ranges: &Arc<[KeyRange]>) {
        let is_noted = !table.place.is_temporary() && target.is_none_or(|target| !self.skipping.contains(&target));
        if let Some(log) = self.log.as_ref().filter(|_| is_noted) {
            log.add_ranges(table, ranges);
        }
    }

    /// This key is about to be looked up.
    pub(crate) fn note_key(&self, table: &StoredTable, key: &EntityKey) {
        if let Some(log) = self.log.as_ref().filter(|_| !table.place.is_temporary()) {
            log.add_key(table, key);
        }
    }

    /// The user's table of this name.
    ///
    /// # Errors
    /// 42702 when several differ only in case.
    pub(crate) async fn relation(&self, name: &PlacedName) -> SqlResult<Option<Arc<Relation>>> {
        self.catalog.relation(&self.readers, name).await
    }

    /// Every table of the user's, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn relations(&self) -> SqlResult<Vec<Arc<Relation>>> {
        self.catalog.relations(&self.readers).await
    }

    /// The transaction's own writes to a table, if there are any.
    pub(crate) fn own_writes(&self, table: &StoredTable) -> Option<&OwnWrites> {
        self.own.get(table)
    }

    /// One entity as the transaction sees it.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn get(&self, table: &StoredTable, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        if let Some(own) = self.own.get(table)
            && let Some(image) = own.get(key)?
        {
            return Ok(image);
        }
        if let Some(log) = self.log.as_ref().filter(|_| !table.place.is_temporary()) {
            log.add_key(table, key);
        }
        Ok(self.readers.of(table)?.get(table, key).await?)
    }

    /// The same of many, in the order of their keys, some of them at the same time: each may take a request.
    pub(crate) fn get_each<'a>(
        &'a self,
        table: &'a StoredTable,
        keys: &'a [EntityKey],
    ) -> impl Stream<Item = SqlResult<Option<StoredEntity>>> + Send + 'a {
        // Boxed one by one: a stream of futures that borrow is not known to be `Send` otherwise.
        let requests: Vec<BoxFuture<'a, _>> = keys.iter().map(|key| self.get(table, key).boxed()).collect();
        stream::iter(requests).buffered(READ_AT_ONCE)
    }
}

impl std::fmt::Debug for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reads").field("own", &self.own.len()).finish_non_exhaustive()
    }
}

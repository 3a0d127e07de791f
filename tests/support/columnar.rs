//! A store on disk that keeps every table as columns too, and makes its segments while tests read and write.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::store::model::Clock;
use tablegate::store::table::{StoreError, StoreLayer, TableReader, TableStore};

/// Segments are made before every third reader: so some scans find fresh ones, some find writes laid over them, and
/// some rows behind them.
pub(crate) struct Columnar {
    store: EmbeddedStore,
    readers: AtomicU64,
}

impl Columnar {
    /// # Errors
    /// As [`EmbeddedStore::open`].
    pub(crate) fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let segments = SegmentOptions::eager();
        let options = EmbeddedOptions { fsync: Fsync::Never, segments, ..EmbeddedOptions::default() };
        Ok(Self { store: EmbeddedStore::open(folder, clock, options)?, readers: AtomicU64::new(0) })
    }
}

impl StoreLayer for Columnar {
    fn below(&self) -> &dyn TableStore {
        &self.store
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        if self.readers.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
            self.store.build_segments();
        }
        self.store.reader()
    }
}

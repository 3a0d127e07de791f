//! Rows of a statement that commits all of them or none, written ahead while more come.
//!
//! Where the store does that for the table ([`StagedRows`]), a task hands them over window by window, and at the end they only
//! have to be made the table's. Whatever goes wrong here costs nothing but that: the rows are kept until they are committed,
//! and are committed as if nothing had been written ahead.

use std::sync::Arc;

use tablegate_store::model::TableName;
use tablegate_store::table::{NewEntities, StagedRows, TableStore};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A task that writes ahead what it is given. Dropped, what it wrote is forgotten.
pub(super) struct Ahead {
    windows: mpsc::Sender<NewEntities>,
    task: JoinHandle<Option<Box<dyn StagedRows>>>,
}

impl Ahead {
    pub(super) fn begin(store: Arc<dyn TableStore>, table: TableName) -> Self {
        let (windows, received) = mpsc::channel(1);
        Self { windows, task: tokio::spawn(write_ahead(store, table, received)) }
    }

    /// Hands over further rows. Comes back when those before have been taken.
    pub(super) async fn push(&mut self, window: NewEntities) {
        // A task that has ended says so at the end.
        drop(self.windows.send(window).await);
    }

    /// Whether it still takes rows.
    pub(super) fn goes_on(&self) -> bool {
        !self.windows.is_closed()
    }

    /// All of them were handed over: where they are all written, what has them.
    pub(super) async fn finish(self) -> Option<Box<dyn StagedRows>> {
        drop(self.windows);
        self.task.await.ok().flatten()
    }
}

async fn write_ahead(
    store: Arc<dyn TableStore>,
    table: TableName,
    mut windows: mpsc::Receiver<NewEntities>,
) -> Option<Box<dyn StagedRows>> {
    let rows = match store.stage(&table).await {
        Ok(rows) => rows?,
        Err(error) => {
            tracing::debug!(%error, "rows are not written ahead");
            return None;
        }
    };
    while let Some(window) = windows.recv().await {
        if let Err(error) = rows.write(window).await {
            tracing::debug!(%error, "rows are not written ahead any more");
            return None;
        }
    }
    Some(rows)
}

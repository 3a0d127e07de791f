//! Rows of a statement that commits all of them or none, written ahead while more come.
//!
//! Where the store does that for the table ([`StagedRows`]), a task hands them over window by window, and at the end they only
//! have to be made the table's. As long as the rows are kept too, whatever goes wrong here costs nothing but that: they
//! are committed as if nothing had been written ahead.

use std::sync::Arc;
use std::time::Duration;

use tablegate_store::model::TableName;
use tablegate_store::table::{NewEntities, StagedRows, StoreError, TableStore};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// After so long without rows the store has them put away: a block may fill many tables, and stay open.
const IDLE: Duration = Duration::from_millis(200);

/// A task that writes ahead what it is given. Dropped, what it wrote is forgotten.
pub(super) struct Ahead {
    windows: mpsc::Sender<NewEntities>,
    task: JoinHandle<Result<Option<Box<dyn StagedRows>>, StoreError>>,
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

    /// All of them were handed over: what has them. `None` where the store does not write them ahead.
    ///
    /// # Errors
    /// Why they could not be written.
    pub(super) async fn finish(self) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        drop(self.windows);
        let ended = |_| StoreError::Unavailable("the task that writes ahead ended early".to_owned());
        self.task.await.map_err(ended)?
    }
}

async fn write_ahead(
    store: Arc<dyn TableStore>,
    table: TableName,
    mut windows: mpsc::Receiver<NewEntities>,
) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
    let Some(rows) = store.stage(&table).await? else { return Ok(None) };
    let mut rests = false;
    loop {
        let next = match rests {
            true => Ok(windows.recv().await),
            false => timeout(IDLE, windows.recv()).await,
        };
        match next {
            Ok(None) => return Ok(Some(rows)),
            Ok(Some(window)) => {
                rows.write(window).await?;
                rests = false;
            }
            Err(_) => {
                rows.rest().await?;
                rests = true;
            }
        }
    }
}

//! Rows of a COPY that are committed as they come.
//!
//! One batch is on its way into the store while the next one is read from the client: each takes about as long as the
//! other.

use std::sync::Arc;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::task::JoinSet;

use super::reader::place;
use crate::dml::{RowsToWrite, Writes};
use crate::observe::Footprint;
use crate::reads::Reads;
use crate::tx::EgtCount;

/// What commits them. Dropped, it goes no further.
pub(super) struct DirectRows {
    /// `None` while a batch is on its way.
    writes: Option<Box<Writes<'static>>>,
    /// That batch: one at most.
    batch: JoinSet<(Box<Writes<'static>>, SqlResult<()>)>,
}

impl DirectRows {
    pub(super) fn new(writes: Writes<'static>) -> Self {
        Self { writes: Some(Box::new(writes)), batch: JoinSet::new() }
    }

    /// Sends a batch on its way, once the one before has arrived. Its rows are from these lines, and it sees `reads`.
    ///
    /// # Errors
    /// What the batch before met.
    pub(super) async fn begin(&mut self, rows: RowsToWrite, lines: Vec<u64>, reads: Arc<Reads>) -> SqlResult<()> {
        self.arrive().await?;
        let Some(mut writes) = self.writes.take() else { return Err(lost()) };
        writes.reads = reads;
        self.batch.spawn(async move {
            let written = insert(&rows, &lines, &mut writes).await;
            (writes, written)
        });
        Ok(())
    }

    /// Waits for the batch that is on its way.
    ///
    /// # Errors
    /// What it met.
    async fn arrive(&mut self) -> SqlResult<()> {
        let Some(arrived) = self.batch.join_next().await else { return Ok(()) };
        let (writes, written) = arrived.map_err(|_| lost())?;
        self.writes = Some(writes);
        written
    }

    /// All rows were given: waits for the last of them. How much was committed.
    ///
    /// # Errors
    /// The first commit that failed.
    pub(super) async fn finish(&mut self) -> SqlResult<EgtCount> {
        self.arrive().await?;
        let writes = self.writes.as_mut().ok_or_else(lost)?;
        writes.finish().await?;
        Ok(writes.committed())
    }

    /// The COPY fails: nothing further is committed. Gives the error to tell, which is that of a row before if there is
    /// one, and says what is committed already; and the line that it is about.
    pub(super) async fn give_up(&mut self, error: Box<SqlError>) -> (Box<SqlError>, Option<u64>) {
        let error = self.arrive().await.err().unwrap_or(error);
        match &mut self.writes {
            Some(writes) => (writes.give_up(error).await, writes.failed_at()),
            None => (error, None),
        }
    }

    /// Whether some rows are committed already.
    pub(super) fn has_committed(&self) -> bool {
        self.writes.as_ref().is_some_and(|writes| writes.committed() != EgtCount::default())
    }

    /// How much was committed, and its extent where observe mode looks on; `None` while a batch is on its way.
    pub(super) fn take_outcome(&mut self) -> Option<(Option<Footprint>, EgtCount)> {
        let writes = self.writes.as_mut()?;
        Some((writes.take_footprint(), writes.committed()))
    }
}

/// Hands on the rows from these lines.
pub(super) async fn insert(rows: &RowsToWrite, lines: &[u64], writes: &mut Writes<'_>) -> SqlResult<()> {
    if writes.insert_rows(rows, Some(lines)).await? {
        return Ok(());
    }
    let is_direct = writes.is_direct();
    let table = writes.relation.clone();
    for row in 0..rows.len() {
        let line = lines.get(row).copied();
        let entity = rows.entity(row).map_err(|error| placed(error, &table.name, line))?;
        writes.set_position(line.unwrap_or_default());
        // Of what is committed directly the store tells later which row it does not take.
        writes
            .insert(entity)
            .await
            .map_err(|error| if is_direct { error } else { placed(error, &table.name, line) })?;
    }
    Ok(())
}

/// The error with its line, unless it says where it happened.
pub(super) fn placed(error: Box<SqlError>, table: &str, line: Option<u64>) -> Box<SqlError> {
    match line {
        Some(line) if error.context.is_none() => error.with_context(place(table, line)),
        _ => error,
    }
}

fn lost() -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, "a batch of rows was lost on its way into the store")
}

//! Keeps what observe mode sees: durable, bounded, and cheap where nothing breaks a rule.
//!
//! A violation of a committed transaction is written in the same durable write as the transaction, so no crash parts
//! them. Everything else (counts, and violations of what was rolled back or split) waits in memory and is written a
//! moment later, all at once: a crash loses that moment.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tablegate_store::model::EdmDateTime;
use tablegate_store::table::{Batch, CommitError, IfMatch, Operation, StoreError, TableReader, TableStore};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::OnceCell;

use super::counts::Count;
use super::refusal::Refusal;
use super::rule::Observed;
use super::tally::{Counted, KINDS_MAX, Tally};
use super::violation::{self, Client, Outcome, Violation, to_operations, violations};
use super::{Footprint, storage};

/// Violations that are kept; the oldest go first.
const VIOLATIONS_MAX: usize = 10_000;
/// Violations that wait in memory at most.
const WAITING_MAX: usize = 1_000;
/// How long what is to be written waits for more.
const FLUSH_AFTER: Duration = Duration::from_secs(2);

/// The records of one store.
pub(crate) struct Recorder {
    store: Arc<dyn TableStore>,
    state: Mutex<State>,
    /// Set once the table is there and its counts are loaded.
    ready: OnceCell<()>,
    one_flush: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    counts: Tally<Count>,
    refusals: Tally<Refusal>,
    waiting: Vec<Violation>,
    /// How many violations the table holds.
    stored: usize,
    flush_is_due: bool,
}

/// What there is to see at one moment.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    pub violations: Vec<Violation>,
    pub counts: Vec<Count>,
    pub refusals: Vec<Refusal>,
}

impl Recorder {
    pub(crate) fn new(store: Arc<dyn TableStore>) -> Arc<Self> {
        Arc::new(Self {
            store,
            state: Mutex::default(),
            ready: OnceCell::new(),
            one_flush: tokio::sync::Mutex::default(),
        })
    }

    /// Makes the table, unless it is there, and reads what was counted before. To be called before anything is recorded;
    /// after the first time it costs nothing.
    ///
    /// # Errors
    /// When the store fails, or a record is damaged.
    pub(crate) async fn get_ready(&self) -> SqlResult<()> {
        self.ready.get_or_try_init(|| self.load()).await.map(|_| ())
    }

    /// The violations of a transaction that is about to be committed, as a batch to commit with it.
    ///
    /// # Errors
    /// None are expected: every text in a violation is cut to a bounded length.
    pub(crate) fn batch(
        &self,
        client: &Client,
        observed: &Observed,
        footprint: &Footprint,
        now: EdmDateTime,
    ) -> SqlResult<Batch> {
        let mut batch = Batch::builder(storage::table()?);
        for operation in to_operations(&violations(client, observed, footprint, Outcome::Committed, now))? {
            batch.push(operation).map_err(|(_, error)| error)?;
        }
        Ok(batch.build()?)
    }

    /// Counts a transaction that ended. Where it was not committed as one, its violations are kept too; those of a
    /// committed one have their batch.
    pub(crate) fn ended(
        self: &Arc<Self>,
        client: &Client,
        observed: &Observed,
        footprint: &Footprint,
        outcome: Outcome,
        now: EdmDateTime,
    ) {
        let mut state = self.state();
        state.counts.count(Count::of(client.application(), observed, outcome, now.unix_micros()));
        match outcome {
            Outcome::Committed => state.stored += observed.breaches().len(),
            Outcome::RolledBack | Outcome::Split | Outcome::Torn => {
                state.waiting.extend(violations(client, observed, footprint, outcome, now));
                let too_many = state.waiting.len().saturating_sub(WAITING_MAX);
                state.waiting.drain(..too_many);
            }
        }
        self.flush_soon(&mut state);
    }

    /// Keeps a statement that was refused, unless PostgreSQL would refuse it too. `text` is what the client sent.
    pub(crate) fn failed(
        self: &Arc<Self>,
        client: &Client,
        sqlstate: &str,
        error: &SqlError,
        text: &str,
        now: EdmDateTime,
    ) {
        if let Some(refusal) = Refusal::of(client.application(), sqlstate, error, text, now.unix_micros()) {
            let mut state = self.state();
            state.refusals.count(refusal);
            self.flush_soon(&mut state);
        }
    }

    /// Writes what waits, and drops what is too old. What cannot be written waits on.
    pub(crate) async fn flush(&self) {
        if let Err(error) = self.try_flush().await {
            tracing::warn!(%error, "what observe mode saw could not be written");
            let mut state = self.state();
            state.counts.all_changed();
            state.refusals.all_changed();
        }
    }

    /// What the views show: all that is recorded by now.
    ///
    /// # Errors
    /// When the store cannot be read, or a record is damaged.
    pub(crate) async fn observations(&self, reader: &dyn TableReader) -> SqlResult<Observations> {
        let is_there = reader.list_tables().await?.contains(&storage::table()?);
        let mut violations = Vec::new();
        if is_there {
            self.get_ready().await?;
            violations = storage::last_records(reader, violation::PARTITION, VIOLATIONS_MAX).await?;
        }
        let state = self.state();
        violations.extend(state.waiting.iter().cloned());
        Ok(Observations { violations, counts: state.counts.all(), refusals: state.refusals.all() })
    }

    async fn load(&self) -> SqlResult<()> {
        match self.store.create_table(&storage::table()?).await {
            Ok(()) | Err(StoreError::TableExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let reader = self.store.reader();
        let counts = storage::last_records(&*reader, Count::PARTITION, KINDS_MAX + 1).await?;
        let refusals = storage::last_records(&*reader, Refusal::PARTITION, KINDS_MAX + 1).await?;
        // What an interrupted flush left above the bound goes with the next one.
        let stored = storage::first_keys(&*reader, violation::PARTITION, 2 * VIOLATIONS_MAX).await?.len();
        let mut state = self.state();
        state.counts.load(counts);
        state.refusals.load(refusals);
        state.stored = stored;
        Ok(())
    }

    fn flush_soon(self: &Arc<Self>, state: &mut State) {
        if !std::mem::replace(&mut state.flush_is_due, true) {
            self.flush_later();
        }
    }

    /// A moment later the recorder may be gone, and its store closed.
    fn flush_later(self: &Arc<Self>) {
        let recorder: Weak<Self> = Arc::downgrade(self);
        // Without a runtime the server is ending, and flushes on its way out.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(FLUSH_AFTER).await;
            if let Some(recorder) = recorder.upgrade() {
                recorder.flush().await;
            }
        });
    }

    async fn try_flush(&self) -> SqlResult<()> {
        let _one_at_a_time = self.one_flush.lock().await;
        {
            let mut state = self.state();
            state.flush_is_due = false;
            if state.waiting.is_empty() && !state.counts.has_changed() && !state.refusals.has_changed() {
                return Ok(());
            }
        }
        self.get_ready().await?;
        let (counts, refusals, waiting) = {
            let mut state = self.state();
            let (counts, refusals) = (state.counts.take_changed()?, state.refusals.take_changed()?);
            (counts, refusals, std::mem::take(&mut state.waiting))
        };
        let count = waiting.len();
        if let Err(error) = self.write(to_operations(&waiting)?).await {
            self.state().waiting.splice(0..0, waiting);
            return Err(error);
        }
        self.state().stored += count;
        for changed in [counts, refusals] {
            self.write(changed.into_iter().map(Operation::InsertOrReplace).collect()).await?;
        }
        self.drop_oldest().await
    }

    async fn drop_oldest(&self) -> SqlResult<()> {
        let too_many = self.state().stored.saturating_sub(VIOLATIONS_MAX);
        if too_many == 0 {
            return Ok(());
        }
        let oldest = storage::first_keys(&*self.store.reader(), violation::PARTITION, too_many).await?;
        let count = oldest.len();
        self.write(oldest.into_iter().map(|key| Operation::Delete(key, IfMatch::Any)).collect()).await?;
        self.state().stored -= count;
        Ok(())
    }

    /// Commits operations on one partition, in as many batches as they need.
    async fn write(&self, operations: Vec<Operation>) -> SqlResult<()> {
        for batch in crate::batches::pack(&storage::table()?, operations.into_iter().map(Ok))? {
            self.commit(batch).await?;
        }
        Ok(())
    }

    async fn commit(&self, batch: Batch) -> SqlResult<()> {
        match self.store.commit(batch).await {
            Ok(_) => Ok(()),
            Err(CommitError::Store(error)) => Err(error.into()),
            Err(error @ CommitError::Rejected { .. }) => {
                Err(SqlError::new(ErrorKind::SerializationFailure, error.to_string()))
            }
        }
    }

    /// A panic elsewhere cannot have left it half-changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

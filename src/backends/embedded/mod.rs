//! A store in a folder on this machine's disk: the default.
//!
//! An acknowledged commit survives a crash of the process and of the machine. One thread writes ([`commit`]); readers
//! hold a view of what was durable when they were made ([`reader`]) and never wait for it.
//!
//! ```text
//! commit ─> queue ─> commit thread ─> engine's journal ─> sync ─> publish ─> answer
//! reader ─> published view: the engine's snapshot, and the tables as they were with it
//! ```
//!
//! Rows that are read much are kept once more as columns, in files of their own ([`segment`]).
//!
//! When writing fails, what is on the disk is known only after the journal was read again: [`repair`] opens the engine
//! anew behind the readers, who have it only on [`lease`].

mod analyze;
mod apply;
mod bytes;
mod change;
mod clear;
mod commit;
mod encoded;
mod encoded_keys;
mod encoded_window;
mod engine;
mod entities;
mod gathering;
mod group;
mod guard;
mod insert;
mod journal;
mod key_bytes;
mod lease;
mod look_up;
mod merged;
mod merging;
mod meta;
mod outdating;
mod partitions;
mod probe;
mod reader;
mod removal;
mod repair;
mod row;
mod rows;
mod samples;
mod scan;
mod segment;
mod size;
mod sorted_runs;
mod staged;
mod staging;
#[cfg(test)]
mod tests;
mod tries;
mod unpublished;
mod walk;
mod window;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tablegate_store::model::{Clock, TableName};
use tablegate_store::table::{
    Batch, CommitError, DerivedColumn, EntityWindow, GroupError, NewEntities, Parallelism, Promises, Refusals, Renewal,
    SegmentFigures, SnapshotScope, StagedRows, StoreError, StoreFigures, TableReader, TableStore, WindowOutcome,
    WriteGroup, Written, check_disjoint,
};
use tokio::sync::{mpsc, oneshot};

use self::analyze::Recorders;
use self::apply::find;
use self::commit::{Committer, Job, QUEUE, Shared};
use self::encoded::EncodedEntities;
use self::engine::{Engine, FLUSH_LOOK};
use self::group::EncodedGroup;
use self::guard::Folder;
use self::lease::Lease;
use self::meta::Live;
use self::reader::{EmbeddedReader, Published, View};
pub use self::segment::SegmentOptions;
use self::segment::builder::{SegmentBuilder, Workshop};
use self::segment::derived::Derivations;
use self::segment::install::Trim;
use self::staging::EmbeddedRows;

/// When an acknowledged commit is on the disk itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsync {
    /// Before it is acknowledged: it survives a power failure.
    Always,
    /// When the operating system gets to it: it survives the end of the process only.
    Never,
}

/// How a store uses the machine.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    pub fsync: Fsync,
    /// Memory for blocks of files that were read.
    pub cache_bytes: u64,
    /// Memory for rows that are not in files yet; a few times that while files are written.
    pub memtable_bytes: u64,
    /// Free bytes on the disk below which writes are refused, but for those that make room.
    pub reserve_bytes: u64,
    /// What is kept as columns too.
    pub segments: SegmentOptions,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            fsync: Fsync::Always,
            cache_bytes: 128 * 1024 * 1024,
            memtable_bytes: 32 * 1024 * 1024,
            // The journal's 64 MB and a merge of some tables of 64 MB: what the engine may write before it frees any.
            reserve_bytes: 256 << 20,
            segments: SegmentOptions::default(),
        }
    }
}

/// A [`TableStore`] in a folder. Dropping it waits until every commit that was handed over is done.
pub struct EmbeddedStore {
    published: Arc<Published>,
    /// `None` once the store is closed.
    jobs: Option<mpsc::Sender<Job>>,
    committer: Option<JoinHandle<()>>,
    syncs: Arc<AtomicU64>,
    /// `None` where rows are all there is, and once the store is closed.
    builder: Option<SegmentBuilder>,
    derivations: Arc<Derivations>,
}

impl EmbeddedStore {
    /// What every one of them promises.
    pub const PROMISES: Promises = Promises {
        atomic_groups: true,
        ordered_scans: true,
        reverse_scans: true,
        snapshot: SnapshotScope::Store,
        sole_writer: true,
    };

    /// Opens the folder at `path`, or makes it. Reads what was not yet in files when the store was last closed, so it
    /// takes a moment.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the folder is in use or of another format; [`StoreError::Damaged`] when files
    /// are not what was written, or acknowledged commits are missing.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, options: EmbeddedOptions) -> Result<Self, StoreError> {
        let folder = Arc::new(Folder::open(path)?);
        let (engine, live) = open_engine(&folder, &options)?;
        let lease = Arc::new(Lease::new(Arc::clone(&engine)));
        let view = View::new(&engine, Arc::clone(&lease), &live);
        let published = Arc::new(Published::new(view));
        let syncs = Arc::default();
        let segments = options.segments.clone();
        let (sync, reserve_bytes) = (options.fsync == Fsync::Always, options.reserve_bytes);
        let (sender, receiver) = mpsc::channel(QUEUE);
        let shared = Shared {
            folder: Arc::clone(&folder),
            options,
            published: Arc::clone(&published),
            clock,
            syncs: Arc::clone(&syncs),
            jobs: sender.downgrade(),
        };
        let committer = Committer::new(shared, engine, lease, live, Recorders::default());
        let thread = std::thread::Builder::new().name("tablegate-commit".to_owned());
        let thread = thread.spawn(move || committer.run(receiver));
        let committer = thread.map_err(|e| StoreError::Unavailable(format!("no thread for commits: {e}")))?;
        let derivations = Arc::default();
        let (jobs, committer) = (Some(sender), Some(committer));
        let mut store = Self { published, jobs, committer, syncs, builder: None, derivations };
        if segments.enabled
            && let Some(jobs) = store.jobs.clone()
        {
            let published = Arc::clone(&store.published);
            let derivations = Arc::clone(&store.derivations);
            let workshop = Workshop { published, jobs, folder, options: segments, derivations, reserve_bytes, sync };
            store.builder = Some(SegmentBuilder::start(workshop)?);
        }
        Ok(store)
    }

    /// Makes the segments that are due and waits until they are made; otherwise the background thread makes them. Not
    /// to be called where nothing may block.
    pub fn build_segments(&self) {
        if let Some(builder) = &self.builder {
            builder.work_now();
        }
    }

    /// Ends the store: commits that were handed over are finished, and the folder is free once the last reader is gone.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the commit thread had come to a bad end.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), StoreError> {
        // First who commits through the thread below.
        self.builder = None;
        self.jobs = None;
        match self.committer.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(StoreError::Unavailable("the commit thread ended early".to_owned())),
            _ => Ok(()),
        }
    }

    /// Hands over what `job` makes of a reply, and waits for that.
    async fn ask<T, E: From<StoreError>>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, E>>) -> Job,
    ) -> Result<T, E> {
        self.hand_over(job).await?
    }

    async fn hand_over<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, StoreError> {
        ask(self.jobs.as_ref().ok_or(StoreError::ShuttingDown)?, job).await
    }

    /// Waits until what is in memory, and no longer written to, is in files, and has the engine let go of it.
    async fn free_memory(&self) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            let longest = match self.published.get().engine()?.flushes_due() {
                0 => break,
                1 => LONGEST_FLUSH,
                _ => LONGEST_FLUSH_OF_SEVERAL,
            };
            if begun.elapsed() >= longest {
                break;
            }
            tokio::time::sleep(FLUSH_LOOK).await;
        }
        if !self.published.get().engine()?.holds_flushed() {
            return Ok(());
        }
        self.ask(|reply| Job::TrimDelta(Trim::renewing_view(), reply)).await?;
        let engine = self.published.get().engine()?;
        let let_go = tokio::task::spawn_blocking(move || engine.let_go_of_flushed()).await;
        let_go.map_err(|error| StoreError::Unavailable(format!("freeing memory failed: {error}")))?
    }
}

/// Hands over what `job` makes of a reply, and waits for that.
async fn ask<T>(jobs: &mpsc::Sender<Job>, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, StoreError> {
    let (reply, answer) = oneshot::channel();
    jobs.send(job(reply)).await.map_err(|_| StoreError::Unavailable("the commit thread ended early".to_owned()))?;
    // No answer is what a thread leaves that came to a bad end at any point.
    answer.await.map_err(|_| StoreError::OutcomeUnknown("the commit thread ended early".to_owned()))
}

/// Opens the engine in a folder that this process holds, and reads what is known about its tables.
fn open_engine(folder: &Arc<Folder>, options: &EmbeddedOptions) -> Result<(Arc<Engine>, Live), StoreError> {
    let engine = Engine::open(Arc::clone(folder), options)?;
    let mut live = meta::load(&engine)?;
    folder.check_number(live.commit)?;
    segment::manifest::load(&engine, folder, &options.segments, &mut live)?;
    live.dropped.extend(removal::forgotten_numbers(&engine, &live)?);
    Ok((Arc::new(engine), live))
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        // An error is lost here. A caller that wants to know it closes the store instead of dropping it.
        let _ = self.stop();
    }
}

/// A group of more than this waits until what was written before it is in files, since all of it is in memory until it is there
/// itself: so there is one of them at a time.
const LONG_GROUP_BYTES: usize = 32 << 20;
/// Not for longer than this: files may be merged before.
const LONGEST_FLUSH: Duration = Duration::from_secs(2);
/// Nor for longer than this, where more than what one group has written waits: the machine has much else to do, and each group more
/// would take memory of its own.
const LONGEST_FLUSH_OF_SEVERAL: Duration = Duration::from_secs(10);

/// So many rows are made into bytes by the thread that hands them over, which serves others too: about a millisecond of its time.
const ENCODED_AT_ONCE: usize = 1_000;

#[async_trait]
impl TableStore for EmbeddedStore {
    fn promises(&self) -> Promises {
        Self::PROMISES
    }

    /// Half of the queue: all of them share one sync, and others get in between.
    fn parallelism(&self) -> Parallelism {
        Parallelism { commits: QUEUE / 2, commits_to_partition: QUEUE / 2, windows: true }
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        Arc::new(EmbeddedReader::new(self.published.get()))
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.ask(|reply| Job::CreateTable(table.clone(), reply)).await
    }

    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.ask(|reply| Job::DropTable(table.clone(), reply)).await
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        self.ask(|reply| Job::Commit(batch, reply)).await
    }

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        let transactions = batches.len();
        if transactions == 0 {
            return WindowOutcome::new();
        }
        let answered = self.hand_over(|reply| Job::Window(batches, reply)).await;
        answered.unwrap_or_else(|error| window::refused(transactions, &error))
    }

    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        let (transactions, rows) = (entities.transactions(), entities.len());
        if transactions == 0 {
            return Refusals::new();
        }
        let encode = move || Ok(Box::new(EncodedEntities::new(entities)));
        let encoded = match rows <= ENCODED_AT_ONCE {
            true => encode(),
            false => staging::blocking(encode).await,
        };
        let encoded = match encoded {
            Ok(encoded) => encoded,
            Err(error) => return insert::all_refused(transactions, Refusals::new(), &error),
        };
        let answered = self.hand_over(|reply| Job::Insert(encoded, reply)).await;
        answered.unwrap_or_else(|error| insert::all_refused(transactions, Refusals::new(), &error))
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        check_disjoint(&batches)?;
        if batches.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(|reply| Job::Group(batches, reply)).await
    }

    async fn write_group(&self, group: WriteGroup) -> Result<(), GroupError> {
        if group.is_empty() {
            return Ok(());
        }
        let rows: usize = group.windows.iter().map(EntityWindow::len).sum();
        if group.windows.iter().map(EntityWindow::bytes).sum::<usize>() > LONG_GROUP_BYTES {
            let log = |error| tracing::debug!(%error, "memory is not freed before a long group");
            self.free_memory().await.unwrap_or_else(log);
        }
        let encoded = match rows <= ENCODED_AT_ONCE {
            true => EncodedGroup::new(group)?,
            false => staging::blocking(move || Ok(EncodedGroup::new(group))).await??,
        };
        self.ask(|reply| Job::WriteGroup(encoded, reply)).await
    }

    async fn stage(&self, table: &TableName) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        let staging = self.ask(|reply| Job::Stage(table.clone(), reply)).await?;
        let jobs = self.jobs.as_ref().ok_or(StoreError::ShuttingDown)?.downgrade();
        let rows = |staging| Box::new(EmbeddedRows::new(jobs, staging)) as Box<dyn StagedRows>;
        Ok(staging.map(rows))
    }

    async fn clear(&self, table: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        self.ask(|reply| Job::Clear(table.clone(), unchanged_since, reply)).await
    }

    async fn analyze(&self, table: &TableName) -> Result<(), StoreError> {
        let recording = self.ask(|reply| Job::StartAnalyze(table.clone(), reply)).await?;
        // Made after the recording began, so nothing falls between the two.
        let view = self.published.get();
        // A store that is closed does not wait for the end of this.
        let jobs = self.jobs.as_ref().ok_or(StoreError::ShuttingDown)?.downgrade();
        let read = tokio::task::spawn_blocking(move || {
            let table = view.tables.get(&recording.table.name).filter(|table| table.number == recording.table.number);
            let table = table.ok_or_else(|| StoreError::TableMissing(recording.table.name.clone()))?;
            let found = analyze::find_types(&view, table, || jobs.strong_count() == 0)?;
            Ok::<_, StoreError>((recording, found))
        });
        let (recording, found) =
            read.await.map_err(|e| StoreError::Unavailable(format!("analyzing failed: {e}")))??;
        self.ask(|reply| Job::FinishAnalyze(recording, found, reply)).await
    }

    fn segments(&self, table: &TableName) -> Vec<SegmentFigures> {
        let view = self.published.get();
        let table = view.tables.get(table);
        self.builder.as_ref().zip(table).map(|(builder, table)| builder.figures_of(table)).unwrap_or_default()
    }

    async fn renew_segments(&self, table: &TableName, which: Renewal) -> Result<(), StoreError> {
        find(&self.published.get().tables, table)?;
        let Some(builder) = &self.builder else { return Ok(()) };
        let renewed = tokio::task::spawn_blocking(builder.renewal(table.clone(), which)).await;
        renewed.map_err(|_| StoreError::ShuttingDown)?
    }

    fn keep_derived(&self, table: &TableName, columns: Vec<Arc<DerivedColumn>>) {
        self.derivations.set(table, columns);
    }

    fn figures(&self) -> StoreFigures {
        // While it is opened anew there is no engine to ask.
        let engine = self.published.get().engine().map(|engine| engine.figures()).unwrap_or_default();
        let waiting = self.jobs.as_ref().map(|jobs| (jobs.max_capacity() - jobs.capacity()) as u64);
        let syncs = Some(self.syncs.load(Ordering::Relaxed));
        let built = self.builder.as_ref().map(SegmentBuilder::built);
        let building = self.builder.as_ref().map(|builder| builder.is_working().into());
        let (mut segments, mut bytes) = (0, 0);
        for segment in self.published.get().tables.values().flat_map(|table| table.segments.list()) {
            segments += 1;
            bytes += segment.file_bytes();
        }
        StoreFigures {
            disk_bytes: engine.disk_bytes.map(|rows| rows + bytes),
            commits_waiting: waiting,
            syncs,
            segments: built.map(|_| segments),
            segment_bytes: built.map(|_| bytes),
            segments_built: built,
            segments_building: building,
            ..engine
        }
    }
}

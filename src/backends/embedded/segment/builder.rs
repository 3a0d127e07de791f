//! The thread that makes segments: of rows that have none, and anew of those whose span was written to.
//!
//! It works beside everything else and rests as long as it works. What it reads is a view like any reader's; what it
//! writes are files of its own, which the commit thread puts in force.

mod due;
mod files;
mod sweep;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tablegate_store::model::{Span, TableName};
use tablegate_store::table::{Renewal, SegmentFigures, SegmentState, StoreError};
use tokio::sync::{mpsc, oneshot};

use self::due::{Due, LOAD_LOOKS, Seen, TAIL_PART, rows_of};
use super::super::apply::find;
use super::super::commit::Job;
use super::super::guard::Folder;
use super::super::key_bytes::{self, ByteSpan};
use super::super::meta::TableMeta;
use super::super::reader::Published;
use super::derived::Derivations;
use super::install::{GivingUp, Install};
use super::status::Progress;
use super::write::columns_of;
use super::{Segment, SegmentOptions};

/// Rows that are read between two looks at whether to stop.
const ROWS_AT_ONCE: usize = 1024;
/// Each failure doubles the wait for the next try, so many times.
const FAILURES_COUNTED: u32 = 8;
/// What the thread works with.
pub(in crate::embedded) struct Workshop {
    pub(in crate::embedded) published: Arc<Published>,
    pub(in crate::embedded) jobs: mpsc::Sender<Job>,
    pub(in crate::embedded) folder: Arc<Folder>,
    pub(in crate::embedded) options: SegmentOptions,
    pub(in crate::embedded) derivations: Arc<Derivations>,
    /// Free bytes on the disk below which nothing is made.
    pub(in crate::embedded) reserve_bytes: u64,
    /// Whether files are to be on the disk before they count.
    pub(in crate::embedded) sync: bool,
}

/// The thread. Dropping it waits for its end, which is soon.
pub(in crate::embedded) struct SegmentBuilder {
    /// `None` once it is asked to end.
    wake: Option<SyncSender<Request>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_stopping: AtomicBool,
    built: AtomicU64,
    progress: Progress,
}

/// What is to be done now, and who waits for it.
struct Request {
    /// `None` for whatever there is to do.
    table: Option<(TableName, Renewal)>,
    done: SyncSender<Result<(), StoreError>>,
}

impl Request {
    /// Asks for it, and waits.
    fn send(table: Option<(TableName, Renewal)>, wake: Option<&SyncSender<Request>>) -> Result<(), StoreError> {
        let (done, wait) = sync_channel(1);
        let wake = wake.ok_or(StoreError::ShuttingDown)?;
        wake.send(Request { table, done }).map_err(|_| StoreError::ShuttingDown)?;
        // No answer comes from a thread that ends.
        wait.recv().map_err(|_| StoreError::ShuttingDown)?
    }
}

impl SegmentBuilder {
    /// # Errors
    /// [`StoreError::Unavailable`] when there is no thread to be had.
    pub(in crate::embedded) fn start(workshop: Workshop) -> Result<Self, StoreError> {
        let shared: Arc<Shared> = Arc::default();
        let (wake, woken) = sync_channel(1);
        let path = workshop.folder.segments();
        let worker = Worker {
            workshop,
            path,
            shared: Arc::clone(&shared),
            seen: HashMap::new(),
            loads: 0,
            written: HashMap::new(),
            has_swept: false,
            compacted: 0,
            rests: true,
        };
        let thread = std::thread::Builder::new().name("tablegate-segments".to_owned());
        let thread = thread.spawn(move || worker.run(&woken));
        let thread = thread.map_err(|e| StoreError::Unavailable(format!("no thread for segments: {e}")))?;
        Ok(Self { wake: Some(wake), shared, thread: Some(thread) })
    }

    /// Does now whatever there is to do, and waits for it.
    pub(in crate::embedded) fn work_now(&self) {
        // Errors are in the log already: that is where the thread reports them when no caller waits for the work.
        let _ = Request::send(None, self.wake.as_ref());
    }

    /// What makes these segments of a table now, and waits for it, where it may block.
    pub(in crate::embedded) fn renewal(
        &self,
        table: TableName,
        which: Renewal,
    ) -> impl FnOnce() -> Result<(), StoreError> + use<> {
        let wake = self.wake.clone();
        move || Request::send(Some((table, which)), wake.as_ref())
    }

    pub(in crate::embedded) fn figures_of(&self, table: &TableMeta) -> Vec<SegmentFigures> {
        self.shared.progress.figures_of(table)
    }

    /// Whether it is making a segment.
    pub(in crate::embedded) fn is_working(&self) -> bool {
        self.shared.progress.is_working()
    }

    /// How many segments it has made.
    pub(in crate::embedded) fn built(&self) -> u64 {
        self.shared.built.load(Ordering::Relaxed)
    }
}

impl Drop for SegmentBuilder {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        self.wake = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that makes segments came to a bad end");
        }
    }
}

struct Worker {
    workshop: Workshop,
    path: PathBuf,
    shared: Arc<Shared>,
    /// The tables there were, by their numbers.
    seen: HashMap<u32, Seen>,
    /// For so many looks more, loads are taken to go on.
    loads: u32,
    /// Segments that are due, by their files, and what was written into their spans.
    written: HashMap<String, Seen>,
    /// Whether the whole delta was looked through once.
    has_swept: bool,
    /// How much the delta held, removed entries too, when these were last taken out of its files.
    compacted: usize,
    /// It rests as long as it works, unless somebody waits.
    rests: bool,
}

impl Worker {
    fn run(mut self, woken: &Receiver<Request>) {
        let mut failures = 0;
        loop {
            // What fails is not tried, and said, again and again.
            let wait = self.workshop.options.interval * 2_u32.pow(failures);
            let request = match woken.recv_timeout(wait) {
                Ok(request) => Some(request),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if self.check_stopping().is_err() {
                return;
            }
            self.rests = request.is_none();
            let (table, done) = request.map(|request| (request.table, request.done)).unzip();
            let result = match table.flatten() {
                Some((table, which)) => self.renew(&table, which),
                None => {
                    let result = self.work();
                    match &result {
                        Ok(()) | Err(StoreError::ShuttingDown) => failures = 0,
                        Err(error) => {
                            failures = (failures + 1).min(FAILURES_COUNTED);
                            tracing::warn!(%error, "no segment was made; it is tried again later");
                        }
                    }
                    result
                }
            };
            if let Some(done) = done {
                // Who left does not want to know.
                let _ = done.send(result);
            }
        }
    }

    /// Makes segments of one table, for somebody who waits.
    fn renew(&mut self, name: &TableName, which: Renewal) -> Result<(), StoreError> {
        let published = Arc::clone(&self.workshop.published);
        let now = || find(&published.get().tables, name).cloned();
        let table = now()?;
        if which == Renewal::Due {
            return self.tend(&table);
        }
        for segment in table.segments.list() {
            self.build(&table, segment.meta.span.clone(), Some(segment))?;
        }
        let table = now()?;
        let (covered, behind) = rows_of(&table);
        // It is the table that is large enough, not what is behind its segments.
        let is_worth = behind > 0 && behind >= covered / TAIL_PART;
        if is_worth && covered + behind >= self.workshop.options.min_rows && columns_of(&table).is_some() {
            self.build_tail(&table)?;
        }
        Ok(())
    }

    fn work(&mut self) -> Result<(), StoreError> {
        if !self.has_swept {
            self.sweep_all()?;
            self.has_swept = true;
        }
        let view = self.workshop.published.get();
        let tables: Vec<_> = view.tables.values().cloned().collect();
        drop(view);
        self.forget_dropped(&tables)?;
        let is_there = |file: &String| tables.iter().flat_map(|t| t.segments.list()).any(|s| s.meta.file == *file);
        self.written.retain(|file, _| is_there(file));
        self.loads = if self.sees_load(&tables) { LOAD_LOOKS } else { self.loads.saturating_sub(1) };
        let (mut first, built) = (Ok(()), self.shared.built.load(Ordering::Relaxed));
        for table in &tables {
            // One table that cannot be read does not keep the others waiting.
            match self.tend(table) {
                Err(StoreError::ShuttingDown) => return Err(StoreError::ShuttingDown),
                result => first = first.and(result),
            }
        }
        first.and_then(|()| self.compact_delta())?;
        let is_done = self.rests && self.shared.built.load(Ordering::Relaxed) > built;
        if is_done { self.come_to_rest() } else { Ok(()) }
    }

    fn tend(&mut self, table: &TableMeta) -> Result<(), StoreError> {
        for segment in table.segments.list() {
            match self.due(&table.name, segment)? {
                Due::Nothing => {}
                Due::Renewal => drop(self.build(table, segment.meta.span.clone(), Some(segment))?),
                Due::GivingUp => {
                    let giving_up = GivingUp { table: table.name.clone(), segment: Arc::clone(segment) };
                    self.ask(|reply| Job::GiveUpSegment(giving_up, reply))?;
                    tracing::debug!(table = %table.name, rows = segment.meta.rows, "a segment was given up");
                }
            }
        }
        if self.has_tail(table) { self.build_tail(table) } else { Ok(()) }
    }

    fn check_stopping(&self) -> Result<(), StoreError> {
        if self.shared.is_stopping.load(Ordering::Relaxed) { Err(StoreError::ShuttingDown) } else { Ok(()) }
    }

    /// Makes segments of what is behind the last one, one after the other.
    fn build_tail(&self, table: &TableMeta) -> Result<(), StoreError> {
        let all = key_bytes::of_partitions(table.number, &Span::ALL);
        let mut from = table.segments.end().map_or(all.from, <[u8]>::to_vec);
        loop {
            let made = self.build(table, ByteSpan { from, to: all.to.clone() }, None)?;
            let full = made.into_iter().next_back().filter(|made| made.meta.rows >= self.workshop.options.segment_rows);
            let Some(full) = full else { return Ok(()) };
            from = full.meta.span.to.clone();
        }
    }

    /// Makes the segments of a span, in the place of one; or the first segment of a span where there is none.
    fn build(
        &self,
        table: &TableMeta,
        span: ByteSpan,
        removed: Option<&Arc<Segment>>,
    ) -> Result<Vec<Arc<Segment>>, StoreError> {
        let recorded = self.ask(|reply| Job::StartSegment(span.clone(), reply))?;
        // Made after the noting began, so nothing falls between the two.
        let view = self.workshop.published.get();
        let found = view.tables.get(&table.name).filter(|found| found.number == table.number);
        let Some(table) = found else { return Ok(Vec::new()) };
        let progress = &self.shared.progress;
        let stage = if removed.is_some() { SegmentState::Renewing } else { SegmentState::Building };
        let _shown = progress.begin(table.number, view.commit, stage);
        let added = self.write(&view, table, &span, removed)?;
        if added.is_empty() && removed.is_none() {
            return Ok(added);
        }
        progress.enter(SegmentState::Installing);
        let rows: u64 = added.iter().map(|segment| segment.meta.rows).sum();
        let install = Install {
            recorded,
            table: table.name.clone(),
            table_number: table.number,
            removed: removed.cloned(),
            added: added.clone(),
            few_rows: self.workshop.options.few_rows,
        };
        if let Err(error) = self.ask(|reply| Job::InstallSegments(install, reply)) {
            added.iter().for_each(|segment| segment.condemn());
            return Err(error);
        }
        if let Some(removed) = removed {
            removed.condemn();
        }
        self.shared.built.fetch_add(added.len() as u64, Ordering::Relaxed);
        tracing::debug!(table = %table.name, rows, segments = added.len(), "segments were made");
        drop(view);
        progress.enter(SegmentState::Trimming);
        self.sweep(&span)?;
        added.iter().try_for_each(|segment| self.count_dirty(segment).map(|_| ()))?;
        Ok(added)
    }

    /// Hands over what `job` makes of a reply, and waits for that.
    fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let ended = || StoreError::Unavailable("the commit thread ended early".to_owned());
        self.workshop.jobs.blocking_send(job(reply)).map_err(|_| ended())?;
        answer.blocking_recv().map_err(|_| ended())?
    }
}

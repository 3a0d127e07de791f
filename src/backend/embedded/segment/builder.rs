//! The thread that makes segments: of rows that have none, and anew of those whose span was written to.
//!
//! It works beside everything else and rests as long as it works. What it reads is a view like any reader's; what it
//! writes are files of its own, which the commit thread puts in force.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fjall::{Guard, Slice};
use tokio::sync::{mpsc, oneshot};

use super::super::commit::Job;
use super::super::guard::Folder;
use super::super::key_bytes::{self, ByteSpan};
use super::super::meta::TableMeta;
use super::super::reader::{Published, View};
use super::delta::commit_of;
use super::install::{Install, Trim};
use super::write::{Draft, columns_of};
use super::{Segment, SegmentOptions, UNKNOWN, folder};
use crate::model::Span;
use crate::table::StoreError;

/// Entries of the delta that are removed at a time, with commits waiting behind.
const TRIMMED_AT_ONCE: usize = 256;
/// Removed entries of the delta that are worth taking out of its files.
const REMOVED_IS_MANY: usize = 8192;
/// How often is looked whether the delta is in its files.
const FLUSH_LOOK: Duration = Duration::from_millis(10);
/// Rows that are read between two looks at whether to stop.
const ROWS_AT_ONCE: usize = 1024;
/// Each failure doubles the wait for the next try, so many times.
const FAILURES_COUNTED: u32 = 8;
const BYTES_AT_ONCE: usize = 4 << 20;
/// A table without segments that grows is left alone so many times: who loads it needs the machine more.
const PATIENCE: u32 = 30;
/// Growth between two looks, in percent, that counts as being loaded.
const GROWING_PERCENT: u64 = 5;
/// Rows behind the last segment are worth a further one when they are this part of all: so their number stays small.
const TAIL_PART: u64 = 64;

/// What the thread works with.
pub(in crate::backend::embedded) struct Workshop {
    pub(in crate::backend::embedded) published: Arc<Published>,
    pub(in crate::backend::embedded) jobs: mpsc::Sender<Job>,
    pub(in crate::backend::embedded) folder: Arc<Folder>,
    pub(in crate::backend::embedded) options: SegmentOptions,
    /// Free bytes on the disk below which nothing is made.
    pub(in crate::backend::embedded) reserve_bytes: u64,
    /// Whether files are to be on the disk before they count.
    pub(in crate::backend::embedded) sync: bool,
}

/// The thread. Dropping it waits for its end, which is soon.
pub(in crate::backend::embedded) struct SegmentBuilder {
    /// `None` once it is asked to end.
    wake: Option<SyncSender<SyncSender<()>>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_stopping: AtomicBool,
    built: AtomicU64,
}

impl SegmentBuilder {
    /// # Errors
    /// [`StoreError::Unavailable`] when there is no thread to be had.
    pub(in crate::backend::embedded) fn start(workshop: Workshop) -> Result<Self, StoreError> {
        let shared: Arc<Shared> = Arc::default();
        let (wake, woken) = sync_channel(1);
        let path = workshop.folder.segments();
        let worker = Worker {
            workshop,
            path,
            shared: Arc::clone(&shared),
            seen: HashMap::new(),
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
    pub(in crate::backend::embedded) fn work_now(&self) {
        let (done, wait) = sync_channel(1);
        if self.wake.as_ref().is_some_and(|wake| wake.send(done).is_ok()) {
            // No answer comes from a thread that ends.
            let _ = wait.recv();
        }
    }

    /// How many segments it has made.
    pub(in crate::backend::embedded) fn built(&self) -> u64 {
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
    /// Whether the whole delta was looked through once.
    has_swept: bool,
    /// How much the delta held, removed entries too, when these were last taken out of its files.
    compacted: usize,
    /// It rests as long as it works, unless somebody waits.
    rests: bool,
}

/// What was seen of a table's rows without a segment.
#[derive(Debug, Default)]
struct Seen {
    rows: u64,
    looks: u32,
}

impl Worker {
    fn run(mut self, woken: &Receiver<SyncSender<()>>) {
        let mut failures = 0;
        loop {
            // What fails is not tried, and said, again and again.
            let wait = self.workshop.options.interval * 2_u32.pow(failures);
            let done = match woken.recv_timeout(wait) {
                Ok(done) => Some(done),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            self.rests = done.is_none();
            match self.work() {
                Ok(()) | Err(StoreError::ShuttingDown) => failures = 0,
                Err(error) => {
                    failures = (failures + 1).min(FAILURES_COUNTED);
                    tracing::warn!(%error, "no segment was made; it is tried again later");
                }
            }
            if let Some(done) = done {
                // Who left does not want to know.
                let _ = done.send(());
            }
        }
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
        let mut first = Ok(());
        for table in &tables {
            // One table that cannot be read does not keep the others waiting.
            match self.tend(table) {
                Err(StoreError::ShuttingDown) => return Err(StoreError::ShuttingDown),
                result => first = first.and(result),
            }
        }
        first.and_then(|()| self.compact_delta(&tables))
    }

    /// Takes removed entries out of the delta's files once they are most of it: scans go through them one by one.
    fn compact_delta(&mut self, tables: &[Arc<TableMeta>]) -> Result<(), StoreError> {
        let engine = || self.workshop.published.get().engine();
        let held = engine()?.delta_len();
        let segments = tables.iter().flat_map(|table| table.segments.list());
        let needed: u64 = segments.map(|segment| segment.dirty.load(Ordering::Relaxed)).filter(|n| *n < UNKNOWN).sum();
        // What is still seen by somebody stays: it is tried again when there is more.
        let worth = usize::try_from(needed).unwrap_or(usize::MAX).max(self.compacted).saturating_mul(2);
        if held <= worth.saturating_add(REMOVED_IS_MANY) {
            return Ok(());
        }
        engine()?.begin_flush_delta()?;
        while !engine()?.is_delta_flushed() {
            self.check_stopping()?;
            std::thread::sleep(FLUSH_LOOK);
        }
        engine()?.compact_delta()?;
        self.compacted = engine()?.delta_len();
        tracing::debug!(held, left = self.compacted, "removed entries were taken out of the delta");
        Ok(())
    }

    fn tend(&mut self, table: &TableMeta) -> Result<(), StoreError> {
        for segment in table.segments.list() {
            if self.is_outdated(segment)? {
                let span = segment.meta.span.clone();
                self.build(table, span, Some(segment))?;
            }
        }
        if self.has_tail(table) {
            let all = key_bytes::of_partitions(table.number, &Span::ALL);
            let from = table.segments.end().map_or(all.from, <[u8]>::to_vec);
            self.build(table, ByteSpan { from, to: all.to }, None)?;
        }
        Ok(())
    }

    fn check_stopping(&self) -> Result<(), StoreError> {
        if self.shared.is_stopping.load(Ordering::Relaxed) { Err(StoreError::ShuttingDown) } else { Ok(()) }
    }

    /// What was noted of tables that are no more.
    fn forget_dropped(&mut self, tables: &[Arc<TableMeta>]) -> Result<(), StoreError> {
        let is_there = |number: u32| tables.iter().any(|table| table.number == number);
        let dropped: Vec<u32> = self.seen.keys().copied().filter(|number| !is_there(*number)).collect();
        for number in dropped {
            self.sweep(&key_bytes::of_partitions(number, &Span::ALL))?;
            self.seen.remove(&number);
        }
        Ok(())
    }

    /// Whether a segment is to be made anew: so much was written into its span since, or its file is damaged.
    fn is_outdated(&self, segment: &Segment) -> Result<bool, StoreError> {
        if segment.is_damaged() {
            return Ok(true);
        }
        let most = segment.meta.rows.saturating_mul(self.workshop.options.dirty_percent) / 100;
        let dirty = segment.dirty.load(Ordering::Relaxed);
        if dirty <= most {
            return Ok(false);
        }
        // What was written up to here is in the next view, or nowhere: whoever counts nothing there knows of all of it.
        self.ask(|reply| Job::TrimDelta(Trim(Vec::new()), reply))?;
        // The same row may have been written again and again.
        let counted = self.sweep(&segment.meta.span)?;
        // In the place of what there was; writes that came meanwhile count twice at worst.
        segment.dirty.fetch_add(counted.wrapping_sub(dirty), Ordering::Relaxed);
        Ok(counted > most)
    }

    /// Whether there are rows behind the last segment that are worth one.
    fn has_tail(&mut self, table: &TableMeta) -> bool {
        let covered = table.segments.rows();
        let rows = table.size.get().map_or(0, |size| size.entities.saturating_sub(covered));
        let seen = self.seen.entry(table.number).or_default();
        let grew = rows.saturating_sub(seen.rows);
        seen.rows = rows;
        if rows < self.workshop.options.min_rows.max(covered / TAIL_PART) {
            seen.looks = 0;
            return false;
        }
        seen.looks += 1;
        let is_growing = grew.saturating_mul(100) > rows.saturating_mul(GROWING_PERCENT);
        if self.rests && is_growing && seen.looks < PATIENCE {
            return false;
        }
        seen.looks = 0;
        columns_of(table).is_some()
    }

    /// Makes the segments of a span, in the place of one or where there is none.
    fn build(&self, table: &TableMeta, span: ByteSpan, removed: Option<&Arc<Segment>>) -> Result<(), StoreError> {
        let recorded = self.ask(|reply| Job::StartSegment(span.clone(), reply))?;
        // Made after the noting began, so nothing falls between the two.
        let view = self.workshop.published.get();
        let found = view.tables.get(&table.name).filter(|found| found.number == table.number);
        let Some(table) = found else { return Ok(()) };
        let added = self.write(&view, table, &span, removed)?;
        if added.is_empty() && removed.is_none() {
            return Ok(());
        }
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
        self.sweep(&span)?;
        Ok(())
    }

    /// The segments' files, complete. Where they take the place of one, all of the span is theirs; otherwise what is up to
    /// the last row.
    fn write(
        &self,
        view: &View,
        table: &TableMeta,
        span: &ByteSpan,
        removed: Option<&Arc<Segment>>,
    ) -> Result<Vec<Arc<Segment>>, StoreError> {
        let mut made = Vec::new();
        if let Err(error) = self.write_all(view, table, span, removed, &mut made) {
            made.iter().for_each(|segment| segment.condemn());
            return Err(error);
        }
        if self.workshop.sync && !made.is_empty() {
            folder::sync(&self.path)?;
        }
        Ok(made)
    }

    fn write_all(
        &self,
        view: &View,
        table: &TableMeta,
        span: &ByteSpan,
        removed: Option<&Arc<Segment>>,
        made: &mut Vec<Arc<Segment>>,
    ) -> Result<(), StoreError> {
        let options = &self.workshop.options;
        // With so many properties rows are all there is, also where there was a segment.
        let Some(columns) = columns_of(table) else { return Ok(()) };
        // One that has grown by a little stays one.
        let stays_one = removed.is_some_and(|removed| removed.meta.rows <= options.segment_rows / 2 * 3);
        let most = if stays_one { u64::MAX } else { options.segment_rows };
        let (mut from, mut last) = (span.from.clone(), span.from.clone());
        let mut rows = view.range(&*view.engine()?, span)?;
        let mut draft: Option<Draft> = None;
        let mut finish = |draft: Draft, from: &mut Vec<u8>, to: Vec<u8>| {
            let span = ByteSpan { from: std::mem::replace(from, to.clone()), to };
            let segment = draft.finish(span, view.commit, self.workshop.sync)?;
            made.push(Arc::new(segment));
            Ok::<_, StoreError>(())
        };
        let new_draft = || Draft::new(&self.path, table, columns.clone(), options.batch_rows);
        loop {
            let began = Instant::now();
            let piece = self.read_some(view, &mut rows)?;
            if piece.is_empty() {
                break;
            }
            for (key, value) in &piece {
                if let Some(full) = draft.take_if(|draft| draft.rows() >= most) {
                    finish(full, &mut from, key.to_vec())?;
                }
                let open = match &mut draft {
                    Some(open) => open,
                    None => draft.insert(new_draft()?),
                };
                open.push(table, key, value)?;
                last = key.to_vec();
            }
            if self.rests {
                std::thread::sleep(began.elapsed());
            }
        }
        let draft = match draft {
            // Nothing is left of what was there: that is worth knowing too.
            None if removed.is_some() && from == span.from => Some(new_draft()?),
            draft => draft,
        };
        let Some(draft) = draft else { return Ok(()) };
        let to = if removed.is_some() { span.to.clone() } else { [last.as_slice(), &[0]].concat() };
        finish(draft, &mut from, to)
    }

    fn read_some(&self, view: &View, rows: &mut fjall::Iter) -> Result<Vec<fjall::KvPair>, StoreError> {
        self.check_stopping()?;
        // What is kept in reserve is for rows.
        self.workshop.folder.check_room(self.workshop.reserve_bytes)?;
        let engine = view.engine()?;
        let (mut some, mut bytes) = (Vec::with_capacity(ROWS_AT_ONCE), 0);
        while some.len() < ROWS_AT_ONCE && bytes < BYTES_AT_ONCE {
            let next = engine.guarded(|| rows.next().map(Guard::into_inner).transpose())?;
            let Some((key, value)) = next else { break };
            bytes += value.len();
            some.push((key, value));
        }
        Ok(some)
    }

    /// Looks through the delta of all tables, once: what an earlier run has left there.
    fn sweep_all(&self) -> Result<(), StoreError> {
        self.sweep(&ByteSpan { from: Vec::new(), to: vec![0xff; 5] }).map(|_| ())
    }

    /// Removes from a span of the delta what no segment needs; how many entries are left.
    fn sweep(&self, span: &ByteSpan) -> Result<u64, StoreError> {
        let view = self.workshop.published.get();
        let tables: HashMap<u32, Arc<TableMeta>> =
            view.tables.values().map(|table| (table.number, Arc::clone(table))).collect();
        let is_needed = |key: &[u8], commit: u64| {
            let number = key.first_chunk().map(|number| u32::from_be_bytes(*number));
            let table = number.and_then(|number| tables.get(&number));
            table.and_then(|table| table.segments.find(key)).is_some_and(|segment| commit > segment.meta.number)
        };
        let mut entries = view.delta(&*view.engine()?, span)?;
        let (mut left, mut trim) = (0, Vec::new());
        loop {
            self.check_stopping()?;
            let some: Vec<(Slice, Slice)> =
                view.engine()?.guarded(|| entries.by_ref().take(ROWS_AT_ONCE).map(Guard::into_inner).collect())?;
            for (key, value) in &some {
                let commit = commit_of(value).unwrap_or_default();
                if is_needed(key, commit) {
                    left += 1;
                } else {
                    trim.push((key.clone(), commit));
                }
            }
            while trim.len() >= TRIMMED_AT_ONCE || (some.is_empty() && !trim.is_empty()) {
                let rest = trim.split_off(trim.len().min(TRIMMED_AT_ONCE));
                let now = Trim(std::mem::replace(&mut trim, rest));
                self.ask(|reply| Job::TrimDelta(now, reply))?;
            }
            if some.is_empty() {
                return Ok(left);
            }
        }
    }

    /// Hands over what `job` makes of a reply, and waits for that.
    fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let ended = || StoreError::Unavailable("the commit thread ended early".to_owned());
        self.workshop.jobs.blocking_send(job(reply)).map_err(|_| ended())?;
        answer.blocking_recv().map_err(|_| ended())?
    }
}

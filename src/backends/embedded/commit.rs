//! The commit thread: the only writer.
//!
//! It works in rounds. A round takes all commits that wait, or are about to ([`super::gathering`]), checks and writes each
//! as an atomic batch of its own (those of a window or group together: [`super::window`], [`super::group`]), makes all of them durable with one sync, publishes a view that holds them, and only then
//! answers. So a sync is shared by those who wait for it, readers never see what could still be lost, and a commit is
//! checked against every earlier one, published or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tablegate_store::model::{Clock, TableName};
use tablegate_store::table::{Batch, CommitError, GroupError, Operation, Refusals, StoreError, WindowOutcome, Written};
use tokio::sync::{mpsc, oneshot};

use super::EmbeddedOptions;
use super::analyze::{Found, Recorders, Recording};
use super::apply::{Checked, Commit, Replaced, find};
use super::encoded::EncodedEntities;
use super::encoded_window::EncodedWindow;
use super::engine::{Engine, WriteError};
use super::gathering::Gathering;
use super::group::EncodedGroup;
use super::guard::Folder;
use super::insert::{all_refused, answer_insertion};
use super::key_bytes::ByteSpan;
use super::lease::Lease;
use super::meta::{Live, TableMeta};
use super::probe::Probe;
use super::reader::{Published, View};
use super::removal::Removal;
use super::repair::Repair;
use super::segment::install::{Building, GivingUp, Install, Recorded, Trim};
use super::segment::manifest;
use super::size::put_size;
use super::staged::Staged;
use super::staging::{Filling, Staging, Writer};
use super::window::{answer_window, refused};

/// How many commits can wait before callers wait to hand theirs over.
pub(super) const QUEUE: usize = 256;
/// A round that has got so many operations takes no further job: those who came since wait for its sync, and no longer.
const ROUND_OPERATIONS: usize = 2_000;
/// With less room than this, in bytes, a disk is full: the engine writes its files in pieces of up to this size.
const FULL: u64 = 64 * 1024 * 1024;

type Reply<T, E = StoreError> = oneshot::Sender<Result<T, E>>;

/// What the commit thread is asked to do.
pub(super) enum Job {
    Commit(Batch, Reply<Vec<Written>, CommitError>),
    Group(Vec<Batch>, Reply<Vec<Vec<Written>>, GroupError>),
    Window(Vec<Batch>, oneshot::Sender<WindowOutcome>),
    Insert(Box<EncodedEntities>, oneshot::Sender<Refusals>),
    WriteGroup(EncodedGroup, Reply<(), GroupError>),
    /// From now on, rows are written for the table under a number of their own, for as long as the answer is held.
    Stage(TableName, Reply<Option<Staging>>),
    /// Gives back what was not published.
    PublishStaged(Box<Filling>, Reply<Option<Box<Filling>>>),
    /// All of it is in files, and a group may make it the table's.
    SealStaged(Box<Filling>, Reply<()>),
    /// Removes all rows, if none was written behind this commit.
    Clear(TableName, u64, Reply<Option<u64>>),
    CreateTable(TableName, Reply<()>),
    DropTable(TableName, Reply<()>),
    /// There are no files any more with rows of this dropped table alone.
    FilesDropped(u32),
    /// From now on, keep in mind what is written into the table.
    StartAnalyze(TableName, Reply<Recording>),
    FinishAnalyze(Recording, Found, Reply<()>),
    /// From now on, what is written into the span goes to the delta too, for as long as the answer is held.
    StartSegment(ByteSpan, Reply<Arc<Recorded>>),
    InstallSegments(Install, Reply<()>),
    GiveUpSegment(GivingUp, Reply<()>),
    TrimDelta(Trim, Reply<()>),
}

impl Job {
    /// Whether it leaves more room on the disk than it takes.
    fn frees_room(&self) -> bool {
        let deletes = |batch: &Batch| batch.operations().iter().all(|o| matches!(o, Operation::Delete(..)));
        match self {
            Job::Commit(batch, _) => deletes(batch),
            Job::Group(batches, _) | Job::Window(batches, _) => batches.iter().all(deletes),
            Job::WriteGroup(group, _) => {
                group.windows.iter().all(EncodedWindow::frees_room) && group.batches.iter().all(deletes)
            }
            Job::Clear(..) | Job::DropTable(..) | Job::FilesDropped(_) | Job::TrimDelta(..) => true,
            Job::Insert(..)
            | Job::Stage(..)
            | Job::PublishStaged(..)
            | Job::SealStaged(..)
            | Job::CreateTable(..)
            | Job::StartAnalyze(..)
            | Job::FinishAnalyze(..)
            | Job::StartSegment(..)
            | Job::InstallSegments(..)
            | Job::GiveUpSegment(..) => false,
        }
    }

    /// How much of a round it takes.
    fn operations(&self) -> usize {
        let count = |batches: &[Batch]| batches.iter().map(|batch| batch.operations().len()).sum();
        match self {
            Job::Commit(batch, _) => batch.operations().len(),
            Job::Group(batches, _) | Job::Window(batches, _) => count(batches),
            Job::Insert(new, _) => new.rows.keys.len(),
            Job::WriteGroup(group, _) => group.rows() + count(&group.batches),
            Job::Stage(..)
            | Job::PublishStaged(..)
            | Job::SealStaged(..)
            | Job::Clear(..)
            | Job::CreateTable(..)
            | Job::DropTable(..)
            | Job::FilesDropped(_)
            | Job::StartAnalyze(..)
            | Job::FinishAnalyze(..)
            | Job::StartSegment(..)
            | Job::InstallSegments(..)
            | Job::GiveUpSegment(..)
            | Job::TrimDelta(..) => 1,
        }
    }

    /// Answers that it was not tried.
    pub(super) fn refuse(self, error: &StoreError) {
        let error = error.clone();
        // Who left does not want to know.
        match self {
            Job::Commit(_, reply) => drop(reply.send(Err(error.into()))),
            Job::Group(_, reply) => drop(reply.send(Err(error.into()))),
            Job::Window(batches, reply) => drop(reply.send(refused(batches.len(), &error))),
            Job::Insert(new, reply) => drop(reply.send(all_refused(new.entities.transactions(), Vec::new(), &error))),
            Job::WriteGroup(_, reply) => drop(reply.send(Err(error.into()))),
            Job::Stage(_, reply) => drop(reply.send(Err(error))),
            Job::PublishStaged(_, reply) => drop(reply.send(Err(error))),
            Job::Clear(_, _, reply) => drop(reply.send(Err(error))),
            Job::SealStaged(_, reply)
            | Job::CreateTable(_, reply)
            | Job::DropTable(_, reply)
            | Job::FinishAnalyze(_, _, reply)
            | Job::InstallSegments(_, reply)
            | Job::GiveUpSegment(_, reply)
            | Job::TrimDelta(_, reply) => drop(reply.send(Err(error))),
            Job::StartSegment(_, reply) => drop(reply.send(Err(error))),
            Job::FilesDropped(_) => {}
            Job::StartAnalyze(_, reply) => drop(reply.send(Err(error))),
        }
    }
}

/// An answer that waits for the end of its round: with the error there, if there was one.
pub(super) type Answer = Box<dyn FnOnce(Option<&StoreError>)>;

/// What stays the same when the engine is opened anew.
pub(super) struct Shared {
    pub(super) folder: Arc<Folder>,
    pub(super) options: EmbeddedOptions,
    pub(super) published: Arc<Published>,
    pub(super) clock: Arc<dyn Clock>,
    /// How often the disk was waited for.
    pub(super) syncs: Arc<AtomicU64>,
    /// Held weakly: who hands jobs to itself does not keep the store open.
    pub(super) jobs: mpsc::WeakSender<Job>,
}

pub(super) struct Committer {
    shared: Shared,
    pub(super) engine: Arc<Engine>,
    lease: Arc<Lease>,
    pub(super) live: Live,
    pub(super) recorders: Recorders,
    /// The span whose segment is being made. A store that is opened anew has forgotten it: the segment is then refused.
    building: Building,
    pub(super) probe: Probe,
    gathering: Gathering,
    /// What is written ahead for tables.
    pub(super) staged: Vec<Staged>,
    /// The dropped table whose rows are being removed.
    pub(super) removal: Option<(u32, Removal)>,
    /// Something was removed from the delta in this round.
    has_trimmed: bool,
    /// Set once writing failed: what is on disk is then known only after opening anew.
    broken: Option<StoreError>,
}

impl Committer {
    pub(super) fn new(
        shared: Shared,
        engine: Arc<Engine>,
        lease: Arc<Lease>,
        live: Live,
        recorders: Recorders,
    ) -> Self {
        Self {
            shared,
            engine,
            lease,
            live,
            recorders,
            building: Building::default(),
            probe: Probe::default(),
            gathering: Gathering::default(),
            staged: Vec::new(),
            removal: None,
            has_trimmed: false,
            broken: None,
        }
    }

    /// Works until every sender is gone and the queue is empty.
    pub(super) fn run(self, mut jobs: mpsc::Receiver<Job>) {
        let (mut committer, mut first) = (self, None);
        while let Some(repair) = committer.work(first, &mut jobs) {
            let Some((opened, job)) = repair.run(&mut jobs) else { return };
            (committer, first) = (opened, Some(job));
        }
    }

    /// Works until every sender is gone and the queue is empty, or until a write failed: what is to be done then.
    fn work(mut self, mut first: Option<Job>, jobs: &mut mpsc::Receiver<Job>) -> Option<Repair> {
        loop {
            if let Some(reason) = self.broken.take() {
                let Self { shared, lease, recorders, .. } = self;
                return Some(Repair { shared, lease, recorders, reason });
            }
            let next = match first.take() {
                Some(job) => Some(job),
                None if !self.has_rows_to_remove() => jobs.blocking_recv(),
                None => match jobs.try_recv() {
                    Ok(job) => Some(job),
                    Err(mpsc::error::TryRecvError::Disconnected) => None,
                    Err(mpsc::error::TryRecvError::Empty) => {
                        self.remove_some_rows();
                        continue;
                    }
                },
            };
            let Some(job) = next else {
                self.end();
                return None;
            };
            self.round(job, jobs);
        }
    }

    /// There are no writers any more. Emptying the journal now makes the next start faster, which would have to read
    /// it.
    fn end(&self) {
        if let Err(error) = self.engine.empty_journal() {
            tracing::warn!(%error, "the journal stays as it is: the next start reads it");
        }
    }

    fn round(&mut self, first: Job, jobs: &mut mpsc::Receiver<Job>) {
        self.forget_staged();
        let before = self.live.commit;
        let room = self.shared.folder.check_room(self.shared.options.reserve_bytes);
        let mut answers = Vec::new();
        let mut operations = 0;
        let mut next = Some(first);
        while let Some(job) = next {
            operations += job.operations();
            match &room {
                // What makes room may use the reserve.
                Err(error) if !job.frees_room() => job.refuse(error),
                _ => answers.push(self.execute(job)),
            }
            let (here, has_written) = (answers.len(), self.live.commit != before);
            let mut look = || jobs.try_recv().ok();
            let takes_more = here < QUEUE && operations < ROUND_OPERATIONS;
            next = if takes_more { look() } else { None };
            if next.is_none() && takes_more && has_written {
                next = self.gathering.wait(here, look);
            }
        }
        let failure = if self.live.commit == before { None } else { self.make_durable(answers.len(), jobs).err() };
        if std::mem::take(&mut self.has_trimmed) && self.live.commit == before && self.broken.is_none() {
            // A published view keeps what it shows on the disk. With a new view, later readers no longer hold back what
            // was removed.
            self.publish();
        }
        for answer in answers {
            answer(failure.as_ref());
        }
    }

    fn execute(&mut self, job: Job) -> Answer {
        match job {
            Job::Commit(batch, reply) => answer(reply, self.commit(batch)),
            Job::Group(batches, reply) => answer(reply, self.commit_group(batches)),
            Job::Window(batches, reply) => answer_window(reply, self.commit_window(batches)),
            Job::Insert(new, reply) => {
                let transactions = new.entities.transactions();
                answer_insertion(reply, transactions, self.insert_window(*new))
            }
            Job::WriteGroup(group, reply) => answer(reply, self.write_group(group)),
            Job::Stage(name, reply) => answer(reply, self.stage(&name)),
            Job::PublishStaged(filling, reply) => answer(reply, self.publish_staged(filling)),
            Job::SealStaged(filling, reply) => answer(reply, self.seal_staged(filling)),
            Job::Clear(name, unchanged_since, reply) => answer(reply, self.clear(&name, unchanged_since)),
            Job::CreateTable(name, reply) => answer(reply, self.create_table(name)),
            Job::DropTable(name, reply) => answer(reply, self.drop_table(&name)),
            Job::FilesDropped(table) => {
                self.files_dropped(table);
                Box::new(|_| ())
            }
            Job::StartAnalyze(name, reply) => answer(reply, self.start_analyze(&name)),
            Job::FinishAnalyze(recording, found, reply) => answer(reply, self.finish_analyze(&recording, &found)),
            Job::StartSegment(span, reply) => answer(reply, self.start_segment(span)),
            Job::InstallSegments(install, reply) => answer(reply, self.install_segments(&install)),
            Job::GiveUpSegment(giving_up, reply) => answer(reply, self.give_up_segment(&giving_up)),
            Job::TrimDelta(trim, reply) => answer(reply, self.trim_delta(&trim)),
        }
    }

    pub(super) fn begin(&self) -> Commit<'_> {
        self.begin_of(0)
    }

    /// A write of about so many rows.
    pub(super) fn begin_of(&self, rows: usize) -> Commit<'_> {
        self.begin_on(&self.live, &[], rows)
    }

    /// The same, where other tables take the places of some.
    pub(super) fn begin_on<'a>(&'a self, live: &'a Live, replaced: &'a [Replaced], rows: usize) -> Commit<'a> {
        let Self { engine, recorders, building, probe, shared, .. } = self;
        Commit::new(engine, (live, replaced), recorders, building, probe, &*shared.clock, rows)
    }

    pub(super) fn jobs(&self) -> &mpsc::WeakSender<Job> {
        &self.shared.jobs
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    /// Writes rows that the commit thread learns of later.
    pub(super) fn staging_writer(&self) -> Writer {
        let Shared { options, clock, .. } = &self.shared;
        Writer {
            lease: Arc::downgrade(&self.lease),
            clock: Arc::clone(clock),
            reserve_bytes: options.reserve_bytes,
            sorted_bytes: usize::try_from(options.memtable_bytes).unwrap_or(usize::MAX),
        }
    }

    fn commit(&mut self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        self.check_usable()?;
        let mut commit = self.begin();
        let written = commit.add(batch)?;
        let checked = commit.finish();
        self.write(checked)?;
        Ok(written)
    }

    pub(super) fn commit_group(&mut self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        self.check_usable()?;
        let mut commit = self.begin();
        let mut written = Vec::with_capacity(batches.len());
        for (index, batch) in batches.into_iter().enumerate() {
            written.push(commit.add(batch).map_err(|error| error.in_group(index))?);
        }
        let checked = commit.finish();
        self.write(checked)?;
        Ok(written)
    }

    fn create_table(&mut self, name: TableName) -> Result<(), StoreError> {
        self.check_usable()?;
        if self.live.tables.contains_key(&name) {
            return Err(StoreError::TableExists(name));
        }
        let mut live = self.live.next();
        let table = TableMeta::new(live.take_number(&name, &self.engine)?, name.clone());
        table.note_change(live.commit);
        let mut writes = self.engine.batch();
        table.put_new(live.next_number, &self.engine, &mut writes);
        live.put_head(&self.engine, &mut writes);
        Arc::make_mut(&mut live.tables).insert(name, Arc::new(table));
        self.write(Checked { writes, live, sizes: Vec::new() })
    }

    fn drop_table(&mut self, name: &TableName) -> Result<(), StoreError> {
        self.check_usable()?;
        let table = Arc::clone(find(&self.live.tables, name)?);
        let mut live = self.live.next();
        let mut writes = self.engine.batch();
        table.put_dropped(&self.engine, &mut writes);
        manifest::put_dropped(&table, &self.engine, &mut writes);
        live.put_head(&self.engine, &mut writes);
        Arc::make_mut(&mut live.tables).remove(name);
        live.dropped.push(table.number);
        self.write(Checked { writes, live, sizes: Vec::new() })?;
        table.condemn_segments();
        Ok(())
    }

    fn start_analyze(&mut self, name: &TableName) -> Result<Recording, StoreError> {
        self.check_usable()?;
        let table = Arc::clone(find(&self.live.tables, name)?);
        Ok(self.recorders.start(table))
    }

    fn finish_analyze(&mut self, recording: &Recording, found: &Found) -> Result<(), StoreError> {
        self.check_usable()?;
        let name = &recording.table.name;
        let before = find(&self.live.tables, name)?;
        if before.number != recording.table.number {
            // Dropped and created again meanwhile: everything in the new one is as new.
            return Ok(());
        }
        let mut table = TableMeta::clone(before);
        table.narrow(&recording.with(found));
        let mut writes = self.engine.batch();
        table.put_changes(before, &self.engine, &mut writes);
        let mut live = self.live.next();
        live.put_head(&self.engine, &mut writes);
        let size = found.size_now(table.size.get());
        put_size(table.number, size, &self.engine, &mut writes);
        let sizes = vec![(Arc::clone(&table.size), size)];
        Arc::make_mut(&mut live.tables).insert(name.clone(), Arc::new(table));
        self.write(Checked { writes, live, sizes })
    }

    fn start_segment(&mut self, span: ByteSpan) -> Result<Arc<Recorded>, StoreError> {
        self.check_usable()?;
        Ok(self.building.start(span))
    }

    fn install_segments(&mut self, install: &Install) -> Result<(), StoreError> {
        self.check_usable()?;
        let checked = install.check(&self.building, &self.engine, &self.live)?;
        self.write(checked)
    }

    pub(super) fn give_up_segment(&mut self, giving_up: &GivingUp) -> Result<(), StoreError> {
        self.check_usable()?;
        let Some(checked) = giving_up.check(&self.engine, &self.live) else { return Ok(()) };
        self.write(checked)?;
        giving_up.put_in_force();
        Ok(())
    }

    /// No reader looks at these entries, so their removal needs no sync.
    fn trim_delta(&mut self, trim: &Trim) -> Result<(), StoreError> {
        self.check_usable()?;
        let writes = trim.check(&self.engine)?;
        self.has_trimmed = true;
        self.engine.write(writes).map_err(|error| self.fail(error.into()))
    }

    /// # Errors
    /// Why writing failed before. Nothing was tried now, so this error is certain.
    pub(super) fn check_usable(&self) -> Result<(), StoreError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    pub(super) fn write(&mut self, checked: Checked) -> Result<(), StoreError> {
        match self.engine.write(checked.writes) {
            Ok(()) => {
                self.live = checked.live;
                for (size, now) in checked.sizes {
                    size.set(now);
                }
                Ok(())
            }
            Err(WriteError::NotTried(error)) => {
                self.fail(error);
                self.check_usable()
            }
            Err(WriteError::Unknown(error)) => Err(self.fail(error)),
        }
    }

    fn make_durable(&mut self, served: usize, jobs: &mpsc::Receiver<Job>) -> Result<(), StoreError> {
        let begun = Instant::now();
        self.engine.persist().map_err(|error| self.fail(error))?;
        self.gathering.end_round(begun.elapsed(), served, jobs.len());
        if self.engine.syncs() {
            self.shared.syncs.fetch_add(1, Ordering::Relaxed);
        }
        self.engine.acknowledge(self.live.commit);
        self.publish();
        Ok(())
    }

    /// Ends all writing; the answer for those whose commits may be lost or not.
    pub(super) fn fail(&mut self, error: StoreError) -> StoreError {
        // The engine does not say what made it stop writing; a full disk is what can be found out.
        let full = self.shared.folder.check_room(self.shared.options.reserve_bytes.max(FULL)).err();
        let error = full.unwrap_or(error);
        tracing::error!(%error, "writing failed: the store will be opened anew before it takes another commit");
        let outcome = StoreError::OutcomeUnknown(error.to_string());
        self.broken.get_or_insert(error);
        outcome
    }

    fn publish(&self) {
        let view = View::new(&self.engine, Arc::clone(&self.lease), &self.live);
        self.shared.published.set(view);
    }
}

/// Says whether the commits of a round are durable to one who waits for one of them.
fn answer<T: 'static, E: From<StoreError> + 'static>(reply: Reply<T, E>, result: Result<T, E>) -> Answer {
    Box::new(move |failure| {
        let result = match (result, failure) {
            (Ok(_), Some(error)) => Err(error.clone().into()),
            (result, _) => result,
        };
        // Who left does not want to know.
        let _ = reply.send(result);
    })
}

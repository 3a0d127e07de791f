//! Rows on their way into a table that does not have them yet: sorted, and written into files of their own.
//!
//! Nobody reads them before they are published, so they need no journal: the files are durable before the commit that gives
//! them to the table. They pass by the commit thread, too, which learns of them at the end.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tablegate_store::model::{Clock, EdmDateTime};
use tablegate_store::table::{CommitError, NewEntities, StagedRows, Stamps, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::commit::Job;
use super::encoded::{EncodedRows, Finish};
use super::engine::{Engine, io_error};
use super::lease::Lease;
use super::meta::TableMeta;
use super::size::Growth;
use super::sorted_runs::SortedRuns;
use super::unpublished::{Unpublished, first_known};

/// Fewer bytes of rows than this are not worth files of their own.
const LEAST_BYTES: usize = 1 << 20;
/// After so many bytes it is looked whether the disk has room for more.
const BETWEEN_LOOKS_BYTES: usize = 8 << 20;
/// Who waits for rows looks so often whether anybody still wants them.
const LOOK: Duration = Duration::from_millis(50);

/// Rows, and their table as it is to be.
pub(super) struct Filling {
    pub(super) table: TableMeta,
    pub(super) growth: Growth,
    /// The last Timestamp that was given to one of them.
    pub(super) last: EdmDateTime,
    /// What came in no order and takes too much memory to wait.
    runs: SortedRuns,
    /// What is not written yet, in the order it came: behind the runs.
    pub(super) waiting: Vec<EncodedRows>,
    bytes: usize,
    /// The greatest key, where each row so far was behind the one before it.
    end: Option<Vec<u8>>,
}

impl Filling {
    pub(super) fn new(table: TableMeta, last: EdmDateTime) -> Self {
        let (growth, runs, waiting) = (Growth::default(), SortedRuns::default(), Vec::new());
        Self { table, growth, last, runs, waiting, bytes: 0, end: Some(Vec::new()) }
    }

    fn push(&mut self, rows: EncodedRows) {
        let Some((first, last)) = rows.keys.span() else { return };
        let follows = self.end.as_ref().is_some_and(|end| **end < *first) && rows.keys.ascend();
        self.end = follows.then(|| last.to_vec());
        self.bytes += rows.bytes();
        self.waiting.push(rows);
    }

    /// Puts what waits, which is in no order, into a run.
    ///
    /// # Errors
    /// What the disk says.
    fn sort(&mut self, clock: &dyn Clock, folder: &Path) -> Result<(), StoreError> {
        let mut runs = std::mem::take(&mut self.runs);
        let sorted = runs.add(folder, |put| self.take(clock, put));
        self.runs = runs;
        sorted.map_err(|error| io_error(folder, &error))
    }

    /// Gives what waits, each key once, in the order of keys, and keeps count of it.
    ///
    /// # Errors
    /// Those of `put`.
    pub(super) fn take<E>(
        &mut self,
        clock: &dyn Clock,
        mut put: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let mut stamps = Stamps { clock, last: self.last };
        let mut finishes: Vec<Finish<'_>> = waiting.iter().map(Finish::new).collect();
        let (mut bytes, mut is_first) = (Vec::new(), true);
        for (window, row) in order_of(&waiting, self.end.is_some()) {
            let timestamp = if std::mem::take(&mut is_first) { stamps.next_timestamp() } else { stamps.following() };
            finishes[window].put(row, &mut self.table, timestamp, &mut bytes);
            let key = waiting[window].keys.get(row);
            self.table.sample(key);
            self.growth.add(key.len(), None, Some(bytes.len()));
            put(key, &bytes)?;
        }
        self.last = stamps.last;
        Ok(())
    }
}

/// The rows of windows in the order of their keys: window and row of each. Of those with one key the last that came.
fn order_of(windows: &[EncodedRows], came_in_order: bool) -> Vec<(usize, usize)> {
    let key = |place: &(usize, usize)| windows[place.0].keys.get(place.1);
    let mut order: Vec<(usize, usize)> = windows
        .iter()
        .enumerate()
        .flat_map(|(window, rows)| (0..rows.keys.len()).map(move |row| (window, row)))
        .collect();
    if !came_in_order {
        // Newest first, of which the first of a key is kept.
        order.reverse();
        order.sort_by(|one, other| key(one).cmp(key(other)));
        order.dedup_by(|later, kept| key(later) == key(kept));
    }
    order
}

/// Writes rows into the engine's files, while somebody holds it.
pub(super) struct Writer {
    /// Of the engine that the rows' number is known to: another one has forgotten it. A store that is closed does not wait
    /// for them.
    pub(super) lease: Weak<Lease>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) reserve_bytes: u64,
    /// So many bytes are sorted at a time where rows come in any order.
    pub(super) sorted_bytes: usize,
}

impl Writer {
    /// Puts what waits into a run.
    fn sort(&self, mut filling: Filling) -> Result<Filling, StoreError> {
        let folder = &self.engine()?.folder;
        folder.check_room(self.reserve_bytes)?;
        filling.sort(&*self.clock, folder.path())?;
        Ok(filling)
    }

    /// Writes the runs and what waits, and then what comes: all of it is behind that, in order.
    fn write(
        &self,
        mut filling: Filling,
        mut coming: Option<mpsc::Receiver<EncodedRows>>,
    ) -> Result<Filling, StoreError> {
        let (engine, waiter) = (self.engine()?, Handle::current());
        engine.folder.check_room(self.reserve_bytes)?;
        let mut full = Ok(());
        if !filling.runs.is_empty() {
            debug_assert!(coming.is_none(), "where rows came in no order, none is known to be behind the others");
            filling.sort(&*self.clock, engine.folder.path())?;
            let runs = std::mem::take(&mut filling.runs);
            engine.folder.check_room(self.reserve_bytes.saturating_add(runs.bytes()))?;
            engine.ingest(filling.table.number, |put| runs.merge(put))?;
            return Ok(filling);
        }
        engine.ingest(filling.table.number, |put| {
            let mut bytes = 0;
            loop {
                bytes += filling.bytes;
                filling.take(&*self.clock, &mut *put)?;
                if bytes >= BETWEEN_LOOKS_BYTES {
                    bytes = 0;
                    full = engine.folder.check_room(self.reserve_bytes);
                }
                let Some(coming) = coming.as_mut().filter(|_| full.is_ok()) else { return Ok(()) };
                match self.next(&waiter, coming) {
                    Some(rows) => filling.push(rows),
                    None => return Ok(()),
                }
            }
        })?;
        full.map(|()| filling)
    }

    /// The next rows, while the engine is open: who closes it waits for this thread.
    fn next(&self, waiter: &Handle, coming: &mut mpsc::Receiver<EncodedRows>) -> Option<EncodedRows> {
        loop {
            match waiter.block_on(async { timeout(LOOK, coming.recv()).await }) {
                Ok(next) => return next,
                Err(_) if self.engine().is_err() => return None,
                Err(_) => {}
            }
        }
    }

    /// So many bytes of rows are worth a file.
    fn least_bytes(&self) -> usize {
        LEAST_BYTES.min(self.sorted_bytes)
    }

    fn engine(&self) -> Result<Arc<Engine>, StoreError> {
        self.lease.upgrade().ok_or(StoreError::ShuttingDown)?.engine()
    }
}

/// What the commit thread begins and is asked to end.
pub(super) struct Staging {
    pub(super) writer: Arc<Writer>,
    pub(super) filling: Filling,
}

/// The rows under a number, for who writes them.
pub(super) struct EmbeddedRows {
    /// Held weakly: a store that is closed does not wait for them.
    jobs: mpsc::WeakSender<Job>,
    number: u32,
    writer: Arc<Writer>,
    progress: Mutex<Progress>,
}

/// Where rows go.
enum Progress {
    /// They are kept until they are worth a file.
    Kept(Filling),
    /// Each is behind the one before, and they are written as they come.
    Written { rows: mpsc::Sender<EncodedRows>, end: Vec<u8>, task: JoinHandle<Result<Filling, StoreError>> },
    /// Writing failed, or they are the table's.
    Ended,
}

impl EmbeddedRows {
    pub(super) fn new(jobs: mpsc::WeakSender<Job>, Staging { writer, filling }: Staging) -> Self {
        let number = filling.table.number;
        Self { jobs, number, writer, progress: Mutex::new(Progress::Kept(filling)) }
    }

    fn begin(
        &self,
        filling: Filling,
        coming: Option<mpsc::Receiver<EncodedRows>>,
    ) -> JoinHandle<Result<Filling, StoreError>> {
        let writer = Arc::clone(&self.writer);
        spawn_blocking(move || writer.write(filling, coming))
    }

    /// With all of it in files of the engine's.
    async fn in_files(&self, filling: Filling) -> Result<Filling, StoreError> {
        match filling.waiting.is_empty() && filling.runs.is_empty() {
            true => Ok(filling),
            false => ended(self.begin(filling, None)).await,
        }
    }

    async fn sort(&self, filling: Filling) -> Result<Filling, StoreError> {
        let writer = Arc::clone(&self.writer);
        blocking(move || writer.sort(filling)).await
    }

    async fn push(&self, progress: Progress, rows: EncodedRows) -> Result<Progress, StoreError> {
        let Some((first, last)) = rows.keys.span() else { return Ok(progress) };
        let mut filling = match progress {
            Progress::Written { rows: sender, end, task } if rows.keys.ascend() && *end < *first => {
                let end = last.to_vec();
                return match sender.send(rows).await {
                    Ok(()) => Ok(Progress::Written { rows: sender, end, task }),
                    // It has ended before its time, and says why.
                    Err(_) => Err(ended(task).await.err().unwrap_or_else(forgotten)),
                };
            }
            other => other.into_filling().await?,
        };
        filling.push(rows);
        Ok(match &filling.end {
            Some(end) if filling.bytes >= self.writer.least_bytes() => {
                let (end, (rows, coming)) = (end.clone(), mpsc::channel(1));
                Progress::Written { rows, end, task: self.begin(filling, Some(coming)) }
            }
            None if filling.bytes >= self.writer.sorted_bytes => Progress::Kept(self.sort(filling).await?),
            _ => Progress::Kept(filling),
        })
    }
}

impl Progress {
    /// Ends what is under way.
    async fn into_filling(self) -> Result<Filling, StoreError> {
        match self {
            Progress::Kept(filling) => Ok(filling),
            Progress::Written { rows, task, .. } => {
                drop(rows);
                ended(task).await
            }
            Progress::Ended => Err(forgotten()),
        }
    }
}

#[async_trait]
impl StagedRows for EmbeddedRows {
    async fn write(&self, entities: NewEntities) -> Result<(), StoreError> {
        let number = self.number;
        let encode = move || {
            let mut rows = EncodedRows::new(&entities);
            rows.keys.set_table(number);
            Ok(rows)
        };
        let rows = blocking(encode).await?;
        let mut place = self.progress.lock().await;
        *place = self.push(std::mem::replace(&mut *place, Progress::Ended), rows).await?;
        Ok(())
    }

    async fn rest(&self) -> Result<(), StoreError> {
        let mut place = self.progress.lock().await;
        let filling = std::mem::replace(&mut *place, Progress::Ended).into_filling().await?;
        *place = Progress::Kept(match &filling.end {
            Some(_) => self.in_files(filling).await?,
            None if filling.waiting.is_empty() => filling,
            None => self.sort(filling).await?,
        });
        Ok(())
    }

    async fn first_known(&self, entities: &NewEntities) -> Result<Option<usize>, StoreError> {
        let mut place = self.progress.lock().await;
        // What is being written is seen when that has ended.
        let filling = std::mem::replace(&mut *place, Progress::Ended).into_filling().await?;
        let (writer, entities) = (Arc::clone(&self.writer), entities.clone());
        let (filling, known) = blocking(move || {
            let engine = writer.engine()?;
            // Keys are looked up in files of the engine's.
            let filling = if filling.runs.is_empty() { filling } else { writer.write(filling, None)? };
            let known = first_known(&engine, &filling, &entities)?;
            Ok((filling, known))
        })
        .await?;
        *place = Progress::Kept(filling);
        Ok(known)
    }

    async fn publish(&self) -> Result<bool, StoreError> {
        let mut place = self.progress.lock().await;
        let mut filling = std::mem::replace(&mut *place, Progress::Ended).into_filling().await?;
        if filling.bytes >= self.writer.least_bytes() || !filling.runs.is_empty() {
            filling = ended(self.begin(filling, None)).await?;
        }
        let jobs = self.jobs.upgrade().ok_or(StoreError::ShuttingDown)?;
        let job = |reply: oneshot::Sender<_>| Job::PublishStaged(Box::new(filling), reply);
        let refused = super::ask(&jobs, job).await??;
        Ok(match refused {
            Some(filling) => {
                *place = Progress::Kept(*filling);
                false
            }
            None => true,
        })
    }

    async fn seal(&self) -> Result<u32, StoreError> {
        let mut place = self.progress.lock().await;
        let filling = std::mem::replace(&mut *place, Progress::Ended).into_filling().await?;
        let filling = self.in_files(filling).await?;
        let jobs = self.jobs.upgrade().ok_or(StoreError::ShuttingDown)?;
        super::ask(&jobs, |reply| Job::SealStaged(Box::new(filling), reply)).await??;
        Ok(self.number)
    }

    async fn insert(&self, committed: &(dyn Fn(usize, usize) + Send + Sync)) -> Result<(), CommitError> {
        let filling = std::mem::replace(&mut *self.progress.lock().await, Progress::Ended).into_filling().await?;
        let filling = self.in_files(filling).await?;
        let mut rows = Unpublished::new(filling.table);
        loop {
            let engine = self.writer.engine()?;
            let (left, batches) = blocking(move || {
                let batches = rows.next(&engine)?;
                Ok((rows, batches))
            })
            .await?;
            rows = left;
            if batches.is_empty() {
                return Ok(());
            }
            let sizes: Vec<usize> = batches.iter().map(|batch| batch.operations().len()).collect();
            let jobs = self.jobs.upgrade().ok_or(StoreError::ShuttingDown)?;
            let outcome = super::ask(&jobs, |reply| Job::Window(batches, reply)).await?;
            let refused = outcome.iter().zip(&sizes).filter(|(result, _)| result.is_err());
            let (egts, count) =
                refused.fold((sizes.len(), sizes.iter().sum()), |(egts, count), (_, size)| (egts - 1, count - size));
            committed(egts, count);
            outcome.into_iter().collect::<Result<Vec<_>, _>>()?;
        }
    }
}

/// Does what takes long on a thread that nobody else waits for.
pub(super) async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    ended(spawn_blocking(run)).await
}

async fn ended<T>(task: JoinHandle<Result<T, StoreError>>) -> Result<T, StoreError> {
    task.await.map_err(|error| StoreError::Unavailable(format!("writing rows failed: {error}")))?
}

/// What was written before is not known any more.
pub(super) fn forgotten() -> StoreError {
    StoreError::Unavailable("writing failed before".to_owned())
}

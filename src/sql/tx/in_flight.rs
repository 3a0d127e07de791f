//! Entity group transactions on their way to the store, as many at a time as the store advises.
//!
//! A statement hands over one window of them after the other, and collects the next one meanwhile. No key is twice in a
//! window, so its EGTs may overtake each other; those of a later window wait for the earlier ones of their partition.
//! A store that takes many together is given them together instead ([`super::together`]).
//! After the first failure none is started any more, and those under way are waited for. A statement that is dropped
//! starts no further one either; what was handed to the store runs to its end there.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{FuturesUnordered, StreamExt};
use smallvec::SmallVec;
use tablegate_store::model::{EntityKey, PartitionKey, TableName};
use tablegate_store::table::{
    Batch, BatchError, CommitError, EntityWindow, GroupError, NewEntities, Operation, Parallelism, Rejection,
    StagedRows, StoreError, TableStore, Written,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::claims::Claims;
use super::egt_writer::EgtCount;
use super::fill::{Unseen, Windows, fill};
use super::held_back_space::HeldBackSpace;
use super::together::Together;
use crate::progress::Tally;

/// Bytes of entity group transactions under way at once, as long as they can be: several of the largest, or very many
/// ordinary ones.
const BYTES_UNDER_WAY: usize = 32 * 1024 * 1024;

/// Where operations of one entity group transaction were: often there is one.
pub(super) type Positions = SmallVec<[u64; 1]>;

/// One entity group transaction, and where in the statement's input each of its operations was.
pub(super) struct Egt {
    pub batch: Batch,
    /// Ascending.
    pub positions: Positions,
    /// Kept until it has ended.
    pub locks: Option<Arc<Claims>>,
}

/// Rows as columns, and where in the statement's input each was.
pub(super) struct Columns {
    pub window: EntityWindow,
    /// By their places; the further in the input, the greater.
    pub positions: Vec<u64>,
    /// Kept until all of them have ended.
    pub locks: Option<Arc<Claims>>,
}

/// What is handed over at once.
pub(super) enum Handed {
    Egts(Vec<Egt>),
    Columns(Columns),
}

impl Handed {
    /// Columns of new rows.
    pub(super) fn as_new(&self) -> Option<&NewEntities> {
        match self {
            Handed::Columns(Columns { window, .. }) => window.as_new(),
            Handed::Egts(_) => None,
        }
    }
}

/// The first commit that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub error: CommitError,
    /// The row it is about.
    pub position: Option<u64>,
    rank: (bool, u64),
}

/// The commits of one statement.
pub(super) struct InFlight {
    store: Arc<dyn TableStore>,
    shared: Arc<Shared>,
    line: Option<Line>,
    /// The new versions, kept on request.
    written: Option<Vec<(EntityKey, Written)>>,
    /// The table, where nobody else sees it yet.
    unseen: Option<Unseen>,
}

/// What the statement and its commits both see.
#[derive(Default)]
pub(super) struct Shared {
    pub tally: Arc<Tally>,
    /// Nothing further is to be started.
    stops: AtomicBool,
}

impl Shared {
    /// Whether nothing further is to be started.
    pub(super) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }
}

/// A task that commits what it is given.
struct Line {
    windows: mpsc::Sender<Handed>,
    task: JoinHandle<Ended>,
}

/// What became of commits.
#[derive(Default)]
pub(super) struct Ended {
    written: Vec<(EntityKey, Written)>,
    failure: Option<Failure>,
}

impl InFlight {
    pub(super) fn new(store: Arc<dyn TableStore>) -> Self {
        Self { store, shared: Arc::default(), line: None, written: None, unseen: None }
    }

    /// All of it goes into this table, which nobody else sees yet.
    pub(super) fn set_unseen(&mut self, table: TableName, space: &Arc<HeldBackSpace>) {
        self.unseen = Some(Unseen { table, space: space.clone() });
    }

    /// Whether nobody else sees the table yet.
    pub(super) fn is_unseen(&self) -> bool {
        self.unseen.is_some()
    }

    /// Keeps the new version of every entity.
    pub(super) fn keep_versions(&mut self) {
        self.written = Some(Vec::new());
    }

    pub(super) fn take_versions(&mut self) -> Vec<(EntityKey, Written)> {
        self.written.take().unwrap_or_default()
    }

    /// What is committed, counted as it happens.
    pub(super) fn tally(&self) -> &Arc<Tally> {
        &self.shared.tally
    }

    pub(super) fn committed(&self) -> EgtCount {
        let tally = &self.shared.tally;
        EgtCount { egts: tally.egts(), rows: tally.rows(), commits: tally.commits() }
    }

    /// Whether [`InFlight::send_columns`] is worth it: nobody asks for versions, and the store takes many together.
    pub(super) fn takes_columns(&self) -> bool {
        self.written.is_none() && self.store.parallelism().windows
    }

    /// Whether a commit failed, or others were told to stop: [`InFlight::drain`] says which.
    pub(super) fn has_stopped(&self) -> bool {
        self.shared.stops()
    }

    pub(super) fn is_running(&self) -> bool {
        self.line.is_some()
    }

    /// Starts no further commit.
    pub(super) fn stop(&self) {
        self.shared.stop();
    }

    /// Hands over a window. Comes back when all of the one before has been started.
    pub(super) async fn send(&mut self, egts: Vec<Egt>) {
        self.hand_over(Handed::Egts(egts)).await;
    }

    /// Hands over columns, as [`InFlight::send`] does.
    pub(super) async fn send_columns(&mut self, window: Columns) {
        self.hand_over(Handed::Columns(window)).await;
    }

    /// As [`InFlight::send`], of either.
    pub(super) async fn hand_over(&mut self, window: Handed) {
        let line = self.line.take().unwrap_or_else(|| self.begin());
        // A line that has ended says why when it is drained.
        if line.windows.send(window).await.is_ok() {
            drop(line.windows.reserve().await);
        }
        self.line = Some(line);
    }

    /// Commits these, when nothing else is under way.
    pub(super) async fn run(&mut self, mut egts: Vec<Egt>) -> Result<(), Failure> {
        let ended = match (egts.pop(), egts.is_empty()) {
            (None, _) => return Ok(()),
            // Most statements are a single one.
            (Some(only), true) => {
                let mut ended = Ended::default();
                ended.add(commit(self.store.clone(), 0, only, self.written.is_some()).await, &self.shared);
                ended
            }
            (Some(last), false) => {
                egts.push(last);
                let (_, nothing_more) = mpsc::channel(1);
                self.carry_out(egts, nothing_more).await
            }
        };
        self.end(ended)
    }

    /// Commits these, all or nothing, when nothing else is under way.
    ///
    /// # Errors
    /// What failed: nothing is committed.
    pub(super) async fn run_together(&mut self, windows: Vec<Handed>) -> Result<(), Failure> {
        let mut positions: Vec<Positions> = Vec::new();
        let all_columns = windows.iter().all(|window| matches!(window, Handed::Columns(_)));
        let committed = if all_columns {
            let mut all = Vec::with_capacity(windows.len());
            for window in windows {
                let Handed::Columns(columns) = window else { continue };
                positions.extend(columns.positions());
                all.push(columns.window);
            }
            self.store.write_group(all.into()).await
        } else {
            let mut batches = Vec::new();
            for window in windows {
                let egts = match window {
                    Handed::Egts(egts) => egts,
                    Handed::Columns(columns) => columns.into_egts().map_err(|error| Failure::of(error, &[]))?,
                };
                for egt in egts {
                    positions.push(egt.positions);
                    batches.push(egt.batch);
                }
            }
            self.store.commit_group(batches).await.map(drop)
        };
        let rows = positions.iter().map(SmallVec::len).sum();
        committed.map_err(|error| Failure::of_group(error, &positions))?;
        self.shared.tally.add_group(positions.len(), rows);
        Ok(())
    }

    /// Has rows in their table that were written ahead: so many entity group transactions, and rows. False where they can
    /// not be.
    ///
    /// # Errors
    /// What failed: it may not be known whether they are in the table.
    pub(super) async fn publish(&self, rows: &dyn StagedRows, (egts, count): (usize, usize)) -> Result<bool, Failure> {
        match rows.publish().await {
            Ok(true) => {
                self.shared.tally.add_group(egts, count);
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Inserts rows that were written ahead into a table that has others.
    ///
    /// # Errors
    /// What failed: those before are committed.
    pub(super) async fn insert(&self, rows: &dyn StagedRows) -> Result<(), Failure> {
        let count = |egts, rows| self.shared.tally.add_many(egts, rows);
        rows.insert(&count).await.map_err(|error| Failure::of(error, &[]))
    }

    /// Removes all rows of a table, so many entity group transactions and rows, if it is unchanged since this commit. False where
    /// they are to be removed one by one.
    ///
    /// # Errors
    /// What failed.
    pub(super) async fn clear(
        &self,
        table: &TableName,
        unchanged_since: u64,
        (egts, rows): (usize, usize),
    ) -> Result<bool, Failure> {
        match self.store.clear(table, unchanged_since).await {
            Ok(Some(_)) => {
                self.shared.tally.add_group(egts, rows);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn TableStore> {
        &self.store
    }

    /// Whether the store commits many together, all or nothing.
    pub(super) fn takes_groups(&self) -> bool {
        self.written.is_none() && self.store.promises().atomic_groups
    }

    /// Waits for all that was handed over.
    ///
    /// # Errors
    /// What failed: where the outcome of a commit is not known that one, else the one whose row came first.
    pub(super) async fn drain(&mut self) -> Result<(), Failure> {
        let Some(Line { windows, task }) = self.line.take() else { return Ok(()) };
        drop(windows);
        let ended = task.await.unwrap_or_else(|_| {
            let error = StoreError::OutcomeUnknown("the task that commits ended early".to_owned());
            Ended {
                failure: Some(Failure { error: error.into(), position: None, rank: (false, 0) }),
                ..Ended::default()
            }
        });
        self.end(ended)
    }

    fn end(&mut self, ended: Ended) -> Result<(), Failure> {
        if let Some(written) = &mut self.written {
            written.extend(ended.written);
        }
        ended.failure.map_or(Ok(()), Err)
    }

    fn begin(&self) -> Line {
        let (windows, received) = mpsc::channel(1);
        Line { windows, task: tokio::spawn(self.carry_out(Vec::new(), received)) }
    }

    /// Commits these, and then what comes.
    fn carry_out(&self, first: Vec<Egt>, windows: mpsc::Receiver<Handed>) -> impl Future<Output = Ended> + use<> {
        let (store, shared, keeps_versions) = (self.store.clone(), self.shared.clone(), self.written.is_some());
        let unseen = self.unseen.clone().filter(|_| first.is_empty());
        let mut dispatcher = self.dispatcher();
        async move {
            if !store.parallelism().windows {
                dispatcher.take(first);
                return dispatcher.run(windows).await;
            }
            let mut windows = Windows::new(windows);
            if let Some(unseen) = unseen
                && let Err(failure) = fill(&*store, &unseen, &shared, &mut windows).await
            {
                let mut ended = Ended::default();
                ended.fail_with(failure, &shared);
                return ended;
            }
            Together::new(store, shared, keeps_versions).run(first, windows).await
        }
    }

    fn dispatcher(&self) -> Dispatcher {
        Dispatcher {
            bounds: self.store.parallelism(),
            store: self.store.clone(),
            shared: self.shared.clone(),
            keeps_versions: self.written.is_some(),
            window: 0,
            waiting: VecDeque::new(),
            busy: HashMap::new(),
            bytes: 0,
            ended: Ended::default(),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts commits, as many at a time as the bounds let through.
struct Dispatcher {
    store: Arc<dyn TableStore>,
    bounds: Parallelism,
    shared: Arc<Shared>,
    keeps_versions: bool,
    /// The number of the window that is being started.
    window: u64,
    waiting: VecDeque<Egt>,
    /// The partitions of those under way.
    busy: HashMap<PartitionKey, Busy>,
    bytes: usize,
    ended: Ended,
}

/// How many commits to a partition are under way; all of one window.
struct Busy {
    window: u64,
    commits: usize,
}

/// A commit that has ended.
struct Finished {
    window: u64,
    partition: PartitionKey,
    bytes: usize,
    positions: Positions,
    /// Kept on request.
    keys: Vec<EntityKey>,
    result: Result<Vec<Written>, CommitError>,
}

impl Dispatcher {
    /// Takes the next window, of which nothing waits yet.
    fn take(&mut self, egts: Vec<Egt>) {
        self.window += 1;
        self.waiting.extend(egts);
    }

    async fn run(mut self, mut windows: mpsc::Receiver<Handed>) -> Ended {
        let mut under_way = FuturesUnordered::new();
        let mut comes_more = true;
        loop {
            if self.shared.stops() {
                self.waiting.clear();
                comes_more = false;
                windows.close();
            }
            while let Some(egt) = self.next(under_way.len()) {
                under_way.push(commit(self.store.clone(), self.window, egt, self.keeps_versions));
            }
            self.shared.tally.set_under_way(under_way.len());
            tokio::select! {
                Some(finished) = under_way.next(), if !under_way.is_empty() => self.finish(finished),
                window = windows.recv(), if comes_more && self.waiting.is_empty() => match window {
                    Some(Handed::Egts(egts)) => self.take(egts),
                    Some(Handed::Columns(columns)) => match columns.into_egts() {
                        Ok(egts) => self.take(egts),
                        Err(error) => self.ended.fail(error, &[], &self.shared),
                    },
                    None => comes_more = false,
                },
                else => return self.ended,
            }
        }
    }

    /// The next one that may be started now.
    fn next(&mut self, under_way: usize) -> Option<Egt> {
        if under_way >= self.bounds.commits.max(1) {
            return None;
        }
        let index = self.waiting.iter().position(|egt| self.may_start(egt))?;
        let bytes = self.waiting[index].batch.payload_bytes_at_most();
        if under_way > 0 && self.bytes + bytes > BYTES_UNDER_WAY {
            return None;
        }
        let egt = self.waiting.remove(index)?;
        self.bytes += bytes;
        let busy = self.busy.entry(egt.batch.partition().clone()).or_insert(Busy { window: self.window, commits: 0 });
        busy.commits += 1;
        Some(egt)
    }

    fn may_start(&self, egt: &Egt) -> bool {
        self.busy
            .get(egt.batch.partition())
            .is_none_or(|busy| busy.window == self.window && busy.commits < self.bounds.commits_to_partition.max(1))
    }

    fn finish(&mut self, finished: Finished) {
        self.bytes -= finished.bytes;
        if let Some(busy) = self.busy.get_mut(&finished.partition) {
            debug_assert_eq!(busy.window, finished.window, "windows do not mix in a partition");
            busy.commits -= 1;
            if busy.commits == 0 {
                self.busy.remove(&finished.partition);
            }
        }
        self.ended.add(finished, &self.shared);
    }
}

impl Columns {
    /// Where in the input the rows of each transaction were.
    pub(super) fn positions(&self) -> impl Iterator<Item = Positions> + '_ {
        let of = |index| self.window.places(index).into_iter().map(|place| self.positions[place]).collect();
        (0..self.window.transactions()).map(of)
    }

    /// The same one by one.
    fn into_egts(self) -> Result<Vec<Egt>, CommitError> {
        let illegal = |error: BatchError| StoreError::Unavailable(error.to_string());
        let egt = |(index, positions)| {
            let batch = self.window.batch(index).map_err(illegal)?;
            Ok(Egt { batch, positions, locks: self.locks.clone() })
        };
        self.positions().enumerate().map(egt).collect()
    }
}

impl Ended {
    fn add(&mut self, finished: Finished, shared: &Shared) {
        let Finished { positions, keys, result, .. } = finished;
        self.add_result(&positions, keys, result, shared);
    }

    /// What became of a commit: its operations' places in the input and, on request, its keys.
    pub(super) fn add_result(
        &mut self,
        positions: &[u64],
        keys: Vec<EntityKey>,
        result: Result<Vec<Written>, CommitError>,
        shared: &Shared,
    ) {
        match result {
            Ok(written) => {
                shared.tally.add(positions.len());
                self.written.extend(keys.into_iter().zip(written));
            }
            Err(error) => self.fail(error, positions, shared),
        }
    }

    /// A commit of operations from these places in the input failed.
    pub(super) fn fail(&mut self, error: CommitError, positions: &[u64], shared: &Shared) {
        self.fail_with(Failure::of(error, positions), shared);
    }

    /// As [`Ended::fail`], of what is a failure already.
    pub(super) fn fail_with(&mut self, failure: Failure, shared: &Shared) {
        shared.stop();
        if self.failure.as_ref().is_none_or(|known| failure.rank < known.rank) {
            self.failure = Some(failure);
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(error.into(), &[])
    }
}

impl Failure {
    /// Of a group whose transactions came from these places in the input.
    pub(super) fn of_group(error: GroupError, positions: &[Positions]) -> Self {
        match error {
            GroupError::Rejected { batch, index, key, reason } => {
                let positions = positions.get(batch).map(SmallVec::as_slice).unwrap_or_default();
                Self::of(CommitError::Rejected { index, key, reason }, positions)
            }
            GroupError::DuplicateKey { key, .. } => {
                Self::of(CommitError::Rejected { index: 0, key, reason: Rejection::EntityExists }, &[])
            }
            // No statement hands over rows that are written ahead in a group.
            GroupError::NotEmpty { .. } => Self::of(StoreError::Unavailable(error.to_string()).into(), &[]),
            GroupError::Store(error) => Self::of(error.into(), &[]),
        }
    }

    pub(super) fn of(error: CommitError, positions: &[u64]) -> Self {
        let position = match &error {
            CommitError::Rejected { index, .. } => positions.get(*index).copied(),
            CommitError::Store(_) => None,
        };
        // How much was committed is only known where every outcome is.
        let is_known = !matches!(error, CommitError::Store(StoreError::OutcomeUnknown(_)));
        let rank = (is_known, position.or_else(|| positions.first().copied()).unwrap_or_default());
        Self { error, position, rank }
    }
}

async fn commit(store: Arc<dyn TableStore>, window: u64, egt: Egt, keeps_keys: bool) -> Finished {
    let Egt { batch, positions, locks } = egt;
    let (partition, bytes) = (batch.partition().clone(), batch.payload_bytes_at_most());
    let keys = kept_keys(&batch, keeps_keys);
    let result = store.commit(batch).await;
    drop(locks);
    Finished { window, partition, bytes, positions, keys, result }
}

/// The keys of a batch, where they are kept.
pub(super) fn kept_keys(batch: &Batch, keeps_keys: bool) -> Vec<EntityKey> {
    match keeps_keys {
        true => batch.operations().iter().map(Operation::key).cloned().collect(),
        false => Vec::new(),
    }
}

//! The trait that every store implements, and the promises it makes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;

use super::window::{Refusals, WindowOutcome, commit_side_by_side, refused_of};
use super::{
    Batch, DeriveError, DerivedColumn, EntityWalk, KeyRange, NewEntities, ObservedSchema, Renewal, ScanColumns,
    ScanPlan, ScanRequest, ScanStream, SegmentFigures, Sightings, StagedRows, Unfit, WriteGroup,
};
use crate::model::limits::{CUSTOM_PROPERTIES_MAX, ENTITY_MAX_BYTES};
use crate::model::{ETag, EdmDateTime, EdmRef, EntityKey, EntityKeys, StoredEntity, TableName};

/// What a store guarantees beyond the Table service's own contract. Callers ask here; they never ask which store it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promises {
    /// [`TableStore::commit_group`] works: several batches, all or nothing.
    pub atomic_groups: bool,
    /// Scans come in key order (UTF-8 bytes).
    pub ordered_scans: bool,
    /// Scans against key order cost what scans along it do. Elsewhere [`Direction::Reverse`](super::Direction) works too,
    /// but everything is read first.
    pub reverse_scans: bool,
    /// What one [`TableReader`] sees as one consistent moment.
    pub snapshot: SnapshotScope,
    /// No other process writes to it while it is open, so locks taken in this process exclude every other writer.
    pub sole_writer: bool,
}

/// How far one consistent view reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotScope {
    /// One partition, for the length of one request: the service.
    Partition,
    /// Every table, for as long as the reader is held.
    Store,
}

/// How many commits are worth having under way at once, for a caller that has many to make. Advice, not a bound: a store
/// takes more, and lets them wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallelism {
    pub commits: usize,
    /// How many of them to one partition.
    pub commits_to_partition: usize,
    /// Many that are handed over together ([`TableStore::commit_window`]) cost it much less than one by one.
    pub windows: bool,
}

impl Default for Parallelism {
    fn default() -> Self {
        Self { commits: 16, commits_to_partition: 16, windows: false }
    }
}

/// How much is in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableSize {
    pub entities: u64,
    /// Keys and properties as the store writes them, before it compresses them.
    pub bytes: u64,
}

/// What a store can tell of itself at little cost; `None` for what it cannot. Counters begin at zero when the store is
/// opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreFigures {
    /// What its files take, journals and what waits to be merged among them.
    pub disk_bytes: Option<u64>,
    /// Memory for what is written and not yet in files of its own.
    pub write_buffer_bytes: Option<u64>,
    /// Memory for what was read of files.
    pub cache_bytes: Option<u64>,
    /// Commits that were handed over and wait.
    pub commits_waiting: Option<u64>,
    /// How often it waited for the disk: each time makes every commit durable that waited.
    pub syncs: Option<u64>,
    /// How often it merged files.
    pub compactions: Option<u64>,
    /// Files that hold rows as columns too.
    pub segments: Option<u64>,
    /// What these take, among all that its files take.
    pub segment_bytes: Option<u64>,
    /// How many of them it made.
    pub segments_built: Option<u64>,
    /// How many it is making now.
    pub segments_building: Option<u64>,
    /// Of a store that is asked over the network.
    pub requests: Option<RequestFigures>,
}

/// Requests to a store, each try counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestFigures {
    /// What it decided upon, whatever that was.
    pub answered: u64,
    /// What it had no time for.
    pub throttled: u64,
    /// What never came there, or was not answered.
    pub failed: u64,
    /// From sending them to their answers.
    pub time: Duration,
    /// Bodies of the answers, in bytes.
    pub received: u64,
    /// How many may be under way at once: fewer while it has no time, or does not answer.
    pub limit: u64,
}

/// What [`TableReader::get_at_once`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtOnce {
    /// There is an entity: its Timestamp. All of it that was asked for was taken.
    Entity(EdmDateTime),
    Nothing,
    /// It takes another way.
    No,
}

/// A view to read from. Where the store promises [`SnapshotScope::Store`], everything read through one reader is of one
/// moment; it holds all commits acknowledged before it was made. Cheap to make: one per statement.
#[async_trait]
pub trait TableReader: Send + Sync + 'static {
    /// The number of the last commit that it sees, where the store numbers them: for [`TableStore::clear`].
    fn commit(&self) -> Option<u64> {
        None
    }

    /// The number of the last commit that wrote to the table, be it one that came later than those that the reader sees; at
    /// least that of each commit that has ended. `None` where the store does not number them, or has no such table.
    fn last_change(&self, table: &TableName) -> Option<u64> {
        let _ = table;
        None
    }

    /// All tables, ordered by name ignoring case, spelled as they were created.
    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError>;

    /// What properties and types were ever seen in the table; as long as all writes go through this store, never less
    /// than what a scan of this reader can meet. Where other programs write too, a scan adds what it meets.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    async fn observed_schema(&self, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError>;

    /// How what [`TableReader::observed_schema`] says came to be known, told at once. Empty where the store sees every write.
    fn sightings(&self, table: &TableName) -> Arc<Sightings> {
        let _ = table;
        Arc::default()
    }

    /// About how much the table holds, told at once and without reading it. Never a promise about this reader's moment:
    /// commits that come later may be in it. While there are no writes, a store that counts says what a scan would
    /// find, also after it was opened anew. `None` where it has not counted.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    fn estimate(&self, table: &TableName) -> Result<Option<TableSize>, StoreError> {
        let _ = table;
        Ok(None)
    }

    /// About how many entities a partition of the table has, told by a look at a few of them; `most` where they have as many or
    /// more. `None` where the store cannot tell at once, or there are none.
    fn partition_rows(&self, table: &TableName, most: usize) -> Option<usize> {
        let _ = (table, most);
        None
    }

    /// One entity, whole. `None` when there is none under this key.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    async fn get(&self, table: &TableName, key: &EntityKey) -> Result<Option<StoredEntity>, StoreError>;

    /// The place of the first of these keys under which there is an entity.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    async fn first_present(&self, table: &TableName, keys: &EntityKeys) -> Result<Option<usize>, StoreError> {
        for place in 0..keys.len() {
            if self.get(table, &keys.key(place)).await?.is_some() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// One entity's properties, for reads of one key, which are many and short: each one that `columns` asks for and the
    /// entity has is given to `take`, with its column's index, where it lies. Nothing is waited for; a store that has to
    /// wait says so, and so does one whose value was not taken. Then [`TableReader::scan`] is to be asked.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    fn get_at_once(
        &self,
        table: &TableName,
        key: (&str, &str),
        columns: &ScanColumns,
        take: &mut dyn FnMut(usize, EdmRef<'_>) -> bool,
    ) -> Result<AtOnce, StoreError> {
        let _ = (table, key, columns, take);
        Ok(AtOnce::No)
    }

    /// The asked-for columns of the entities in the asked-for ranges, as record batches in key order (reversed on
    /// request). Nothing is read before the stream is polled, and little ahead of it; dropping the stream stops the
    /// scan.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`], here or as the stream's first item. In the stream: [`StoreError::Unfit`] for a
    /// stored value that a column cannot show, [`StoreError::Underived`] where a column cannot be made of stored ones.
    fn scan(&self, request: ScanRequest) -> Result<ScanStream, StoreError>;

    /// Whole entities in the ranges of the request, which [`walk`](super::walk) asks for; its columns are of no meaning here.
    /// `None` where the store does not show them where they lie.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    fn walk(&self, request: &ScanRequest) -> Result<Option<Box<dyn EntityWalk>>, StoreError> {
        let _ = request;
        Ok(None)
    }

    /// What [`TableReader::scan`] would do for this request, told without doing it.
    fn describe(&self, request: &ScanRequest) -> ScanPlan {
        ScanPlan::of_ranges(&request.ranges)
    }

    /// Where a scan of these ranges is worth splitting into at most so many parts, of about as many entities each, that
    /// several threads read: the keys, ascending, at which all parts but the first begin. One reader always gives the
    /// same answer. No key: one part.
    fn split(&self, table: &TableName, ranges: &[KeyRange], parts: usize) -> Vec<EntityKey> {
        let _ = (table, ranges, parts);
        Vec::new()
    }
}

/// A store of tables: writes, and readers to read from.
#[async_trait]
pub trait TableStore: Send + Sync + 'static {
    fn promises(&self) -> Promises;

    /// How many commits at once it makes good use of.
    fn parallelism(&self) -> Parallelism {
        Parallelism::default()
    }

    /// A view of everything acknowledged so far.
    fn reader(&self) -> Arc<dyn TableReader>;

    /// # Errors
    /// [`StoreError::TableExists`] when a table of this name is there, whatever its spelling's case.
    async fn create_table(&self, table: &TableName) -> Result<(), StoreError>;

    /// Removes the table with all its entities and its observed schema.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError>;

    /// Applies one entity group transaction: all operations or none. When it returns, the result is durable and later
    /// readers see it. The future may be dropped at any time: a commit once handed over runs to its end.
    ///
    /// Returns one [`Written`] for each operation, in order.
    ///
    /// # Errors
    /// [`CommitError::Rejected`] names the first operation that cannot be applied; nothing was written.
    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError>;

    /// Applies a *window* of entity group transactions, over any tables and partitions: each one as
    /// [`TableStore::commit`] would, and none depends on what becomes of another. What each came to, in the order given.
    ///
    /// What a caller may count on:
    /// - Each one is atomic, the window is not. One that is refused leaves the others as they are.
    /// - Those of one partition of a table are applied in the order given: a later one meets what an earlier one wrote, so
    ///   a key may occur in several. Those of different partitions are applied in any order.
    /// - When it returns, all that are `Ok` are durable, and later readers see them. Until then a reader sees any number
    ///   of them, each whole; where [`Promises::atomic_groups`] is set, those that do not touch one key twice all at once.
    /// - After a crash each is there whole or not at all, and of one partition none without those before it that were not
    ///   refused. What was acknowledged earlier is there.
    /// - A store that fails leaves no gap in a partition: what follows there is not tried, and says
    ///   [`StoreError::Unavailable`] or the like, never `OutcomeUnknown`, where that is certain.
    /// - The future may be dropped: what was begun runs to its end, and what was not may be left out.
    ///
    /// The store takes a window of any size, and others wait behind it: keep it to some thousand operations and a few
    /// megabytes, and hand over the next one when this one is done.
    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        commit_side_by_side(self, batches).await
    }

    /// Applies a window of insertions, as [`TableStore::commit_window`] would those of [`NewEntities::batches`]: which of
    /// them were not committed, by their indexes. A store that makes its bytes of columns does without those objects.
    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        match entities.batches() {
            Ok(batches) => refused_of(self.commit_window(batches).await),
            // Each of them was found to be legal: this tells of a mistake, and nothing is written.
            Err(error) => entities.all_refused(&StoreError::Unavailable(error.to_string())),
        }
    }

    /// Applies several entity group transactions, all or nothing, over any tables and partitions. No key may occur in
    /// two of them. Only where [`Promises::atomic_groups`] is set.
    ///
    /// # Errors
    /// As [`TableStore::commit`]; also [`StoreError::Unsupported`] where the store promises no groups.
    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError>;

    /// Applies windows of columns and transactions beside them, all or nothing, as [`TableStore::commit_group`] would all of
    /// their batches, which are counted through. Only where [`Promises::atomic_groups`] is set.
    ///
    /// What a caller may count on:
    /// - The windows may be of several tables, and of both kinds: what belongs together, such as rows and the entries of an
    ///   index on them, or rows and the keys that are to be unique, is there together or not at all, and readers see it so.
    /// - Every condition (a key that must be free, a version that must still be there) is checked against what is written
    ///   when the group's turn comes, and nothing of it is written before all have been. So two groups that want the same
    ///   free key, or change the same version, are never both committed.
    /// - Of rows that were written ahead ([`WriteGroup::staged`]) all are in their table, or the group is refused: where the table
    ///   was written to since they were begun, with [`GroupError::NotEmpty`].
    /// - A key occurs once in a group, but for those of entities that are removed with all others of their table
    ///   ([`Emptied`](super::Emptied)). Else who deletes a row and inserts another under its key hands over two groups.
    ///
    /// # Errors
    /// As [`TableStore::commit_group`].
    async fn write_group(&self, group: WriteGroup) -> Result<(), GroupError> {
        if !group.staged.is_empty() {
            return Err(StoreError::Unsupported("rows that were written ahead").into());
        }
        let (batches, counting) = group.into_batches().map_err(|error| StoreError::Unavailable(error.to_string()))?;
        self.commit_group(batches).await.map(drop).map_err(|error| counting.of_group(error))
    }

    /// Begins to take rows for a table ahead of their commit: see [`StagedRows`]. `None` where the store does not do that, or
    /// the table has rows.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`], where the store does it; what the disk says.
    async fn stage(&self, table: &TableName) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        let _ = table;
        Ok(None)
    }

    /// Removes all entities of a table at once and durably, if nothing was written into it behind this commit, which is the
    /// last one that a reader sees: then they are those that this reader shows. How many they were, as far as they are
    /// counted; `None`, and nothing was removed, otherwise, and where the store has no short way to do it.
    ///
    /// # Errors
    /// As [`TableStore::commit`]; [`StoreError::TableMissing`], where the store does it.
    async fn clear(&self, table: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        let _ = (table, unchanged_since);
        Ok(None)
    }

    /// Re-reads the table: drops from its observed schema what no entity has any more, and counts it anew.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    async fn analyze(&self, table: &TableName) -> Result<(), StoreError>;

    /// The parts of the table that it keeps once more to read them faster, in key order, and the one that it is making; told at
    /// once. Empty for a table that is not there, and where entities are all there is.
    fn segments(&self, table: &TableName) -> Vec<SegmentFigures> {
        let _ = table;
        Vec::new()
    }

    /// Makes these parts now and waits until they are made; otherwise the store makes them in the background.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`], where there are such parts; what the disk says.
    async fn renew_segments(&self, table: &TableName, which: Renewal) -> Result<(), StoreError> {
        let _ = (table, which);
        Ok(())
    }

    /// Tells the store which derived columns scans ask for, in place of what it was told before: where the store keeps
    /// entities once more to read them faster, it may keep these with them. Of a table that is not there yet, too.
    fn keep_derived(&self, table: &TableName, columns: Vec<Arc<DerivedColumn>>) {
        let _ = (table, columns);
    }

    /// What it can tell of itself now.
    fn figures(&self) -> StoreFigures {
        StoreFigures::default()
    }
}

/// What one operation of a batch left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The entity's new version.
    Entity { etag: ETag, timestamp: EdmDateTime },
    /// It was a Delete.
    Deleted,
}

/// Why an operation cannot be applied to what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejection {
    #[error("the entity already exists")]
    EntityExists,
    #[error("the entity does not exist")]
    EntityMissing,
    #[error("the entity was changed: its ETag is not the expected one")]
    ETagMismatch,
    /// Both sides of a merge are within the limit, their union is not.
    #[error("the merged entity would have {count} properties; the Table service allows {CUSTOM_PROPERTIES_MAX}")]
    TooManyProperties { count: usize },
    /// Both sides of a merge are within the limit, their union is not.
    #[error("the merged entity would take {bytes} bytes; the Table service stores {ENTITY_MAX_BYTES} (1 MiB)")]
    EntityTooLarge { bytes: usize },
}

/// Why a batch was not committed.
#[derive(Debug, Error)]
pub enum CommitError {
    /// The operation at `index` (from 0) found its precondition broken, or would merge
    /// beyond a limit. Nothing was written.
    #[error("operation {index} on {key}: {reason}")]
    Rejected { index: usize, key: EntityKey, reason: Rejection },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CommitError {
    /// The same error of the batch at this index of a group.
    pub fn in_group(self, batch: usize) -> GroupError {
        match self {
            CommitError::Rejected { index, key, reason } => GroupError::Rejected { batch, index, key, reason },
            CommitError::Store(error) => GroupError::Store(error),
        }
    }
}

/// Why a group of batches was not committed.
#[derive(Debug, Error)]
pub enum GroupError {
    /// The operation at `index` of the batch at `batch` (both from 0) found its precondition broken, or
    /// would merge beyond a limit. Nothing was written.
    #[error("operation {index} of batch {batch} on {key}: {reason}")]
    Rejected { batch: usize, index: usize, key: EntityKey, reason: Rejection },
    /// Two batches hold the same key of the same table.
    #[error("{key} of table {table} occurs in two batches of one group")]
    DuplicateKey { table: TableName, key: EntityKey },
    /// Rows were written ahead for a table that is not any more what it was then, and empty.
    #[error("table {table} was written to meanwhile")]
    NotEmpty { table: TableName },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a store could not do what it was asked.
#[derive(Debug, Clone, Error)]
pub enum StoreError {
    #[error("table \"{0}\" does not exist")]
    TableMissing(TableName),
    #[error("table \"{0}\" already exists")]
    TableExists(TableName),
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A derived column cannot be made of what is stored.
    #[error("{0}")]
    Underived(DeriveError),
    /// Stored bytes are not what was written: names the file or the key.
    #[error("damaged data in {place}: {detail}")]
    Damaged { place: String, detail: String },
    #[error("no space left on the device: {0}")]
    DiskFull(String),
    /// The store cannot be reached or used now.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// The store asks for fewer requests, after all retries.
    #[error("the store throttles requests: {0}")]
    Throttled(String),
    /// A commit was sent and no answer came: it may have been applied or not.
    #[error("it is not known whether the commit was applied: {0}")]
    OutcomeUnknown(String),
    /// The store was reached and will not do it: the reason is its own.
    #[error("the store refuses the request: {0}")]
    Refused(String),
    #[error("the store is mounted read-only")]
    ReadOnly,
    #[error("this store does not support {0}")]
    Unsupported(&'static str),
    #[error("the store is shutting down")]
    ShuttingDown,
}

impl StoreError {
    /// Whether the same request can succeed later without anybody changing it. `OutcomeUnknown` is not: repeating it
    /// could apply it twice.
    pub fn can_retry(&self) -> bool {
        matches!(self, StoreError::Unavailable(_) | StoreError::Throttled(_) | StoreError::DiskFull(_))
    }

    /// What is said of a commit that was not tried because one before it failed like this.
    pub(super) fn of_what_follows(&self) -> Self {
        match self {
            StoreError::OutcomeUnknown(reason) => StoreError::Unavailable(reason.clone()),
            other => other.clone(),
        }
    }
}

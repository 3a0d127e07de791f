//! The storage engine with this store's keyspaces, its errors turned into this project's.

use std::io::{self, ErrorKind};
use std::iter;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fjall::{
    AbstractTree, Database, Iter, Keyspace, KeyspaceCreateOptions, LsmError, OwnedWriteBatch, PersistMode, Slice,
};
use tablegate_store::model::{TableName, own_tables};
use tablegate_store::table::{StoreError, StoreFigures};

use super::guard::Folder;
use super::key_bytes::{ByteSpan, NumberKind};
use super::{EmbeddedOptions, Fsync, journal};

/// What is in memory only and worth being written into files before its time.
const MUCH_BYTES: u64 = 4 << 20;
/// Rows in memory that may be written into a file while all others who write wait: less than a short moment's work.
const FEW_BYTES: u64 = 1 << 20;
/// A key of the delta that is behind all keys of rows.
const BEHIND_DELTA: [u8; 6] = [0xff; 6];
/// How often is looked whether what was in memory is in files.
pub(super) const FLUSH_LOOK: Duration = Duration::from_millis(10);
/// A store that is closed does not wait longer for that: reading the journal takes less.
const LONGEST_LAST_FLUSH: Duration = Duration::from_secs(5);
/// A flush with this leaves all versions of rows as they are: merging files removes what no reader sees.
const KEEP_VERSIONS: u64 = 0;

/// The open engine. Only the commit thread writes; any thread may read, from snapshots.
pub(super) struct Engine {
    /// Entities, under the keys of [`super::key_bytes`].
    rows: Keyspace,
    /// Those of tables whose rows were written ahead, in files that hold one table each. Among those of small tables, which memory
    /// holds until there are more of them, they would lie between others, and be merged with them. Folders of the first two formats do
    /// not have it.
    loaded: Option<Keyspace>,
    /// Those of the gateway's own tables, which change a little with all that is declared. Among the files of large tables each of
    /// these changes would have what lies between merged anew. Folders of the first format do not have it.
    own: Option<Keyspace>,
    /// Tables and what is known about them, under the keys of [`super::meta`].
    pub(super) meta: Keyspace,
    /// How much the tables hold, under the keys of [`super::size`].
    pub(super) sizes: Keyspace,
    /// What segments there are, under the keys of [`super::segment::manifest`].
    pub(super) segments: Keyspace,
    /// What was written since into what they cover, under the keys of rows.
    pub(super) delta: Keyspace,
    db: Database,
    /// Held while a batch is written, and while memory is handed to those who write it into files.
    turn: Mutex<()>,
    /// Bytes of a keyspace in memory above which they are written into a file.
    memtable_bytes: u64,
    /// What was written into files may be in memory still.
    holds_flushed: AtomicBool,
    /// Where the engine's files are.
    path: PathBuf,
    fsync: Fsync,
    /// The last to go: with it the lock.
    pub(super) folder: Arc<Folder>,
}

impl Engine {
    /// # Errors
    /// [`StoreError::Damaged`] when the engine cannot make sense of its files, otherwise what the disk says.
    pub(super) fn open(folder: Arc<Folder>, options: &EmbeddedOptions) -> Result<Self, StoreError> {
        let path = folder.engine();
        let (memtable_bytes, fsync) = (options.memtable_bytes, options.fsync);
        let open = || {
            // The commit thread flushes and syncs once for all batches of a round.
            let builder = Database::builder(&path).cache_size(options.cache_bytes).manual_journal_persist(true);
            // Of several workers one waits for files to be written by asking over and over: on a small machine that
            // takes the processor from all other threads. One alone would wait for itself when the engine asked for
            // full memory to be written, for it asks with each batch and fills the queue that the worker puts its own
            // next step into: `write` sees to that instead, once.
            let is_small = std::thread::available_parallelism().is_ok_and(|processors| processors.get() <= 2);
            let db = if is_small { builder.worker_threads(1) } else { builder }.open()?;
            let options = || KeyspaceCreateOptions::default().manual_journal_persist(true).max_memtable_size(u64::MAX);
            let (rows, meta) = (db.keyspace("rows", options)?, db.keyspace("meta", options)?);
            let sizes = db.keyspace("sizes", options)?;
            let (segments, delta) = (db.keyspace("segments", options)?, db.keyspace("delta", options)?);
            let loaded = folder.keeps_loaded_apart().then(|| db.keyspace("loaded", options)).transpose()?;
            let own = folder.keeps_own_apart().then(|| db.keyspace("own", options)).transpose()?;
            let turn = Mutex::default();
            let (path, folder) = (path.clone(), Arc::clone(&folder));
            let holds_flushed = AtomicBool::new(false);
            Ok(Self {
                rows,
                loaded,
                own,
                meta,
                sizes,
                segments,
                delta,
                db,
                turn,
                memtable_bytes,
                holds_flushed,
                path,
                fsync,
                folder,
            })
        };
        guarded(&path, || open().map_err(|e| engine_error(&path, &e)))
    }

    /// Everything that was written so far.
    pub(super) fn snapshot(&self) -> fjall::Snapshot {
        self.db.snapshot()
    }

    pub(super) fn batch(&self) -> OwnedWriteBatch {
        self.db.batch().durability(None)
    }

    /// With room for so many writes.
    pub(super) fn batch_of(&self, writes: usize) -> OwnedWriteBatch {
        OwnedWriteBatch::with_capacity(self.db.clone(), writes).durability(None)
    }

    /// Where the row with this key is, and all others of its table.
    pub(super) fn rows_of(&self, key: &[u8]) -> &Keyspace {
        let apart = match NumberKind::of_key(key) {
            NumberKind::Plain => None,
            NumberKind::Loaded => self.loaded.as_ref(),
            NumberKind::Own => self.own.as_ref(),
        };
        apart.unwrap_or(&self.rows)
    }

    /// The number of the table of this name that is the `count`th one, into which rows are written one by one.
    pub(super) fn number_of(&self, name: &TableName, count: u32) -> u32 {
        let is_own = self.own.is_some() && own_tables::contains(name);
        is_own.then(|| NumberKind::Own.number(count)).flatten().unwrap_or(count)
    }

    /// The number of the `count`th table, whose rows are written ahead.
    pub(super) fn loaded_number(&self, count: u32) -> u32 {
        self.loaded.as_ref().and_then(|_| NumberKind::Loaded.number(count)).unwrap_or(count)
    }

    /// The row as it was last written, published or not.
    pub(super) fn written_row(&self, key: &[u8]) -> Result<Option<Slice>, StoreError> {
        self.guarded(|| self.rows_of(key).get(key))
    }

    /// Whether no row was last written between these keys, nor under them, published or not.
    pub(super) fn has_no_rows(&self, from: &[u8], to: &[u8]) -> Result<bool, StoreError> {
        let first = || self.rows_between(from, to).next().map(fjall::Guard::key).transpose();
        Ok(self.guarded(first)?.is_none())
    }

    /// The rows of a table between these keys and under them, as they were last written, published or not.
    pub(super) fn rows_between(&self, from: &[u8], to: &[u8]) -> Iter {
        self.rows_of(from).range(from..=to)
    }

    /// Those in a span, which is one table's.
    pub(super) fn rows_in(&self, span: &ByteSpan) -> Iter {
        self.rows_of(&span.from).range(span.from.as_slice()..span.to.as_slice())
    }

    /// Writes a batch, whole or not at all. It is durable after [`Engine::persist`].
    pub(super) fn write(&self, batch: OwnedWriteBatch) -> Result<(), WriteError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.guarded(|| match batch.commit() {
            // Said before anything is written.
            Err(fjall::Error::Poisoned) => Ok(false),
            other => other.and_then(|()| self.begin_flush_full()).map(|()| true),
        });
        match written {
            Ok(true) => Ok(()),
            Ok(false) => Err(WriteError::NotTried(engine_error(&self.path, &fjall::Error::Poisoned))),
            Err(error) => Err(WriteError::Unknown(error)),
        }
    }

    /// Writes rows of a table into files of their own, which are durable when it returns: without the journal, and seen at once.
    /// `write` gives them, in the order of their keys, each key once.
    ///
    /// # Errors
    /// Those of `write`, and what the disk says. Some of the rows may be written then, or all.
    pub(super) fn ingest(
        &self,
        table: u32,
        write: impl FnOnce(&mut dyn FnMut(&[u8], &[u8]) -> fjall::Result<()>) -> fjall::Result<()>,
    ) -> Result<(), StoreError> {
        let rows = self.rows_of(&table.to_be_bytes());
        self.guarded(|| {
            let mut files = rows.start_ingestion()?;
            write(&mut |key, row| files.write(key, row))?;
            // What is in memory is older than these files, so it goes into a file before them, while nobody can write. Most
            // of it does before that: not by the engine's own threads, which may be busy merging files.
            if rows.tree.active_memtable().size() > FEW_BYTES {
                let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
                self.rotate_all()?;
                drop(turn);
                rows.tree.flush(&rows.tree.get_flush_lock(), KEEP_VERSIONS)?;
            }
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            self.db.persist(self.persist_mode())?;
            files.finish()
        })
    }

    /// Drops the files that hold nothing but rows of a span. Readers that see them still do. It waits for merges under way.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn drop_files(&self, span: &ByteSpan) -> Result<(), StoreError> {
        self.guarded(|| Ok(self.rows_of(&span.from).tree.drop_range(span.from.as_slice()..span.to.as_slice())?))
    }

    /// The least number of a table, from one on and before another, under which there are rows.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the engine cannot read its files.
    pub(super) fn first_number(&self, from: u32, end: Option<u32>) -> Result<Option<u32>, StoreError> {
        let end = end.map_or(Bound::Unbounded, |end| Bound::Excluded(end.to_be_bytes()));
        let range = (Bound::Included(from.to_be_bytes()), end);
        // In the order of their numbers.
        let keyspaces = iter::once(&self.rows).chain(&self.loaded).chain(&self.own);
        let first = || keyspaces.filter_map(|rows| rows.range(range).next()).next().map(fjall::Guard::key).transpose();
        let key = self.guarded(first)?;
        Ok(key.and_then(|key| key.first_chunk().map(|number| u32::from_be_bytes(*number))))
    }

    /// Has memory written into files, in the background, once that of one keyspace is full.
    fn begin_flush_full(&self) -> fjall::Result<()> {
        let is_full = |keyspace: &Keyspace| keyspace.tree.active_memtable().size() > self.memtable_bytes;
        if self.keyspaces().any(is_full) { self.rotate_all() } else { Ok(()) }
    }

    /// Of all keyspaces: a journal, which the next start would read, is kept until each of them has a file that is younger.
    ///
    /// What is written into files is in the journal before: files are written one keyspace after the other, and a crash
    /// between two of them would leave a part of a batch that the journal does not have.
    fn rotate_all(&self) -> fjall::Result<()> {
        self.holds_flushed.store(true, Ordering::Relaxed);
        // The youngest one of the delta may be gone with what was removed from it, and nothing may be written there any more.
        self.delta.insert(BEHIND_DELTA, [])?;
        self.db.persist(self.persist_mode())?;
        self.keyspaces().try_for_each(|keyspace| keyspace.rotate_memtable().map(|_| ()))
    }

    fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        let all = [&self.rows, &self.meta, &self.sizes, &self.segments, &self.delta];
        all.into_iter().chain(&self.loaded).chain(&self.own)
    }

    /// What it tells of itself; what it cannot tell is left out.
    pub(super) fn figures(&self) -> StoreFigures {
        let disk_bytes = self.guarded(|| self.db.disk_space()).ok();
        StoreFigures {
            disk_bytes,
            write_buffer_bytes: Some(self.memory_bytes()),
            cache_bytes: Some(self.db.cache_size()),
            compactions: Some(self.db.compactions_completed() as u64),
            ..StoreFigures::default()
        }
    }

    /// Bytes of what is in memory only, without what is being written into files. The engine's own count misses what
    /// [`Engine::ingest`] has it write.
    fn memory_bytes(&self) -> u64 {
        self.keyspaces().map(|keyspace| keyspace.tree.active_memtable().size()).sum()
    }

    /// About how many entries the delta's files and memory hold, removed ones and what removed them among them.
    pub(super) fn delta_len(&self) -> usize {
        self.delta.approximate_len()
    }

    /// Whether so much is in memory only that it is worth being written into files before its time, or so little that an old
    /// journal is still there because of it, which the next start would read.
    pub(super) fn is_worth_a_flush(&self) -> bool {
        self.memory_bytes() >= MUCH_BYTES || self.db.journal_count() > 1
    }

    /// Whether what was written into files may be in memory still: while a view from before is read, and until something else is
    /// written into files.
    pub(super) fn holds_flushed(&self) -> bool {
        self.holds_flushed.load(Ordering::Relaxed)
    }

    /// Has the engine let go of what was written into files, where no view from before is read any more.
    pub(super) fn let_go_of_flushed(&self) -> Result<(), StoreError> {
        self.begin_flush()?;
        self.holds_flushed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Has all that is in memory only written into files, in the background.
    pub(super) fn begin_flush(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.guarded(|| self.rotate_all())
    }

    /// Whether all is written that was to be.
    pub(super) fn is_flushed(&self) -> bool {
        self.flushes_due() == 0
    }

    /// How often memory was full that is not written into files yet.
    pub(super) fn flushes_due(&self) -> usize {
        self.keyspaces().map(|keyspace| keyspace.sealed_memtable_count()).max().unwrap_or(0)
    }

    /// Rewrites the delta's files without the entries that no reader sees any more.
    pub(super) fn compact_delta(&self) -> Result<(), StoreError> {
        self.guarded(|| self.delta.major_compact())
    }

    /// Has everything written into files when the journal is long, and then empties that. Nothing may be written afterwards.
    ///
    /// # Errors
    /// What the disk says. The journal is then as it was.
    pub(super) fn empty_journal(&self) -> Result<(), StoreError> {
        let disk = |error: io::Error| io_error(&self.path, &error);
        if !journal::is_long(&self.path).map_err(disk)? {
            return Ok(());
        }
        self.begin_flush()?;
        let begun = Instant::now();
        while !self.is_flushed() || self.db.journal_count() > 1 {
            if begun.elapsed() > LONGEST_LAST_FLUSH {
                return Err(StoreError::Unavailable("writing what was in memory into files takes too long".to_owned()));
            }
            std::thread::sleep(FLUSH_LOOK);
        }
        // What is in the engine's hands would be written behind the end of an empty file.
        self.guarded(|| self.db.persist(PersistMode::SyncAll))?;
        journal::empty(&self.path).map_err(disk)
    }

    /// Whether [`Engine::persist`] waits for the disk.
    pub(super) fn syncs(&self) -> bool {
        self.fsync == Fsync::Always
    }

    /// Makes durable what was written, as far as the options ask for it.
    pub(super) fn persist(&self) -> Result<(), StoreError> {
        self.guarded(|| self.db.persist(self.persist_mode()))
    }

    fn persist_mode(&self) -> PersistMode {
        match self.fsync {
            Fsync::Always => PersistMode::SyncData,
            Fsync::Never => PersistMode::Buffer,
        }
    }

    /// Notes in the folder that commits up to this one are durable.
    pub(super) fn acknowledge(&self, number: u64) {
        // Without syncs the data may be lost and the note may not.
        if self.fsync == Fsync::Never {
            return;
        }
        if let Err(error) = self.folder.write_number(number) {
            tracing::warn!(%error, "the commit number was not written: the data is durable, loss is harder to find");
        }
    }

    /// Runs something of the engine's and turns its errors and its panics into errors that name the folder.
    pub(super) fn guarded<T>(&self, run: impl FnOnce() -> fjall::Result<T>) -> Result<T, StoreError> {
        guarded(&self.path, || run().map_err(|e| engine_error(&self.path, &e)))
    }
}

/// Why a batch may not be written.
pub(super) enum WriteError {
    /// It is not: writing had failed before.
    NotTried(StoreError),
    /// It is unknown: some or all of it may be in the journal.
    Unknown(StoreError),
}

impl From<WriteError> for StoreError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::NotTried(error) | WriteError::Unknown(error) => error,
        }
    }
}

/// Files that are not what was written can make the engine panic.
pub(super) fn guarded<T>(path: &Path, run: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for no stated reason");
        let detail = format!("the storage engine gave up: {text}");
        Err(StoreError::Damaged { place: path.display().to_string(), detail })
    })
}

fn engine_error(path: &Path, error: &fjall::Error) -> StoreError {
    match error {
        fjall::Error::Io(e) | fjall::Error::Storage(LsmError::Io(e)) => io_error(path, e),
        fjall::Error::Locked => {
            StoreError::Unavailable(format!("the data folder {} is in use by another process", path.display()))
        }
        fjall::Error::Poisoned => StoreError::Unavailable(format!("writing into {} failed before", path.display())),
        other => StoreError::Damaged { place: path.display().to_string(), detail: other.to_string() },
    }
}

/// What the operating system said about a path, as this project's error.
pub(super) fn io_error(path: &Path, error: &io::Error) -> StoreError {
    let place = path.display().to_string();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::DiskFull(format!("{place}: {error}")),
        ErrorKind::NotFound | ErrorKind::UnexpectedEof | ErrorKind::InvalidData => {
            StoreError::Damaged { place, detail: error.to_string() }
        }
        _ => StoreError::Unavailable(format!("{place}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_is_to_be_done() {
        let path = Path::new("/data/db");
        let of = |kind: ErrorKind| engine_error(path, &fjall::Error::Storage(LsmError::Io(kind.into())));
        assert!(matches!(of(ErrorKind::StorageFull), StoreError::DiskFull(text) if text.starts_with("/data/db")));
        assert!(matches!(of(ErrorKind::PermissionDenied), StoreError::Unavailable(_)));
        assert!(matches!(of(ErrorKind::UnexpectedEof), StoreError::Damaged { place, .. } if place == "/data/db"));
        let other = engine_error(path, &fjall::Error::Unrecoverable);
        assert!(matches!(other, StoreError::Damaged { place, .. } if place == "/data/db"));
    }

    #[test]
    fn a_panic_of_the_engine_is_an_error() {
        let result: Result<(), _> = guarded(Path::new("/data/db"), || panic!("broken {}", 1));
        assert!(matches!(result, Err(StoreError::Damaged { detail, .. }) if detail.contains("broken 1")));
    }
}

//! Where the values of collected writes are: in memory while there is room, else in a file.
//!
//! A transaction may collect more than memory should hold: a COPY of a million rows inside BEGIN. What stays in memory is
//! each entity's key and the place of its values; the values of what comes after the bound go to the end of a file that
//! has no name, so nothing is left of it when the transaction ends, however it ends. Old values are never overwritten: a
//! savepoint or a running scan may still read them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use tablegate_store::model::{EntityKey, Properties};
use tablegate_store::table::EntityWindow;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::column_file::ColumnFile;
use super::column_writes::ColumnWindow;
use super::commit_memory::CommitMemory;
use super::values;
use crate::statistics::Memory;

/// What one transaction may write, as it takes memory when it is committed: a store takes that in one piece. Of rows that are
/// collected one by one it is told by what they take in the `$batch` body. It is never more than the memory of queries.
const TRANSACTION_MAX_BYTES: usize = 1 << 30;
/// What is kept of each row that is written one by one, but for the texts of its key and its values: entries of maps that have
/// room for twice as many.
pub(super) const ROW_BYTES: usize = 320;
/// Rows that are not counted: those of most transactions are few, and cannot be refused.
const FREE_ROWS: usize = 128;

/// The memory that the collected writes of all transactions share, and where the rest goes.
#[derive(Debug)]
pub(crate) struct WriteSpace {
    limit: usize,
    used: AtomicUsize,
    folder: PathBuf,
    transaction_max: usize,
    queries: Arc<dyn MemoryPool>,
    commits: CommitMemory,
}

impl WriteSpace {
    /// So much for values, beside the memory of queries, which is so much.
    pub(crate) fn new(limit: usize, folder: PathBuf, queries: Arc<dyn MemoryPool>, query_memory: usize) -> Arc<Self> {
        let commits = CommitMemory::within(Arc::clone(&queries), query_memory);
        let (used, transaction_max) = (AtomicUsize::new(0), TRANSACTION_MAX_BYTES.min(query_memory));
        Arc::new(Self { limit, used, folder, transaction_max, queries, commits })
    }

    /// The memory that commits take.
    pub(crate) fn commits(&self) -> &CommitMemory {
        &self.commits
    }

    /// How many bytes one transaction may write.
    pub(crate) fn transaction_max(&self) -> usize {
        self.transaction_max
    }

    /// How much of the memory is taken.
    pub(crate) fn memory(&self) -> Memory {
        Memory { used: self.used.load(Ordering::Relaxed) as u64, limit: self.limit as u64 }
    }

    /// Takes memory, if there is room for it.
    fn take(self: &Arc<Self>, bytes: usize) -> Option<Taken> {
        let taken = Taken { space: Arc::clone(self), bytes };
        (self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.limit).then_some(taken)
    }
}

/// Memory that was taken, given back when the values are gone.
#[derive(Debug)]
struct Taken {
    space: Arc<WriteSpace>,
    bytes: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.space.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What an entity shall be, and what changes it to that.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values {
    pub after: Properties,
    /// What Merge has to send, as long as nothing was removed.
    pub patch: Option<Properties>,
}

/// Values that were put away.
#[derive(Debug)]
pub(super) struct Kept(Place);

#[derive(Debug)]
enum Place {
    Memory {
        values: Values,
        _taken: Taken,
    },
    File {
        file: Arc<SpillFile>,
        at: u64,
        length: usize,
    },
    /// Those of the row at a place.
    Columns {
        window: Arc<ColumnWindow>,
        place: usize,
    },
}

impl Kept {
    /// The values of a row that was written as columns.
    pub(super) fn in_columns(window: Arc<ColumnWindow>, place: usize) -> Self {
        Self(Place::Columns { window, place })
    }

    /// # Errors
    /// 58030 when the file, or the store, cannot be read.
    pub(super) fn values(&self) -> SqlResult<Values> {
        match &self.0 {
            Place::Memory { values, .. } => Ok(values.clone()),
            Place::Columns { window, place } => window.values(*place),
            Place::File { file, at, length } => file.read(*at, *length),
        }
    }

    /// The values, which are not kept any longer.
    ///
    /// # Errors
    /// As [`Kept::values`].
    pub(super) fn into_values(self) -> SqlResult<Values> {
        match self.0 {
            Place::Memory { values, .. } => Ok(values),
            Place::Columns { window, place } => window.values(place),
            Place::File { file, at, length } => file.read(at, length),
        }
    }

    /// What the entity shall be.
    ///
    /// # Errors
    /// As [`Kept::values`].
    pub(super) fn after(&self) -> SqlResult<Properties> {
        match &self.0 {
            Place::Memory { values, .. } => Ok(values.after.clone()),
            Place::File { .. } | Place::Columns { .. } => Ok(self.values()?.after),
        }
    }
}

/// Puts away the values of one transaction's writes.
#[derive(Debug)]
pub(super) struct Keeper {
    space: Arc<WriteSpace>,
    file: Option<Arc<SpillFile>>,
    columns: Option<ColumnFile>,
    /// Rows that were written one by one, up to those that are counted.
    rows: usize,
    /// Takes nothing itself: each of the rows takes its own.
    memory: Option<MemoryReservation>,
}

impl Keeper {
    pub(super) fn new(space: Arc<WriteSpace>) -> Self {
        Self { space, file: None, columns: None, rows: 0, memory: None }
    }

    pub(super) fn space(&self) -> &Arc<WriteSpace> {
        &self.space
    }

    /// The memory for what is kept of a row besides its values; nothing of the first rows.
    ///
    /// # Errors
    /// 53200 when queries have none left.
    pub(super) fn row(&mut self, key: &EntityKey) -> SqlResult<Option<MemoryReservation>> {
        if self.rows < FREE_ROWS {
            self.rows += 1;
            return Ok(None);
        }
        let register = || MemoryConsumer::new("rows that a transaction has written").register(&self.space.queries);
        let memory = self.memory.get_or_insert_with(register).new_empty();
        let (partition, row) = key.as_pair();
        match memory.try_grow(ROW_BYTES + partition.len() + row.len()) {
            Ok(()) => Ok(Some(memory)),
            Err(_exhausted) => Err(too_many_rows()),
        }
    }

    /// Puts the values of many rows into a file.
    ///
    /// # Errors
    /// 53100 or 58030 when there is no room on the disk.
    pub(super) fn put_away(&mut self, window: EntityWindow) -> SqlResult<EntityWindow> {
        let file = match &mut self.columns {
            Some(file) => file,
            none => none.insert(ColumnFile::new_in(&self.space.folder)?),
        };
        file.put_away(window)
    }

    /// # Errors
    /// 53100 or 58030 when there is no room in memory and none on the disk.
    pub(super) fn keep(&mut self, values: Values) -> SqlResult<Kept> {
        let bytes = values::memory_of(&values);
        if let Some(taken) = self.space.take(bytes) {
            return Ok(Kept(Place::Memory { values, _taken: taken }));
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(Arc::new(SpillFile::new(&self.space)?)),
        };
        let bytes = values::to_bytes(&values);
        let at = file.append(&bytes)?;
        Ok(Kept(Place::File { file: Arc::clone(file), at, length: bytes.len() }))
    }
}

/// A file without a name.
#[derive(Debug)]
struct SpillFile {
    file: File,
    length: AtomicU64,
}

impl SpillFile {
    fn new(space: &WriteSpace) -> SqlResult<Self> {
        let file = tempfile::tempfile_in(&space.folder).map_err(|error| failed(&error))?;
        Ok(Self { file, length: AtomicU64::new(0) })
    }

    fn append(&self, bytes: &[u8]) -> SqlResult<u64> {
        let at = self.length.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(bytes, at).map_err(|error| failed(&error))?;
        Ok(at)
    }

    fn read(&self, at: u64, length: usize) -> SqlResult<Values> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).map_err(|error| failed(&error))?;
        values::from_bytes(&bytes).ok_or_else(damaged)
    }
}

/// There is no memory for what is kept of the rows that a transaction has written.
pub(super) fn too_many_rows() -> Box<SqlError> {
    SqlError::new(ErrorKind::OutOfMemory, "out of the query memory limit")
        .with_detail("The keys of the rows that a transaction has written stay in memory until it ends.")
        .with_hint("Commit after fewer rows, or raise the limit with --query-memory.")
}

/// The error of a file that has not what was written.
pub(super) fn damaged() -> Box<SqlError> {
    SqlError::new(ErrorKind::DataCorrupted, "collected writes were damaged on the disk")
}

/// The error of a file for which there is no room, or that cannot be used.
pub(super) fn failed(error: &io::Error) -> Box<SqlError> {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::DiskFull,
        _ => ErrorKind::StoreFailure,
    };
    SqlError::new(kind, format!("cannot keep the transaction's writes on the disk: {error}"))
        .with_hint("Commit after fewer rows, or raise --transaction-memory.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::UnboundedMemoryPool;
    use tablegate_store::model::{EdmValue, PropertyName};

    fn values(text: &str) -> Values {
        let name = PropertyName::parse("a").unwrap();
        let after: Properties = [(name, EdmValue::string(text))].into_iter().collect();
        Values { patch: Some(after.clone()), after }
    }

    fn space(limit: usize, folder: PathBuf) -> Arc<WriteSpace> {
        WriteSpace::new(limit, folder, Arc::new(UnboundedMemoryPool::default()), 1 << 30)
    }

    #[test]
    fn what_has_no_room_goes_to_a_file_and_memory_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let space = space(1_000, folder.path().to_owned());
        let mut keeper = Keeper::new(Arc::clone(&space));
        let kept: Vec<(String, Kept)> = (0..100)
            .map(|n| {
                let text = format!("{n}-{}", "x".repeat(100));
                let kept = keeper.keep(values(&text)).unwrap();
                (text, kept)
            })
            .collect();
        let in_file = kept.iter().filter(|(_, kept)| matches!(kept.0, Place::File { .. })).count();
        assert!((90..100).contains(&in_file), "{in_file} in the file");
        assert!(space.used.load(Ordering::Relaxed) <= 1_000);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        for (text, kept) in &kept {
            assert_eq!(kept.values().unwrap(), values(text));
        }
        drop(kept);
        assert_eq!(space.used.load(Ordering::Relaxed), 0);
        assert!(matches!(keeper.keep(values("x")).unwrap().0, Place::Memory { .. }));
    }

    #[test]
    fn a_folder_that_is_gone_is_an_error() {
        let space = space(0, PathBuf::from("/nonexistent"));
        assert_eq!(Keeper::new(space).keep(values("x")).unwrap_err().kind, ErrorKind::StoreFailure);
    }
}

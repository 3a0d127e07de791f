//! The rows that a cursor keeps: in memory while they are few, the others in a file without a name.
//!
//! A cursor that scrolls keeps what it has passed, and one WITH HOLD what its query had left at COMMIT, both maybe all rows of a
//! large table. Nothing is left of the file when the cursor is closed, however its session ends.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Cursor};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use datafusion::execution::memory_pool::MemoryReservation;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::own_rows::own_rows;

/// What a cursor keeps in memory, in bytes. What is more goes to the file.
const MEMORY_BYTES: usize = 16 << 20;
/// It is no more than this part of what all queries may hold.
const PART_OF_MEMORY: usize = 32;

/// Batches of rows, numbered one behind the other.
pub(crate) struct KeptBatches {
    batches: VecDeque<Kept>,
    memory: MemoryReservation,
    most: usize,
    folder: PathBuf,
    file: Option<RowFile>,
    /// The batch that was read last from the file, by its first row, and what it takes of the memory.
    read_back: Option<(u64, RecordBatch)>,
    memory_of_read: MemoryReservation,
}

/// Rows that were read together.
struct Kept {
    first: u64,
    count: u64,
    place: Place,
}

enum Place {
    Memory { rows: RecordBatch, bytes: usize },
    File { at: u64, length: usize },
}

impl Kept {
    fn end(&self) -> u64 {
        self.first + self.count
    }

    /// What they take of the memory.
    fn bytes(&self) -> usize {
        match self.place {
            Place::Memory { bytes, .. } => bytes,
            Place::File { .. } => 0,
        }
    }
}

impl KeptBatches {
    /// None yet, in memory of queries, which may hold so much together. What has no room there is in a file of this folder.
    pub(crate) fn new(memory: MemoryReservation, query_memory: usize, folder: PathBuf) -> Self {
        let most = MEMORY_BYTES.min(query_memory / PART_OF_MEMORY);
        let memory_of_read = memory.new_empty();
        Self { batches: VecDeque::new(), memory, most, folder, file: None, read_back: None, memory_of_read }
    }

    /// Keeps further rows, of which the first has this number and the others the next ones. The batch that a cursor is in and the
    /// one that follows are in memory whatever they take, if queries may hold as much: who only goes forward has no others.
    ///
    /// # Errors
    /// 53100 or 58030 when the file cannot be written.
    pub(crate) fn push(&mut self, first: u64, rows: &RecordBatch) -> SqlResult<()> {
        let count = rows.num_rows() as u64;
        let (rows, bytes) = own_rows(rows)?;
        let has_room = self.batches.len() < 2 || self.memory.size() + bytes <= self.most;
        let place = match has_room && self.memory.try_grow(bytes).is_ok() {
            true => Place::Memory { rows, bytes },
            false => self.file()?.write(&rows)?,
        };
        self.batches.push_back(Kept { first, count, place });
        Ok(())
    }

    /// Whether a row is kept.
    pub(crate) fn has(&self, row: u64) -> bool {
        self.find(row).is_some()
    }

    /// The batch with a row, and the number of the first row in it.
    ///
    /// # Errors
    /// 58030 when the file cannot be read.
    pub(crate) fn get(&mut self, row: u64) -> SqlResult<Option<(u64, RecordBatch)>> {
        let Some(kept) = self.find(row) else { return Ok(None) };
        let (at, length) = match &kept.place {
            Place::Memory { rows, .. } => return Ok(Some((kept.first, rows.clone()))),
            Place::File { at, length } => (*at, *length),
        };
        let first = kept.first;
        if let Some(known) = self.read_back.as_ref().filter(|(known, _)| *known == first) {
            return Ok(Some(known.clone()));
        }
        let rows = self.file()?.read(at, length)?;
        // Kept for the next rows of it, where queries may hold as much; else it is read again.
        let has_room = self.memory_of_read.try_resize(length).is_ok();
        self.read_back = has_room.then(|| (first, rows.clone()));
        Ok(Some((first, rows)))
    }

    /// Forgets batches that end before a row, the oldest first: those in the file, and of the others as many that they take no
    /// more memory than this. The last batch stays.
    pub(crate) fn forget_before(&mut self, row: u64, budget: usize) {
        let passed = self.batches.iter().take_while(|kept| kept.end() <= row);
        let mut bytes: usize = passed.map(Kept::bytes).sum();
        while self.batches.len() > 1
            && let Some(oldest) = self
                .batches
                .pop_front_if(|kept| kept.end() <= row && (bytes > budget || matches!(kept.place, Place::File { .. })))
        {
            bytes -= oldest.bytes();
            self.memory.shrink(oldest.bytes());
        }
    }

    fn find(&self, row: u64) -> Option<&Kept> {
        let after = self.batches.partition_point(|kept| kept.end() <= row);
        self.batches.get(after).filter(|kept| kept.first <= row)
    }

    fn file(&mut self) -> SqlResult<&mut RowFile> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let file = tempfile::tempfile_in(&self.folder).map_err(|error| failed(&error))?;
                Ok(none.insert(RowFile { file, length: 0 }))
            }
        }
    }
}

/// A file without a name.
struct RowFile {
    file: File,
    length: u64,
}

impl RowFile {
    fn write(&mut self, rows: &RecordBatch) -> SqlResult<Place> {
        let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
        writer.write(rows)?;
        let bytes = writer.into_inner()?;
        let at = self.length;
        self.file.write_all_at(&bytes, at).map_err(|error| failed(&error))?;
        self.length += bytes.len() as u64;
        Ok(Place::File { at, length: bytes.len() })
    }

    fn read(&self, at: u64, length: usize) -> SqlResult<RecordBatch> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).map_err(|error| failed(&error))?;
        let damaged = || SqlError::new(ErrorKind::DataCorrupted, "the rows of a cursor were damaged on the disk");
        let mut batches = StreamReader::try_new(Cursor::new(bytes), None).map_err(|_unreadable| damaged())?;
        batches.next().and_then(Result::ok).ok_or_else(damaged)
    }
}

fn failed(error: &io::Error) -> Box<SqlError> {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::DiskFull,
        _ => ErrorKind::StoreFailure,
    };
    SqlError::new(kind, format!("cannot keep the rows of a cursor on the disk: {error}"))
        .with_hint("Declare it with NO SCROLL and without HOLD, and it keeps none.")
}

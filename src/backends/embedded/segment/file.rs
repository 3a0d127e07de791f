//! A segment's file: mapped into memory when it is first read, its columns checked one by one and then kept.
//!
//! A column of a batch is compared with its checksum before anything of it is handed out. What is not as it was written
//! spoils the whole segment: it is said once, rows are read instead, and the segment is made anew.

use std::fs::{File, Metadata};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use arrow::array::{Array, ArrayData, ArrayRef};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::ipc::reader::FileDecoder;
use arrow::ipc::{Block, MetadataVersion};
use bytes::Bytes;
use tablegate_store::model::EdmDateTime;
use tablegate_store::table::{ColumnType, StoreError};
use xxhash_rust::xxh64::{Xxh64, xxh64};

use super::super::engine::guarded;
use super::folder;
use super::manifest::{BatchMeta, SegmentColumn, SegmentMeta};
use super::own::own;

/// Where the columns are that every row has; properties follow.
pub(super) const PARTITION_KEY: usize = 0;
pub(super) const ROW_KEY: usize = 1;
pub(super) const TIMESTAMP: usize = 2;
/// The last digit of the Timestamp, which is in ticks of 100 ns, behind its microseconds.
pub(super) const TICK: usize = 3;
pub(super) const PROPERTIES: usize = 4;

#[derive(Debug)]
pub(super) struct SegmentFile {
    path: PathBuf,
    schema: SchemaRef,
    written_at: Option<EdmDateTime>,
    mapped: OnceLock<Option<Buffer>>,
    /// Of all batches, one after the other. `None` for one that is not what was written.
    arrays: Vec<OnceLock<Option<ArrayRef>>>,
    damaged: AtomicBool,
    condemned: AtomicBool,
}

impl SegmentFile {
    /// Looks no further than at the file's length: a start does not wait for checksums.
    pub(super) fn open(path: PathBuf, meta: &SegmentMeta) -> Self {
        let schema = schema(&meta.columns, &meta.kept);
        let arrays = (0..meta.batches.len() * schema.fields().len()).map(|_| OnceLock::new()).collect();
        let (mapped, damaged, condemned) = (OnceLock::new(), AtomicBool::new(false), AtomicBool::new(false));
        let found = std::fs::metadata(&path);
        let written_at = found.as_ref().ok().and_then(time_of);
        let file = Self { path, schema, written_at, mapped, arrays, damaged, condemned };
        match found {
            Ok(found) if found.len() == meta.file_bytes => {}
            Ok(found) => file.damage(&format!("it has {} bytes and not {}", found.len(), meta.file_bytes)),
            Err(error) => file.damage(&error.to_string()),
        }
        file
    }

    pub(super) fn array(&self, meta: &SegmentMeta, batch: usize, column: usize) -> Option<&ArrayRef> {
        if self.is_damaged() {
            return None;
        }
        let slot = self.arrays.get(batch * self.schema.fields().len() + column)?;
        let read = || self.read(meta, batch, column).map_err(|error| self.damage(&error)).ok();
        slot.get_or_init(read).as_ref()
    }

    pub(super) fn has_array(&self, batch: usize, column: usize) -> bool {
        let slot = self.arrays.get(batch * self.schema.fields().len() + column);
        slot.is_some_and(|slot| slot.get().is_some())
    }

    fn read(&self, meta: &SegmentMeta, batch: usize, column: usize) -> Result<ArrayRef, String> {
        let batch = meta.batches.get(batch).ok_or("a batch is missing")?;
        let expected = batch.columns.get(column).ok_or("a column is missing")?;
        let mapped = self.mapped.get_or_init(|| match map(&self.path) {
            Ok(bytes) if bytes.len() as u64 == meta.file_bytes => Some(bytes),
            _ => None,
        });
        let bytes = mapped.as_ref().ok_or("it cannot be mapped, or its length has changed")?;
        if header_checksum(bytes, batch) != Some(batch.header_checksum) {
            return Err("the checksum of a header is wrong".to_owned());
        }
        let array = decode(bytes, batch, &self.schema, column, &self.path).map_err(|error| error.to_string())?;
        if checksum(&*array) != expected.checksum || array.len() != batch.rows {
            return Err(format!("the checksum of a column is wrong in the batch at {}", batch.offset));
        }
        // Its buffers are the mapping until now, all of it.
        Ok(own(array))
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    fn damage(&self, reason: &str) {
        if !self.damaged.swap(true, Ordering::Relaxed) {
            let file = self.path.display();
            tracing::warn!(%file, reason, "a segment is not what was written: its rows are read until it is made anew");
        }
    }

    /// When it was written, as the file says.
    pub(super) fn written_at(&self) -> Option<EdmDateTime> {
        self.written_at
    }

    pub(super) fn condemn(&self) {
        self.condemned.store(true, Ordering::Relaxed);
    }
}

impl Drop for SegmentFile {
    fn drop(&mut self) {
        if self.condemned.load(Ordering::Relaxed) {
            folder::delete(&self.path);
        }
    }
}

fn time_of(found: &Metadata) -> Option<EdmDateTime> {
    let since = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    EdmDateTime::from_unix_micros(i64::try_from(since.as_micros()).ok()?)
}

/// The columns of a file: those of every row, the properties, and the derived ones that it keeps.
pub(super) fn schema(columns: &[SegmentColumn], kept: &Schema) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let runs = DataType::RunEndEncoded(
        Arc::new(Field::new("run_ends", DataType::Int32, false)),
        Arc::new(Field::new("values", DataType::Utf8, true)),
    );
    let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let mut fields = vec![
        Field::new("PartitionKey", runs, false),
        text("RowKey"),
        Field::new("Timestamp", instant, false),
        Field::new("Timestamp:100ns", DataType::UInt8, false),
    ];
    fields.extend(columns.iter().map(|column| {
        let name = format!("{}:{}", column.name, column.edm_type);
        Field::new(name, ColumnType::of(column.edm_type).arrow(), true)
    }));
    fields.extend(kept.fields().iter().map(|field| field.as_ref().clone()));
    Arc::new(Schema::new(fields))
}

/// The bytes of a file, without reading them.
#[expect(
    unsafe_code,
    reason = "a mapping is sound as long as nobody changes the file: it was complete before its name was given out, this \
              program never writes into it again, and the lock of the data folder keeps other programs of ours away. Who \
              cuts it short from outside while it is mapped ends the process."
)]
pub(super) fn map(path: &Path) -> std::io::Result<Buffer> {
    let file = File::open(path)?;
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(Buffer::from(Bytes::from_owner(map)))
}

/// Of the part of a batch that says where its columns are; `None` when the file ends before.
pub(super) fn header_checksum(bytes: &Buffer, batch: &BatchMeta) -> Option<u64> {
    let header = block_range(batch)?;
    let header_end = header.start + usize::try_from(batch.header_bytes).ok()?;
    (header.end <= bytes.len()).then_some(())?;
    Some(xxh64(bytes.get(header.start..header_end)?, 0))
}

fn block_range(batch: &BatchMeta) -> Option<Range<usize>> {
    let from = usize::try_from(batch.offset).ok()?;
    let length = u64::from(batch.header_bytes).checked_add(batch.body_bytes)?;
    Some(from..from.checked_add(usize::try_from(length).ok()?)?)
}

/// One column of a batch whose header was checked.
///
/// # Errors
/// [`StoreError::Damaged`] when the bytes are no such column.
pub(super) fn decode(
    bytes: &Buffer,
    batch: &BatchMeta,
    schema: &SchemaRef,
    column: usize,
    path: &Path,
) -> Result<ArrayRef, StoreError> {
    let damaged = |detail: String| StoreError::Damaged { place: path.display().to_string(), detail };
    // Damaged bytes get as far as this: what the reader does not expect can make it panic.
    guarded(path, || {
        let range = block_range(batch).filter(|range| range.end <= bytes.len());
        let range = range.ok_or_else(|| damaged("a batch lies behind the end".to_owned()))?;
        let numbers = (i64::try_from(batch.offset), i32::try_from(batch.header_bytes), i64::try_from(batch.body_bytes));
        let (Ok(offset), Ok(header), Ok(body)) = numbers else {
            return Err(damaged("a batch lies behind the end".to_owned()));
        };
        let decoder = FileDecoder::new(Arc::clone(schema), MetadataVersion::V5).with_projection(vec![column]);
        let block = bytes.slice_with_length(range.start, range.len());
        let read = decoder.read_record_batch(&Block::new(offset, header, body), &block);
        let read = read.map_err(|error| damaged(error.to_string()))?;
        let read = read.filter(|batch| batch.num_columns() == 1);
        read.map(|batch| Arc::clone(batch.column(0))).ok_or_else(|| damaged("a column is missing".to_owned()))
    })
}

/// Of everything an array was read from.
pub(super) fn checksum(array: &dyn Array) -> u64 {
    let mut sum = Xxh64::new(0);
    add(&mut sum, &array.to_data());
    sum.digest()
}

fn add(sum: &mut Xxh64, data: &ArrayData) {
    sum.update(&(data.len() as u64).to_le_bytes());
    if let Some(nulls) = data.nulls() {
        sum.update(nulls.validity());
    }
    data.buffers().iter().for_each(|buffer| sum.update(buffer));
    data.child_data().iter().for_each(|child| add(sum, child));
}

//! Writing a segment's file: rows in, batches of columns out, then read once to note what is in them.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, RunArray, StringArray, StringBuilder, UInt8Array,
};
use arrow::compute::{max, max_boolean, max_string, min, min_boolean, min_string};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, Schema, TimestampMicrosecondType};
use arrow::error::ArrowError;
use arrow::ipc::reader::read_footer_length;
use arrow::ipc::root_as_footer;
use arrow::ipc::writer::FileWriter;
use arrow::record_batch::RecordBatch;
use tablegate_store::model::EdmType;
use tablegate_store::table::{ColumnType, DerivedColumn, EntityColumns, RowETag, ScanColumn, ScanColumns, StoreError};

use super::super::analyze::{damaged_key, damaged_row};
use super::super::engine::io_error;
use super::super::key_bytes::{self, ByteSpan};
use super::super::meta::TableMeta;
use super::super::row::{Row, ShapeProperty};
use super::derived::{self, Kept};
use super::file::{self, PROPERTIES, SegmentFile, TIMESTAMP};
use super::manifest::{BatchMeta, ColumnMeta, Extremes, SegmentColumn, SegmentMeta};
use super::{Segment, folder};

/// A table with more properties, each type counted, is read by its rows: a row would be mostly NULLs.
const COLUMNS_MAX: usize = 512;
/// So much of a least or greatest text is kept.
const TEXT_KEPT: usize = 64;
/// Where the columns are that rows are collected in, which have none of ticks.
pub(super) const COLLECTED_PARTITION_KEY: usize = 0;
pub(super) const COLLECTED_ROW_KEY: usize = 1;
pub(super) const COLLECTED_PROPERTIES: usize = PROPERTIES - 1;

/// What rows of a table are written as; `None` when there are too many properties.
pub(super) fn columns_of(table: &TableMeta) -> Option<Vec<SegmentColumn>> {
    let properties = table.observed.properties().iter();
    let columns = properties.flat_map(|p| p.types.iter().map(|t| SegmentColumn { name: p.name.clone(), edm_type: t }));
    let columns: Vec<_> = columns.collect();
    (columns.len() <= COLUMNS_MAX).then_some(columns)
}

/// A file under construction.
pub(super) struct Draft {
    name: String,
    columns: Vec<SegmentColumn>,
    kept: Vec<Kept>,
    batch_rows: usize,
    writer: FileWriter<BufWriter<File>>,
    file: NewFile,
    rows: EntityColumns,
    ticks: Vec<u8>,
    /// For each shape: where its properties go.
    plans: HashMap<u32, Arc<[usize]>>,
    first: Vec<u8>,
    last: Vec<u8>,
    /// First and last keys of the batches.
    keys: Vec<(Vec<u8>, Vec<u8>)>,
    total: u64,
}

impl Draft {
    /// # Errors
    /// What the disk says.
    pub(super) fn new(
        folder: &Path,
        table: &TableMeta,
        columns: Vec<SegmentColumn>,
        derived: &[Arc<DerivedColumn>],
        batch_rows: usize,
    ) -> Result<Self, StoreError> {
        folder::make(folder)?;
        let name = folder::new_name(table.number);
        let path = folder.join(&name);
        let opened = File::create_new(&path).map_err(|e| io_error(&path, &e))?;
        let file = NewFile { path, is_kept: false };
        let kept = Kept::of(&columns, derived);
        let writer = FileWriter::try_new_buffered(opened, &file::schema(&columns, &derived::schema(&kept)));
        let writer = writer.map_err(|error| not_written(&file.path, error))?;
        let mut collected = vec![ScanColumn::PartitionKey, ScanColumn::RowKey, ScanColumn::Timestamp];
        collected.extend(columns.iter().map(|column| ScanColumn::Property {
            name: column.name.clone(),
            column_type: ColumnType::of(column.edm_type),
        }));
        Ok(Self {
            name,
            columns,
            kept,
            batch_rows,
            writer,
            file,
            rows: EntityColumns::new(Arc::new(ScanColumns::new(collected))),
            ticks: Vec::new(),
            plans: HashMap::new(),
            first: Vec::new(),
            last: Vec::new(),
            keys: Vec::new(),
            total: 0,
        })
    }

    pub(super) fn rows(&self) -> u64 {
        self.total
    }

    /// Adds the row that comes next.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the row cannot be read, otherwise what the disk says.
    pub(super) fn push(&mut self, table: &TableMeta, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let damaged = |error| damaged_row(table, key, error);
        let (partition, row_key) = key_bytes::parse(key).ok_or_else(|| damaged_key(table, key))?;
        let row = table.parse_row(value).map_err(damaged)?;
        let plan = self.plan(&row).ok_or_else(|| StoreError::Damaged {
            place: format!("table \"{}\"", table.name),
            detail: "a row has a property that was never observed".to_owned(),
        })?;
        self.rows.start(partition, row_key, row.timestamp, RowETag::Of(row.timestamp));
        self.ticks.push(u8::try_from(row.timestamp.unix_ticks().rem_euclid(10)).unwrap_or_default());
        for (index, column) in plan.iter().enumerate() {
            let value = row.value(index).map_err(damaged)?;
            self.rows.set(COLLECTED_PROPERTIES + column, value).map_err(|_| damaged_key(table, key))?;
        }
        self.rows.finish_row();
        self.total += 1;
        if self.rows.rows() == 1 {
            self.first = key.to_vec();
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        if self.rows.is_full(self.batch_rows) { self.write_batch() } else { Ok(()) }
    }

    /// For each property of a row, its column; `None` when there is none.
    fn plan(&mut self, row: &Row<'_>) -> Option<Arc<[usize]>> {
        if let Some(plan) = row.shape_number().and_then(|number| self.plans.get(&number)) {
            return Some(Arc::clone(plan));
        }
        let place = |property: &ShapeProperty| {
            self.columns.iter().position(|c| c.name == property.name && c.edm_type == property.edm_type)
        };
        let plan: Option<Arc<[usize]>> = row.shape().properties().iter().map(place).collect();
        let plan = plan?;
        if let Some(number) = row.shape_number() {
            self.plans.insert(number, Arc::clone(&plan));
        }
        Some(plan)
    }

    fn write_batch(&mut self) -> Result<(), StoreError> {
        let Some(collected) = self.rows.take()? else { return Ok(()) };
        let ticks: ArrayRef = Arc::new(UInt8Array::from(std::mem::take(&mut self.ticks)));
        let kept = self.kept.iter().map(|kept| kept.make(&collected));
        let write = |writer: &mut FileWriter<_>| {
            let (partitions, others) = (collected.column(0).as_string(), &collected.columns()[1..]);
            let (of_keys, properties) = others.split_at(COLLECTED_PROPERTIES - 1);
            let mut columns: Vec<ArrayRef> = vec![Arc::new(runs(partitions)?)];
            columns.extend(of_keys.iter().cloned());
            columns.push(ticks);
            columns.extend(properties.iter().cloned());
            columns.extend(kept);
            writer.write(&RecordBatch::try_new(Arc::clone(writer.schema()), columns)?)
        };
        write(&mut self.writer).map_err(|error| not_written(&self.file.path, error))?;
        self.keys.push((std::mem::take(&mut self.first), std::mem::take(&mut self.last)));
        Ok(())
    }

    /// Ends the file and, with `sync`, has it on the disk.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn finish(mut self, span: ByteSpan, number: u64, sync: bool) -> Result<Segment, StoreError> {
        self.write_batch()?;
        let Self { name, columns, kept, mut writer, mut file, keys, total, .. } = self;
        let kept = derived::schema(&kept);
        writer.finish().map_err(|error| not_written(&file.path, error))?;
        let written = writer.into_inner().map_err(|error| not_written(&file.path, error))?;
        let written = written.into_inner().map_err(|e| io_error(&file.path, e.error()))?;
        if sync {
            written.sync_all().map_err(|e| io_error(&file.path, &e))?;
        }
        let (file_bytes, batches) = describe(&file.path, &columns, &kept, keys)?;
        let meta = SegmentMeta { span, number, file: name, file_bytes, rows: total, columns, kept, batches };
        file.is_kept = true;
        Ok(Segment::new(SegmentFile::open(file.path.clone(), &meta), meta))
    }
}

/// A file that goes again unless it becomes a segment's.
struct NewFile {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_kept {
            folder::delete(&self.path);
        }
    }
}

/// The same texts, each run of equal ones once.
fn runs(texts: &StringArray) -> Result<RunArray<Int32Type>, ArrowError> {
    let (mut ends, mut values) = (Vec::new(), StringBuilder::new());
    for index in 0..texts.len() {
        let is_last = index + 1 == texts.len() || texts.value(index) != texts.value(index + 1);
        if is_last {
            ends.push(i32::try_from(index + 1).map_err(|_| ArrowError::RunEndIndexOverflowError)?);
            values.append_value(texts.value(index));
        }
    }
    RunArray::try_new(&Int32Array::from(ends), &values.finish())
}

/// What is in a file that was just written: its length, and its batches.
fn describe(
    path: &Path,
    columns: &[SegmentColumn],
    kept: &Schema,
    keys: Vec<(Vec<u8>, Vec<u8>)>,
) -> Result<(u64, Vec<BatchMeta>), StoreError> {
    let damaged = |detail: &str| StoreError::Damaged { place: path.display().to_string(), detail: detail.to_owned() };
    let bytes = file::map(path).map_err(|e| io_error(path, &e))?;
    let no_footer = || damaged("it has no footer");
    let (before, trailer) = bytes.split_last_chunk::<10>().ok_or_else(no_footer)?;
    let length = read_footer_length(*trailer).map_err(|error| not_written(path, error))?;
    let from = before.len().checked_sub(length).ok_or_else(no_footer)?;
    let footer = root_as_footer(&before[from..]).map_err(|error| damaged(&error.to_string()))?;
    let blocks: Vec<_> = footer.recordBatches().map(|blocks| blocks.iter().copied().collect()).unwrap_or_default();
    if blocks.len() != keys.len() {
        return Err(damaged("it has another number of batches than were written"));
    }
    let schema = file::schema(columns, kept);
    let mut batches = Vec::with_capacity(blocks.len());
    for (block, (first, last)) in blocks.iter().zip(keys) {
        let numbers = (block.offset().try_into(), block.metaDataLength().try_into(), block.bodyLength().try_into());
        let (Ok(offset), Ok(header_bytes), Ok(body_bytes)) = numbers else { return Err(no_footer()) };
        let mut batch = BatchMeta {
            rows: 0,
            first,
            last,
            offset,
            header_bytes,
            body_bytes,
            header_checksum: 0,
            columns: Vec::with_capacity(schema.fields().len()),
        };
        batch.header_checksum = file::header_checksum(&bytes, &batch).ok_or_else(no_footer)?;
        for index in 0..schema.fields().len() {
            let array = file::decode(&bytes, &batch, &schema, index, path)?;
            batch.rows = array.len();
            let edm_type = match index.checked_sub(PROPERTIES) {
                Some(property) => columns.get(property).map(|column| column.edm_type),
                None => (index == TIMESTAMP).then_some(EdmType::DateTime),
            };
            let extremes = edm_type.map(|edm_type| extremes(&array, edm_type));
            batch.columns.push(ColumnMeta {
                checksum: file::checksum(&*array),
                nulls: array.null_count(),
                extremes: extremes.unwrap_or(Extremes::Unknown),
            });
        }
        batches.push(batch);
    }
    Ok((bytes.len() as u64, batches))
}

fn extremes(array: &ArrayRef, edm_type: EdmType) -> Extremes {
    match edm_type {
        EdmType::Int32 => {
            let array = array.as_primitive::<Int32Type>();
            integers(min(array).map(i64::from), max(array).map(i64::from))
        }
        EdmType::Int64 => {
            let array = array.as_primitive::<Int64Type>();
            integers(min(array), max(array))
        }
        EdmType::DateTime => {
            let array = array.as_primitive::<TimestampMicrosecondType>();
            integers(min(array), max(array))
        }
        EdmType::Boolean => {
            let array: &BooleanArray = array.as_boolean();
            integers(min_boolean(array).map(i64::from), max_boolean(array).map(i64::from))
        }
        EdmType::Double => {
            let array = array.as_primitive::<Float64Type>();
            // NaN sorts differently for different readers, so values with a NaN among them get no least and greatest.
            match (min(array), max(array)) {
                (Some(least), Some(greatest)) if !array.iter().flatten().any(f64::is_nan) => {
                    Extremes::Doubles(least, greatest)
                }
                _ => Extremes::Unknown,
            }
        }
        EdmType::String => {
            let array = array.as_string::<i32>();
            match (min_string(array), max_string(array)) {
                (Some(least), Some(greatest)) => {
                    let least = &least[..least.floor_char_boundary(TEXT_KEPT)];
                    Extremes::Texts(least.into(), (greatest.len() <= TEXT_KEPT).then(|| greatest.into()))
                }
                _ => Extremes::Unknown,
            }
        }
        EdmType::Guid | EdmType::Binary => Extremes::Unknown,
    }
}

fn integers(least: Option<i64>, greatest: Option<i64>) -> Extremes {
    least.zip(greatest).map_or(Extremes::Unknown, |(least, greatest)| Extremes::Integers(least, greatest))
}

fn not_written(path: &Path, error: ArrowError) -> StoreError {
    match error {
        ArrowError::IoError(_, error) => io_error(path, &error),
        error => StoreError::Damaged { place: path.display().to_string(), detail: error.to_string() },
    }
}

//! The manifest: which segments count and what is in their files, kept in the engine.
//!
//! ```text
//! h                 the number of the last commit that knew of the segments
//! s  from           one segment, under the start of its span, which begins with the table's number
//! ```
//!
//! A program that does not know of segments can open the folder and write; its commits do not move `h`, and then no
//! segment counts any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::ipc::convert::{IpcSchemaEncoder, fb_to_schema};
use arrow::ipc::root_as_schema;
use fjall::OwnedWriteBatch;
use tablegate_store::model::{EdmType, PropertyName};
use tablegate_store::table::StoreError;

use super::super::bytes::{Bytes, put_blob, put_text, put_varint};
use super::super::engine::Engine;
use super::super::guard::Folder;
use super::super::key_bytes::ByteSpan;
use super::super::meta::{Live, TableMeta};
use super::file::SegmentFile;
use super::{Segment, SegmentOptions, TableSegments, folder};

/// The version of the bytes of a record, and of the files.
const VERSION: u8 = 3;
const HEAD: &[u8] = b"h";

/// One segment, without its file.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::embedded) struct SegmentMeta {
    /// Every row in it is in the segment.
    pub(in crate::embedded) span: ByteSpan,
    /// The commit as of which it has the rows.
    pub(in crate::embedded) number: u64,
    pub(super) file: String,
    pub(super) file_bytes: u64,
    pub(in crate::embedded) rows: u64,
    /// The properties, in the order of their columns in the file.
    pub(super) columns: Vec<SegmentColumn>,
    /// The derived columns behind them, each under its id.
    pub(super) kept: SchemaRef,
    pub(super) batches: Vec<BatchMeta>,
}

/// The values that one property has with one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SegmentColumn {
    pub(super) name: PropertyName,
    pub(super) edm_type: EdmType,
}

/// A record batch of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BatchMeta {
    pub(super) rows: usize,
    /// Keys of rows, as bytes.
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
    /// Where the file has it: its header, and behind that its columns.
    pub(super) offset: u64,
    pub(super) header_bytes: u32,
    pub(super) body_bytes: u64,
    pub(super) header_checksum: u64,
    /// Of every column of the file, in its order.
    pub(super) columns: Vec<ColumnMeta>,
}

/// A column of a batch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnMeta {
    pub(super) checksum: u64,
    pub(super) nulls: usize,
    pub(super) extremes: Extremes,
}

/// The least and the greatest value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Extremes {
    /// There are none, or they are not worth knowing.
    Unknown,
    /// Of integers, and of instants in microseconds.
    Integers(i64, i64),
    Doubles(f64, f64),
    /// The start of the least text, and the greatest one unless it is long.
    Texts(Box<str>, Option<Box<str>>),
}

impl SegmentMeta {
    fn encode(&self, is_given_up: bool) -> Vec<u8> {
        let mut out = vec![VERSION, is_given_up.into()];
        put_blob(&mut out, &self.span.to);
        out.extend_from_slice(&self.number.to_le_bytes());
        put_text(&mut out, &self.file);
        put_varint(&mut out, self.file_bytes);
        put_varint(&mut out, self.columns.len() as u64);
        for column in &self.columns {
            put_text(&mut out, column.name.as_str());
            out.push(column.edm_type.code());
        }
        put_blob(&mut out, IpcSchemaEncoder::new().schema_to_fb(&self.kept).finished_data());
        put_varint(&mut out, self.batches.len() as u64);
        for batch in &self.batches {
            batch.encode(&mut out);
        }
        out
    }

    /// And whether it was given up.
    fn parse(from: &[u8], value: &[u8]) -> Option<(Self, bool)> {
        let mut bytes = Bytes::new(value);
        (bytes.byte()? == VERSION).then_some(())?;
        let is_given_up = bytes.byte()? != 0;
        let span = ByteSpan { from: from.to_vec(), to: bytes.blob()?.to_vec() };
        let number = u64::from_le_bytes(bytes.array()?);
        let file = bytes.text()?.to_owned();
        let file_bytes = bytes.varint()?;
        let mut columns = Vec::new();
        for _ in 0..bytes.varint()? {
            let name = PropertyName::parse(bytes.text()?).ok()?;
            columns.push(SegmentColumn { name, edm_type: EdmType::from_code(bytes.byte()?)? });
        }
        let kept = Arc::new(fb_to_schema(root_as_schema(bytes.blob()?).ok()?));
        let mut batches = Vec::new();
        for _ in 0..bytes.varint()? {
            batches.push(BatchMeta::parse(&mut bytes)?);
        }
        let rows = batches.iter().map(|batch: &BatchMeta| batch.rows as u64).sum();
        let meta = Self { span, number, file, file_bytes, rows, columns, kept, batches };
        bytes.is_empty().then_some((meta, is_given_up))
    }
}

impl BatchMeta {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.rows as u64);
        put_blob(out, &self.first);
        put_blob(out, &self.last);
        put_varint(out, self.offset);
        put_varint(out, self.header_bytes.into());
        put_varint(out, self.body_bytes);
        out.extend_from_slice(&self.header_checksum.to_le_bytes());
        put_varint(out, self.columns.len() as u64);
        for column in &self.columns {
            out.extend_from_slice(&column.checksum.to_le_bytes());
            put_varint(out, column.nulls as u64);
            column.extremes.encode(out);
        }
    }

    fn parse(bytes: &mut Bytes<'_>) -> Option<Self> {
        let rows = usize::try_from(bytes.varint()?).ok()?;
        let (first, last) = (bytes.blob()?.to_vec(), bytes.blob()?.to_vec());
        let (offset, header_bytes) = (bytes.varint()?, u32::try_from(bytes.varint()?).ok()?);
        let body_bytes = bytes.varint()?;
        let header_checksum = u64::from_le_bytes(bytes.array()?);
        let mut columns = Vec::new();
        for _ in 0..bytes.varint()? {
            let checksum = u64::from_le_bytes(bytes.array()?);
            let nulls = usize::try_from(bytes.varint()?).ok()?;
            columns.push(ColumnMeta { checksum, nulls, extremes: Extremes::parse(bytes)? });
        }
        Some(Self { rows, first, last, offset, header_bytes, body_bytes, header_checksum, columns })
    }
}

impl Extremes {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Extremes::Unknown => out.push(0),
            Extremes::Integers(least, greatest) => {
                out.push(1);
                out.extend([least, greatest].iter().flat_map(|v| v.to_le_bytes()));
            }
            Extremes::Doubles(least, greatest) => {
                out.push(2);
                out.extend([least, greatest].iter().flat_map(|v| v.to_bits().to_le_bytes()));
            }
            Extremes::Texts(least, greatest) => {
                out.push(if greatest.is_some() { 4 } else { 3 });
                put_text(out, least);
                if let Some(greatest) = greatest {
                    put_text(out, greatest);
                }
            }
        }
    }

    fn parse(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(match bytes.byte()? {
            0 => Extremes::Unknown,
            1 => Extremes::Integers(i64::from_le_bytes(bytes.array()?), i64::from_le_bytes(bytes.array()?)),
            2 => Extremes::Doubles(f64::from_le_bytes(bytes.array()?), f64::from_le_bytes(bytes.array()?)),
            3 => Extremes::Texts(bytes.text()?.into(), None),
            4 => Extremes::Texts(bytes.text()?.into(), Some(bytes.text()?.into())),
            _ => return None,
        })
    }
}

pub(super) fn put(segment: &Segment, engine: &Engine, batch: &mut OwnedWriteBatch) {
    batch.insert(&engine.segments, key(&segment.meta.span.from), segment.meta.encode(false));
}

/// From this commit on the delta lacks what is written into the segment's span.
pub(super) fn put_given_up(segment: &Segment, engine: &Engine, batch: &mut OwnedWriteBatch) {
    batch.insert(&engine.segments, key(&segment.meta.span.from), segment.meta.encode(true));
}

pub(super) fn remove(segment: &Segment, engine: &Engine, batch: &mut OwnedWriteBatch) {
    batch.remove(&engine.segments, key(&segment.meta.span.from));
}

/// The segments of a table that is dropped count no more.
pub(in crate::embedded) fn put_dropped(table: &TableMeta, engine: &Engine, batch: &mut OwnedWriteBatch) {
    for segment in table.segments.list() {
        remove(segment, engine, batch);
    }
}

/// This commit knew of the segments.
pub(in crate::embedded) fn put_head(commit: u64, engine: &Engine, batch: &mut OwnedWriteBatch) {
    batch.insert(&engine.segments, HEAD, commit.to_le_bytes().as_slice());
}

fn key(from: &[u8]) -> Vec<u8> {
    [b"s".as_slice(), from].concat()
}

/// Gives the tables their segments, and deletes every file that no segment has.
///
/// # Errors
/// [`StoreError::Damaged`] when the engine cannot read its files, otherwise what the disk says.
pub(in crate::embedded) fn load(
    engine: &Engine,
    folder: &Folder,
    options: &SegmentOptions,
    live: &mut Live,
) -> Result<(), StoreError> {
    if !options.enabled {
        // Commits of this run do not move the head: whatever is there counts no more once there was one.
        return Ok(());
    }
    let path = folder.segments();
    let pairs: Vec<fjall::KvPair> =
        engine.guarded(|| engine.segments.iter().map(fjall::Guard::into_inner).collect())?;
    let records = pairs.len();
    let found = parse_all(&pairs, live).unwrap_or_else(|| {
        if records > 1 {
            tracing::warn!(
                "the segments are not of the last commit: tables are read by their rows until they are made anew"
            );
        }
        BTreeMap::new()
    });
    if found.is_empty() && records > 0 {
        let mut batch = engine.batch();
        for (key, _) in pairs {
            batch.remove(&engine.segments, key);
        }
        engine.write(batch).map_err(StoreError::from)?;
    }
    folder::delete_orphans(&path, found.values().flatten().map(|(meta, _)| meta.file.as_str()))?;
    live.has_segments = !found.is_empty();
    let tables = Arc::make_mut(&mut live.tables);
    for table in tables.values_mut() {
        let Some(metas) = found.get(&table.number) else { continue };
        let open = |(meta, is_given_up): &(SegmentMeta, bool)| {
            let file = SegmentFile::open(path.join(&meta.file), meta);
            let segment = Segment::new(file, meta.clone());
            if *is_given_up {
                segment.give_up();
            }
            Arc::new(segment)
        };
        let list = metas.iter().map(open).collect();
        Arc::make_mut(table).segments = Arc::new(TableSegments::new(list, options.few_rows));
    }
    Ok(())
}

/// The segments of each table that is there, and whether they were given up; `None` when they are not those of the last
/// commit.
fn parse_all(pairs: &[fjall::KvPair], live: &Live) -> Option<BTreeMap<u32, Vec<(SegmentMeta, bool)>>> {
    let tables: Vec<u32> = live.tables.values().map(|table| table.number).collect();
    let mut found: BTreeMap<u32, Vec<(SegmentMeta, bool)>> = BTreeMap::new();
    let mut is_current = false;
    for (key, value) in pairs {
        match key.split_first()? {
            (b'h', []) => is_current = u64::from_le_bytes(value.as_ref().try_into().ok()?) == live.commit,
            (b's', from) => {
                let meta = SegmentMeta::parse(from, value)?;
                let table = u32::from_be_bytes(*from.first_chunk()?);
                let of_table = found.entry(table).or_default();
                let is_behind = of_table.last().is_none_or(|(before, _)| before.span.to <= meta.0.span.from);
                (is_behind && tables.contains(&table)).then_some(())?;
                of_table.push(meta);
            }
            _ => return None,
        }
    }
    is_current.then_some(found)
}

//! Columnar segments: the rows of a range of keys once more, as columns, for scans that read many of them.
//!
//! Rows stay the truth; segments are made of them, in the background ([`builder`]), and may be lost at any time.
//!
//! ```text
//! segments/ID.arrow   a file in Arrow's IPC format, never changed: the rows of a span of keys as of one commit, sorted
//! manifest            in the engine: which files count, their spans, commits, batches with checksums, least and greatest
//! delta               in the engine: what was written into these spans since, under the same keys, with its commit
//! ```
//!
//! A scan takes a span's segment and lays over it the delta's entries that are younger than it ([`piece`], [`changes`]),
//! all in the snapshot of its view, decoded once as long as no more is written ([`recent`]); where a segment cannot show what is asked for, or its file is damaged, it reads the rows. Batches
//! without a row that the scan is for are not read ([`prune`]), and several threads share a scan ([`split`]). What is asked
//! for again and again in another form than it is stored in is kept in that form too ([`derived`]).
//!
//! What is written into a span goes to the delta in the batch that writes the row, from the moment on when the building
//! of its segment begins ([`install`]), until so much of it is written, and so fast, that the segment is given up until
//! it is made anew. A file is complete on the disk, and its folder too, before one batch puts it into the manifest. A
//! crash before that leaves a file that the manifest does not name, which is deleted at the next start; a crash after
//! it leaves delta entries that the segment holds already, which scans skip by their commit and which are removed piece
//! by piece.

mod assemble;
pub(super) mod builder;
mod changes;
pub(super) mod delta;
pub(super) mod derived;
mod file;
mod folder;
pub(super) mod install;
pub(super) mod manifest;
mod own;
pub(super) mod piece;
mod prune;
mod recent;
pub(super) mod split;
mod status;
#[cfg(test)]
mod tests;
mod untouched;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::ArrayRef;

use self::file::SegmentFile;
use self::manifest::{BatchMeta, SegmentMeta};
use self::recent::Recent;
use super::encoded_keys::EncodedKeys;
use super::key_bytes::ByteSpan;

/// Fewer rows of a segment are no large write: the same few may come again and again, which only the worker can tell from others.
const MANY_ROWS: usize = 1_000;

/// When rows are kept as columns too.
#[derive(Debug, Clone)]
pub struct SegmentOptions {
    pub enabled: bool,
    /// Rows without a segment that are worth making one.
    pub min_rows: u64,
    /// In percent of a segment's rows: what may be written into its span before it is made anew.
    pub dirty_percent: u64,
    /// Most rows in a segment, which is what is made anew at a time.
    pub segment_rows: u64,
    /// Most rows in a batch of a segment.
    pub batch_rows: usize,
    /// Scans that return no more than this read rows: a few of them cost less there.
    pub few_rows: usize,
    /// How often is looked for something to do.
    pub interval: Duration,
}

impl Default for SegmentOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            min_rows: 50_000,
            dirty_percent: 2,
            segment_rows: 1 << 20,
            batch_rows: 1 << 16,
            few_rows: 1024,
            interval: Duration::from_secs(1),
        }
    }
}

impl SegmentOptions {
    /// Rows only.
    pub fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }

    /// For tests: a segment for whatever there is, of many small batches, and anew after each change. It is made when
    /// it is asked for ([`super::EmbeddedStore::build_segments`]).
    pub fn eager() -> Self {
        Self {
            enabled: true,
            min_rows: 1,
            dirty_percent: 0,
            segment_rows: 500,
            batch_rows: 64,
            few_rows: 0,
            interval: Duration::from_secs(3600),
        }
    }
}

/// A span of keys as columns. Its file goes with the last one who holds a segment that was condemned.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) meta: SegmentMeta,
    file: SegmentFile,
    /// How often its span was written to since it was made, at most; [`UNKNOWN`] until somebody has counted.
    dirty: AtomicU64,
    /// The last commit that wrote into its span, of those since the store was opened.
    written_at: AtomicU64,
    is_given_up: AtomicBool,
    recent: Recent,
}

/// More than any number of writes.
const UNKNOWN: u64 = u64::MAX / 2;

impl Segment {
    fn new(file: SegmentFile, meta: SegmentMeta) -> Self {
        let (dirty, written_at) = (AtomicU64::new(UNKNOWN), AtomicU64::new(0));
        Self { meta, file, dirty, written_at, is_given_up: AtomicBool::new(false), recent: Recent::default() }
    }

    /// A span within its own, cut where its batches begin.
    pub(super) fn batches_within(&self, span: ByteSpan) -> Vec<ByteSpan> {
        let starts = self.meta.batches.iter().skip(1).map(|batch| batch.first.as_slice());
        let cuts: Vec<&[u8]> =
            starts.filter(|start| span.from.as_slice() < *start && *start < span.to.as_slice()).collect();
        let mut spans = Vec::with_capacity(cuts.len() + 1);
        let mut from = span.from;
        for cut in cuts {
            spans.push(ByteSpan { from: std::mem::replace(&mut from, cut.to_vec()), to: cut.to_vec() });
        }
        spans.push(ByteSpan { from, to: span.to });
        spans
    }

    /// A row of its span is about to be written by a commit.
    pub(super) fn note_write(&self, commit: u64) {
        self.written_at.fetch_max(commit, Ordering::Relaxed);
        self.dirty.fetch_add(1, Ordering::Relaxed);
    }

    /// How often its span was written to since it was made, at most; [`UNKNOWN`] and more until somebody has counted.
    fn dirty(&self) -> u64 {
        self.dirty.load(Ordering::Relaxed)
    }

    /// The last commit that wrote into its span; 0 when that was before the store was opened, or before it was made.
    fn written_at(&self) -> u64 {
        self.written_at.load(Ordering::Relaxed)
    }

    /// Nothing was written into its span since. Who sees a write was told of it after it was counted here.
    fn is_clean(&self) -> bool {
        self.dirty() == 0
    }

    /// Whether the rows are read instead of this segment: a good part of them was written since it was made, or it is
    /// unknown which ones were.
    fn is_overwritten(&self) -> bool {
        self.is_given_up() || self.is_overwritten_with(0)
    }

    /// The same, with so many rows more.
    fn is_overwritten_with(&self, rows: u64) -> bool {
        let dirty = self.dirty();
        dirty < UNKNOWN && dirty + rows > self.meta.rows / 4
    }

    /// Whether so much is written into its span that keeping its delta would cost more than the segment is worth. Until
    /// it is made anew the delta lacks what is written there, so only readers with a snapshot from before it was given
    /// up may use it.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// It was given up, on the disk too.
    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// The physical column of a batch; `None` when the file is not what was written.
    fn array(&self, batch: usize, column: usize) -> Option<&ArrayRef> {
        self.file.array(&self.meta, batch, column)
    }

    /// Whether that column was read already.
    fn has_array(&self, batch: usize, column: usize) -> bool {
        self.file.has_array(batch, column)
    }

    /// Its file is not what was written.
    fn is_damaged(&self) -> bool {
        self.file.is_damaged()
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.meta.file_bytes
    }

    /// To be called once no published view has the segment any more: its file is deleted after its last reader is done.
    pub(super) fn condemn(&self) {
        self.file.condemn();
    }
}

/// A part of a span, and its segment.
type Part<'a> = (Option<&'a Arc<Segment>>, ByteSpan);

/// The segments of one table: their spans are disjoint and ascend.
#[derive(Debug, Default)]
pub(super) struct TableSegments {
    list: Vec<Arc<Segment>>,
    few_rows: usize,
}

impl TableSegments {
    fn new(list: Vec<Arc<Segment>>, few_rows: usize) -> Self {
        Self { list, few_rows }
    }

    pub(super) fn list(&self) -> &[Arc<Segment>] {
        &self.list
    }

    /// The segment whose span holds this key of a row.
    pub(super) fn find(&self, key: &[u8]) -> Option<&Arc<Segment>> {
        let behind = self.list.partition_point(|segment| segment.meta.span.from.as_slice() <= key);
        let segment = self.list.get(behind.checked_sub(1)?)?;
        (key < segment.meta.span.to.as_slice()).then_some(segment)
    }

    /// Those of which so much is overwritten, once the rows with these keys are written, that the rows are read instead.
    pub(super) fn outdated_by(&self, windows: &[&EncodedKeys]) -> Vec<Arc<Segment>> {
        let is_outdated = |segment: &&Arc<Segment>| {
            let rows = windows.iter().map(|keys| keys.count_within(&segment.meta.span)).sum::<usize>();
            rows >= MANY_ROWS && !segment.is_given_up() && segment.is_overwritten_with(rows as u64)
        };
        self.list.iter().filter(is_outdated).cloned().collect()
    }

    fn rows(&self) -> u64 {
        self.list.iter().map(|segment| segment.meta.rows).sum()
    }

    /// Where the rows begin that are behind every segment.
    fn end(&self) -> Option<&[u8]> {
        self.list.last().map(|segment| segment.meta.span.to.as_slice())
    }

    /// With other segments in the place of one, or with further ones.
    fn with(&self, removed: Option<&Arc<Segment>>, added: &[Arc<Segment>], few_rows: usize) -> Self {
        let is_kept = |segment: &&Arc<Segment>| removed.is_none_or(|removed| !Arc::ptr_eq(segment, removed));
        let mut list: Vec<_> = self.list.iter().filter(is_kept).chain(added).cloned().collect();
        list.sort_by(|a, b| a.meta.span.from.cmp(&b.meta.span.from));
        Self { list, few_rows }
    }

    /// The parts of a span that have segments, and those that have none, in order. `None` when rows are the better way
    /// to read it.
    pub(super) fn cut(&self, span: &ByteSpan, limit: Option<usize>) -> Option<Vec<Part<'_>>> {
        if limit.is_some_and(|limit| limit <= self.few_rows) {
            return None;
        }
        let mut parts = Vec::new();
        let mut from = span.from.as_slice();
        for segment in &self.list {
            let own = &segment.meta.span;
            if own.to.as_slice() <= from || own.from >= span.to {
                continue;
            }
            if from < own.from.as_slice() {
                parts.push((None, ByteSpan { from: from.to_vec(), to: own.from.clone() }));
                from = &own.from;
            }
            let to = own.to.as_slice().min(&span.to);
            // Laying so much over it takes longer than reading rows.
            let is_worth = !segment.is_overwritten() || (self.few_rows == 0 && !segment.is_given_up());
            let segment = Some(segment).filter(|_| is_worth);
            parts.push((segment, ByteSpan { from: from.to_vec(), to: to.to_vec() }));
            from = to;
        }
        if parts.iter().all(|(segment, _)| segment.is_none()) || (self.few_rows > 0 && is_in_written_batch(&parts)) {
            return None;
        }
        if from < span.to.as_slice() {
            parts.push((None, ByteSpan { from: from.to_vec(), to: span.to.clone() }));
        }
        Some(parts)
    }
}

/// Whether all of it lies within one batch, whose segment was written to since: most such spans are of a few rows of one
/// partition, and looking for what to lay over them takes longer than reading them.
fn is_in_written_batch(parts: &[Part<'_>]) -> bool {
    let [(Some(segment), span)] = parts else { return false };
    let is_within = |batch: &BatchMeta| batch.first < span.from && span.to <= batch.last;
    let near = segment.meta.batches.partition_point(|batch| batch.last < span.from);
    !segment.is_clean() && segment.meta.batches.get(near).is_some_and(is_within)
}

//! What `table_segments` shows: which segments there are, and which one is being made.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fjall::KvPair;
use tablegate_store::model::EntityKey;
use tablegate_store::table::{SegmentFigures, SegmentState};

use super::super::key_bytes;
use super::super::meta::TableMeta;
use super::{Segment, UNKNOWN};

/// What the thread that makes segments is doing, written by that thread and readable by any other.
#[derive(Debug, Default)]
pub(super) struct Progress(Mutex<Option<Work>>);

/// A segment that is being made, or several of one span.
#[derive(Debug)]
struct Work {
    table: u32,
    commit: u64,
    stage: SegmentState,
    rows: u64,
    /// Keys of rows, once there are some.
    first: Vec<u8>,
    last: Vec<u8>,
}

/// It is shown until this is dropped.
pub(super) struct Shown<'a>(&'a Progress);

impl Progress {
    /// Rows of this table, as of this commit, are being written.
    pub(super) fn begin(&self, table: u32, commit: u64, stage: SegmentState) -> Shown<'_> {
        let (first, last) = Default::default();
        *self.lock() = Some(Work { table, commit, stage, rows: 0, first, last });
        Shown(self)
    }

    /// These rows were written too.
    pub(super) fn add(&self, rows: &[KvPair]) {
        let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else { return };
        if let Some(work) = &mut *self.lock() {
            if work.rows == 0 {
                work.first = first.to_vec();
            }
            work.last = last.to_vec();
            work.rows += rows.len() as u64;
        }
    }

    pub(super) fn enter(&self, stage: SegmentState) {
        if let Some(work) = &mut *self.lock() {
            work.stage = stage;
        }
    }

    pub(super) fn is_working(&self) -> bool {
        self.lock().is_some()
    }

    /// The segments of a table in the order of their keys, and behind them the one that is being made.
    pub(super) fn figures_of(&self, table: &TableMeta) -> Vec<SegmentFigures> {
        let mut figures: Vec<_> = table.segments.list().iter().map(|segment| segment.figures()).collect();
        let work = self.lock();
        figures.extend(work.as_ref().filter(|work| work.table == table.number).map(Work::figures));
        figures
    }

    fn lock(&self) -> MutexGuard<'_, Option<Work>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl Work {
    fn figures(&self) -> SegmentFigures {
        SegmentFigures {
            keys: keys(&self.first, &self.last),
            entities: self.rows,
            bytes: None,
            commit: self.commit,
            dirty: None,
            built_at: None,
            state: self.stage,
        }
    }
}

impl Segment {
    fn figures(&self) -> SegmentFigures {
        let batches = &self.meta.batches;
        let ends = batches.first().zip(batches.last());
        let dirty = self.dirty();
        SegmentFigures {
            keys: ends.and_then(|(first, last)| keys(&first.first, &last.last)),
            entities: self.meta.rows,
            bytes: Some(self.meta.file_bytes),
            commit: self.meta.number,
            dirty: Some(dirty).filter(|dirty| *dirty < UNKNOWN),
            built_at: self.file.written_at(),
            state: match dirty {
                _ if self.is_damaged() => SegmentState::Damaged,
                _ if self.is_overwritten() => SegmentState::Overwritten,
                0 => SegmentState::Clean,
                _ => SegmentState::Dirty,
            },
        }
    }
}

fn keys(first: &[u8], last: &[u8]) -> Option<(EntityKey, EntityKey)> {
    let key = |bytes| key_bytes::parse(bytes).and_then(|(partition, row)| EntityKey::parse(partition, row).ok());
    key(first).zip(key(last))
}

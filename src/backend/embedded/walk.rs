//! The rows of a scan, one after the other: key ranges become ranges of bytes, which are read in the scan's direction.
//!
//! Where the same row spans apply to many partitions, nobody knows which partitions there are. One look-up finds the
//! next partition, its spans are read, and the next look-up starts behind it: rows between the spans are never read.

use std::collections::VecDeque;
use std::sync::Arc;

use fjall::{Guard, Iter, KvPair};

use super::analyze::damaged_key;
use super::engine::Engine;
use super::key_bytes::{self, ByteSpan};
use super::meta::TableMeta;
use super::reader::View;
use crate::model::Span;
use crate::table::{Direction, KeyRange, ScanRequest, StoreError};

pub(super) struct Walk {
    rows: Option<Iter>,
    view: Arc<View>,
    table: Arc<TableMeta>,
    request: Arc<ScanRequest>,
    /// How many of the request's ranges were begun.
    begun: usize,
    /// The partitions of the current range whose rows are still to be looked at, and the spans of rows.
    hop: Option<(ByteSpan, Arc<[Span]>)>,
    /// What is to be read next.
    targets: VecDeque<Target>,
}

enum Target {
    Row(Vec<u8>),
    Rows(ByteSpan),
}

impl Walk {
    pub(super) fn new(view: Arc<View>, table: Arc<TableMeta>, request: Arc<ScanRequest>) -> Self {
        Self { rows: None, view, table, request, begun: 0, hop: None, targets: VecDeque::new() }
    }

    /// The engine to read from, for one batch.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it was closed.
    pub(super) fn engine(&self) -> Result<Arc<Engine>, StoreError> {
        self.view.engine()
    }

    /// Key and bytes of the next row.
    pub(super) fn next_row(&mut self, engine: &Engine) -> Result<Option<KvPair>, StoreError> {
        loop {
            if let Some(rows) = &mut self.rows {
                let direction = self.request.direction;
                let next = || step(rows, direction).map(Guard::into_inner).transpose();
                match engine.guarded(next)? {
                    Some(row) => return Ok(Some(row)),
                    None => self.rows = None,
                }
            } else if let Some(target) = self.targets.pop_front() {
                self.request.stats.add_request();
                match target {
                    Target::Row(key) => {
                        if let Some(value) = self.view.row(engine, &key)? {
                            return Ok(Some((key.into(), value)));
                        }
                    }
                    Target::Rows(span) => self.rows = Some(self.view.range(engine, &span)?),
                }
            } else if let Some((partitions, spans)) = self.hop.take() {
                self.hop_on(engine, partitions, spans)?;
            } else if !self.begin_range() {
                return Ok(None);
            }
        }
    }

    /// False when there is no further range.
    fn begin_range(&mut self) -> bool {
        let ranges = &self.request.ranges;
        let range = match self.request.direction {
            Direction::Forward => ranges.get(self.begun),
            Direction::Reverse => ranges.iter().rev().nth(self.begun),
        };
        let Some(range) = range.cloned() else { return false };
        self.begun += 1;
        self.add_range(&range);
        true
    }

    fn add_range(&mut self, range: &KeyRange) {
        let partitions = key_bytes::of_partitions(self.table.number, &range.partitions);
        if partitions.is_empty() || range.rows.is_empty() {
            return;
        }
        if range.has_all_rows() {
            self.targets.push_back(Target::Rows(partitions));
        } else if let Some(partition) = range.partitions.as_point() {
            self.add_rows(partition, &range.rows);
        } else {
            self.hop = Some((partitions, Arc::clone(&range.rows)));
        }
    }

    fn add_rows(&mut self, partition: &str, spans: &[Span]) {
        let number = self.table.number;
        let target = |span: &Span| match span.as_point() {
            Some(row) => Some(Target::Row(key_bytes::of_row(number, partition, row))),
            None => Some(key_bytes::of_rows(number, partition, span)).filter(|span| !span.is_empty()).map(Target::Rows),
        };
        match self.request.direction {
            Direction::Forward => self.targets.extend(spans.iter().filter_map(target)),
            Direction::Reverse => self.targets.extend(spans.iter().rev().filter_map(target)),
        }
    }

    /// Finds the next partition and puts its spans into the queue; what is behind it waits.
    fn hop_on(&mut self, engine: &Engine, mut partitions: ByteSpan, spans: Arc<[Span]>) -> Result<(), StoreError> {
        if partitions.is_empty() {
            return Ok(());
        }
        self.request.stats.add_request();
        let mut rows = self.view.range(engine, &partitions)?;
        let direction = self.request.direction;
        let Some(key) = engine.guarded(|| step(&mut rows, direction).map(Guard::key).transpose())? else {
            return Ok(());
        };
        let (partition, _) = key_bytes::parse(&key).ok_or_else(|| damaged_key(&self.table, &key))?;
        match direction {
            Direction::Forward => partitions.from = key_bytes::end_of_partition(self.table.number, partition),
            Direction::Reverse => partitions.to = key_bytes::start_of_partition(self.table.number, partition),
        }
        self.add_rows(partition, &spans);
        self.hop = Some((partitions, spans));
        Ok(())
    }
}

fn step(rows: &mut Iter, direction: Direction) -> Option<Guard> {
    match direction {
        Direction::Forward => rows.next(),
        Direction::Reverse => rows.next_back(),
    }
}

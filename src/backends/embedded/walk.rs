//! The rows of a scan, one after the other: key ranges become ranges of bytes, which are read in the scan's direction.
//!
//! What is kept as columns too is cut out and left to [`Piece`].
//!
//! Where the same row spans apply to many partitions, it is not known beforehand which partitions exist. One look-up
//! finds the next partition, its spans are read, and the next look-up starts behind it: rows between the spans are
//! never read.

use std::collections::VecDeque;
use std::sync::Arc;

use fjall::{Guard, Iter, Slice};
use tablegate_store::model::Span;
use tablegate_store::table::{Direction, KeyRange, ScanRequest, StoreError};

use super::analyze::damaged_key;
use super::engine::Engine;
use super::key_bytes::{self, ByteSpan};
use super::meta::TableMeta;
use super::reader::View;
use super::segment::piece::Piece;

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
    /// Segments are not looked at.
    rows_alone: bool,
}

enum Target {
    Row(Vec<u8>),
    /// From segments where there are some.
    Span(ByteSpan),
    Rows(ByteSpan),
    Piece(Box<Piece>),
}

/// What a walk comes to.
pub(super) enum Next {
    Row(Slice, Slice),
    /// A span to be read from its segment, which is to be put back until it is done.
    Piece(Box<Piece>),
    End,
}

impl Walk {
    pub(super) fn new(view: Arc<View>, table: Arc<TableMeta>, request: Arc<ScanRequest>) -> Self {
        let (rows, hop, targets) = Default::default();
        Self { rows, view, table, request, begun: 0, hop, targets, rows_alone: false }
    }

    /// The same, with a row for each entity whatever else it is kept as.
    pub(super) fn of_rows(view: Arc<View>, table: Arc<TableMeta>, request: Arc<ScanRequest>) -> Self {
        Self { rows_alone: true, ..Self::new(view, table, request) }
    }

    /// The engine to read from, for one batch.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it was closed.
    pub(super) fn engine(&self) -> Result<Arc<Engine>, StoreError> {
        self.view.engine()
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// The piece is what comes next.
    pub(super) fn put_back(&mut self, piece: Box<Piece>) {
        self.targets.push_front(Target::Piece(piece));
    }

    /// The rows of this span are what comes next.
    pub(super) fn put_rows(&mut self, span: ByteSpan) {
        self.targets.push_front(Target::Rows(span));
    }

    pub(super) fn next(&mut self, engine: &Engine) -> Result<Next, StoreError> {
        loop {
            if let Some(rows) = &mut self.rows {
                let direction = self.request.direction;
                let next = || step(rows, direction).map(Guard::into_inner).transpose();
                match engine.guarded(next)? {
                    Some((key, value)) => return Ok(Next::Row(key, value)),
                    None => self.rows = None,
                }
            } else if let Some(target) = self.targets.pop_front() {
                match target {
                    Target::Row(key) => {
                        self.request.stats.add_request();
                        if let Some(value) = self.view.row(engine, &key)? {
                            return Ok(Next::Row(key.into(), value));
                        }
                    }
                    Target::Span(span) => self.add_parts(span),
                    Target::Rows(span) => {
                        self.request.stats.add_request();
                        self.rows = Some(self.view.range(engine, &span)?);
                    }
                    Target::Piece(piece) => return Ok(Next::Piece(piece)),
                }
            } else if let Some((partitions, spans)) = self.hop.take() {
                self.hop_on(engine, partitions, spans)?;
            } else if !self.begin_range() {
                return Ok(Next::End);
            }
        }
    }

    /// Cuts a span where its segments begin and end, and those that are read backwards into their batches.
    fn add_parts(&mut self, span: ByteSpan) {
        let segments = Arc::clone(&self.table.segments);
        let parts = (!self.rows_alone).then(|| segments.cut(&span, self.request.limit)).flatten();
        let Some(parts) = parts else { return self.put_rows(span) };
        let direction = self.request.direction;
        let mut targets = Vec::with_capacity(parts.len());
        for (segment, span) in parts {
            let Some(segment) = segment else {
                targets.push(Target::Rows(span));
                continue;
            };
            self.request.stats.add_request();
            let spans = match direction {
                Direction::Forward => vec![span],
                Direction::Reverse => segment.batches_within(span),
            };
            let piece = |span| Target::Piece(Box::new(Piece::new(segment, span, self.request.predicate.clone())));
            targets.extend(spans.into_iter().map(piece));
        }
        if direction == Direction::Forward {
            targets.reverse();
        }
        // What is put there last is read first.
        targets.into_iter().for_each(|target| self.targets.push_front(target));
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
            self.targets.push_back(Target::Span(partitions));
        } else if let Some(partition) = range.partitions.as_point() {
            self.add_rows(partition, &range.rows, Target::Span);
        } else {
            self.hop = Some((partitions, Arc::clone(&range.rows)));
        }
    }

    fn add_rows(&mut self, partition: &str, spans: &[Span], target_of: fn(ByteSpan) -> Target) {
        let number = self.table.number;
        let target = |span: &Span| match span.as_point() {
            Some(row) => Some(Target::Row(key_bytes::of_row(number, partition, row))),
            None => Some(key_bytes::of_rows(number, partition, span)).filter(|span| !span.is_empty()).map(target_of),
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
        // Few rows in each of many partitions.
        self.add_rows(partition, &spans, Target::Rows);
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

//! What a scan is asked for, and what it reports about itself.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::record_batch::RecordBatch;
use futures::Stream;

use super::{Predicate, ScanColumns, StoreError};
use crate::model::{Cut, EntityKey, Span, TableName};

/// Record batches in key order, each with exactly the asked-for columns and at least one row.
pub type ScanStream = Pin<Box<dyn Stream<Item = Result<RecordBatch, StoreError>> + Send>>;

/// The entities whose PartitionKey lies in `partitions` and whose RowKey lies in one of `rows`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub partitions: Span,
    /// Ascending, disjoint. The same spans apply in every partition.
    pub rows: Arc<[Span]>,
}

impl KeyRange {
    /// The whole table.
    pub fn all() -> Self {
        Self { partitions: Span::ALL, rows: Arc::new([Span::ALL]) }
    }

    /// The keys from the first one on that are before the second; without them from the start, and to the end. Ascending and
    /// disjoint.
    pub fn between(from: Option<&EntityKey>, to: Option<&EntityKey>) -> Vec<Self> {
        let of = |key: &EntityKey, rows: Span| KeyRange {
            partitions: Span::point(key.partition.shared().clone()),
            rows: Arc::new([rows]),
        };
        let rows_from = |key: &EntityKey| Span { from: Cut::Before(key.row.shared().clone()), to: Cut::Max };
        let rows_to = |key: &EntityKey| Span { from: Cut::Min, to: Cut::Before(key.row.shared().clone()) };
        if let (Some(from), Some(to)) = (from, to)
            && from.partition == to.partition
        {
            return vec![of(from, rows_from(from).intersect(&rows_to(to)))];
        }
        let partitions = Span {
            from: from.map_or(Cut::Min, |key| Cut::After(key.partition.shared().clone())),
            to: to.map_or(Cut::Max, |key| Cut::Before(key.partition.shared().clone())),
        };
        let first = from.map(|key| of(key, rows_from(key)));
        let last = to.map(|key| of(key, rows_to(key)));
        let whole = KeyRange { partitions, rows: Arc::new([Span::ALL]) };
        first.into_iter().chain([whole]).chain(last).filter(|range| !range.partitions.is_empty()).collect()
    }

    /// Whether the key lies in the range.
    pub fn contains(&self, key: &EntityKey) -> bool {
        self.contains_pair(key.partition.as_str(), key.row.as_str())
    }

    /// The same of a key in its parts.
    pub fn contains_pair(&self, partition: &str, row: &str) -> bool {
        self.partitions.contains(partition) && self.rows.iter().any(|rows| rows.contains(row))
    }

    /// The one key this range holds, if it is a point: (PartitionKey, RowKey).
    pub fn as_point(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        match &*self.rows {
            [row] => Some((self.partitions.as_point()?, row.as_point()?)),
            _ => None,
        }
    }

    /// Whether every row of the partitions is in the range.
    pub fn has_all_rows(&self) -> bool {
        matches!(&*self.rows, [row] if row.is_all())
    }

    /// What is left of this range behind `key`, in scan order: the rest of its partition, then the partitions that
    /// follow. For scans that stop and go on.
    pub fn behind(&self, key: &EntityKey, direction: Direction) -> [KeyRange; 2] {
        let partition = Span::point(key.partition.shared().clone());
        let row_rest = direction.behind(key.row.shared());
        let partition_rest = direction.behind(key.partition.shared());
        [
            KeyRange {
                partitions: self.partitions.intersect(&partition),
                rows: self.rows.iter().map(|span| span.intersect(&row_rest)).collect(),
            },
            KeyRange { partitions: self.partitions.intersect(&partition_rest), rows: Arc::clone(&self.rows) },
        ]
    }
}

/// Key order, or its reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Reverse,
}

impl Direction {
    /// What comes after `text` in this direction.
    fn behind(self, text: &Arc<str>) -> Span {
        match self {
            Direction::Forward => Span { from: Cut::After(text.clone()), to: Cut::Max },
            Direction::Reverse => Span { from: Cut::Min, to: Cut::Before(text.clone()) },
        }
    }
}

/// One scan.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    pub table: TableName,
    /// Ascending and disjoint by partition, also for a reverse scan. No range: no rows.
    pub ranges: Arc<[KeyRange]>,
    pub columns: Arc<ScanColumns>,
    /// The store may leave out entities of which this is not true; the caller must not rely on it. It can ask about
    /// properties that are not among the columns.
    pub predicate: Option<Predicate>,
    pub direction: Direction,
    /// At most this many entities are returned, and hardly more are read.
    pub limit: Option<usize>,
    /// Most rows in one record batch.
    pub batch_rows: usize,
    /// Where the store counts what the scan cost.
    pub stats: Arc<ScanStats>,
}

/// What a scan cost, counted while it runs.
#[derive(Debug, Default)]
pub struct ScanStats {
    entities_scanned: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
    retries: AtomicU64,
    pages: AtomicU64,
    transactions: AtomicU64,
}

impl ScanStats {
    /// Entities the store looked at, whether they were returned or not.
    pub fn add_entities_scanned(&self, n: usize) {
        self.entities_scanned.fetch_add(n as u64, Ordering::Relaxed);
    }

    /// Look-ups and range reads for a local store, HTTP requests for a remote one.
    pub fn add_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes of rows read, or of response bodies.
    pub fn add_bytes(&self, n: usize) {
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub fn add_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// Answers of a remote store that held entities, or the place where they go on.
    pub fn add_page(&self) {
        self.pages.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests that a remote store puts on the bill.
    pub fn add_transaction(&self) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
    }

    pub fn entities_scanned(&self) -> u64 {
        self.entities_scanned.load(Ordering::Relaxed)
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    pub fn pages(&self) -> u64 {
        self.pages.load(Ordering::Relaxed)
    }

    pub fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }
}

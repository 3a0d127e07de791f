//! What the door has done since it began, for a monitoring system: counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The operations of the protocol, as they are counted and named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    QueryTables,
    CreateTable,
    DeleteTable,
    GetTableAcl,
    SetTableAcl,
    QueryEntities,
    GetEntity,
    InsertEntity,
    UpdateEntity,
    MergeEntity,
    InsertOrReplaceEntity,
    InsertOrMergeEntity,
    DeleteEntity,
    EntityGroupTransaction,
    GetServiceProperties,
    SetServiceProperties,
    GetServiceStats,
    Preflight,
    /// What is none of these, or was refused before it was known.
    Unknown,
}

impl Operation {
    pub const ALL: [Operation; 19] = [
        Operation::QueryTables,
        Operation::CreateTable,
        Operation::DeleteTable,
        Operation::GetTableAcl,
        Operation::SetTableAcl,
        Operation::QueryEntities,
        Operation::GetEntity,
        Operation::InsertEntity,
        Operation::UpdateEntity,
        Operation::MergeEntity,
        Operation::InsertOrReplaceEntity,
        Operation::InsertOrMergeEntity,
        Operation::DeleteEntity,
        Operation::EntityGroupTransaction,
        Operation::GetServiceProperties,
        Operation::SetServiceProperties,
        Operation::GetServiceStats,
        Operation::Preflight,
        Operation::Unknown,
    ];

    /// As the service's own metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Operation::QueryTables => "QueryTables",
            Operation::CreateTable => "CreateTable",
            Operation::DeleteTable => "DeleteTable",
            Operation::GetTableAcl => "GetTableAcl",
            Operation::SetTableAcl => "SetTableAcl",
            Operation::QueryEntities => "QueryEntities",
            Operation::GetEntity => "QueryEntity",
            Operation::InsertEntity => "InsertEntity",
            Operation::UpdateEntity => "UpdateEntity",
            Operation::MergeEntity => "MergeEntity",
            Operation::InsertOrReplaceEntity => "InsertOrReplaceEntity",
            Operation::InsertOrMergeEntity => "InsertOrMergeEntity",
            Operation::DeleteEntity => "DeleteEntity",
            Operation::EntityGroupTransaction => "EntityGroupTransaction",
            Operation::GetServiceProperties => "GetTableServiceProperties",
            Operation::SetServiceProperties => "SetTableServiceProperties",
            Operation::GetServiceStats => "GetTableServiceStats",
            Operation::Preflight => "TablePreflightRequest",
            Operation::Unknown => "Unknown",
        }
    }
}

/// Upper ends of the spans that times are counted in, in microseconds.
const SPANS_MICROS: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 1_000_000, 5_000_000, 30_000_000];
/// Statuses are counted by their first digit.
const CLASSES: usize = 5;

/// All counts.
#[derive(Debug, Default)]
pub struct Counters {
    operations: [OfOperation; Operation::ALL.len()],
    connections: AtomicU64,
    refused_connections: AtomicU64,
    open: AtomicU64,
    entities: AtomicU64,
    scanned: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

#[derive(Debug, Default)]
struct OfOperation {
    by_class: [AtomicU64; CLASSES],
    micros: AtomicU64,
    spans: [AtomicU64; SPANS_MICROS.len() + 1],
}

/// What became of the requests of one operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationFigures {
    pub name: &'static str,
    /// By the class of their status, `1xx` first.
    pub by_class: [u64; CLASSES],
    pub time: Duration,
    /// Upper end in seconds, and how many took no longer and longer than the one before; infinity is the last.
    pub spans: [(f64, u64); SPANS_MICROS.len() + 1],
}

impl Counters {
    pub(crate) fn add(&self, operation: Operation, status: u16, took: Duration) {
        let Some(counts) = self.operations.get(operation as usize) else { return };
        let class = usize::from(status / 100).saturating_sub(1).min(CLASSES - 1);
        counts.by_class[class].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        counts.micros.fetch_add(micros, Ordering::Relaxed);
        let span = SPANS_MICROS.iter().position(|end| micros <= *end).unwrap_or(SPANS_MICROS.len());
        counts.spans[span].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_entities(&self, entities: u64, scanned: u64) {
        self.entities.fetch_add(entities, Ordering::Relaxed);
        self.scanned.fetch_add(scanned, Ordering::Relaxed);
    }

    pub(crate) fn add_bytes(&self, received: usize, sent: usize) {
        self.received.fetch_add(received as u64, Ordering::Relaxed);
        self.sent.fetch_add(sent as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_connection(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn add_refused_connection(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Of the operations that there were any of.
    pub fn operations(&self) -> impl Iterator<Item = OperationFigures> {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let figures = move |(operation, counts): (Operation, &OfOperation)| {
            let mut spans = [(f64::INFINITY, 0); SPANS_MICROS.len() + 1];
            for (at, count) in counts.spans.iter().enumerate() {
                let end =
                    SPANS_MICROS.get(at).map_or(f64::INFINITY, |micros| Duration::from_micros(*micros).as_secs_f64());
                spans[at] = (end, get(count));
            }
            OperationFigures {
                name: operation.name(),
                by_class: std::array::from_fn(|class| get(&counts.by_class[class])),
                time: Duration::from_micros(get(&counts.micros)),
                spans,
            }
        };
        Operation::ALL
            .into_iter()
            .zip(&self.operations)
            .map(figures)
            .filter(|figures| figures.by_class.iter().any(|count| *count > 0))
    }

    /// Connections that were accepted, those that were one too many, and those that are open.
    pub fn connections(&self) -> (u64, u64, u64) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (get(&self.connections), get(&self.refused_connections), get(&self.open))
    }

    /// Entities that were returned or written, and that were looked at.
    pub fn entities(&self) -> (u64, u64) {
        (self.entities.load(Ordering::Relaxed), self.scanned.load(Ordering::Relaxed))
    }

    /// Bytes of bodies, received and sent.
    pub fn bytes(&self) -> (u64, u64) {
        (self.received.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed))
    }
}

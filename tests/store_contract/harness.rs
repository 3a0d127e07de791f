//! What the tests are written with: short names for entities, operations and scans.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use futures::{StreamExt, TryStreamExt};
use tablegate::store::model::{
    Clock, ETag, EdmDateTime, EdmValue, Entity, EntityKey, Properties, PropertyName, StoredEntity, SystemClock,
    TableName,
};
use tablegate::store::table::{
    Batch, ColumnType, CommitError, Direction, IfMatch, KeyRange, Operation, Predicate, Rejection, ScanColumn,
    ScanColumns, ScanRequest, ScanStats, ScanStream, StoreError, TableReader, TableStore, Written,
};
use uuid::Uuid;

pub(super) type Store = Arc<dyn TableStore>;
pub(super) type Reader = Arc<dyn TableReader>;

/// A store under test, with what must live as long as it does.
pub(super) trait Backend: Sized + 'static {
    /// A new, empty store.
    async fn create(clock: Arc<dyn Clock>) -> Self;

    fn store(&self) -> &Store;
}

/// A backend whose data outlives it. One that does not implement this has no durability tests.
pub(super) trait Durable: Backend {
    /// Closes the store and opens its data again.
    async fn reopen(self, clock: Arc<dyn Clock>) -> Self;
}

pub(super) fn system_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// A clock that stands still until it is set.
pub(super) struct TestClock(AtomicI64);

impl TestClock {
    pub(super) fn at(text: &str) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(instant(text).unix_ticks())))
    }

    pub(super) fn set(&self, text: &str) {
        self.0.store(instant(text).unix_ticks(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> EdmDateTime {
        EdmDateTime::from_unix_ticks(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

pub(super) fn instant(text: &str) -> EdmDateTime {
    EdmDateTime::parse(text).unwrap()
}

pub(super) fn table(name: &str) -> TableName {
    TableName::parse(name).unwrap()
}

pub(super) fn key(partition: &str, row: &str) -> EntityKey {
    EntityKey::parse(partition, row).unwrap()
}

pub(super) fn name(text: &str) -> PropertyName {
    PropertyName::parse(text).unwrap()
}

pub(super) fn properties<'a>(pairs: impl IntoIterator<Item = (&'a str, EdmValue)>) -> Properties {
    pairs.into_iter().map(|(text, value)| (name(text), value)).collect()
}

pub(super) fn entity<'a>(partition: &str, row: &str, pairs: impl IntoIterator<Item = (&'a str, EdmValue)>) -> Entity {
    Entity::new(key(partition, row), properties(pairs))
}

pub(super) fn int(v: i32) -> EdmValue {
    EdmValue::Int32(v)
}

pub(super) fn text(v: &str) -> EdmValue {
    EdmValue::string(v)
}

/// An ETag that no entity here ever has.
pub(super) fn stale_etag() -> ETag {
    ETag::of_timestamp(instant("1999-12-31T23:59:59Z"))
}

pub(super) fn is(etag: &ETag) -> IfMatch {
    IfMatch::ETag(etag.clone())
}

/// Creates the table most tests use.
pub(super) async fn new_table(store: &Store) -> TableName {
    let table = table("Orders");
    store.create_table(&table).await.unwrap();
    table
}

pub(super) fn batch(table: &TableName, operations: Vec<Operation>) -> Batch {
    let mut builder = Batch::builder(table.clone());
    for operation in operations {
        builder.push(operation).map_err(|(_, error)| error).unwrap();
    }
    builder.build().unwrap()
}

/// Commits one operation that must be accepted.
pub(super) async fn write(store: &Store, table: &TableName, operation: Operation) -> Written {
    store.commit(batch(table, vec![operation])).await.unwrap().pop().unwrap()
}

/// Commits one operation that must be accepted and leaves an entity; its new version.
pub(super) async fn write_etag(store: &Store, table: &TableName, operation: Operation) -> ETag {
    match write(store, table, operation).await {
        Written::Entity { etag, .. } => etag,
        Written::Deleted => panic!("an entity was expected"),
    }
}

/// Inserts entities in as many batches as their partitions make.
pub(super) async fn insert_all(store: &Store, table: &TableName, entities: impl IntoIterator<Item = Entity>) {
    let mut builder = Batch::builder(table.clone());
    for entity in entities {
        if let Err((operation, _)) = builder.push(Operation::Insert(entity)) {
            let full = std::mem::replace(&mut builder, Batch::builder(table.clone()));
            store.commit(full.build().unwrap()).await.unwrap();
            builder.push(operation).map_err(|(_, error)| error).unwrap();
        }
    }
    if !builder.is_empty() {
        store.commit(builder.build().unwrap()).await.unwrap();
    }
}

/// Commits a batch that must be rejected: by which operation, and why.
pub(super) async fn rejection(store: &Store, table: &TableName, operations: Vec<Operation>) -> (usize, Rejection) {
    let keys: Vec<EntityKey> = operations.iter().map(|operation| operation.key().clone()).collect();
    match store.commit(batch(table, operations)).await {
        Err(CommitError::Rejected { index, key, reason }) => {
            assert_eq!(key, keys[index], "the key is that of the rejected operation");
            (index, reason)
        }
        other => panic!("a rejection was expected, not {other:?}"),
    }
}

pub(super) async fn get(store: &Store, table: &TableName, key: &EntityKey) -> Option<StoredEntity> {
    store.reader().get(table, key).await.unwrap()
}

/// The properties under a key of an entity that must be there.
pub(super) async fn stored(store: &Store, table: &TableName, key: &EntityKey) -> Properties {
    get(store, table, key).await.expect("the entity is there").entity.properties
}

pub(super) fn assert_missing<T>(result: Result<T, StoreError>, table: &TableName) {
    assert!(matches!(result, Err(StoreError::TableMissing(name)) if name == *table));
}

/// A scan to be run, of the whole table and its keys unless told otherwise.
#[derive(Clone)]
pub(super) struct Scan {
    request: ScanRequest,
}

impl Scan {
    pub(super) fn of(table: &TableName) -> Self {
        let columns = Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, ScanColumn::RowKey]));
        let request = ScanRequest {
            table: table.clone(),
            ranges: Arc::new([KeyRange::all()]),
            columns,
            predicate: None,
            direction: Direction::Forward,
            limit: None,
            batch_rows: 1000,
            stats: Arc::new(ScanStats::default()),
        };
        Self { request }
    }

    pub(super) fn ranges(mut self, ranges: impl IntoIterator<Item = KeyRange>) -> Self {
        self.request.ranges = ranges.into_iter().collect();
        self
    }

    pub(super) fn columns(mut self, columns: impl IntoIterator<Item = ScanColumn>) -> Self {
        self.request.columns = Arc::new(ScanColumns::new(columns.into_iter().collect()));
        self
    }

    /// One property, as a column of this type.
    pub(super) fn property(self, text: &str, column_type: ColumnType) -> Self {
        self.columns([property(text, column_type)])
    }

    pub(super) fn predicate(mut self, predicate: Predicate) -> Self {
        self.request.predicate = Some(predicate);
        self
    }

    pub(super) fn direction(mut self, direction: Direction) -> Self {
        self.request.direction = direction;
        self
    }

    pub(super) fn limit(mut self, limit: usize) -> Self {
        self.request.limit = Some(limit);
        self
    }

    pub(super) fn batch_rows(mut self, rows: usize) -> Self {
        self.request.batch_rows = rows;
        self
    }

    /// Starts the scan, with counters of its own.
    pub(super) fn start(mut self, reader: &Reader) -> Result<(ScanStream, Arc<ScanStats>), StoreError> {
        self.request.stats = Arc::new(ScanStats::default());
        let stats = Arc::clone(&self.request.stats);
        Ok((reader.scan(self.request)?, stats))
    }

    /// Runs the scan to its end or its first error.
    pub(super) async fn try_run(self, reader: &Reader) -> Result<Scanned, StoreError> {
        let (stream, stats) = self.start(reader)?;
        let batches: Vec<RecordBatch> = stream.try_collect().await?;
        assert!(batches.iter().all(|batch| batch.num_rows() > 0), "no batch is empty");
        Ok(Scanned { batches, entities_scanned: stats.entities_scanned() })
    }

    pub(super) async fn run(self, store: &Store) -> Scanned {
        self.try_run(&store.reader()).await.unwrap()
    }
}

pub(super) fn property(text: &str, column_type: ColumnType) -> ScanColumn {
    ScanColumn::Property { name: name(text), column_type }
}

/// What a scan gave.
pub(super) struct Scanned {
    pub batches: Vec<RecordBatch>,
    pub entities_scanned: u64,
}

impl Scanned {
    /// Every row as values; `None` is NULL.
    pub(super) fn rows(&self) -> Vec<Vec<Option<EdmValue>>> {
        let row = |batch: &RecordBatch, row| batch.columns().iter().map(|column| cell(column, row)).collect();
        self.batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|i| row(batch, i)).collect::<Vec<_>>()).collect()
    }

    /// The first two columns, which are PartitionKey and RowKey.
    pub(super) fn keys(&self) -> Vec<EntityKey> {
        self.batches.iter().flat_map(keys_of).collect()
    }

    /// The values of the first column.
    pub(super) fn column(&self) -> Vec<Option<EdmValue>> {
        self.rows().into_iter().map(|mut row| row.swap_remove(0)).collect()
    }
}

/// The keys of a batch whose first two columns are PartitionKey and RowKey.
pub(super) fn keys_of(batch: &RecordBatch) -> Vec<EntityKey> {
    let (partitions, rows) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
    (0..batch.num_rows()).map(|i| key(partitions.value(i), rows.value(i))).collect()
}

/// The next batch of a scan that must have one.
pub(super) async fn next_batch(stream: &mut ScanStream) -> RecordBatch {
    stream.next().await.expect("the scan goes on").unwrap()
}

fn cell(column: &ArrayRef, row: usize) -> Option<EdmValue> {
    if column.is_null(row) {
        return None;
    }
    Some(match column.data_type() {
        DataType::Utf8 => text(column.as_string::<i32>().value(row)),
        DataType::Int32 => int(column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => EdmValue::Int64(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => EdmValue::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => EdmValue::Boolean(column.as_boolean().value(row)),
        DataType::Timestamp(..) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            EdmValue::DateTime(EdmDateTime::from_unix_micros(micros).unwrap())
        }
        DataType::FixedSizeBinary(16) => {
            EdmValue::Guid(Uuid::from_slice(column.as_fixed_size_binary().value(row)).unwrap())
        }
        DataType::Binary => EdmValue::Binary(column.as_binary::<i32>().value(row).into()),
        other => panic!("no scan has a column of type {other}"),
    })
}

/// A text that is equal exactly when two values are, bit by bit: NaN equals itself, -0.0 is not 0.0.
pub(super) fn exactly(value: &EdmValue) -> String {
    match value {
        EdmValue::Double(v) => format!("Double({:016x})", v.to_bits()),
        other => format!("{other:?}"),
    }
}

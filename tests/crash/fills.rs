//! Tables that are filled with rows written ahead, one after the other, while others write: each has all of its rows or none.

use std::sync::Arc;

use arrow::array::{Int64Array, StringArray};
use futures::TryStreamExt as _;
use tablegate::backends::embedded::EmbeddedStore;
use tablegate::store::model::{Entity, EntityKey, EntityKeys, Properties, PropertyName, TableName};
use tablegate::store::table::{
    Batch, Direction, EdmColumn, KeyRange, NewEntities, Operation, ScanColumn, ScanColumns, ScanRequest, ScanStats,
    SealedRows, StagedRows, StoreError, TableStore, WriteGroup,
};

const ROWS: usize = 2_000;
const WINDOW: usize = 400;
/// Each of so many tables gets its rows with a group.
const GROUPED: i64 = 3;

fn name_of(round: i64, number: i64) -> TableName {
    TableName::parse(&format!("Fill{round:04}x{number:04}")).unwrap()
}

/// Fills tables until the process ends. There are two at a time: the one before goes when the next one is complete.
pub(super) async fn fill_tables(store: &EmbeddedStore, round: i64) {
    match store.create_table(&groups()).await {
        Ok(()) | Err(StoreError::TableExists(_)) => {}
        Err(error) => panic!("{error}"),
    }
    for number in 0.. {
        let table = name_of(round, number);
        store.create_table(&table).await.unwrap();
        let staged = store.stage(&table).await.unwrap().expect("it is empty");
        for window in 0..ROWS / WINDOW {
            // Every second table's windows come from its end to its beginning.
            let window = if number % 2 == 0 { window } else { ROWS / WINDOW - 1 - window };
            staged.write(rows(&table, window * WINDOW)).await.unwrap();
        }
        match number % GROUPED {
            0 => publish_with_group(store, &table, &*staged).await,
            _ => assert!(staged.publish().await.unwrap()),
        }
        if number > 0 {
            store.drop_table(&name_of(round, number - 1)).await.unwrap();
        }
    }
}

/// Beside a row that says so.
async fn publish_with_group(store: &EmbeddedStore, table: &TableName, staged: &dyn StagedRows) {
    let sealed = SealedRows { table: table.clone(), number: staged.seal().await.unwrap(), extent: (1, ROWS) };
    let said = Entity::new(EntityKey::parse(table.as_str(), "").unwrap(), Properties::default());
    let batches = vec![Batch::single(groups(), Operation::InsertOrReplace(said)).unwrap()];
    store.write_group(WriteGroup { batches, staged: vec![sealed], ..WriteGroup::default() }).await.unwrap();
}

/// The table that says which ones came with a group.
fn groups() -> TableName {
    TableName::parse("GroupsOfFills").unwrap()
}

fn rows(table: &TableName, first: usize) -> NewEntities {
    let mut keys = EntityKeys::default();
    (first..first + WINDOW).for_each(|row| keys.push("all", &format!("{row:05}")).unwrap());
    let numbers: Int64Array = (0_i64..).take(WINDOW).collect();
    let texts = StringArray::from_iter_values((first..first + WINDOW).map(|row| "x".repeat(row % 200)));
    let property = |name: &str| PropertyName::parse(name).unwrap();
    let columns = vec![(property("n"), EdmColumn::Int64(numbers)), (property("t"), EdmColumn::String(texts))];
    NewEntities::new(table, keys, columns).unwrap()
}

/// Every table is there whole or empty, and counted; one that another was made behind is whole.
pub(super) async fn check_tables(store: &EmbeddedStore) {
    let reader = store.reader();
    let mut before: Option<(TableName, usize)> = None;
    let tables = reader.list_tables().await.unwrap();
    for table in tables.into_iter().filter(|table| table.as_str().starts_with("Fill")) {
        let request = ScanRequest {
            table: table.clone(),
            ranges: Arc::new([KeyRange::all()]),
            columns: Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey])),
            predicate: None,
            direction: Direction::Forward,
            limit: None,
            batch_rows: 4096,
            stats: Arc::new(ScanStats::default()),
        };
        let batches: Vec<_> = reader.scan(request).unwrap().try_collect().await.unwrap();
        let rows: usize = batches.iter().map(arrow::record_batch::RecordBatch::num_rows).sum();
        assert!(rows == 0 || rows == ROWS, "{table} has {rows} rows");
        let counted = reader.estimate(&table).unwrap().expect("it was counted from the start");
        assert_eq!(counted.entities, rows as u64, "{table}");
        let number: i64 = table.as_str()[9..].parse().unwrap();
        if number % GROUPED == 0 {
            let said = reader.get(&groups(), &EntityKey::parse(table.as_str(), "").unwrap()).await.unwrap();
            assert_eq!(said.is_some(), rows == ROWS, "{table} has {rows} rows, and its group is whole");
        }
        let round = |table: &TableName| table.as_str()[..8].to_owned();
        if let Some((other, rows)) = before
            && round(&other) == round(&table)
        {
            assert_eq!(rows, ROWS, "{other} was acknowledged before {table} was made");
        }
        before = Some((table, rows));
    }
}

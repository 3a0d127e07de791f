//! The stored table of what observe mode has seen: one entity for each record, its content as JSON text.
//!
//! It is the gateway's own, beside the table of the catalogue, and not shown among the tables. It is made when observe
//! mode is first used. Each kind of record has its partition, whose name carries the version of its format.

use std::sync::Arc;

use arrow::array::AsArray;
use futures::StreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tablegate_store::model::{EdmValue, Entity, EntityKey, PropertyName, Span, TableName, own_tables};
use tablegate_store::table::{
    ColumnType, Direction, KeyRange, ScanColumn, ScanColumns, ScanRequest, ScanStats, TableReader,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::batches::keys_of_batch;

/// The stored table of the records.
const OBSERVED_TABLE: &str = own_tables::OBSERVED;
const PROPERTY: &str = "Record";

pub(super) fn table() -> SqlResult<TableName> {
    Ok(TableName::parse(OBSERVED_TABLE)?)
}

/// The entity that keeps a record.
///
/// # Errors
/// None are expected: records are plain data, and their keys are made here.
pub(super) fn entity(partition: &str, row: &str, record: &impl Serialize) -> SqlResult<Entity> {
    let text = serde_json::to_string(record).map_err(|e| SqlError::new(ErrorKind::Internal, e.to_string()))?;
    let properties = [(PropertyName::parse(PROPERTY)?, EdmValue::string(text))];
    Ok(Entity::new(EntityKey::parse(partition, row)?, properties.into_iter().collect()))
}

/// The records with the highest keys of a partition, at most `limit`, in key order.
///
/// # Errors
/// XX001 for what is not a record.
pub(super) async fn last_records<T: DeserializeOwned>(
    reader: &dyn TableReader,
    partition: &str,
    limit: usize,
) -> SqlResult<Vec<T>> {
    let text = ScanColumn::Property { name: PropertyName::parse(PROPERTY)?, column_type: ColumnType::Text };
    let mut batches = reader.scan(request(partition, vec![text], Direction::Reverse, limit)?)?;
    let mut records = Vec::new();
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        for text in batch.column(0).as_string::<i32>() {
            records.push(serde_json::from_str(text.unwrap_or_default()).map_err(|error| damaged(&error))?);
        }
    }
    records.reverse();
    Ok(records)
}

/// The first keys of a partition, at most `limit`.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn first_keys(reader: &dyn TableReader, partition: &str, limit: usize) -> SqlResult<Vec<EntityKey>> {
    let keys = vec![ScanColumn::PartitionKey, ScanColumn::RowKey];
    let mut batches = reader.scan(request(partition, keys, Direction::Forward, limit)?)?;
    let mut keys = Vec::new();
    while let Some(batch) = batches.next().await {
        keys.extend(keys_of_batch(&batch?)?);
    }
    Ok(keys)
}

fn request(partition: &str, columns: Vec<ScanColumn>, direction: Direction, limit: usize) -> SqlResult<ScanRequest> {
    Ok(ScanRequest {
        table: table()?,
        ranges: Arc::new([KeyRange { partitions: Span::point(partition), rows: Arc::new([Span::ALL]) }]),
        columns: Arc::new(ScanColumns::new(columns)),
        predicate: None,
        direction,
        limit: Some(limit),
        batch_rows: 1024,
        stats: Arc::new(ScanStats::default()),
    })
}

fn damaged(error: &serde_json::Error) -> Box<SqlError> {
    SqlError::new(
        ErrorKind::DataCorrupted,
        format!("a record of observe mode in table \"{OBSERVED_TABLE}\" is damaged"),
    )
    .with_detail(error.to_string())
}

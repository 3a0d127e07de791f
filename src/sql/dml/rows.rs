//! Rows on their way into a table: columns of typed values, complete and checked, become keys and properties.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow::compute::{filter_record_batch, take};
use arrow::record_batch::RecordBatch;
use tablegate_store::model::{Entity, EntityKey, EntityKeys, Properties, PropertyName};
use tablegate_store::table::NewEntities;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::checks::{BadRow, not_null};
use super::generated_keys::generated_keys;
use super::target::TargetColumn;
use super::writes::Writes;
use crate::batches::keys_of_batch;
use crate::relation::{ColumnSource, Relation};

/// The columns of one batch of rows, each as the target column's type.
pub(crate) struct RowsToWrite {
    properties: Vec<PropertyColumn>,
    keys: Arc<EntityKeys>,
}

/// One stored property and its values.
struct PropertyColumn {
    name: PropertyName,
    sql_type: SqlType,
    values: ArrayRef,
}

impl RowsToWrite {
    /// Takes the batch's columns as values of `targets`; their types are those of the target columns, or for new
    /// properties `SqlType::of_field`.
    ///
    /// # Errors
    /// 23502 for a key that is NULL or missing, 22023 for one that cannot be stored: those of the first such row.
    pub(crate) fn new(relation: &Arc<Relation>, targets: &[TargetColumn], batch: &RecordBatch) -> Result<Self, BadRow> {
        let of_batch = |error| BadRow { row: 0, error };
        let column =
            |index: usize| targets.iter().position(|t| *t == TargetColumn::Known(index)).map(|i| batch.column(i));
        let keys = match &relation.generated_partition {
            Some(partition) => generated_keys(partition, batch.num_rows()).map_err(of_batch)?,
            None => {
                let arrays = key_arrays(relation, &column).map_err(of_batch)?;
                relation.codec.encode_keys(&arrays).map_err(|_| first_bad_key(relation, &arrays))?
            }
        };
        let mut properties = Vec::new();
        for (target, (values, field)) in targets.iter().zip(batch.columns().iter().zip(batch.schema().fields())) {
            let stored = stored_as(relation, target, || SqlType::of_field(field));
            properties.extend(stored.map(|(name, sql_type)| PropertyColumn { name, sql_type, values: values.clone() }));
        }
        Ok(Self { properties, keys: Arc::new(keys) })
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn keys(&self) -> &EntityKeys {
        &self.keys
    }

    /// Some of the rows, which ascend.
    ///
    /// # Errors
    /// None are expected: the keys are legal.
    pub(super) fn some(&self, rows: &[usize]) -> SqlResult<Self> {
        let indices = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
        let column = |column: &PropertyColumn| {
            let PropertyColumn { name, sql_type, values } = column;
            let values = take(values, &indices, None)?;
            Ok(PropertyColumn { name: name.clone(), sql_type: sql_type.clone(), values })
        };
        let refused = || SqlError::new(ErrorKind::Internal, "a key was refused that was taken before");
        let keys = self.keys.some(rows.iter().copied()).ok_or_else(refused)?;
        Ok(Self { properties: self.properties.iter().map(column).collect::<SqlResult<_>>()?, keys: Arc::new(keys) })
    }

    pub(crate) fn key(&self, row: usize) -> EntityKey {
        self.keys.key(row)
    }

    /// All rows as entities that must not be there, where that can be told at a glance; else each is an [`RowsToWrite::entity`] of
    /// its own, and says what is wrong with it.
    pub(crate) fn new_entities(&self, relation: &Relation) -> Option<NewEntities> {
        let column = |property: &PropertyColumn| {
            Some((property.name.clone(), edm::to_edm_column(&property.values, &property.sql_type)?))
        };
        let columns = self.properties.iter().map(column).collect::<Option<Vec<_>>>()?;
        NewEntities::new(&relation.stored, Arc::clone(&self.keys), columns)
    }

    /// The entity of one row: NULLs are absent properties.
    ///
    /// # Errors
    /// The errors of checking the values.
    pub(crate) fn entity(&self, row: usize) -> SqlResult<Entity> {
        let mut properties = Properties::with_capacity(self.properties.len());
        for column in &self.properties {
            let value = edm::to_edm(&column.values, &column.sql_type, row);
            let value = value.map_err(|error| match error.detail {
                None => {
                    error.with_detail(format!("It is property \"{}\" of entity {}.", column.name, self.keys.key(row)))
                }
                Some(_) => error,
            });
            if let Some(value) = value? {
                // A statement gives each column once.
                properties.add(column.name.clone(), value);
            }
        }
        let entity = Entity::new(self.keys.key(row), properties);
        entity
            .check()
            .map_err(|error| Box::<SqlError>::from(error).with_detail(format!("The entity is {}.", entity.key)))?;
        Ok(entity)
    }
}

/// The first row whose key cannot be stored, where there is one.
fn first_bad_key(relation: &Relation, arrays: &[ArrayRef]) -> BadRow {
    let rows = arrays.first().map_or(0, |array| array.len());
    let refused = (0..rows).find_map(|row| {
        let key: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(row, 1)).collect();
        let error = relation.codec.encode_keys(&key).err()?;
        Some(BadRow { row, error: error.into() })
    });
    refused.unwrap_or_else(|| BadRow { row: 0, error: SqlError::new(ErrorKind::Internal, "a key was refused once") })
}

fn key_arrays<'a>(relation: &Relation, column: &dyn Fn(usize) -> Option<&'a ArrayRef>) -> SqlResult<Vec<ArrayRef>> {
    let mut arrays = Vec::new();
    for index in relation.key_columns() {
        let name = &relation.columns[index].name;
        let values = column(index).ok_or_else(|| not_null(relation, name))?;
        if values.null_count() > 0 {
            return Err(not_null(relation, name));
        }
        arrays.push(values.clone());
    }
    Ok(arrays)
}

/// The property that keeps the values of a column, and the type they are stored as values of; `None` for what is not a
/// property.
pub(super) fn stored_as(
    relation: &Relation,
    target: &TargetColumn,
    given_type: impl FnOnce() -> SqlType,
) -> Option<(PropertyName, SqlType)> {
    Some(match target {
        TargetColumn::New(name) => (name.clone(), given_type()),
        TargetColumn::Known(index) => {
            let column = &relation.columns[*index];
            let ColumnSource::Property { name, .. } = &column.source else { return None };
            (name.clone(), if column.observed.is_some() { given_type() } else { column.sql_type.clone() })
        }
    })
}

/// The rows of a batch that the statement has not changed yet. The first columns are PartitionKey and
/// RowKey. As in PostgreSQL, a row that is found again is changed by whatever found it first. Where each row is found
/// once (`finds_again` is false), and nothing else in the statement changes rows, none needs to be remembered.
///
/// # Errors
/// As [`keys_of_batch`]; 53200 when there is no memory left to remember them.
pub(super) fn first_changes(batch: RecordBatch, writes: &mut Writes<'_>, finds_again: bool) -> SqlResult<RecordBatch> {
    if !finds_again && !writes.has_several_changes() {
        return Ok(batch);
    }
    let first = keys_of_batch(&batch)?.iter().map(|key| writes.first_change(key)).collect::<SqlResult<Vec<_>>>()?;
    if first.iter().all(|first| *first) {
        return Ok(batch);
    }
    Ok(filter_record_batch(&batch, &BooleanArray::from(first))?)
}

//! RETURNING: expressions over the rows as they were written.
//!
//! The rows stand in memory under the target's name, and the clause is an ordinary SELECT over them. A row's version is
//! known once it is committed; inside a transaction RETURNING shows the version that was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, SelectItem, TableAlias, TableFactor, TableWithJoins,
};

use super::rows::keys_of_batch;
use super::target::{item, select};
use crate::model::EntityKey;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::outcome::{ResultColumn, RowStream};
use crate::sql::plan::{Planner, TableEntry, Tables};
use crate::sql::relation::{ColumnSource, Relation};
use crate::sql::types::SqlType;
use crate::table::Written;

/// A RETURNING clause.
pub(super) struct Returning {
    relation: Arc<Relation>,
    query: Query,
    columns: Arc<[ResultColumn]>,
    declared: Vec<SqlType>,
}

impl Returning {
    /// # Errors
    /// What is wrong with the clause's expressions.
    pub fn prepare(
        planner: &Planner<'_>,
        relation: &Arc<Relation>,
        alias: &Ident,
        items: Option<&[SelectItem]>,
        declared: &[SqlType],
    ) -> SqlResult<Option<Self>> {
        let Some(items) = items else { return Ok(None) };
        let name = ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', relation.name.clone()))]);
        let query = select(items.to_vec(), vec![table_as(name, alias)], None)?;
        let tables = rows_as_table(relation, Vec::new())?;
        let planned = planner.plan_over(&query, &tables, declared)?;
        Ok(Some(Self { relation: relation.clone(), query, columns: planned.columns, declared: declared.to_vec() }))
    }

    pub fn columns(&self) -> Arc<[ResultColumn]> {
        self.columns.clone()
    }

    /// The schema of the rows [`Returning::rows`] takes: all columns of the relation, NULLs allowed.
    pub fn row_schema(relation: &Relation) -> SchemaRef {
        let fields: Vec<_> =
            relation.arrow_schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
        Arc::new(arrow::datatypes::Schema::new(fields))
    }

    /// Evaluates the clause, where there is one, over the written rows.
    ///
    /// # Errors
    /// What its expressions refuse.
    pub async fn rows(
        clause: Option<&Self>,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: Vec<RecordBatch>,
        versions: &BTreeMap<EntityKey, Written>,
    ) -> SqlResult<Option<(Arc<[ResultColumn]>, RowStream)>> {
        let Some(clause) = clause else { return Ok(None) };
        let rows =
            rows.into_iter().map(|batch| clause.with_versions(batch, versions)).collect::<SqlResult<Vec<_>>>()?;
        let tables = rows_as_table(&clause.relation, rows)?;
        let planned = planner.plan_over(&clause.query, &tables, &clause.declared)?;
        Ok(Some((clause.columns.clone(), planner.run(&planned, parameters).await?)))
    }

    /// Puts the committed versions into the Timestamp and etag columns.
    fn with_versions(&self, batch: RecordBatch, versions: &BTreeMap<EntityKey, Written>) -> SqlResult<RecordBatch> {
        if versions.is_empty() {
            return Ok(batch);
        }
        let index = |wanted: &ColumnSource| self.relation.columns.iter().position(|c| c.source == *wanted);
        let (Some(partition), Some(row)) = (index(&ColumnSource::PartitionKey), index(&ColumnSource::RowKey)) else {
            return Ok(batch);
        };
        let keys = keys_of_batch(&batch.project(&[partition, row])?)?;
        let written: Vec<_> = keys
            .iter()
            .map(|key| match versions.get(key) {
                Some(Written::Entity { etag, timestamp }) => Some((etag.as_str(), timestamp.unix_micros())),
                Some(Written::Deleted) | None => None,
            })
            .collect();
        let mut columns = batch.columns().to_vec();
        if let Some(etag) = index(&ColumnSource::ETag) {
            let etags: StringArray = written.iter().map(|w| w.map(|(etag, _)| etag)).collect();
            columns[etag] = keep_unknown(&columns[etag], Arc::new(etags))?;
        }
        if let Some(timestamp) = index(&ColumnSource::Timestamp) {
            let at: TimestampMicrosecondArray = written.iter().map(|w| w.map(|(_, at)| at)).collect();
            columns[timestamp] = keep_unknown(&columns[timestamp], Arc::new(at.with_timezone("UTC")))?;
        }
        Ok(RecordBatch::try_new(batch.schema(), columns)?)
    }
}

/// The new values, and the old ones where there is no new one.
fn keep_unknown(old: &ArrayRef, new: ArrayRef) -> SqlResult<ArrayRef> {
    let known = arrow::compute::is_not_null(&new)?;
    Ok(arrow::compute::kernels::zip::zip(&known, &new, old)?)
}

/// Rows in memory under the relation's name.
pub(super) fn rows_as_table(relation: &Relation, rows: Vec<RecordBatch>) -> SqlResult<Tables> {
    let provider = MemTable::try_new(Returning::row_schema(relation), vec![rows])?;
    let names = |hidden| relation.columns.iter().filter(move |c| c.hidden == hidden).map(|c| c.name.clone()).collect();
    let entry = TableEntry {
        key: format!("public.{}", relation.name),
        visible: names(false),
        hidden: names(true),
        provider: Arc::new(provider),
        relation: Some(Arc::new(relation.clone())),
    };
    let mut tables = Tables::default();
    tables.insert(&relation.name, entry);
    Ok(tables)
}

/// `name AS alias` as a FROM item.
pub(super) fn table_as(name: ObjectName, alias: &Ident) -> TableWithJoins {
    let alias = TableAlias { explicit: true, name: alias.clone(), columns: Vec::new(), at: None };
    let relation = TableFactor::Table {
        name,
        alias: Some(alias),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    TableWithJoins { relation, joins: Vec::new() }
}

/// The rows' columns from what an INSERT gave, NULL elsewhere; keys as they were encoded.
pub(super) fn inserted_rows(
    relation: &Relation,
    keys: &[EntityKey],
    given: &dyn Fn(usize) -> Option<ArrayRef>,
) -> SqlResult<RecordBatch> {
    let schema = Returning::row_schema(relation);
    let mut columns = Vec::with_capacity(relation.columns.len());
    for (index, column) in relation.columns.iter().enumerate() {
        columns.push(match (&column.source, given(index)) {
            (ColumnSource::PartitionKey, _) => {
                Arc::new(StringArray::from_iter_values(keys.iter().map(|k| k.partition.as_str()))) as ArrayRef
            }
            (ColumnSource::RowKey, _) => Arc::new(StringArray::from_iter_values(keys.iter().map(|k| k.row.as_str()))),
            (ColumnSource::Timestamp | ColumnSource::ETag, _) | (_, None) => {
                arrow::array::new_null_array(schema.field(index).data_type(), keys.len())
            }
            (_, Some(values)) => values,
        });
    }
    RecordBatch::try_new(schema, columns).map_err(|e| SqlError::new(ErrorKind::Internal, e.to_string()))
}

/// All columns of a relation as select items.
pub(super) fn all_columns(relation: &Relation, alias: &Ident, first_label: usize) -> Vec<SelectItem> {
    relation.columns.iter().enumerate().map(|(i, c)| item(alias, &c.name, first_label + i)).collect()
}

//! RETURNING: expressions over the rows as they were written.
//!
//! The rows stand in memory, with the columns of the rows of other tables that they were found with, and the clause is computed
//! over them. Its sub-queries see the tables as the statement found them. A row's version is
//! known once it is committed; inside a transaction RETURNING shows the version that was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use tablegate_bind::BoundQuery;
use tablegate_store::model::EntityKey;
use tablegate_store::table::Written;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::kept_rows::{KeptRows, held};
use super::others::{Column, OtherColumns, see_columns};
use super::own_types::shown;
use super::writes::Writes;
use crate::batches::keys_of_batch;
use crate::outcome::{ResultColumn, RowStream};
use crate::plan::{HeldRows, MeantChange, PlannedQuery, Planner};
use crate::relation::{ColumnSource, Relation, RelationColumn};

/// A RETURNING clause.
pub(super) struct Returning {
    relation: Arc<Relation>,
    meant: Arc<MeantChange>,
    others: OtherColumns,
    query: BoundQuery,
    /// The query over no rows.
    planned: PlannedQuery,
    /// Of the rows the clause takes.
    schema: SchemaRef,
    shows_versions: bool,
}

impl Returning {
    /// A change's clause, if it has one, which may also show columns of other tables. `relation` is the table that is changed, as
    /// it shows with what is written.
    ///
    /// # Errors
    /// The errors of planning the clause's expressions.
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        meant: &Arc<MeantChange>,
        relation: &Arc<Relation>,
        others: OtherColumns,
    ) -> SqlResult<Option<Self>> {
        let change = &meant.change;
        if change.returning.is_empty() {
            return Ok(None);
        }
        let query = BoundQuery { targets: change.returning.clone(), ..meant.query(Vec::new(), None, Vec::new()) };
        let fields = Self::row_schema(relation).fields().iter().chain(others.fields()).cloned().collect::<Vec<_>>();
        let schema = Arc::new(Schema::new(fields));
        let rows = held_rows(meant, relation, &others, &schema, Vec::new());
        let planned = meant.plan_over(planner, &query, &rows).await?;
        let shows_versions = shows_versions(meant, relation);
        let (relation, meant) = (relation.clone(), meant.clone());
        Ok(Some(Self { relation, meant, others, query, planned, schema, shows_versions }))
    }

    pub(super) fn columns(&self) -> Arc<[ResultColumn]> {
        self.planned.columns.clone()
    }

    /// The columns as the plan has them: no two of one name.
    pub(super) fn result_schema(&self) -> SchemaRef {
        self.planned.plan.schema().inner().clone()
    }

    /// The schema of rows of the target: all columns of the relation, NULLs allowed.
    pub(super) fn row_schema(relation: &Relation) -> SchemaRef {
        let fields: Vec<_> =
            relation.arrow_schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
        Arc::new(Schema::new(fields))
    }

    /// Rows for [`Returning::rows`]: those of the target, with columns of the other tables behind them.
    ///
    /// # Errors
    /// XX000 when these are not the columns that were planned.
    pub(super) fn joined(&self, target: &RecordBatch, others: &[ArrayRef]) -> SqlResult<RecordBatch> {
        let columns: Vec<ArrayRef> = target.columns().iter().chain(others).cloned().collect();
        self.read(&columns)
    }

    /// The same, of columns as they were read: those of the target, then those of the other tables.
    ///
    /// # Errors
    /// As [`Returning::joined`].
    pub(super) fn read(&self, columns: &[ArrayRef]) -> SqlResult<RecordBatch> {
        Ok(RecordBatch::try_new(self.schema.clone(), columns.to_vec())?)
    }

    /// Whether it shows versions, which the store gives the rows when they are committed.
    pub(super) fn shows_versions(&self) -> bool {
        self.shows_versions
    }

    /// The statement is complete: commits what is direct, and evaluates the clause, where there is one, over the written
    /// rows. What the clause may refuse it refuses before the commit, unless it shows what only the commit gives.
    ///
    /// # Errors
    /// What the clause's expressions refuse; what the commit meets.
    pub(super) async fn finish(
        clause: Option<&Self>,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: KeptRows,
        writes: &mut Writes<'_>,
    ) -> SqlResult<Option<(Arc<[ResultColumn]>, RowStream)>> {
        let Some(clause) = clause else {
            writes.finish().await?;
            return Ok(None);
        };
        // Boxed: what a future holds is moved with it, and most changes have no such clause.
        let stream = Box::pin(clause.finish_with(planner, parameters, rows, writes)).await?;
        Ok(Some((clause.columns(), stream)))
    }

    async fn finish_with(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: KeptRows,
        writes: &mut Writes<'_>,
    ) -> SqlResult<RowStream> {
        let (rows, memory) = rows.into_parts();
        let stream = if self.shows_versions {
            planner.check(&self.planned, parameters)?;
            let versions = writes.finish().await?;
            let known = |batch| self.with_versions(batch, &versions);
            self.evaluate(planner, parameters, rows.into_iter().map(known).collect::<SqlResult<_>>()?).await?
        } else {
            let stream = self.evaluate(planner, parameters, rows).await?;
            let returned = KeptRows::of(planner, "rows of RETURNING", stream).await?;
            writes.finish().await?;
            returned.into_stream()
        };
        Ok(held(stream, memory))
    }

    async fn evaluate(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: Vec<RecordBatch>,
    ) -> SqlResult<RowStream> {
        let rows = held_rows(&self.meant, &self.relation, &self.others, &self.schema, rows);
        self.meant.run_over(planner, (&self.query, &self.planned), parameters, &rows).await
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
                Some(Written::Entity { etag, timestamp }) => Some((etag.text(), timestamp.unix_micros())),
                Some(Written::Deleted) | None => None,
            })
            .collect();
        let mut columns = batch.columns().to_vec();
        if let Some(etag) = index(&ColumnSource::ETag) {
            let etags: StringArray = written.iter().map(|w| w.as_ref().map(|(etag, _)| etag)).collect();
            columns[etag] = keep_unknown(&columns[etag], Arc::new(etags))?;
        }
        if let Some(timestamp) = index(&ColumnSource::Timestamp) {
            let at: TimestampMicrosecondArray = written.iter().map(|w| w.as_ref().map(|(_, at)| *at)).collect();
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

/// Whether a clause names, or shows with `*`, one of the columns that the store sets.
fn shows_versions(meant: &MeantChange, relation: &Relation) -> bool {
    let change = &meant.change;
    let is_set_by_store =
        |column: &RelationColumn| matches!(column.source, ColumnSource::Timestamp | ColumnSource::ETag);
    let mut shows = false;
    let mut see = |entry: usize, column: Column| {
        shows |= entry == change.target
            && match column {
                Column::One(column) => relation.columns.get(column).is_some_and(is_set_by_store),
                Column::All => relation.columns.iter().any(|column| !column.hidden && is_set_by_store(column)),
            };
    };
    change.returning.iter().for_each(|target| see_columns(&target.expr, 0, &change.sub_queries, &mut see));
    shows
}

/// The rows of the target, and the columns of other tables behind theirs.
fn held_rows(
    meant: &MeantChange,
    relation: &Relation,
    others: &OtherColumns,
    schema: &Schema,
    rows: Vec<RecordBatch>,
) -> HeldRows {
    let own = (0..relation.columns.len()).map(|column| (meant.change.target, column));
    HeldRows::new(schema, own.chain(others.places().iter().copied()).collect(), rows)
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
            (_, Some(values)) => shown(values, column)?,
        });
    }
    RecordBatch::try_new(schema, columns).map_err(|e| SqlError::new(ErrorKind::Internal, e.to_string()))
}

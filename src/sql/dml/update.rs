//! UPDATE: read keys, versions and new values, then write conditionally.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{filter_record_batch, not};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_bind::query::LockStrength;
use tablegate_bind::query::changes::Assigned;
use tablegate_store::model::ETag;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::changed_rows::BoundChanges;
use super::found_rows::{FoundRows, write_together};
use super::kept_rows::KeptRows;
use super::others::{OtherColumns, from_of};
use super::recheck::Recheck;
use super::returning::Returning;
use super::row_update::RowUpdate;
use super::rows::first_changes;
use super::set_clause::SetClause;
use super::writes::Writes;
use super::{Changed, own_types};
use crate::batches::keys_of_batch;
use crate::plan::{MeantChange, PlannedQuery, Planner};
use crate::relation::Relation;

/// The first of them: PartitionKey, RowKey.
pub(super) const KEY_COLUMNS: usize = 2;
/// Columns the input query begins with: PartitionKey, RowKey, etag.
pub(super) const IDENTITY_COLUMNS: usize = 3;

/// An UPDATE, planned.
pub(crate) struct PreparedUpdate {
    input: PlannedQuery,
    recheck: Recheck,
    rows: RowUpdate,
    /// Other tables may find a row several times.
    joins: bool,
    returning: Option<Returning>,
    parameters: Vec<SqlType>,
    evolution: Option<Notice>,
}

impl PreparedUpdate {
    /// # Errors
    /// The errors of planning the statement.
    pub(crate) async fn prepare(
        planner: &Planner<'_>,
        meant: &Arc<MeantChange>,
        assigned: &[Assigned],
    ) -> SqlResult<Self> {
        let relation = meant.relation();
        let change = &meant.change;
        let (set, values) = SetClause::of(relation, &change.relation, assigned, planner.reading())?;
        let rows = RowUpdate::prepare(planner, relation, set)?;
        let mut targets = meant.identity()?;
        targets.extend(values);
        let others = OtherColumns::of(meant);
        if !change.returning.is_empty() || rows.need_whole_rows() {
            targets.extend(meant.columns_but(|column| rows.changes.replaces(column))?);
        }
        targets.extend(others.columns(meant)?);
        let query = meant.query(from_of(change), change.filter.clone(), targets);
        let input = meant.plan(planner, &query).await?;
        let others = others.typed(input.plan.schema());
        let (rows, evolved) = rows.keep_own_types(planner, input.plan.schema().as_arrow(), IDENTITY_COLUMNS)?;
        let returning = Returning::prepare(planner, meant, &evolved, others).await?;
        let receivers = rows.set.receivers(IDENTITY_COLUMNS);
        let input = input.assigned_to(receivers.clone())?;
        let joins = !change.from.is_empty();
        let recheck = match joins {
            false => Recheck::alone(relation),
            true => Recheck::beside(meant, query, receivers, false)?,
        };
        let evolution = own_types::notice(relation, &evolved);
        Ok(Self { input, recheck, rows, joins, returning, parameters: meant.parameters().to_vec(), evolution })
    }

    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.parameters
    }

    /// Which columns will show as text because of it.
    pub(crate) fn evolution(&self) -> Option<Notice> {
        self.evolution.clone()
    }

    pub(super) fn returning(&self) -> Option<&Returning> {
        self.returning.as_ref()
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        self.rows.relation()
    }

    pub(crate) fn input(&self) -> &PlannedQuery {
        &self.input
    }

    /// Whether it may change the keys of rows.
    pub(crate) fn assigns_key(&self) -> bool {
        self.rows.assigns_key()
    }

    pub(crate) async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        if self.returning.as_ref().is_some_and(Returning::shows_versions) {
            writes.keep_versions();
        }
        let strength = if self.assigns_key() { LockStrength::Update } else { LockStrength::NoKeyUpdate };
        let kept = KeptRows::new(planner, "rows of RETURNING");
        let found = FoundRows::default();
        let mut run = Run { changes: self.rows.changes.bind(planner)?, rows: 0, kept, found };
        let mut batches = planner.run(&self.input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let (batch, met) = writes.lock_found(batch?, strength).await?;
            self.take(batch, writes, &mut run).await?;
            if met.is_empty() {
                continue;
            }
            let mut again = Box::pin(self.recheck.rows(&self.input, planner, parameters, met)).await?;
            while let Some(batch) = again.next().await {
                self.take(batch?, writes, &mut run).await?;
            }
        }
        if let Some(batch) = run.found.take()? {
            self.write(&batch, writes).await?;
        }
        let Run { rows, kept, .. } = run;
        let returned = Returning::finish(self.returning.as_ref(), planner, parameters, kept, writes).await?;
        Ok(Changed { rows, returned })
    }

    /// Writes the rows of a batch of the input, or collects them.
    async fn take(&self, batch: RecordBatch, writes: &mut Writes<'_>, run: &mut Run<'_>) -> SqlResult<()> {
        let batch = first_changes(batch, writes, self.joins)?;
        let mut values = self.rows.set.values(&batch, IDENTITY_COLUMNS)?;
        if self.returning.is_some() || self.rows.need_whole_rows() {
            let target = IDENTITY_COLUMNS + self.rows.set.width();
            let others = target + self.relation().columns.len();
            let before = batch.columns()[target..others].to_vec();
            let after = run.changes.apply(before, batch.num_rows(), &mut values)?;
            if let Some(returning) = &self.returning {
                run.kept.push(&returning.joined(&after, &batch.columns()[others..])?)?;
            }
        }
        run.rows += batch.num_rows() as u64;
        match run.found.push(written_columns(&batch, values)?, writes)? {
            Some(batch) => self.write(&batch, writes).await,
            None => Ok(()),
        }
    }

    /// Writes rows whose keys and versions are followed by their new values.
    async fn write(&self, batch: &RecordBatch, writes: &mut Writes<'_>) -> SqlResult<()> {
        if self.write_as_columns(batch, writes).await? {
            return Ok(());
        }
        let whole = self.rows.changes.rows_with_all_values(&batch.columns()[IDENTITY_COLUMNS..], batch.num_rows());
        if whole.true_count() > 0 && self.write_as_columns(&filter_record_batch(batch, &whole)?, writes).await? {
            return self.write_one_by_one(&filter_record_batch(batch, &not(&whole)?)?, writes).await;
        }
        self.write_one_by_one(batch, writes).await
    }

    /// False where the rows have to be written one by one: one that moves is another row, and of one that gets no value for a
    /// property that goes.
    async fn write_as_columns(&self, batch: &RecordBatch, writes: &mut Writes<'_>) -> SqlResult<bool> {
        let values = &batch.columns()[IDENTITY_COLUMNS..];
        let change = || self.rows.changes.merge_of(values).filter(|_| !self.assigns_key());
        write_together(batch, change, writes).await
    }

    async fn write_one_by_one(&self, batch: &RecordBatch, writes: &mut Writes<'_>) -> SqlResult<()> {
        let values = &batch.columns()[IDENTITY_COLUMNS..];
        self.rows.write_each(writes, &keys_of_batch(batch)?, batch, values).await
    }
}

/// The keys and versions of a batch, and new values.
fn written_columns(batch: &RecordBatch, values: Vec<ArrayRef>) -> SqlResult<RecordBatch> {
    let mut columns = batch.columns()[..IDENTITY_COLUMNS].to_vec();
    columns.extend(values);
    let field = |(place, column): (usize, &ArrayRef)| Field::new(place.to_string(), column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

/// What a run has come to.
struct Run<'u> {
    changes: BoundChanges<'u>,
    rows: u64,
    /// For RETURNING.
    kept: KeptRows,
    /// Those that are not written yet.
    found: FoundRows,
}

/// The versions of all rows of a batch that begins with keys and versions.
///
/// # Errors
/// As [`etag_at`].
pub(super) fn etags_of(batch: &RecordBatch) -> SqlResult<Vec<ETag>> {
    (0..batch.num_rows()).map(|row| etag_at(batch, row)).collect()
}

pub(crate) fn etag_at(batch: &RecordBatch, row: usize) -> SqlResult<ETag> {
    let etags = batch.column(IDENTITY_COLUMNS - 1).as_string_opt::<i32>();
    let text = etags.map(|e| e.value(row)).unwrap_or_default();
    ETag::parse(text).map_err(|e| SqlError::new(ErrorKind::DataCorrupted, e.to_string()))
}

//! DELETE: read keys and versions, then delete conditionally.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_bind::BoundExpr;
use tablegate_bind::query::LockStrength;
use tablegate_store::table::KnownChange;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::Changed;
use super::found_rows::{FoundRows, write_together};
use super::kept_rows::KeptRows;
use super::others::{OtherColumns, from_of};
use super::recheck::Recheck;
use super::returning::Returning;
use super::rows::first_changes;
use super::update::{IDENTITY_COLUMNS, KEY_COLUMNS, etag_at};
use super::writes::Writes;
use crate::batches::{all_keys_of_batch, keys_of_batch};
use crate::plan::{MeantChange, PlannedQuery, Planner};
use crate::relation::Relation;

/// All rows of a table.
struct AllOfTable {
    /// A row without columns for each of them.
    counted: PlannedQuery,
    /// Their keys.
    keys: PlannedQuery,
}

/// A DELETE, planned.
pub(crate) struct PreparedDelete {
    relation: Arc<Relation>,
    input: PlannedQuery,
    /// Where all rows are deleted and none is shown.
    all: Option<Box<AllOfTable>>,
    recheck: Recheck,
    /// Other tables may find a row several times.
    joins: bool,
    returning: Option<Returning>,
    parameters: Vec<SqlType>,
}

impl PreparedDelete {
    /// # Errors
    /// The errors of planning the statement.
    pub(crate) async fn prepare(planner: &Planner<'_>, meant: &Arc<MeantChange>) -> SqlResult<Self> {
        let relation = meant.relation().clone();
        let change = &meant.change;
        let mut targets = meant.identity()?;
        let others = OtherColumns::of(meant);
        if !change.returning.is_empty() {
            targets.extend(meant.all_columns()?);
        }
        targets.extend(others.columns(meant)?);
        let joins = !change.from.is_empty();
        let all = match (joins, &change.filter, change.returning.is_empty()) {
            (false, None, true) => {
                let of = |columns: &[BoundExpr]| meant.query(from_of(change), None, columns.to_vec());
                let counted = meant.plan(planner, &of(&[])).await?;
                let keys = meant.plan(planner, &of(&targets[..KEY_COLUMNS])).await?;
                Some(Box::new(AllOfTable { counted, keys }))
            }
            _ => None,
        };
        let query = meant.query(from_of(change), change.filter.clone(), targets);
        let input = meant.plan(planner, &query).await?;
        let others = others.typed(input.plan.schema());
        let returning = Returning::prepare(planner, meant, &relation, others).await?;
        let recheck = match joins {
            false => Recheck::alone(&relation),
            true => Recheck::beside(meant, query, Vec::new(), false)?,
        };
        Ok(Self { relation, input, all, recheck, joins, returning, parameters: meant.parameters().to_vec() })
    }

    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.parameters
    }

    pub(super) fn returning(&self) -> Option<&Returning> {
        self.returning.as_ref()
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    pub(crate) fn input(&self) -> &PlannedQuery {
        &self.input
    }

    pub(crate) async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        if let Some(rows) = self.clear(planner, parameters, writes).await? {
            return Ok(Changed { rows: rows as u64, returned: None });
        }
        let kept = KeptRows::new(planner, "rows of RETURNING");
        let mut run = Run { rows: 0, kept, found: FoundRows::default() };
        let mut batches = planner.run(&self.input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let (batch, met) = writes.lock_found(batch?, LockStrength::Update).await?;
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
            delete_all(batch, writes).await?;
        }
        if self.all.is_some() {
            writes.note_emptied(run.rows)?;
        }
        let Run { rows, kept, .. } = run;
        let returned = Returning::finish(self.returning.as_ref(), planner, parameters, kept, writes).await?;
        Ok(Changed { rows, returned })
    }

    /// Deletes all rows of the table at once: how many they were. `None` where that is not what is asked for, or they have to be
    /// deleted one by one.
    async fn clear(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Option<usize>> {
        let Some((planned, mut all)) = self.all.as_ref().zip(writes.begin_clear()) else { return Ok(None) };
        let input = if all.asks_which() { &planned.keys } else { &planned.counted };
        let mut batches = planner.run(input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            if !all.asks_which() {
                all.add_count(batch.num_rows());
            } else if !all.add(&self.relation, all_keys_of_batch(&batch)?) {
                return Ok(None);
            }
        }
        let rows = all.count();
        Ok(writes.clear(all).await?.then_some(rows))
    }

    /// Deletes the rows of a batch of the input, or collects them, and keeps what RETURNING shows of them.
    async fn take(&self, batch: RecordBatch, writes: &mut Writes<'_>, run: &mut Run) -> SqlResult<()> {
        let batch = first_changes(batch, writes, self.joins)?;
        if let Some(returning) = &self.returning {
            run.kept.push(&returning.read(&batch.columns()[IDENTITY_COLUMNS..])?)?;
        }
        run.rows += batch.num_rows() as u64;
        let identity: Vec<usize> = (0..IDENTITY_COLUMNS).collect();
        match run.found.push(batch.project(&identity)?, writes)? {
            Some(batch) => delete_all(batch, writes).await,
            None => Ok(()),
        }
    }
}

/// What a run has come to.
struct Run {
    rows: u64,
    /// For RETURNING.
    kept: KeptRows,
    /// Those that are not written yet.
    found: FoundRows,
}

async fn delete_all(batch: RecordBatch, writes: &mut Writes<'_>) -> SqlResult<()> {
    if write_together(&batch, || Some(KnownChange::Delete), writes).await? {
        return Ok(());
    }
    for (row, key) in keys_of_batch(&batch)?.into_iter().enumerate() {
        writes.delete(key, &etag_at(&batch, row)?).await?;
    }
    Ok(())
}

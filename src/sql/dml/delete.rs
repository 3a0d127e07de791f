//! DELETE: read keys and versions, then delete conditionally.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use sqlparser::ast::{self, FromTable};
use tablegate_store::table::KnownChange;
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::Changed;
use super::found_rows::{FoundRows, write_together};
use super::kept_rows::KeptRows;
use super::others::OtherTables;
use super::recheck::Recheck;
use super::returning::{Returning, all_columns};
use super::rows::first_changes;
use super::target::{find_changed, item, locked_target, one, select, target_of};
use super::update::{IDENTITY_COLUMNS, OTHER_LABELS, TARGET_LABELS, etag_at};
use super::writes::Writes;
use crate::batches::keys_of_batch;
use crate::plan::{PlannedQuery, Planner};
use crate::relation::Relation;
use crate::syntax::LockStrength;

/// A DELETE, planned.
pub(crate) struct PreparedDelete {
    relation: Arc<Relation>,
    input: PlannedQuery,
    /// Where all rows are deleted and none is shown: a row for each of them.
    all: Option<Box<PlannedQuery>>,
    recheck: Recheck,
    /// Other tables may find a row several times.
    joins: bool,
    returning: Option<Returning>,
    parameters: Vec<SqlType>,
}

impl PreparedDelete {
    /// # Errors
    /// The errors of planning the statement; 0A000 for clauses PostgreSQL does not have.
    pub(crate) async fn prepare(planner: &Planner<'_>, delete: &ast::Delete, declared: &[SqlType]) -> SqlResult<Self> {
        if !delete.order_by.is_empty() || delete.limit.is_some() || !delete.tables.is_empty() || delete.output.is_some()
        {
            return Err(SqlError::not_supported("this clause of DELETE"));
        }
        let mut declared = declared.to_vec();
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [table] = from.as_slice() else { return Err(SqlError::not_supported("DELETE from several tables")) };
        let (name, alias) = target_of(table)?;
        let relation = find_changed(planner, name, "delete from").await?;
        let using = delete.using.as_deref().unwrap_or_default();
        let others = OtherTables::read(planner, &alias, using).await?;
        let mut items = vec![item(&alias, "PartitionKey", 0), item(&alias, "RowKey", 1), item(&alias, "etag", 2)];
        let clause = delete.returning.as_deref();
        let shown = others.columns_for(clause);
        if clause.is_some() {
            items.extend(all_columns(&relation, &alias, TARGET_LABELS));
        }
        items.extend(shown.items(OTHER_LABELS));
        let mut tables = vec![locked_target(&table.relation, &alias)];
        tables.extend_from_slice(using);
        let all = match (using, &delete.selection, clause) {
            ([], None, None) => {
                Some(Box::new(planner.plan(&select(vec![one()], tables.clone(), None), &declared).await?))
            }
            _ => None,
        };
        let query = select(items, tables, delete.selection.clone());
        let input = planner.plan(&query, &declared).await?;
        input.learn(&mut declared);
        let shown = shown.typed(input.plan.schema());
        let returning = Returning::prepare(planner, &relation, &alias, clause, shown, &mut declared).await?;
        let recheck = match using.is_empty() {
            true => Recheck::alone(&relation),
            false => Recheck::beside(&relation, &query, others.sources(), Vec::new(), false),
        };
        Ok(Self { relation, input, all, recheck, joins: !using.is_empty(), returning, parameters: declared })
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
        if let Some(all) = self.all.as_ref().filter(|_| writes.may_clear()) {
            let (mut rows, mut batches) = (0, planner.run(all, parameters).await?);
            while let Some(batch) = batches.next().await {
                rows += batch?.num_rows();
            }
            if writes.clear(rows).await? {
                return Ok(Changed { rows: rows as u64, returned: None });
            }
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
        let Run { rows, kept, .. } = run;
        let returned = Returning::finish(self.returning.as_ref(), planner, parameters, kept, writes).await?;
        Ok(Changed { rows, returned })
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

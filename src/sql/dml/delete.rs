//! DELETE: read keys and versions, then delete conditionally.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{self, FromTable};
use futures::StreamExt;

use super::Changed;
use super::returning::{Returning, all_columns};
use super::rows::keys_of_batch;
use super::target::{find_target, item, select, target_of};
use super::update::{IDENTITY_COLUMNS, etag_at};
use super::writes::Writes;
use crate::sql::error::{SqlError, SqlResult};
use crate::sql::outcome::ResultColumn;
use crate::sql::plan::{PlannedQuery, Planner};
use crate::sql::relation::Relation;
use crate::sql::types::SqlType;

/// A DELETE, planned.
pub(crate) struct PreparedDelete {
    relation: Arc<Relation>,
    input: PlannedQuery,
    returning: Option<Returning>,
}

impl PreparedDelete {
    /// # Errors
    /// Whatever is wrong with the statement; 0A000 for clauses PostgreSQL does not have.
    pub async fn prepare(planner: &Planner<'_>, delete: &ast::Delete, declared: &[SqlType]) -> SqlResult<Self> {
        if !delete.order_by.is_empty() || delete.limit.is_some() || !delete.tables.is_empty() || delete.output.is_some()
        {
            return Err(SqlError::not_supported("this clause of DELETE"));
        }
        if delete.using.is_some() {
            return Err(SqlError::not_supported("DELETE ... USING").with_hint("Use a sub-query in WHERE."));
        }
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [table] = from.as_slice() else { return Err(SqlError::not_supported("DELETE from several tables")) };
        let (name, alias) = target_of(table)?;
        let relation = find_target(planner, name).await?;
        let mut items = vec![item(&alias, "PartitionKey", 0), item(&alias, "RowKey", 1), item(&alias, "etag", 2)];
        let returning = Returning::prepare(planner, &relation, &alias, delete.returning.as_deref(), declared)?;
        if returning.is_some() {
            items.extend(all_columns(&relation, &alias, 1000));
        }
        let query = select(items, vec![table.clone()], delete.selection.clone())?;
        let input = planner.plan(&query, declared).await?;
        Ok(Self { relation, input, returning })
    }

    pub fn parameters(&self) -> &[SqlType] {
        &self.input.parameters
    }

    pub fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        self.returning.as_ref().map(Returning::columns)
    }

    pub fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    pub fn input(&self) -> &PlannedQuery {
        &self.input
    }

    pub async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        let mut rows = 0;
        let mut gone = Vec::new();
        let mut seen = HashSet::new();
        let mut batches = planner.run(&self.input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            for (row, key) in keys_of_batch(&batch)?.into_iter().enumerate() {
                if seen.insert(key.clone()) {
                    writes.delete(key, &etag_at(&batch, row)?).await?;
                    rows += 1;
                }
            }
            if self.returning.is_some() {
                let columns = batch.columns().iter().skip(IDENTITY_COLUMNS).cloned().collect();
                gone.push(RecordBatch::try_new(Returning::row_schema(&self.relation), columns)?);
            }
        }
        let versions = writes.finish().await?;
        let returned = Returning::rows(self.returning.as_ref(), planner, parameters, gone, &versions).await?;
        Ok(Changed { rows, returned })
    }
}

//! Rows of a table, where their keys say that they may be few.

use std::sync::Arc;

use datafusion::common::{DFSchema, DFSchemaRef, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, TableScan};
use futures::TryStreamExt;
use tablegate_store::table::Direction;
use tablegate_types::error::SqlResult;

use super::few::Few;
use super::node::{Rows, Running};
use super::wanted::{KEYS_MAX, Wanted};
use crate::engine::Engine;
use crate::key_range::{KeyPlan, Scope};
use crate::plan::checked::Checked;
use crate::plan::outputs::{SHORT_ROWS, in_run};
use crate::reads::Reads;
use crate::scan::RelationProvider;

/// A scan.
#[derive(Debug)]
pub(super) struct TableRows {
    checked: Checked,
    filters: Vec<Expr>,
    /// All columns of the relation, as the filters name them.
    filtered: DFSchemaRef,
    /// The columns that come out, as they are named in filters.
    columns: Vec<Expr>,
    /// How many of the rows are asked for.
    fetch: Option<usize>,
}

impl TableRows {
    /// The scan of a user's table; `None` for what else rows come from.
    ///
    /// # Errors
    /// The engine's, for a filter that it cannot compute.
    pub(super) fn of(scan: &TableScan, engine: &Engine) -> Result<Option<Self>> {
        let provider = source_as_provider(&scan.source)?;
        let Some(provider) = provider.downcast_ref::<RelationProvider>() else { return Ok(None) };
        let relation = provider.relation();
        let read: Vec<usize> = match &scan.projection {
            Some(projection) => projection.clone(),
            None => (0..relation.columns.len()).collect(),
        };
        let filtered = DFSchema::try_from_qualified_schema(scan.table_name.clone(), &relation.arrow_schema)?;
        let column = |place: &usize| Expr::Column(filtered.qualified_field(*place).into());
        let columns = read.iter().map(column).collect();
        let Some(checked) = Checked::of(provider, &read, scan, engine)? else { return Ok(None) };
        Ok(Some(Self {
            checked,
            filters: scan.filters.clone(),
            filtered: Arc::new(filtered),
            columns,
            fetch: scan.fetch,
        }))
    }

    /// Whether something is asked of its rows.
    pub(super) fn is_filtered(&self) -> bool {
        !self.filters.is_empty()
    }

    /// The rows; `None` where they may be many.
    ///
    /// # Errors
    /// Those of reading, and of computing what is asked of a row.
    pub(super) async fn rows(&self, wanted: &[Wanted], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        let (run, reads) = (running.run, running.reads);
        let filters = self.filters.iter().map(|filter| in_run(filter, &self.filtered, run));
        let mut filters = filters.collect::<SqlResult<Vec<_>>>()?;
        // Of the first rows it is not known which they are.
        if self.fetch.is_none() {
            let looked_for = |wanted: &Wanted| Some(wanted.condition(self.columns.get(wanted.column)?.clone()));
            filters.extend(wanted.iter().filter_map(looked_for));
        }
        let relation = &self.checked.scan.relation;
        let plan = KeyPlan::from_filters(relation, &filters);
        if !names_keys(&plan) && !self.is_small(reads) {
            return Ok(None);
        }
        let check = if plan.is_exact() { self.checked.of_columns_alone() } else { self.checked.in_run(run)? };
        let most = self.fetch.filter(|_| plan.is_exact()).unwrap_or(SHORT_ROWS + 1);
        let plan = plan.of_keys_alone();
        let scan = &self.checked.scan;
        let mut rows = scan.rows(plan, Direction::Forward, Some(most), Arc::clone(reads), SHORT_ROWS);
        let (mut few, mut looked_at, mut left) = (Few::default(), 0, self.fetch.unwrap_or(usize::MAX));
        while let Some(batch) = rows.try_next().await? {
            looked_at += batch.num_rows();
            let checked = check.left_of(&batch)?;
            let checked = checked.slice(0, checked.num_rows().min(left));
            left -= checked.num_rows();
            if looked_at > SHORT_ROWS || !few.take(checked) {
                return Ok(None);
            }
        }
        Ok(Some(few.together(&self.checked.schema)?))
    }

    fn is_small(&self, reads: &Reads) -> bool {
        let size = reads.readers.size_of(&self.checked.scan.relation.stored);
        size.is_some_and(|size| size.entities <= SHORT_ROWS as u64)
    }
}

/// Whether it names some of the keys. How many rows these have is seen when they are read.
fn names_keys(plan: &KeyPlan) -> bool {
    !matches!(plan.scope, Scope::Table) && plan.ranges().take(KEYS_MAX + 1).count() <= KEYS_MAX
}

//! Rows of a table, where their keys say that they may be few.

use std::sync::Arc;

use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, TableScan};
use futures::TryStreamExt;
use tablegate_store::table::Direction;
use tablegate_types::error::SqlResult;

use super::few::Few;
use super::node::{Rows, Running};
use super::wanted::{KEYS_MAX, Wanted};
use crate::engine::Engine;
use crate::key_range::{KeyPlan, PointPredicate, RangePredicate, Scope};
use crate::plan::checked::Checked;
use crate::plan::outputs::{Run, SHORT_ROWS, in_run};
use crate::reads::Reads;
use crate::relation::ColumnSource;
use crate::scan::RelationProvider;

/// A scan.
#[derive(Debug)]
pub(super) struct TableRows {
    checked: Checked,
    filters: Vec<Expr>,
    /// All columns of the relation, as the filters name them.
    filtered: DFSchemaRef,
    /// The key that the filters name, where they name one, and the keys that begin alike.
    point: Option<PointPredicate>,
    range: Option<RangePredicate>,
    /// The columns that come out, as they are named in filters.
    columns: Vec<Expr>,
    /// Where the key is among them, if it is one column and nothing else is asked for.
    key: Option<usize>,
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
        let is_key = |place: &usize| matches!(relation.columns[*place].source, ColumnSource::KeyPart(_));
        let is_of_key_alone = scan.filters.is_empty() && scan.fetch.is_none() && relation.codec.is_one_column();
        Ok(Some(Self {
            point: PointPredicate::of(relation, &scan.filters),
            range: RangePredicate::of(relation, &scan.filters),
            key: is_of_key_alone.then(|| read.iter().position(is_key)).flatten(),
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
        let plan = match self.keys_at_once(wanted, run) {
            Some(plan) => plan,
            None => self.keys(wanted, run)?,
        };
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

    /// The keys that are written down as they stand, without a look at what the filters say together.
    fn keys_at_once(&self, wanted: &[Wanted], run: &Run<'_>) -> Option<KeyPlan> {
        let relation = &*self.checked.scan.relation;
        match wanted {
            [] => {
                let key = self.point.as_ref().and_then(|point| point.key(relation, run.parameters));
                let range = || self.range.as_ref()?.plan(relation, run.parameters);
                key.map(|key| KeyPlan::of_keys([key])).or_else(range)
            }
            [only] if self.key == Some(only.column) => {
                let key = |value: &ScalarValue| relation.codec.key_of(|_| Some(value));
                let mut keys = only.values().iter().map(key).collect::<Option<Vec<_>>>()?;
                keys.sort_unstable();
                Some(KeyPlan::of_keys(keys))
            }
            _ => None,
        }
    }

    fn keys(&self, wanted: &[Wanted], run: &Run<'_>) -> SqlResult<KeyPlan> {
        let filters = self.filters.iter().map(|filter| in_run(filter, &self.filtered, run));
        let mut filters = filters.collect::<SqlResult<Vec<_>>>()?;
        // Of the first rows it is not known which they are.
        if self.fetch.is_none() {
            let looked_for = |wanted: &Wanted| Some(wanted.condition(self.columns.get(wanted.column)?.clone()));
            filters.extend(wanted.iter().filter_map(looked_for));
        }
        Ok(KeyPlan::from_filters(&self.checked.scan.relation, &filters))
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

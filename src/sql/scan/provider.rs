//! A relation as DataFusion's TableProvider: every filter is taken, so none is evaluated twice.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use tablegate_store::table::{Promises, TableSize};

use super::exec::EntityScanExec;
use crate::key_range::{KeyPlan, ROWS_OF_A_LOOK_UP};
use crate::newest::TargetNumber;
use crate::reads::Reads;
use crate::relation::Relation;
use crate::stoppable;

/// In a table of fewer rows it does not matter how they are found.
const ROWS_WORTH_A_LOOK: u64 = 4_096;

#[derive(Debug, Clone)]
pub(crate) struct RelationProvider {
    relation: Arc<Relation>,
    /// Of the store that the relation is in.
    promises: Promises,
    /// How large it is about, where the store counts that.
    size: Option<TableSize>,
    /// The store splits scans of it.
    splits: bool,
    /// How many values columns have at most, by their places in the relation, as far as a query tells.
    values: Vec<(usize, usize)>,
    /// Its number among the tables that the statement locks rows of.
    target: Option<TargetNumber>,
}

impl RelationProvider {
    pub(crate) fn new(relation: Arc<Relation>, size: Option<TableSize>, promises: Promises) -> Self {
        Self { relation, promises, size, splits: false, values: Vec::new(), target: None }
    }

    /// The statement locks rows of it, under this number.
    #[must_use]
    pub(crate) fn locked_as(self, target: Option<TargetNumber>) -> Self {
        Self { target, ..self }
    }

    /// Its number among the tables that the statement locks rows of.
    pub(crate) fn target(&self) -> Option<TargetNumber> {
        self.target
    }

    /// Whether scans of it may be split.
    #[must_use]
    pub(crate) fn splits(self, splits: bool) -> Self {
        Self { splits, ..self }
    }

    /// The column at this place has no more than so many values.
    #[must_use]
    pub(crate) fn with_values(mut self, column: usize, values: usize) -> Self {
        self.values.push((column, values));
        self
    }

    /// How many rows there are about, where the store counts them.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.size.map(|size| size.entities)
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    /// What to read for these filters. A few rows of each partition are looked up one by one only where partitions are long.
    fn key_plan(&self, filters: &[Expr], session: &dyn Session) -> KeyPlan {
        let plan = KeyPlan::from_filters(&self.relation, filters);
        let is_large = self.size.is_some_and(|size| size.entities >= ROWS_WORTH_A_LOOK);
        if !is_large || !plan.looks_in_all_partitions() {
            return plan;
        }
        let reads = session.config().get_extension::<Reads>();
        let rows = reads.and_then(|reads| reads.readers.partition_rows(&self.relation.stored, ROWS_OF_A_LOOK_UP));
        match rows.is_some_and(|rows| rows < ROWS_OF_A_LOOK_UP) {
            true => KeyPlan::of_whole_partitions(&self.relation, filters),
            false => plan,
        }
    }

    /// Whether the store reads backwards as well as forwards.
    pub(crate) fn reversible(&self) -> bool {
        self.promises.reverse_scans
    }
}

#[async_trait]
impl TableProvider for RelationProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.relation.arrow_schema)
    }

    /// A primary key is not told: the engine holds it for the key of groups of joined rows too, where it is a part of it.
    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// What the keys do not decide is evaluated inside the scan, per group of ranges. So LIMIT reaches it.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        stoppable::check()?;
        let plan = self.key_plan(filters, session);
        let all = || (0..self.relation.columns.len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let scan = EntityScanExec::try_new(Arc::clone(&self.relation), projection, plan, limit, session)?;
        let scan = scan.with_table_size(self.size).reversible(self.promises.reverse_scans);
        Ok(Arc::new(scan.splits(self.splits).with_values(&self.values).locked_as(self.target)))
    }
}

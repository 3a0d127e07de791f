//! A scan on its own, without a tree of operators around it.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_store::table::{Direction, KeyRange, ScanRequest};
use tablegate_types::single_row::SingleRow;

use super::layout::RowLayout;
use super::misfit::ReadRows;
use super::order;
use super::run::{GroupScan, ScanRun, external};
use super::values::ValueLayout;
use crate::key_range::{Caps, KeyPlan, PointPredicate};
use crate::newest::TargetNumber;
use crate::reads::Reads;
use crate::relation::Relation;

/// The columns of a relation that a query reads, and nothing about which rows.
#[derive(Debug)]
pub(crate) struct DirectScan {
    pub relation: Arc<Relation>,
    columns: Arc<[usize]>,
    /// Of these columns.
    schema: SchemaRef,
    /// Whether the store reads backwards as well as forwards.
    reversible: bool,
    /// Its number among the tables that the statement locks rows of.
    target: Option<TargetNumber>,
    layout: Arc<RowLayout>,
    /// How one row of them is shown without a batch, where their types allow for it.
    values: Option<ValueLayout>,
}

impl DirectScan {
    pub(crate) fn new(relation: Arc<Relation>, columns: Arc<[usize]>, schema: SchemaRef, reversible: bool) -> Self {
        let layout = Arc::new(RowLayout::new(&relation, &columns, false));
        let values = ValueLayout::new(&relation, &columns);
        Self { relation, columns, schema, reversible, target: None, layout, values }
    }

    /// The statement locks rows of it, under this number.
    #[must_use]
    pub(crate) fn locked_as(self, target: Option<TargetNumber>) -> Self {
        Self { target, ..self }
    }

    /// The entity of this key that the transaction has written, which it may have deleted; outer `None` where it has not.
    #[expect(clippy::option_option, reason = "as OwnWrites::get")]
    fn own(&self, key: &EntityKey, reads: &Reads) -> Result<Option<Option<StoredEntity>>> {
        let own = reads.own_writes(&self.relation.stored).map(|own| own.get(key)).transpose();
        Ok(own.map_err(|error| DataFusionError::External(error))?.flatten())
    }

    /// Where the relation's column at this index is among those that are read.
    pub(crate) fn place_of(&self, column: usize) -> Option<usize> {
        self.columns.iter().position(|read| *read == column)
    }

    /// Whether [`DirectScan::single`] can show a row.
    pub(crate) fn shows_values(&self) -> bool {
        self.values.is_some()
    }

    /// The row of one key, if there is one, with the columns at these places; outer `None` where it takes another way:
    /// [`DirectScan::row`]. It is not counted yet.
    ///
    /// # Errors
    /// When the table cannot be read.
    #[expect(clippy::option_option, reason = "two different absences, told apart at the only caller")]
    pub(crate) fn single(
        &self,
        key: &EntityKey,
        outputs: &[usize],
        reads: &Reads,
    ) -> Result<Option<Option<SingleRow>>> {
        let Some(values) = self.values.as_ref().filter(|_| reads.newest_rows(self.target).is_none()) else {
            return Ok(None);
        };
        match self.own(key, reads)? {
            Some(Some(own)) => return Ok(values.of(&own, &self.relation, outputs).map(Some)),
            Some(None) => return Ok(Some(None)),
            None => {}
        }
        reads.note_key(&self.relation.stored, key);
        let reader = reads.readers.of(&self.relation.stored).map_err(|error| DataFusionError::External(error))?;
        values.read(reader, &self.relation, key, outputs).map_err(external)
    }

    /// The row of one key; `None` where it may not be that of the store, which [`DirectScan::rows`] knows about.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(crate) fn row(
        &self,
        key: &EntityKey,
        reads: &Arc<Reads>,
    ) -> Result<Option<BoxStream<'static, Result<RecordBatch>>>> {
        let is_own = reads.own_writes(&self.relation.stored).is_some_and(|own| own.has(key));
        if is_own || reads.newest_rows(self.target).is_some() {
            return Ok(None);
        }
        let ranges: Arc<[KeyRange]> = [PointPredicate::range(key)].into();
        let read = ReadRows {
            relation: Arc::clone(&self.relation),
            reads: Arc::clone(reads),
            columns: Arc::clone(&self.columns),
            ranges: Arc::clone(&ranges),
            predicate: None,
            batch_rows: 1,
        };
        reads.note_scan(&self.relation.stored, self.target, &ranges);
        let request = ScanRequest {
            table: self.relation.stored.name.clone(),
            ranges,
            columns: Arc::clone(self.layout.scan_columns()),
            direction: Direction::Forward,
            limit: Some(1),
            batch_rows: 1,
            predicate: None,
            stats: Arc::default(),
        };
        let reader = reads.readers.of(&self.relation.stored).map_err(|error| DataFusionError::External(error))?;
        let scan = reader.scan(request).map_err(external)?;
        let (layout, reads) = (Arc::clone(&self.layout), Arc::clone(reads));
        let rows = scan.map(move |scanned| {
            let scanned = scanned.map_err(external)?;
            reads.count_entities(scanned.num_rows(), scanned.num_rows());
            layout.assemble(&scanned).map_err(|error| DataFusionError::External(error))
        });
        let mut read = Some(read);
        Ok(Some(
            rows.or_else(move |error| {
                let read = read.take();
                async move {
                    match read {
                        Some(read) => Err(read.told(error).await),
                        None => Err(error),
                    }
                }
            })
            .boxed(),
        ))
    }

    /// The direction in which the rows of these keys come in a wanted order; `None` when neither gives it.
    ///
    /// # Errors
    /// None are expected: computing the order of a scan's rows returns a `Result`, but does not fail here.
    pub(crate) fn direction(&self, plan: &KeyPlan, order: &[PhysicalSortExpr]) -> Result<Option<Direction>> {
        let directions: &[_] =
            if self.reversible { &[Direction::Forward, Direction::Reverse] } else { &[Direction::Forward] };
        for &direction in directions {
            let properties = order::properties(&self.relation, &self.columns, &self.schema, plan, direction)?;
            if properties.ordering_satisfy(order.to_vec())? {
                return Ok(Some(direction));
            }
        }
        Ok(None)
    }

    /// The rows of these keys, in key order or its reverse, at most `fetch` of them. The keys must say all there is to
    /// say about which rows: what a plan leaves to be checked is not.
    pub(crate) fn rows(
        &self,
        plan: KeyPlan,
        direction: Direction,
        fetch: Option<usize>,
        reads: Arc<Reads>,
        batch_rows: usize,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        debug_assert!(plan.is_exact(), "rows are not filtered here");
        let group =
            |ranges: &Vec<KeyRange>| GroupScan { ranges: ranges.clone().into(), residual: None, predicate: None };
        let groups = plan.groups.iter().map(|g| group(&g.ranges)).collect();
        let run = ScanRun {
            part: (0, 1),
            target: self.target,
            relation: Arc::clone(&self.relation),
            reads,
            layout: Some(Arc::clone(&self.layout)),
            read: Arc::clone(&self.columns),
            dictionaries: Arc::new([]),
            projection: Arc::clone(&self.columns),
            plan: Arc::new(plan),
            groups,
            dynamic: Vec::new(),
            caps: Caps::default(),
            direction,
            fetch,
            batch_rows,
            stats: Arc::default(),
            metrics: BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), 0),
        };
        run.into_stream()
    }
}

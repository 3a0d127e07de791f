//! The plan node that scans a relation: it takes the filters, the limit, the wanted order and the filters that joins
//! and TopK find out while they run.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use tablegate_store::table::{Direction, KeyRange, Predicate, ScanPlan, ScanStats, TableSize};

use super::layout::RowLayout;
use super::run::{GroupScan, ScanRun};
use super::{estimate, order, pushdown, width};
use crate::key_range::{Caps, KeyPlan};
use crate::newest::TargetNumber;
use crate::reads::Reads;
use crate::relation::{ColumnSource, Relation};

/// Tables with fewer rows are read by one thread: another one would hardly have begun.
const SPLIT_ROWS: u64 = 50_000;

/// Scans the ranges of a [`KeyPlan`], group by group.
#[derive(Debug, Clone)]
pub(crate) struct EntityScanExec {
    relation: Arc<Relation>,
    /// Columns of the relation that come out.
    projection: Arc<[usize]>,
    /// Columns of the relation that are read: those that come out, then those only filters need.
    read: Arc<[usize]>,
    /// Those of them whose texts come as dictionaries.
    dictionaries: Arc<[usize]>,
    plan: Arc<KeyPlan>,
    groups: Arc<[GroupScan]>,
    direction: Direction,
    /// The store reads backwards as well as forwards.
    reversible: bool,
    fetch: Option<usize>,
    /// Filters over the output that take shape while the query runs.
    dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// How many rows the table had about when the scan was planned.
    table_rows: Option<u64>,
    /// How many bytes the store kept for each of them.
    row_bytes: Option<u64>,
    /// The store splits scans of the table.
    splits: bool,
    /// How many values columns of the relation have at most.
    values: Arc<[(usize, usize)]>,
    /// How many parts it is read in, side by side; each in order, and before the next.
    parts: usize,
    /// Its number among the tables that the statement locks rows of.
    target: Option<TargetNumber>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    stats: Arc<ScanStats>,
}

impl EntityScanExec {
    /// # Errors
    /// When a residual filter cannot be turned into a physical expression.
    pub(crate) fn try_new(
        relation: Arc<Relation>,
        projection: Vec<usize>,
        plan: KeyPlan,
        fetch: Option<usize>,
        session: &dyn Session,
    ) -> Result<Self> {
        let read = read_columns(&relation, &projection, &plan);
        let layout = RowLayout::new(&relation, &read, false);
        let schema = DFSchema::try_from(layout.schema().as_ref().clone())?;
        let groups = plan.groups.iter().map(|group| {
            let predicate = group.residual.as_ref().and_then(|filter| pushdown::predicate(&relation, filter));
            let residual = group.residual.clone().map(|e| session.create_physical_expr(e, &schema)).transpose()?;
            Ok(GroupScan { ranges: group.ranges.clone().into(), residual, predicate })
        });
        let groups: Arc<[GroupScan]> = groups.collect::<Result<Vec<_>>>()?.into();
        let output: SchemaRef = Arc::new(layout.schema().project(&(0..projection.len()).collect::<Vec<_>>())?);
        let properties = plan_properties(&relation, &projection, &output, &plan, Direction::Forward, 1)?;
        Ok(Self {
            relation,
            projection: projection.into(),
            read: read.into(),
            dictionaries: Arc::new([]),
            plan: Arc::new(plan),
            groups,
            direction: Direction::Forward,
            reversible: true,
            fetch,
            dynamic: Vec::new(),
            table_rows: None,
            row_bytes: None,
            splits: false,
            values: Arc::new([]),
            parts: 1,
            target: None,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
            stats: Arc::default(),
        })
    }

    /// Expects the table to be so large.
    pub(crate) fn with_table_size(self, size: Option<TableSize>) -> Self {
        let row_bytes = size.and_then(|size| size.bytes.checked_div(size.entities));
        Self { table_rows: size.map(|size| size.entities), row_bytes, ..self }
    }

    /// How many bytes a row of it takes, guessed by all columns of the table: those of texts among the ones that come out may
    /// have nearly all of them.
    pub(crate) fn row_bytes(&self) -> Option<usize> {
        let is_property = |column: usize| matches!(self.relation.columns[column].source, ColumnSource::Property { .. });
        let schema = self.schema();
        let mut outputs = self.projection.iter().zip(schema.fields());
        let has_texts =
            outputs.any(|(column, field)| is_property(*column) && width::is_of_any_length(field.data_type()));
        let bytes = self.row_bytes.filter(|_| has_texts)?;
        usize::try_from(bytes).ok()
    }

    /// Whether it may be turned round for an order that is asked for.
    #[must_use]
    pub(crate) fn reversible(self, reversible: bool) -> Self {
        Self { reversible, ..self }
    }

    /// Whether several threads may share it, each reading a part that the store tells.
    #[must_use]
    pub(crate) fn splits(self, splits: bool) -> Self {
        Self { splits, ..self }
    }

    /// Reads a table that the statement locks rows of, under this number.
    #[must_use]
    pub(crate) fn locked_as(self, target: Option<TargetNumber>) -> Self {
        Self { target, ..self }
    }

    /// Expects no more than so many values in these columns of the relation.
    #[must_use]
    pub(crate) fn with_values(self, values: &[(usize, usize)]) -> Self {
        Self { values: values.into(), ..self }
    }

    /// The same scan, with the texts of this column that comes out as dictionaries. `None` where they are no texts of a
    /// property, or a filter looks at them.
    ///
    /// # Errors
    /// None are expected: it is the same scan with another type for one of its columns.
    pub(crate) fn with_dictionary(&self, output: usize) -> Result<Option<Self>> {
        let Some(&column) = self.projection.get(output) else { return Ok(None) };
        let name = &self.relation.columns[column].name;
        let residuals = self.groups.iter().filter_map(|group| group.residual.as_ref());
        let is_filtered =
            residuals.chain(&self.dynamic).any(|filter| collect_columns(filter).iter().any(|used| used.name() == name));
        if is_filtered || self.relation.dictionary(column).is_none() {
            return Ok(None);
        }
        let dictionaries: Arc<[usize]> = self.dictionaries.iter().copied().chain([column]).collect();
        let layout = RowLayout::with_dictionaries(&self.relation, &self.projection, &dictionaries, false);
        let (relation, projection) = (&self.relation, &self.projection);
        let properties =
            plan_properties(relation, projection, layout.schema(), &self.plan, self.direction, self.parts)?;
        Ok(Some(Self { dictionaries, properties, ..self.clone() }))
    }

    /// The same scan, with a filter over what comes out that takes shape while the query runs. It can only save reading, so its
    /// owner keeps applying it. `None` where the scan ends after some rows: others would be in their place.
    pub(crate) fn with_run_time_filter(&self, filter: &Arc<dyn PhysicalExpr>) -> Option<Self> {
        let dynamic = self.dynamic.iter().cloned().chain([Arc::clone(filter)]).collect();
        self.fetch.is_none().then(|| Self { dynamic, ..self.clone() })
    }

    /// How many parts it is read in.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    pub(crate) fn relation(&self) -> &Relation {
        &self.relation
    }

    pub(crate) fn key_plan(&self) -> &KeyPlan {
        &self.plan
    }

    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// The names of the columns that come out.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.projection.iter().map(|&index| self.relation.columns[index].name.as_str())
    }

    /// The filters that joins and TopK give at run time.
    pub(crate) fn dynamic_filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.dynamic
    }

    /// What the store is told that it may leave out, for each group of ranges that has something.
    pub(crate) fn predicates(&self) -> impl Iterator<Item = &Predicate> {
        self.groups.iter().filter_map(|group| group.predicate.as_ref())
    }

    /// What the store will do when it runs on these snapshots.
    ///
    /// # Errors
    /// 0A000 for a place that this server has no store for.
    pub(crate) fn scan_plan(&self, reads: Arc<Reads>, batch_rows: usize) -> Result<ScanPlan> {
        self.run(reads, batch_rows, BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), 0), 0).plan()
    }

    /// What the run cost so far.
    pub(crate) fn stats(&self) -> &ScanStats {
        &self.stats
    }

    fn run(&self, reads: Arc<Reads>, batch_rows: usize, metrics: BaselineMetrics, part: usize) -> ScanRun {
        ScanRun {
            layout: None,
            relation: Arc::clone(&self.relation),
            reads,
            read: Arc::clone(&self.read),
            dictionaries: Arc::clone(&self.dictionaries),
            projection: Arc::clone(&self.projection),
            plan: Arc::clone(&self.plan),
            groups: Arc::clone(&self.groups),
            dynamic: self.dynamic.clone(),
            caps: Caps::within_rows(self.table_rows),
            direction: self.direction,
            fetch: self.fetch,
            batch_rows,
            part: (part, self.parts),
            target: self.target,
            stats: Arc::clone(&self.stats),
            metrics,
        }
    }

    fn reversed(&self) -> Result<Self> {
        let direction = match self.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        self.planned(direction, self.parts)
    }

    /// In this direction, and in so many parts.
    fn planned(&self, direction: Direction, parts: usize) -> Result<Self> {
        let properties =
            plan_properties(&self.relation, &self.projection, &self.schema(), &self.plan, direction, parts)?;
        Ok(Self { direction, parts, properties, ..self.clone() })
    }

    /// Whether it reads many rows, all there are in a range of keys.
    fn is_long(&self) -> bool {
        let is_large = self.table_rows.is_some_and(|rows| rows >= SPLIT_ROWS);
        is_large && self.fetch.is_none() && self.plan.ranges().any(KeyRange::has_all_rows)
    }
}

/// The projection, and behind it the other columns that residual filters mention.
fn read_columns(relation: &Relation, projection: &[usize], plan: &KeyPlan) -> Vec<usize> {
    let mut read = projection.to_vec();
    for residual in plan.groups.iter().filter_map(|group| group.residual.as_ref()) {
        for column in residual.column_refs() {
            if let Some((index, _)) = relation.column(&column.name)
                && !read.contains(&index)
            {
                read.push(index);
            }
        }
    }
    read
}

fn plan_properties(
    relation: &Relation,
    projection: &[usize],
    output: &SchemaRef,
    plan: &KeyPlan,
    direction: Direction,
    parts: usize,
) -> Result<Arc<PlanProperties>> {
    let order = order::properties(relation, projection, output, plan, direction)?;
    let partitioning = Partitioning::UnknownPartitioning(parts);
    Ok(Arc::new(PlanProperties::new(order, partitioning, EmissionType::Incremental, Boundedness::Bounded)))
}

impl ExecutionPlan for EntityScanExec {
    fn name(&self) -> &'static str {
        "EntityScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan has no children") }
    }

    /// The trait asks for it still.
    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let residuals = self.groups.iter().filter_map(|group| group.residual.as_ref());
        datafusion::physical_plan::apply_expression_roots(residuals.chain(&self.dynamic), f)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(reads) = context.session_config().get_extension::<Reads>() else {
            return internal_err!("a scan was started without a snapshot to read from");
        };
        let batch_rows = context.session_config().batch_size();
        let run = self.run(reads, batch_rows, BaselineMetrics::new(&self.metrics, partition), partition);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), run.into_stream())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = estimate::statistics(&self.plan, self.table_rows, self.fetch, &self.schema());
        for (output, column) in self.projection.iter().zip(&mut statistics.column_statistics) {
            let known = self.values.iter().filter(|(known, _)| known == output).map(|(_, values)| *values).min();
            column.distinct_count = known.map_or(Precision::Absent, Precision::Inexact);
        }
        if partition.is_some() {
            statistics.num_rows = statistics.num_rows.map(|rows| rows.div_ceil(self.parts));
        }
        Ok(Arc::new(statistics))
    }

    /// More threads than one pay for many rows only, and where the store says where to split.
    fn repartitioned(&self, parts: usize, _config: &ConfigOptions) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !self.splits || parts <= self.parts || !self.is_long() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.planned(self.direction, parts)?)))
    }

    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        // A few rows are read by one, which stops when it has them.
        let parts = if fetch.is_some() { 1 } else { self.parts };
        let scan = self.planned(self.direction, parts).ok()?;
        Some(Arc::new(Self { fetch, ..scan }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn try_pushdown_sort(&self, order: &[PhysicalSortExpr]) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        // The first rows of one direction are not those of the other.
        let may_turn = self.reversible && self.fetch.is_none();
        let reversed = may_turn.then(|| self.reversed()).transpose()?;
        for scan in [Some(self.clone()), reversed].into_iter().flatten() {
            if scan.properties.eq_properties.ordering_satisfy(order.to_vec())? {
                return Ok(SortOrderPushdownResult::Exact { inner: Arc::new(scan) });
            }
        }
        Ok(SortOrderPushdownResult::Unsupported)
    }
}

impl DisplayAs for EntityScanExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntityScanExec: table={}, scope={}", self.relation.name, self.plan.scope)?;
        match self.fetch {
            Some(fetch) => write!(f, ", limit={fetch}"),
            None => Ok(()),
        }
    }
}

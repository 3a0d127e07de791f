//! The node of the plan.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, JoinSide, JoinType, Result, Statistics, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::equivalence::EquivalenceProperties;
use datafusion::physical_expr::{Distribution, Partitioning, PhysicalExpr};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::{EmbeddedProjection, ProjectionExec, try_embed_projection};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, TryFutureExt, stream};

use super::first::First;
use super::gather::{Gathered, Gathering};
use super::join::RangeJoin;
use super::probe::{Alone, probed};
use super::terms::Terms;
use super::told::Told;
use crate::passing::Plan;

type Expr = Arc<dyn PhysicalExpr>;

/// What all partitions wait for; what fails, fails for all of them.
type Awaited = Shared<BoxFuture<'static, Result<Arc<Gathered>, Arc<DataFusionError>>>>;

/// A join by ranges.
pub(crate) struct RangeJoinExec {
    left: Plan,
    right: Plan,
    join: Arc<RangeJoin>,
    schema: SchemaRef,
    told: Option<Told>,
    statistics: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Shared by the partitions.
    gathered: Mutex<Option<Awaited>>,
}

impl RangeJoinExec {
    /// Over these inputs, whose columns come out as this schema says; the statistics are those of the join that was there.
    pub(super) fn new(sides: [Plan; 2], join: RangeJoin, schema: SchemaRef, statistics: Arc<Statistics>) -> Self {
        let [left, right] = sides;
        // A row that comes out without a partner is not to be left out below.
        let told_side = join.read_first.negate();
        let is_telling = join.gives.of_side(told_side) != Some(Alone::Unmatched);
        let told = is_telling.then(|| {
            let plan = if told_side == JoinSide::Left { &left } else { &right };
            Told::new(&join.on_of(told_side), &join.terms, told_side != join.terms.sorted, plan.schema())
        });
        Self::with(left, right, Arc::new(join), schema, told, statistics)
    }

    fn with(
        left: Plan,
        right: Plan,
        join: Arc<RangeJoin>,
        schema: SchemaRef,
        told: Option<Told>,
        statistics: Arc<Statistics>,
    ) -> Self {
        let probing = if join.probing() == JoinSide::Left { &left } else { &right };
        let partitions = if join.is_single() { 1 } else { probing.output_partitioning().partition_count() };
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        let metrics = ExecutionPlanMetricsSet::new();
        Self { left, right, join, schema, told, statistics, properties, metrics, gathered: Mutex::default() }
    }

    fn over(&self, left: Plan, right: Plan) -> Self {
        let (join, schema) = (Arc::clone(&self.join), Arc::clone(&self.schema));
        Self::with(left, right, join, schema, self.told.clone(), Arc::clone(&self.statistics))
    }

    /// The same, of which only the first partners of each row are wanted.
    pub(super) fn with_first(&self, first: First) -> Self {
        let join = RangeJoin { first: Some(first), ..RangeJoin::clone(&self.join) };
        Self { join: Arc::new(join), ..self.over(Arc::clone(&self.left), Arc::clone(&self.right)) }
    }

    pub(super) fn join(&self) -> &RangeJoin {
        &self.join
    }

    /// The left one and the right one.
    pub(crate) fn sides(&self) -> [&Plan; 2] {
        [&self.left, &self.right]
    }

    /// The side with the column that is in ranges, and the one that says which.
    pub(crate) fn sorted_and_other(&self) -> (&Plan, &Plan) {
        let sorted = self.join.terms.sorted;
        (self.side(sorted), self.side(sorted.negate()))
    }

    /// The comparisons that the ranges are of.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (Expr, Operator, &Expr)> {
        let Terms { column, bounds, .. } = &self.join.terms;
        bounds.iter().map(|bound| (Arc::new(column.clone()) as Expr, bound.op, &bound.value))
    }

    pub(crate) fn join_type(&self) -> JoinType {
        self.join.join_type
    }

    pub(crate) fn on(&self) -> &[(Expr, Expr)] {
        &self.join.on
    }

    /// The side and the place there that a column comes from.
    pub(crate) fn origin(&self, column: usize) -> Option<&ColumnIndex> {
        self.join.columns.get(column)
    }

    /// The side of which only the first partners of each row of the other one come out.
    pub(crate) fn gives_first_of(&self) -> Option<JoinSide> {
        self.join.first.as_ref().map(|_| self.join.terms.sorted)
    }

    /// What is asked of pairs besides.
    pub(crate) fn residual(&self) -> Option<&JoinFilter> {
        self.join.terms.residual.as_ref()
    }

    /// The filters that the side that is read first has for the other one, and which this is.
    pub(crate) fn run_time_filters(&self) -> Option<(JoinSide, Vec<Expr>)> {
        let told = self.told.as_ref()?;
        Some((self.join.read_first.negate(), told.filters().collect()))
    }

    fn side(&self, side: JoinSide) -> &Plan {
        if side == JoinSide::Left { &self.left } else { &self.right }
    }

    /// What is shared by all partitions; begun by the first of them.
    fn gathered(&self, context: &Arc<TaskContext>) -> Result<Awaited> {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gathered) = &*gathered {
            return Ok(gathered.clone());
        }
        let input = |side| self.side(side).execute(0, Arc::clone(context));
        let reads_probing = self.join.read_first == self.join.probing();
        let sorted = input(self.join.terms.sorted)?;
        let probing = reads_probing.then(|| input(self.join.probing())).transpose()?;
        let gathering = Gathering {
            join: Arc::clone(&self.join),
            told: self.told.clone(),
            keys_max: context.session_config().options().optimizer.hash_join_inlist_pushdown_max_distinct_values,
            memory: MemoryConsumer::new(self.name()).register(context.memory_pool()),
        };
        let begun =
            async move { gathering.gathered(sorted, probing).await.map(Arc::new).map_err(Arc::new) }.boxed().shared();
        Ok(gathered.insert(begun).clone())
    }
}

impl fmt::Debug for RangeJoinExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeJoinExec").field("join", &self.join).finish_non_exhaustive()
    }
}

impl DisplayAs for RangeJoinExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "RangeJoinExec: join_type={:?}, sorted={}, by={}",
            self.join.join_type, self.join.terms.sorted, self.join.terms.column
        )?;
        match &self.join.first {
            Some(first) => write!(f, ", first={}", first.rows),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for RangeJoinExec {
    fn name(&self) -> &'static str {
        "RangeJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.left, &self.right]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(self.distributions())
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Expr) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        let bounds = self.join.terms.bounds.iter().map(|bound| &bound.value);
        let on = self.join.on.iter().flat_map(|(left, right)| [left, right]);
        let residual = self.join.terms.residual.iter().map(|residual| residual.expression());
        for expr in bounds.chain(on).chain(residual) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, mut children: Vec<Plan>, _options: ReplaceChildrenOptions) -> Result<Plan> {
        match (children.pop(), children.pop(), children.is_empty()) {
            (Some(right), Some(left), true) => Ok(Arc::new(self.over(left, right))),
            _ => internal_err!("a join has two inputs"),
        }
    }

    /// The trait asks for it still.
    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn try_swapping_with_projection(&self, projection: &ProjectionExec) -> Result<Option<Plan>> {
        try_embed_projection(projection, self)
    }

    fn statistics_from_inputs(&self, _inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&self.statistics))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let gathered = self.gathered(&context)?;
        let join = Arc::clone(&self.join);
        let probing = self.side(join.probing());
        let input = match join.read_first == join.probing() {
            true => None,
            false => Some(probing.execute(partition, Arc::clone(&context))?),
        };
        let (probing_schema, output) = (probing.schema(), self.schema());
        let batch_rows = context.session_config().batch_size();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let given = async move {
            let gathered = gathered.await.map_err(DataFusionError::Shared)?;
            let input = input.unwrap_or_else(|| {
                let rows = gathered.probing.clone().into_iter().map(Ok);
                Box::pin(RecordBatchStreamAdapter::new(probing_schema, stream::iter(rows)))
            });
            Result::Ok(probed(join, gathered, input, output, batch_rows, metrics))
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), given.try_flatten_stream())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

impl RangeJoinExec {
    fn distributions(&self) -> Vec<Distribution> {
        let of = |side: JoinSide| match side == self.join.terms.sorted || self.join.is_single() {
            true => Distribution::SinglePartition,
            false => Distribution::UnspecifiedDistribution,
        };
        vec![of(JoinSide::Left), of(JoinSide::Right)]
    }
}

impl EmbeddedProjection for RangeJoinExec {
    fn with_projection(&self, projection: Option<Vec<usize>>) -> Result<Self> {
        let Some(kept) = projection else { return Ok(self.over(Arc::clone(&self.left), Arc::clone(&self.right))) };
        let schema = Arc::new(self.schema.project(&kept)?);
        let columns = kept.iter().map(|&place| self.join.columns[place].clone()).collect();
        let join = RangeJoin { columns, ..RangeJoin::clone(&self.join) };
        let statistics = Arc::new(Statistics::clone(&self.statistics).project(Some(&kept)));
        let (left, right) = (Arc::clone(&self.left), Arc::clone(&self.right));
        Ok(Self::with(left, right, Arc::new(join), schema, self.told.clone(), statistics))
    }
}

//! The node of the plan: it stands above an aggregation, looks at the beginning of its rows, and has it done in one way or the
//! other.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::future::{BoxFuture, FutureExt, Shared};
use futures::{StreamExt, TryStreamExt, stream};

use super::gathered::{Beginning, Gather, Gathered};
use super::shape::Shape;
use super::shares::Shares;
use super::sorts::{aggregated, read_once};
use crate::one_input::{no_expressions, one_input};
use crate::passing::{PassingExec, Plan, with_children};

/// The plan that was chosen.
type Chosen = Shared<BoxFuture<'static, Result<Plan, Arc<DataFusionError>>>>;

#[derive(Debug)]
pub(crate) struct ApartExec {
    /// The aggregation as the engine does it, whose rows go by a [`Gather`].
    engines: Plan,
    gathered: Arc<Gathered>,
    shape: Arc<Shape>,
    run: Arc<Mutex<Run>>,
}

/// One run of the node: its partitions are begun with one after the other.
#[derive(Default)]
struct Run {
    chosen: Option<Chosen>,
    begun: Vec<usize>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("begun", &self.begun).finish_non_exhaustive()
    }
}

impl ApartExec {
    const NAME: &str = "ApartExec";

    pub(super) fn new(plan: &Plan, shape: Shape) -> Result<Self> {
        let gathered = Arc::<Gathered>::default();
        let engines = with_gather(plan, &gathered)?;
        Ok(Self { engines, gathered, shape: Arc::new(shape), run: Arc::default() })
    }

    /// The way that all partitions of a run go.
    fn chosen(&self, partition: usize, context: &Arc<TaskContext>) -> Result<Chosen> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if run.begun.contains(&partition) {
            *run = Run::default();
        }
        run.begun.push(partition);
        if let Some(chosen) = &run.chosen {
            return Ok(chosen.clone());
        }
        let Some(input) = gathered_input(&self.engines) else { return internal_err!("an aggregation without rows") };
        let (engines, gathered, shape) =
            (Arc::clone(&self.engines), Arc::clone(&self.gathered), Arc::clone(&self.shape));
        let (input, context) = (Arc::clone(input), Arc::clone(context));
        let choose = async move {
            let beginning = Beginning::read(&input, &context).await?;
            let shares = match beginning.is_all() {
                true => None,
                false => Shares::of(&context, shape.parts.len(), beginning.row_bytes()),
            };
            match shares {
                Some(shares) => in_sorts(&engines, &shape, beginning, shares, &context),
                // There may be few values of many rows.
                None => {
                    gathered.set(beginning.into_rows());
                    Ok(engines)
                }
            }
        };
        let chosen = choose.map(|chosen: Result<Plan>| chosen.map_err(Arc::new)).boxed().shared();
        Ok(run.chosen.insert(chosen).clone())
    }

    /// The same over another input.
    fn over(&self, engines: Plan) -> Result<Self> {
        Ok(Self { engines, gathered: Arc::clone(&self.gathered), shape: Arc::clone(&self.shape), run: Arc::default() })
    }
}

/// The same aggregation, done in sorts.
fn in_sorts(
    engines: &Plan,
    shape: &Shape,
    beginning: Beginning,
    shares: Shares,
    context: &Arc<TaskContext>,
) -> Result<Plan> {
    let partitions = beginning.into_rows().into_iter().map(|rows| read_once(Arc::clone(&shape.input), rows));
    let mut partitions = partitions.collect::<Result<Vec<_>>>()?;
    let rows: Plan = match (partitions.pop(), partitions.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            partitions.push(last);
            Arc::new(CoalescePartitionsExec::new(UnionExec::try_new(partitions)?))
        }
        (None, _) => return internal_err!("an aggregation of no partitions"),
    };
    let rows = rows.execute(0, Arc::clone(context))?.boxed();
    let results = read_once(Arc::clone(&shape.schema), aggregated(shape, rows, shares, context)?.boxed())?;
    // Whoever reads them may count on which groups are in which partition.
    let count = engines.output_partitioning().partition_count();
    if count == 1 {
        return Ok(results);
    }
    let column =
        |(place, (_, name)): (usize, &(_, String))| Arc::new(Column::new(name, place)) as Arc<dyn PhysicalExpr>;
    let groups = shape.group.iter().enumerate().map(column).collect();
    Ok(Arc::new(RepartitionExec::try_new(results, Partitioning::Hash(groups, count))?))
}

/// The aggregation, with its rows going by there.
fn with_gather(plan: &Plan, gathered: &Arc<Gathered>) -> Result<Plan> {
    let is_first = plan.downcast_ref::<AggregateExec>().is_some_and(|aggregate| {
        matches!(aggregate.mode(), AggregateMode::Single | AggregateMode::SinglePartitioned | AggregateMode::Partial)
    });
    if is_first {
        return PassingExec::below(Arc::clone(plan), Gather(Arc::clone(gathered)));
    }
    let below = plan.children().into_iter().map(|child| with_gather(child, gathered)).collect::<Result<_>>()?;
    with_children(Arc::clone(plan), below)
}

/// The plan whose rows go by there.
fn gathered_input(plan: &Plan) -> Option<&Plan> {
    match plan.children().as_slice() {
        [only] if plan.name() == Gather::NAME => Some(only),
        [only] => gathered_input(only),
        _ => None,
    }
}

impl DisplayAs for ApartExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for ApartExec {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.engines.properties()
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.engines]
    }

    no_expressions!();

    one_input!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let chosen = self.chosen(partition, &context)?;
        let rows = stream::once(async move {
            let plan = chosen.await.map_err(DataFusionError::Shared)?;
            plan.execute(partition, context)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.try_flatten())))
    }
}

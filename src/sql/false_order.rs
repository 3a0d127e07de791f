//! Sorts that the engine would leave out although the rows are not sorted.
//!
//! It notes of the rows of GROUP BY which of their columns tell them apart: rows that are sorted by these are sorted by whatever
//! follows. A projection that puts the columns in another order moves that note to the wrong ones, and `SELECT rank() OVER (ORDER BY
//! count(*)), b FROM t GROUP BY b ORDER BY 1, 2` is not sorted by its second column. So the rules that look for sorts do not see
//! the note.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Constraints, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use crate::one_input::{no_expressions, one_input};

/// The last rule: a sort asks its input, when it runs, whether it is sorted already.
#[derive(Debug)]
pub(crate) struct RealSorts;

impl PhysicalOptimizerRule for RealSorts {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        match plan.exists(|node| Ok(node.is::<SortExec>()))? {
            true => hidden(plan),
            false => Ok(plan),
        }
    }

    fn name(&self) -> &'static str {
        "real_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type Rule = dyn PhysicalOptimizerRule + Send + Sync;

/// Rules that put sorts into a plan, and take them out.
const RULES: [&str; 2] = ["EnsureRequirements", "PushdownSort"];

/// These rules, those that look for sorts without the engine's note.
pub(crate) fn unseen(rules: Vec<Arc<Rule>>) -> Vec<Arc<Rule>> {
    let unseen = |rule: Arc<Rule>| match RULES.contains(&rule.name()) {
        true => Arc::new(Unseen(rule)) as Arc<Rule>,
        false => rule,
    };
    rules.into_iter().map(unseen).collect()
}

#[derive(Debug)]
struct Unseen(Arc<Rule>);

impl PhysicalOptimizerRule for Unseen {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        shown(self.0.optimize(hidden(plan)?, config)?)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        shown(self.0.optimize_with_context(hidden(plan)?, context)?)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// The plan without the note of its groups.
fn hidden(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let makes_groups = |node: &AggregateExec| *node.mode() != AggregateMode::Partial;
    plan.transform_up(|node| match node.downcast_ref::<AggregateExec>().is_some_and(makes_groups) {
        true => Ok(Transformed::yes(Arc::new(GroupsExec::new(node)) as Arc<dyn ExecutionPlan>)),
        false => Ok(Transformed::no(node)),
    })
    .data()
}

fn shown(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| match node.downcast_ref::<GroupsExec>() {
        Some(groups) => Ok(Transformed::yes(Arc::clone(&groups.input))),
        None => Ok(Transformed::no(node)),
    })
    .data()
}

/// The groups of its input, of which nothing is noted.
#[derive(Debug)]
pub(crate) struct GroupsExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl GroupsExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            input.equivalence_properties().clone().with_constraints(Constraints::default()),
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, properties: Arc::new(properties) }
    }

    /// The same over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(input))
    }
}

impl DisplayAs for GroupsExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Groups")
    }
}

impl ExecutionPlan for GroupsExec {
    fn name(&self) -> &'static str {
        "GroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    no_expressions!();

    one_input!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}

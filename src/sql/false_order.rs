//! Sorts that the engine would leave out although the rows are not sorted.
//!
//! It notes of the rows of GROUP BY which of their columns tell them apart: rows that are sorted by these are sorted by whatever
//! follows. A projection that puts the columns in another order moves that note to the wrong ones, and `SELECT rank() OVER (ORDER BY
//! count(*)), b FROM t GROUP BY b ORDER BY 1, 2` is not sorted by its second column.
//!
//! It notes that a column has one value, too, and takes it for true above an outer join, where the column is NULL in some rows:
//! `.. a LEFT JOIN b ON a.k = b.k WHERE a.k = 3 ORDER BY b.k DESC`; and above GROUPING SETS, where it is NULL in the rows of the sets that
//! leave it out. So the rules that look for sorts see none of these notes.
//!
//! A sort that runs sees none either. What stands above it was planned with all that is known of its rows, and still sees that: the
//! rows of a join are sorted by one side's key, and a window of the other side's key relies on both being equal.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Constraints, JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::equivalence::EquivalenceProperties;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use crate::one_input::{no_expressions, one_input};
use crate::passing::{Plan, with_children};

/// The last rule: a sort asks its input, when it runs, whether it is sorted already.
#[derive(Debug)]
pub(crate) struct RealSorts;

impl PhysicalOptimizerRule for RealSorts {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        match plan.exists(|node| Ok(node.is::<SortExec>() || is_of_sets(node)))? {
            true => without_false_notes(plan),
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
    fn optimize(&self, plan: Plan, config: &ConfigOptions) -> Result<Plan> {
        shown(self.0.optimize(hidden(plan)?, config)?)
    }

    fn optimize_with_context(&self, plan: Plan, context: &dyn PhysicalOptimizerContext) -> Result<Plan> {
        shown(self.0.optimize_with_context(hidden(plan)?, context)?)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// The plan without what is noted of its groups, and of rows that an outer join may leave out.
fn hidden(plan: Plan) -> Result<Plan> {
    plan.transform_up(|node| {
        let Some(are_optional) = optional_sides(&node) else { return Ok(with_group_hidden(node)) };
        let side = |(side, is_optional): (&Plan, bool)| match is_optional {
            true => Arc::new(UnseenExec::new(Arc::clone(side), Noted::Nothing)) as Plan,
            false => Arc::clone(side),
        };
        let sides = node.children().into_iter().zip(are_optional).map(side).collect();
        with_children(node, sides).map(Transformed::yes)
    })
    .data()
}

fn with_group_hidden(node: Plan) -> Transformed<Plan> {
    let noted = match node.downcast_ref::<AggregateExec>() {
        Some(_) if is_of_sets(&node) => Noted::Nothing,
        Some(groups) if *groups.mode() != AggregateMode::Partial => Noted::AllButKeys,
        _ => return Transformed::no(node),
    };
    Transformed::yes(Arc::new(UnseenExec::new(node, noted)) as Plan)
}

/// Whether it groups by sets: where a column of theirs has one value in all rows, the engine would take the rows of all sets for
/// sorted by it, and give groups before all of their rows are there.
fn is_of_sets(node: &Plan) -> bool {
    node.downcast_ref::<AggregateExec>().is_some_and(|groups| !groups.group_expr().is_single())
}

/// The plan, whose groups are hidden from sorts, and in which sorts above outer joins do not ask whether their rows are sorted.
fn without_false_notes(plan: Plan) -> Result<Plan> {
    plan.transform_up(|node| match node.downcast_ref::<SortExec>() {
        Some(sort) if sort.input().exists(|below| Ok(optional_sides(below).is_some()))? => {
            let input = UnseenExec::new(Arc::clone(sort.input()), Noted::Nothing);
            let known = Noted::As(Box::new(sort.properties().equivalence_properties().clone()));
            let sort = with_children(node, vec![Arc::new(input)])?;
            Ok(Transformed::yes(Arc::new(UnseenExec::new(sort, known)) as Plan))
        }
        _ => Ok(with_group_hidden(node)),
    })
    .data()
}

/// Which sides of an outer join have no row for some rows of the other side.
fn optional_sides(node: &Plan) -> Option<[bool; 2]> {
    let of_hashes = node.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let of_loops = || node.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    match of_hashes.or_else(of_loops)? {
        JoinType::Left => Some([false, true]),
        JoinType::Right => Some([true, false]),
        JoinType::Full => Some([true, true]),
        _ => None,
    }
}

fn shown(plan: Plan) -> Result<Plan> {
    plan.transform_up(|node| match node.downcast_ref::<UnseenExec>() {
        Some(unseen) if !unseen.lasts => Ok(Transformed::yes(Arc::clone(&unseen.input))),
        _ => Ok(Transformed::no(node)),
    })
    .data()
}

/// What is noted of rows.
#[derive(Debug, Clone)]
enum Noted {
    AllButKeys,
    Nothing,
    As(Box<EquivalenceProperties>),
}

/// The rows of its input, of which something else is noted.
#[derive(Debug)]
pub(crate) struct UnseenExec {
    input: Plan,
    noted: Noted,
    /// All rules see it so, and it is run so.
    lasts: bool,
    properties: Arc<PlanProperties>,
}

impl UnseenExec {
    /// Rows of which nothing is noted, nor will be: they are sorted above where they have to be.
    pub(crate) fn lasting(input: Plan) -> Self {
        Self { lasts: true, ..Self::new(input, Noted::Nothing) }
    }

    fn new(input: Plan, noted: Noted) -> Self {
        let of_rows = match &noted {
            Noted::AllButKeys => input.equivalence_properties().clone().with_constraints(Constraints::default()),
            Noted::Nothing => EquivalenceProperties::new(input.schema()),
            Noted::As(known) => known.as_ref().clone(),
        };
        let properties = PlanProperties::new(
            of_rows,
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, noted, lasts: false, properties: Arc::new(properties) }
    }

    /// The same over another input.
    fn over(&self, input: Plan) -> Result<Self> {
        Ok(Self { lasts: self.lasts, ..Self::new(input, self.noted.clone()) })
    }
}

impl DisplayAs for UnseenExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unseen")
    }
}

impl ExecutionPlan for UnseenExec {
    fn name(&self) -> &'static str {
        "UnseenExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![!self.lasts]
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

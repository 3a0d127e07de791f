//! The optimizer's rules, each of which ends when the statement is to stop.
//!
//! The engine applies a rule to one node of a plan after the other, so a statement is asked before each of them. Within a node
//! the functions that stand for operators ask too, as often as a rule asks for their types (`expr`).

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use tablegate_types::interrupt;

/// An optimizer rule that asks first.
#[derive(Debug)]
struct Stoppable<R: ?Sized>(Arc<R>);

type Rule = dyn OptimizerRule + Send + Sync;
type Analysis = dyn AnalyzerRule + Send + Sync;
type PhysicalRule = dyn PhysicalOptimizerRule + Send + Sync;

/// These rules, made to end.
pub(super) fn rules(rules: Vec<Arc<Rule>>) -> Vec<Arc<Rule>> {
    rules.into_iter().map(|rule| Arc::new(Stoppable(rule)) as _).collect()
}

/// As [`rules`], of the engine's analyzer.
pub(super) fn analyses(rules: Vec<Arc<Analysis>>) -> Vec<Arc<Analysis>> {
    rules.into_iter().map(|rule| Arc::new(Stoppable(rule)) as _).collect()
}

/// As [`rules`], of physical plans.
pub(super) fn physical(rules: Vec<Arc<PhysicalRule>>) -> Vec<Arc<PhysicalRule>> {
    rules.into_iter().map(|rule| Arc::new(Stoppable(rule)) as _).collect()
}

thread_local! {
    /// Rules that this thread is applying, within each other.
    static RULES: Cell<usize> = const { Cell::new(0) };
}

/// A rule is being applied.
struct Applied;

impl Applied {
    fn begin() -> Result<Self> {
        check()?;
        RULES.set(RULES.get() + 1);
        Ok(Self)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        RULES.set(RULES.get() - 1);
    }
}

/// Whether this thread is making a plan: what is computed now is computed for a constant of it.
pub(super) fn is_optimizing() -> bool {
    RULES.get() > 0
}

/// Whether planning may go on.
///
/// # Errors
/// 57014 and its like, as an error of the engine.
pub(super) fn check() -> Result<()> {
    interrupt::check().map_err(|error| DataFusionError::External(error))
}

impl OptimizerRule for Stoppable<Rule> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let _applied = Applied::begin()?;
        self.0.rewrite(plan, config)
    }
}

impl AnalyzerRule for Stoppable<Analysis> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let _applied = Applied::begin()?;
        self.0.analyze(plan, config)
    }
}

impl PhysicalOptimizerRule for Stoppable<PhysicalRule> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let _applied = Applied::begin()?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let _applied = Applied::begin()?;
        self.0.optimize_with_context(plan, context)
    }
}

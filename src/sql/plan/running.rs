//! Runs planned queries: their parameters become values, what is constant is computed, and the optimizer makes a physical plan.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use futures::{StreamExt, stream};
use tablegate_types::error::SqlResult;
use tablegate_types::interrupt::Interrupt;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Style;

use super::assigned::check_constants;
use super::constant::{awaited_row, computed_row, constant_row};
use super::held_rows::HeldRows;
use super::held_values::{self, with_held};
use super::once::OncePlanner;
use super::outputs::Run;
use super::parameters::with_values;
use super::planned_query::PlannedQuery;
use super::planner::Planner;
use super::{in_lists, joins};
use crate::apart::apart;
use crate::aside::aside;
use crate::calls::interrupt_of;
use crate::outcome::RowStream;
use crate::recursion::RecursionPlanner;
use crate::scan::batch_rows;
use crate::{expr, in_turn, turns};

impl Planner<'_> {
    /// The physical plan of a planned query with its parameters bound, to run on this planner's snapshot.
    ///
    /// # Errors
    /// The errors of the optimizer.
    pub(crate) async fn physical(
        &self,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
    ) -> SqlResult<(SessionState, Arc<dyn ExecutionPlan>)> {
        let plan = self.bound(query, parameters)?;
        let interrupt = Interrupt::default();
        let state = self.engine.state_with(self.reads.clone(), interrupt.clone());
        let optimized = async move {
            let physical = optimized(&state, plan).await?;
            Ok((state, physical))
        };
        self.engine.workers().compute(interrupt, optimized).await
    }

    /// Runs a physical plan for what its nodes count; gives the plan with the counts.
    ///
    /// # Errors
    /// Those of running the plan.
    pub(crate) async fn analyze(
        &self,
        state: &SessionState,
        physical: &Arc<dyn ExecutionPlan>,
    ) -> SqlResult<Arc<dyn ExecutionPlan>> {
        let interrupt = interrupt_of(state.config_options());
        let physical = turns::in_turns(&apart(physical)?, &interrupt)?;
        let (running, context) = (physical.clone(), context_of(state, &physical));
        let run = async move { Ok(execute_stream(running, context)?) };
        let mut rows = self.engine.workers().run(interrupt, run).await?;
        while let Some(batch) = rows.next().await {
            batch?;
        }
        Ok(physical)
    }

    /// The plan of a query with its parameters bound and its constant parts computed.
    fn bound(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<LogicalPlan> {
        let plan = if query.parameters.is_empty() {
            query.plan.clone()
        } else {
            let values = parameters.iter().enumerate();
            let types = |index| query.parameters.get(index).unwrap_or(&SqlType::Text);
            let values = values.map(|(index, value)| expr::parameter_value(value, types(index)));
            with_values(query.plan.clone(), &values.collect::<Vec<_>>())?
        };
        let plan = match (expr::is_foldable(&plan)?, self.style() == Style::PLAIN) {
            // Most plans are taken as they are.
            (false, _) => plan,
            (true, true) => aside(|| expr::folded(plan, self.engine.timeless()))?,
            (true, false) => aside(|| expr::folded(plan, &self.moment()))?,
        };
        check_constants(&plan, &query.receivers, query.style)?;
        // What is filled by parameters has one in each row, but for lists that are mostly constants.
        Ok(if query.parameters.len() < held_values::ROWS_MIN { plan } else { with_held(plan)? })
    }

    /// Computes the constant parts of a query that will run later, or never.
    ///
    /// # Errors
    /// The errors of evaluating them.
    pub(crate) fn check(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<()> {
        if query.named.is_empty() && !expr::is_foldable(&query.plan)? {
            return check_constants(&query.plan, &query.receivers, query.style);
        }
        self.bound(query, parameters).map(|_| ())
    }

    /// Runs a planned query on this planner's snapshot. Dropping the stream stops it.
    ///
    /// # Errors
    /// The errors of the optimizer; in the stream, those of running the plan.
    pub(crate) async fn run(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<RowStream> {
        if let Some(rows) = self.read_directly(query, parameters)? {
            return Ok(rows);
        }
        if self.system.settings().direct_reads()
            && let Some(rows) = query.few_rows(self.engine, parameters, &self.reads).await
        {
            return Ok(Box::pin(stream::iter([Ok(rows)])));
        }
        let plan = self.bound(query, parameters)?;
        if let Some(row) = constant_row(&plan) {
            return Ok(Box::pin(stream::iter([Ok(row)])));
        }
        if self.system.settings().direct_reads() {
            let run = Run::new(self.engine, &self.reads, parameters);
            let row = match computed_row(&plan, &run, self.engine) {
                None => awaited_row(&plan, self.engine).await?,
                row => row,
            };
            if let Some(row) = row {
                return Ok(Box::pin(stream::iter([Ok(row)])));
            }
        }
        self.reads.count_plan();
        let interrupt = Interrupt::default();
        let state = self.engine.state_with(self.reads.clone(), interrupt.clone());
        let raised = interrupt.clone();
        let run = async move {
            let physical = turns::in_turns(&apart(&optimized(&state, plan).await?)?, &raised)?;
            let context = context_of(&state, &physical);
            Ok(execute_stream(physical, context)?)
        };
        self.engine.workers().run(interrupt, run).await
    }

    /// Whether a run with these parameters goes without the optimizer.
    ///
    /// # Errors
    /// Those of looking for the keys, of which none are expected.
    pub(crate) fn is_read_directly(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<bool> {
        Ok(self.read_directly(query, parameters)?.is_some())
    }

    /// What a query gives of rows without a plan: see [`PlannedQuery::computed_over`].
    pub(super) fn computed_over(
        &self,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
        rows: &HeldRows,
    ) -> Option<Vec<RecordBatch>> {
        let is_short = self.system.settings().direct_reads();
        is_short.then(|| query.computed_over(self.engine, parameters, &self.reads, rows))?
    }

    fn read_directly(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<Option<RowStream>> {
        query.read_directly(self.engine, self.system.settings(), parameters, &self.reads)
    }
}

/// The physical plan of a query.
async fn optimized(state: &SessionState, plan: LogicalPlan) -> SqlResult<Arc<dyn ExecutionPlan>> {
    let plan = state.optimize(&joins::ordered(in_lists::told(plan)?)?)?;
    let planner = DefaultPhysicalPlanner::with_extension_planners(vec![
        Arc::new(OncePlanner::default()),
        Arc::new(RecursionPlanner),
    ]);
    let physical = planner.create_physical_plan(&plan, state).await?;
    Ok(in_turn::keep_order(physical)?)
}

/// What a plan runs with: batches of so many rows that they are not too long where the rows are.
fn context_of(state: &SessionState, plan: &Arc<dyn ExecutionPlan>) -> Arc<TaskContext> {
    let context = TaskContext::from(state);
    let usual = context.session_config().batch_size();
    let rows = batch_rows(plan, usual);
    if rows == usual {
        return Arc::new(context);
    }
    let config = context.session_config().clone().with_batch_size(rows);
    Arc::new(context.with_session_config(config))
}

//! The node that reads the rows of the step before.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::Partitioning;
use datafusion::physical_expr::equivalence::EquivalenceProperties;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::memory::MemoryStream;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use crate::one_input::no_expressions;

/// Rows that a step is expected to make: so few that no threads are begun for them, and that joins look the rows of others up
/// for them rather than the other way round.
const ROWS_EXPECTED: usize = 1000;

/// The rows of the step before: written by the node that goes step by step, which counts their memory.
#[derive(Debug, Default)]
pub(super) struct Rows(Mutex<Vec<RecordBatch>>);

impl Rows {
    pub(super) fn replace(&self, batches: Vec<RecordBatch>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = batches;
    }

    fn get(&self) -> Vec<RecordBatch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug)]
pub(super) struct WorkTableExec {
    /// Of the recursion.
    name: String,
    columns: Option<Vec<usize>>,
    /// `None` until the recursion begins.
    rows: Option<Arc<Rows>>,
    properties: Arc<PlanProperties>,
}

impl WorkTableExec {
    pub(super) fn new(name: &str, schema: &SchemaRef, columns: Option<Vec<usize>>) -> Result<Self> {
        let schema = match &columns {
            Some(columns) => Arc::new(schema.project(columns)?),
            None => Arc::clone(schema),
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative));
        Ok(Self { name: name.to_owned(), columns, rows: None, properties })
    }

    pub(super) fn name_of_recursion(&self) -> &str {
        &self.name
    }

    /// The node that reads these.
    pub(super) fn of(&self, rows: Arc<Rows>) -> Self {
        let (name, columns, properties) = (self.name.clone(), self.columns.clone(), Arc::clone(&self.properties));
        Self { name, columns, rows: Some(rows), properties }
    }
}

impl DisplayAs for WorkTableExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkTableExec: {}", self.name)
    }
}

impl ExecutionPlan for WorkTableExec {
    fn name(&self) -> &'static str {
        "WorkTableExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    no_expressions!();

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (Some(rows), 0) = (&self.rows, partition) else {
            return internal_err!("the rows of a recursion are read before it begins, or in several parts");
        };
        let rows = MemoryStream::try_new(rows.get(), self.schema(), self.columns.clone())?;
        Ok(Box::pin(cooperative(rows)))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let unknown = Statistics::new_unknown(&self.schema());
        Ok(Arc::new(Statistics { num_rows: Precision::Inexact(ROWS_EXPECTED), ..unknown }))
    }
}

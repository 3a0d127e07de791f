//! A recursion among the queries of a statement.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore, physical_planning_context,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::exec::RecursionExec;

/// The node. The columns of both queries have the same types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Recursion {
    /// By which the other query reads the rows of the step before.
    pub name: String,
    pub first: LogicalPlan,
    pub step: LogicalPlan,
    /// UNION without ALL.
    pub is_distinct: bool,
    schema: DFSchemaRef,
}

impl Recursion {
    /// A recursion with the columns of its first query. A step may give NULL where the first query never does.
    ///
    /// # Errors
    /// XX000 for columns whose names are not theirs alone, which would be a defect here.
    pub(crate) fn new(name: String, first: LogicalPlan, step: LogicalPlan, is_distinct: bool) -> Result<Self> {
        let fields = first.schema().iter().map(|(qualifier, field)| {
            let nullable = field.as_ref().clone().with_nullable(true);
            (qualifier.cloned(), Arc::new(nullable))
        });
        let schema = DFSchema::new_with_metadata(fields.collect(), Default::default())?;
        Ok(Self { name, first, step, is_distinct, schema: Arc::new(schema) })
    }

    pub(crate) fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }

    /// The recursion that a plan is.
    pub(crate) fn of(plan: &LogicalPlan) -> Option<&Self> {
        let LogicalPlan::Extension(Extension { node }) = plan else { return None };
        node.as_any().downcast_ref()
    }
}

impl PartialOrd for Recursion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let parts = |of: &Self| (of.name.clone(), of.is_distinct);
        let ordered = (parts(self), &self.first, &self.step).partial_cmp(&(parts(other), &other.first, &other.step));
        ordered.filter(|order| *order != Ordering::Equal || self == other)
    }
}

impl UserDefinedLogicalNodeCore for Recursion {
    fn name(&self) -> &'static str {
        "Recursion"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.first, &self.step]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recursion: {}, is_distinct={}", self.name, self.is_distinct)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Ok([first, step]) = <[LogicalPlan; 2]>::try_from(inputs) else {
            return internal_err!("a recursion has two inputs");
        };
        let (name, is_distinct, schema) = (self.name.clone(), self.is_distinct, Arc::clone(&self.schema));
        Ok(Self { name, first, step, is_distinct, schema })
    }
}

/// Plans the node.
pub(crate) struct RecursionPlanner;

#[async_trait]
impl ExtensionPlanner for RecursionPlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &physical_planning_context::PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (Some(recursion), [first, step]) = (node.as_any().downcast_ref::<Recursion>(), inputs) else {
            return Ok(None);
        };
        let Recursion { name, is_distinct, schema, .. } = recursion;
        let terms = [Arc::clone(first), Arc::clone(step)];
        Ok(Some(Arc::new(RecursionExec::new(name, terms, *is_distinct, Arc::clone(schema.inner())))))
    }
}

//! What a join asks of pairs of rows, for as long as somebody waits for the answer.
//!
//! For one batch of its input a join may compare it with all rows of the other side, and give nothing meanwhile. That is one
//! poll, which no stream can interrupt; but it comes by here for every few thousand pairs.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use tablegate_types::interrupt::Interrupt;

use super::stream::under_way;
use crate::aside::aside;

/// A turn that takes longer is not to keep its thread from others.
const LONG: Duration = Duration::from_millis(20);

/// The same condition.
#[derive(Debug)]
pub(super) struct Condition {
    inner: Arc<dyn PhysicalExpr>,
    interrupt: Interrupt,
}

/// What is asked of pairs, by a condition that is one of these or none.
pub(crate) fn asked_of_pairs(condition: &Arc<dyn PhysicalExpr>) -> &Arc<dyn PhysicalExpr> {
    condition.downcast_ref::<Condition>().map_or(condition, |condition| &condition.inner)
}

impl Condition {
    pub(super) fn new(inner: Arc<dyn PhysicalExpr>, interrupt: Interrupt) -> Self {
        Self { inner, interrupt }
    }
}

impl PhysicalExpr for Condition {
    fn data_type(&self, input: &Schema) -> Result<DataType> {
        self.inner.data_type(input)
    }

    fn nullable(&self, input: &Schema) -> Result<bool> {
        self.inner.nullable(input)
    }

    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        self.inner.return_field(input)
    }

    fn evaluate(&self, pairs: &RecordBatch) -> Result<ColumnarValue> {
        self.interrupt.check().map_err(|error| DataFusionError::External(error))?;
        if under_way().is_some_and(|time| time > LONG) {
            // Once another thread has taken over the tasks of this one, this costs nothing.
            return aside(|| self.inner.evaluate(pairs));
        }
        self.inner.evaluate(pairs)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(inner), true) => Ok(Arc::new(Self::new(inner, self.interrupt.clone()))),
            _ => internal_err!("a condition is one expression"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Condition {}

impl Hash for Condition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

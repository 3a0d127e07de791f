//! The rows of the step before, as a table.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, TableScan, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::scan::WorkTableExec;

/// What the query that is run step by step reads of the step before.
#[derive(Debug)]
pub(crate) struct WorkTable {
    /// Of the part of WITH.
    name: String,
    schema: SchemaRef,
}

impl WorkTable {
    pub(crate) fn new(name: &str, schema: SchemaRef) -> Self {
        Self { name: name.to_owned(), schema }
    }

    /// Whether this scan is of the rows of the recursion of this name.
    pub(crate) fn is_read_by(scan: &TableScan, name: &str) -> bool {
        source_as_provider(&scan.source)
            .is_ok_and(|provider| provider.downcast_ref::<Self>().is_some_and(|table| table.name == name))
    }
}

#[async_trait]
impl TableProvider for WorkTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(WorkTableExec::new(&self.name, &self.schema, projection.cloned())?))
    }
}

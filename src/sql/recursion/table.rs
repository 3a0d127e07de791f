//! The rows of the step before, as a table.

use std::sync::Arc;

use arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, TableReference};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableScan, TableType};
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
    /// A scan, under this alias, of the rows of the recursion of this name, which has these columns. A step may give NULL where
    /// the first query never does.
    ///
    /// # Errors
    /// XX000 for columns whose names are not theirs alone, which would be a defect here.
    pub(crate) fn scanned(name: &str, alias: TableReference, columns: &Fields) -> Result<LogicalPlan> {
        let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(columns.iter().map(nullable).collect::<Fields>()));
        let table = Arc::new(Self { name: name.to_owned(), schema });
        LogicalPlanBuilder::scan(alias, provider_as_source(table), None)?.build()
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

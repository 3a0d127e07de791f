//! placeholder
use std::sync::Arc;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use super::relation::Relation;
#[derive(Debug)]
pub struct RelationProvider { relation: Arc<Relation> }
impl RelationProvider { pub fn new(relation: Arc<Relation>) -> Self { Self { relation } } }
#[async_trait::async_trait]
impl TableProvider for RelationProvider {
    fn schema(&self) -> SchemaRef { self.relation.arrow_schema.clone() }
    fn table_type(&self) -> TableType { TableType::Base }
    async fn scan(&self, _s: &dyn Session, _p: Option<&Vec<usize>>, _f: &[Expr], _l: Option<usize>) -> Result<Arc<dyn ExecutionPlan>> {
        datafusion::common::not_impl_err!("placeholder")
    }
}

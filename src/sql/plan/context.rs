//! What DataFusion's SQL planner may ask for while it plans one statement: the tables and functions it knows, and no others.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{TableReference, plan_datafusion_err};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::{AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use tablegate_types::error::{ErrorKind, SqlError};

use super::row_value;
use super::system::SystemRelations;
use super::tables::Tables;
use crate::{expr, functions};

/// The tables and functions of one statement.
pub(super) struct StatementContext<'a> {
    state: &'a SessionState,
    tables: &'a Tables,
    system: &'a dyn SystemRelations,
    expr_planners: Vec<Arc<dyn ExprPlanner>>,
    relation_planners: [Arc<dyn RelationPlanner>; 1],
}

impl<'a> StatementContext<'a> {
    pub(super) fn new(state: &'a SessionState, tables: &'a Tables, system: &'a dyn SystemRelations) -> Self {
        // The first that plans an expression has planned it.
        let ours: Arc<dyn ExprPlanner> = Arc::new(expr::Operations);
        let expr_planners = std::iter::once(ours).chain(state.expr_planners().iter().cloned()).collect();
        Self { state, tables, system, expr_planners, relation_planners: [Arc::new(functions::Sets)] }
    }

    /// Whether the name is of nothing that is called.
    fn is_no_function(&self, name: &str) -> bool {
        let rows = ["unnest", "unnest_outer"];
        self.get_aggregate_meta(name).is_none() && self.get_window_meta(name).is_none() && !rows.contains(&name)
    }
}

impl ContextProvider for StatementContext<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>, DataFusionError> {
        let entry = self.tables.by_key(name.table()).ok_or_else(|| {
            let error =
                SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{}\" does not exist", name.table()));
            DataFusionError::External(error)
        })?;
        Ok(provider_as_source(entry.provider.clone()))
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> Result<Arc<dyn TableSource>, DataFusionError> {
        let function = self
            .state
            .table_functions()
            .get(name)
            .cloned()
            .ok_or_else(|| plan_datafusion_err!("table function '{name}' not found"))?;
        let arguments = datafusion::catalog::TableFunctionArgs::new(&args, self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(arguments)?))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>, DataFusionError> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.expr_planners
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(expr::TypeNames))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let known =
            expr::find_function(name).or_else(|| row_value::function(name)).or_else(|| self.system.function(name));
        known.or_else(|| self.is_no_function(name).then(|| expr::missing_function(name)))
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        expr::find_aggregate(name, self.state.aggregate_functions().get(name).cloned())
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}

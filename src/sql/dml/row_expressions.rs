//! Expressions over the columns of a row: what DEFAULT, CHECK and GENERATED say.
//!
//! They are bound over the columns of the rows; what has no form of the engine's yet, the statement's planner reads as the select
//! list of a query over them. Then they are evaluated as they stand, over whole batches and without a plan: a batch costs
//! their arithmetic and nothing else.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, DFSchemaRef, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use tablegate_bind::{Binder, BuiltInOnly, Entry, Lookup, ParsedExpression, Scope, ScopeColumn, Usage};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::oid::{modifier, oid};
use tablegate_types::sql_type::SqlType;

use super::checks::batch_of;
use crate::plan::{Planner, TableEntry, Tables};
use crate::syntax::{MadeRows, made_query};

/// Planned expressions: they hold for every batch of rows with the columns they were planned for.
#[derive(Debug, Clone)]
pub(crate) struct RowExpressions {
    expressions: Vec<Expr>,
    types: Vec<SqlType>,
    schema: DFSchemaRef,
}

impl RowExpressions {
    /// Plans expressions over rows with these columns, which are known under the table's name.
    ///
    /// # Errors
    /// The errors of planning the expressions: names, types, functions.
    pub(crate) fn plan(
        planner: &Planner<'_>,
        table: &str,
        columns: &SchemaRef,
        expressions: Vec<ParsedExpression>,
    ) -> SqlResult<Self> {
        if let Some(planned) = Self::of_bound(planner, table, columns, &expressions)? {
            return Ok(planned);
        }
        let query = made_query(expressions, MadeRows { table: &[table], ..MadeRows::default() });
        let rows = MemTable::try_new(columns.clone(), vec![Vec::new()])?;
        let mut tables = Tables::default();
        tables.insert(table, TableEntry::of_provider(&format!("public.{table}"), Arc::new(rows)));
        let planned = planner.of_kept().plan_over(&query, &tables, &[])?;
        if !planned.parameters.is_empty() {
            return Err(SqlError::new(ErrorKind::UndefinedParameter, "there is no parameter $1"));
        }
        Self::analyzed(planner, planned.plan)
    }

    /// The expressions as the binder finds them; `None` where one of them has no form of the engine's yet, or is wrong: the
    /// planner says how.
    fn of_bound(
        planner: &Planner<'_>,
        table: &str,
        columns: &SchemaRef,
        expressions: &[ParsedExpression],
    ) -> SqlResult<Option<Self>> {
        let lookup = Lookup::new(&BuiltInOnly);
        let column = |field: &FieldRef| {
            let sql_type = SqlType::declared_in(field);
            ScopeColumn {
                name: field.name().clone(),
                ty: lookup.of_type(oid(&sql_type), modifier(&sql_type)),
                is_hidden: false,
            }
        };
        let columns_of = columns.fields().iter().map(column).collect();
        let entries = [Entry { name: table.to_owned(), schema: None, columns: columns_of, row_type: 0, table: None }];
        let scope = Scope { entries: &entries, outer: None, namespace: None };
        let schema = DFSchema::try_from_qualified_schema(TableReference::bare(table), columns)?;
        let planner = planner.of_kept();
        let mut formed = Vec::with_capacity(expressions.len());
        for (place, expression) in expressions.iter().enumerate() {
            let Ok(bound) = expression.bind(&mut Binder::new(lookup, scope, Usage::Values)) else { return Ok(None) };
            let expr = match planner.engine_form(&bound, &schema) {
                Err(refused) if refused.kind == ErrorKind::FeatureNotSupported => return Ok(None),
                expr => expr?,
            };
            formed.push(expr.alias(place.to_string()));
        }
        let rows = MemTable::try_new(columns.clone(), vec![Vec::new()])?;
        let rows = LogicalPlanBuilder::scan(TableReference::bare(table), provider_as_source(Arc::new(rows)), None)?;
        Self::analyzed(&planner, rows.project(formed)?.build()?).map(Some)
    }

    fn analyzed(planner: &Planner<'_>, plan: LogicalPlan) -> SqlResult<Self> {
        let state = planner.engine.state();
        let analyzed = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
        let LogicalPlan::Projection(projection) = analyzed else {
            return Err(SqlError::new(ErrorKind::Internal, "expressions over a row were not planned as a projection"));
        };
        Ok(Self {
            types: projection.schema.fields().iter().map(|field| SqlType::of_field(field)).collect(),
            expressions: projection.expr.iter().map(|expression| expression.clone().unalias()).collect(),
            schema: projection.input.schema().clone(),
        })
    }

    /// The types of the expressions' values.
    pub(crate) fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Whether they depend on nothing but the row.
    pub(crate) fn are_immutable(&self) -> bool {
        let varies = |expression: &Expr| match expression {
            Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
            _ => false,
        };
        self.expressions.iter().all(|e| !e.exists(|e| Ok(varies(e))).unwrap_or(true))
    }

    /// Makes them ready for one statement, which fixes what `now()` and the like give in it.
    ///
    /// # Errors
    /// The errors of evaluating constant parts of the expressions.
    pub(crate) fn bind(&self, moment: &ExecutionProps) -> SqlResult<BoundExpressions> {
        let context = SimplifyContext::builder()
            .with_schema(self.schema.clone())
            .with_config_options(moment.config_options().cloned().unwrap_or_default())
            .with_query_execution_start_time(moment.query_execution_start_time)
            .build();
        let simplifier = ExprSimplifier::new(context);
        let bind = |expression: &Expr| {
            let simple = simplifier.simplify(expression.clone())?;
            let planning = PhysicalPlanningContext::default();
            Ok(create_physical_expr(&simple, &self.schema, moment, &planning)?)
        };
        let expressions = self.expressions.iter().map(bind).collect::<SqlResult<_>>()?;
        Ok(BoundExpressions { expressions })
    }
}

/// Expressions as one statement evaluates them.
#[derive(Debug, Clone)]
pub(crate) struct BoundExpressions {
    expressions: Vec<Arc<dyn PhysicalExpr>>,
}

impl BoundExpressions {
    /// The value of an expression that names no column, as one row.
    ///
    /// # Errors
    /// The errors of evaluating the expression.
    pub(crate) fn constant(&self, index: usize) -> SqlResult<ArrayRef> {
        self.evaluate(index, &batch_of(Arc::new(Schema::empty()), Vec::new(), 1)?)
    }

    /// The values of one expression for each row.
    ///
    /// # Errors
    /// The errors of evaluating the expression.
    pub(crate) fn evaluate(&self, index: usize, rows: &RecordBatch) -> SqlResult<ArrayRef> {
        let expression = self
            .expressions
            .get(index)
            .ok_or_else(|| SqlError::new(ErrorKind::Internal, "an expression that was not planned is evaluated"))?;
        Ok(expression.evaluate(rows)?.into_array(rows.num_rows())?)
    }
}

//! Rows that are written out, as rows in memory: the optimizer looks at expressions one by one, again and again, and at columns not
//! at all.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DataFusionError, Result, ScalarValue};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Values};

use super::held_rows::rows_as;

/// Fewer rows are as soon planned.
pub(super) const ROWS_MIN: usize = 64;
/// So many of them are handed on at a time.
const ROWS_MAX: usize = 8192;

/// The rows, held where they are many and all their values are constants.
///
/// # Errors
/// XX000 where the values are not of the columns' types.
pub(super) fn held(rows: Values) -> Result<LogicalPlan> {
    Ok(constants(&rows)?.unwrap_or(LogicalPlan::Values(rows)))
}

/// The plan with such rows held, whose values may have become constants just now.
///
/// # Errors
/// As [`held`].
pub(super) fn with_held(plan: LogicalPlan) -> Result<LogicalPlan> {
    let replaced = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Values(rows) if rows.values.len() >= ROWS_MIN => Ok(Transformed::yes(held(rows)?)),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(replaced.data)
}

fn constants(rows: &Values) -> Result<Option<LogicalPlan>> {
    if rows.values.len() < ROWS_MIN {
        return Ok(None);
    }
    let schema: SchemaRef = Arc::new(rows.schema.as_arrow().clone());
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (place, field) in schema.fields().iter().enumerate() {
        let values = rows.values.iter().map(|row| constant(&row[place], field.data_type()).cloned());
        let Some(values) = values.collect::<Option<Vec<_>>>() else { return Ok(None) };
        columns.push(ScalarValue::iter_to_array(values)?);
    }
    let all = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    let part = |from: usize| all.slice(from, ROWS_MAX.min(all.num_rows() - from));
    let parts = (0..all.num_rows()).step_by(ROWS_MAX).map(part).collect();
    let table = rows_as(schema, parts).map_err(|error| DataFusionError::External(error))?;
    let scan = LogicalPlanBuilder::scan("held rows", provider_as_source(table), None)?;
    // What reads them knows their columns by names alone.
    let column = |(table, field): (Option<&_>, &Arc<Field>)| {
        Expr::Column(Column::new(table.cloned(), field.name())).alias(field.name())
    };
    let columns: Vec<Expr> = scan.schema().iter().map(column).collect();
    Ok(Some(scan.project(columns)?.build()?))
}

/// The value of an expression that is one of this type, whatever more it says of its type.
fn constant<'e>(expr: &'e Expr, data_type: &DataType) -> Option<&'e ScalarValue> {
    match expr {
        Expr::Literal(value, _) if value.data_type() == *data_type => Some(value),
        Expr::Alias(named) => constant(&named.expr, data_type),
        Expr::Cast(cast) if cast.field.data_type() == data_type => constant(&cast.expr, data_type),
        _ => None,
    }
}

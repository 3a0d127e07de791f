//! Aggregates over a few rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::compute::{concat, filter, take};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use tablegate_types::error::SqlResult;

use super::node::{Node, Rows, Running};
use super::wanted::Wanted;
use crate::aside::aside_unless;
use crate::plan::outputs::Outputs;

/// Groups of rows, and what is computed of each.
#[derive(Debug)]
pub(super) struct Groups {
    pub input: Node,
    pub by: Outputs,
    /// Of each part of the key the column that it is, if it is one.
    pub sources: Vec<Option<usize>>,
    pub aggregates: Vec<Aggregate>,
    pub schema: SchemaRef,
}

#[derive(Debug)]
pub(super) struct Aggregate {
    pub function: Arc<AggregateFunctionExpr>,
    pub filter: Option<Arc<dyn PhysicalExpr>>,
}

impl Groups {
    pub(super) async fn rows(&self, wanted: &[Wanted], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        // A group has all of its rows or none.
        let below = Wanted::below(wanted, |column| *self.sources.get(column)?);
        let Some(rows) = self.input.rows(&below, running).await? else { return Ok(None) };
        let by = self.by.in_run(running.run)?;
        let grouped = || -> Result<RecordBatch> {
            let keys = by.of(&rows)?;
            let groups = groups_of(&keys)?;
            let firsts: UInt32Array = groups.iter().filter_map(|group| group.values().first().copied()).collect();
            let mut columns =
                keys.columns().iter().map(|key| take(key, &firsts, None)).collect::<Result<Vec<_>, _>>()?;
            for aggregate in &self.aggregates {
                columns.push(aggregate.of(&rows, &groups)?);
            }
            Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
        };
        let is_quick = self.by.is_quick() && self.aggregates.iter().all(Aggregate::is_quick);
        Ok(Some(aside_unless(is_quick, grouped)?))
    }
}

impl Aggregate {
    /// What it gives of each group.
    fn of(&self, rows: &Rows, groups: &[UInt32Array]) -> Result<ArrayRef> {
        let values = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(rows)?.into_array(rows.num_rows());
        let arguments = self.function.expressions().iter().map(values).collect::<Result<Vec<_>>>()?;
        let is_counted = self.filter.as_ref().map(values).transpose()?;
        let mut results = Vec::with_capacity(groups.len());
        for group in groups {
            let mut of_group =
                arguments.iter().map(|values| take(values, group, None)).collect::<Result<Vec<_>, _>>()?;
            if let Some(is_counted) = &is_counted {
                let is_counted = take(is_counted, group, None)?;
                for values in &mut of_group {
                    *values = filter(values, is_counted.as_boolean())?;
                }
            }
            let mut accumulator = self.function.create_accumulator()?;
            accumulator.update_batch(&of_group)?;
            results.push(accumulator.evaluate()?.to_array()?);
        }
        match results.is_empty() {
            true => ScalarValue::try_from(self.function.field().data_type())?.to_array_of_size(0),
            false => Ok(concat(&results.iter().map(AsRef::as_ref).collect::<Vec<_>>())?),
        }
    }

    /// Whether it is one of columns and values.
    fn is_quick(&self) -> bool {
        self.filter.is_none() && self.function.expressions().iter().all(|expr| expr.children().is_empty())
    }
}

/// The rows of each group, by their numbers, in the order in which the groups begin. All rows are one group where there is no key.
fn groups_of(keys: &RecordBatch) -> Result<Vec<UInt32Array>> {
    let rows = u32::try_from(keys.num_rows()).unwrap_or(u32::MAX);
    if keys.num_columns() == 0 {
        return Ok(vec![UInt32Array::from_iter_values(0..rows)]);
    }
    let fields = keys.columns().iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let encoded = RowConverter::new(fields)?.convert_columns(keys.columns())?;
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (number, key) in (0..rows).zip(&encoded) {
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
    }
    Ok(groups.into_iter().map(UInt32Array::from).collect())
}

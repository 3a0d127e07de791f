//! Groups and distinct rows by what PostgreSQL compares otherwise than the engine: intervals of one length are equal,
//! whatever months and days they are written in, and values that are rows are compared by their fields.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan, Projection};

use super::outputs::computed_once;
use super::{Pass, raised};
use crate::sql::expr::comparison;
use crate::sql::types::SqlType;

impl Pass<'_> {
    /// Groups by the lengths of intervals and the keys of rows, and shows one value of each group.
    pub(super) fn grouped(&self, aggregate: Aggregate, schema: &DFSchema) -> Result<LogicalPlan> {
        let mut keys = Vec::with_capacity(aggregate.group_expr.len());
        for expr in &aggregate.group_expr {
            keys.push(match expr {
                Expr::GroupingSet(_) => None,
                expr => {
                    let operand = self.operand(expr.clone().unalias(), schema)?;
                    comparison::sort_key(operand).map_err(raised)?
                }
            });
        }
        if keys.iter().all(Option::is_none) {
            return computed_once(aggregate);
        }
        let Aggregate { input, group_expr, mut aggr_expr, .. } = aggregate;
        // For the names of its columns.
        let shown = Aggregate::try_new(input.clone(), group_expr.clone(), aggr_expr.clone())?.schema;
        let name = |place: usize| format!("value#{place}");
        for (place, expr) in group_expr.iter().enumerate().filter(|(place, _)| keys[*place].is_some()) {
            aggr_expr.push(first_value_udaf().call(vec![expr.clone().unalias()]).alias(name(place)));
        }
        let by = group_expr.into_iter().zip(&keys).map(|(expr, key)| key.clone().unwrap_or(expr)).collect();
        let grouped = computed_once(Aggregate::try_new(input, by, aggr_expr)?)?;
        let columns = shown.iter().enumerate().map(|(place, (qualifier, field))| match keys.get(place) {
            Some(Some(_)) => {
                Expr::Column(Column::from_name(name(place))).alias_qualified(qualifier.cloned(), field.name())
            }
            _ => Expr::Column(Column::from((qualifier, field))),
        });
        Projection::try_new(columns.collect(), Arc::new(grouped)).map(LogicalPlan::Projection)
    }

    /// Each row once.
    pub(super) fn distinct(&self, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
        let schema = input.schema().clone();
        let has_key = |field: &FieldRef| matches!(SqlType::of_field(field), SqlType::Interval | SqlType::Record(_));
        if schema.fields().iter().any(has_key) {
            let columns = schema.columns().into_iter().map(Expr::Column).collect();
            let once = self.grouped(Aggregate::try_new(input, columns, Vec::new())?, &schema)?;
            // Set operations look for this.
            return Ok(LogicalPlan::Distinct(Distinct::All(Arc::new(once))));
        }
        Ok(LogicalPlan::Distinct(Distinct::All(input)))
    }
}

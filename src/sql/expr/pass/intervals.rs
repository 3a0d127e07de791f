//! Groups and distinct rows by intervals: those of one length are equal, whatever months and days they are written in.

use std::sync::Arc;

use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan, Projection};

use super::Pass;
use super::identity::distinguishable_columns;
use super::outputs::computed_once;
use crate::sql::expr::comparison;
use crate::sql::types::SqlType;

impl Pass<'_> {
    /// Groups by the lengths of intervals, and shows one interval of each.
    pub(super) fn grouped(&self, aggregate: Aggregate, schema: &DFSchema) -> Result<LogicalPlan> {
        let mut lengths = Vec::with_capacity(aggregate.group_expr.len());
        for expr in &aggregate.group_expr {
            let is_interval = !matches!(expr, Expr::GroupingSet(_))
                && *self.operand(expr.clone(), schema)?.sql_type() == SqlType::Interval;
            lengths.push(is_interval.then(|| comparison::span(expr.clone().unalias())));
        }
        if lengths.iter().all(Option::is_none) {
            return computed_once(aggregate);
        }
        let Aggregate { input, group_expr, mut aggr_expr, .. } = aggregate;
        // For the names of its columns.
        let shown = Aggregate::try_new(input.clone(), group_expr.clone(), aggr_expr.clone())?.schema;
        let name = |place: usize| format!("interval#{place}");
        for (place, expr) in group_expr.iter().enumerate().filter(|(place, _)| lengths[*place].is_some()) {
            aggr_expr.push(first_value_udaf().call(vec![expr.clone().unalias()]).alias(name(place)));
        }
        let by = group_expr.into_iter().zip(&lengths).map(|(expr, length)| length.clone().unwrap_or(expr)).collect();
        let grouped = computed_once(Aggregate::try_new(input, by, aggr_expr)?)?;
        let columns = shown.iter().enumerate().map(|(place, (qualifier, field))| match lengths.get(place) {
            Some(Some(_)) => {
                Expr::Column(Column::from_name(name(place))).alias_qualified(qualifier.cloned(), field.name())
            }
            _ => Expr::Column(Column::from((qualifier, field))),
        });
        Projection::try_new(columns.collect(), Arc::new(grouped)).map(LogicalPlan::Projection)
    }

    /// Each row once.
    pub(super) fn distinct(&self, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
        distinguishable_columns(&input)?;
        let schema = input.schema().clone();
        if schema.fields().iter().any(|field| SqlType::of_field(field) == SqlType::Interval) {
            let columns = schema.columns().into_iter().map(Expr::Column).collect();
            let once = self.grouped(Aggregate::try_new(input, columns, Vec::new())?, &schema)?;
            // Set operations look for this.
            return Ok(LogicalPlan::Distinct(Distinct::All(Arc::new(once))));
        }
        Ok(LogicalPlan::Distinct(Distinct::All(input)))
    }
}

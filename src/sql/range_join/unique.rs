//! Which columns no two rows of a plan have alike. Where the keys of a join are such columns of a side, a row has one partner at
//! most before ranges are looked at: the engine's join finds it sooner than a sorted side would be sorted.

use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

use crate::passing::{Plan, passes_rows};
use crate::scan::EntityScanExec;

/// Whether no two rows of the plan have all of these values alike.
pub(crate) fn are_unique<'e>(plan: &Plan, values: impl Iterator<Item = &'e Arc<dyn PhysicalExpr>>) -> bool {
    let columns: Vec<usize> = values.filter_map(|value| Some(value.downcast_ref::<Column>()?.index())).collect();
    of_plan(plan, columns)
}

fn of_plan(plan: &Plan, columns: Vec<usize>) -> bool {
    if let Some(scan) = plan.downcast_ref::<EntityScanExec>() {
        let names: Vec<&str> = scan.columns().collect();
        let known = |name: &str| columns.iter().any(|&column| names.get(column) == Some(&name));
        let relation = scan.relation();
        let key = relation.key_columns();
        return !key.is_empty() && key.iter().all(|&column| known(&relation.columns[column].name));
    }
    if let Some(groups) = plan.downcast_ref::<AggregateExec>() {
        let by = groups.group_expr();
        let is_whole = !matches!(groups.mode(), AggregateMode::Partial | AggregateMode::PartialReduce);
        return is_whole && by.is_single() && (0..by.expr().len()).all(|group| columns.contains(&group));
    }
    let below = |place: &dyn Fn(usize) -> Option<usize>| columns.iter().filter_map(|&column| place(column)).collect();
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let place = |column: usize| Some(projection.expr().get(column)?.expr.downcast_ref::<Column>()?.index());
        return of_plan(projection.input(), below(&place));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let place = |column: usize| match filter.projection().as_ref() {
            Some(kept) => kept.get(column).copied(),
            None => Some(column),
        };
        return of_plan(filter.input(), below(&place));
    }
    match plan.children().as_slice() {
        [input] if passes_rows(plan) => of_plan(input, columns),
        _ => false,
    }
}

//! Which aggregations are done by dictionaries: the first half of those that group by one text column of a scan, of which
//! nothing else in the plan makes use.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::exec::DictionaryAggregateExec;
use crate::expr::sorts_itself;
use crate::scan::EntityScanExec;

#[derive(Debug)]
pub(crate) struct GroupByDictionary;

impl PhysicalOptimizerRule for GroupByDictionary {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = |node: Arc<dyn ExecutionPlan>| match by_dictionary(&node)? {
            Some(replaced) => Ok(Transformed::yes(replaced)),
            None => Ok(Transformed::no(node)),
        };
        plan.transform_up(replaced).data()
    }

    fn name(&self) -> &'static str {
        "group_by_dictionary"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn by_dictionary(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(aggregate) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let Some(column) = grouped_column(aggregate) else { return Ok(None) };
    let Some(input) = with_dictionary(aggregate.input(), column)? else { return Ok(None) };
    Ok(Some(Arc::new(DictionaryAggregateExec::new(Arc::new(aggregate.clone()), input, column))))
}

/// Where in its input the text column is that it groups by, and makes no other use of.
fn grouped_column(aggregate: &AggregateExec) -> Option<usize> {
    let is_plain = *aggregate.mode() == AggregateMode::Partial
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.group_expr().is_single()
        && aggregate.limit_options().is_none()
        && aggregate.dynamic_expressions_produced().is_empty();
    let [(group, _)] = aggregate.group_expr().expr() else { return None };
    let column = group.downcast_ref::<Column>().filter(|_| is_plain)?.index();
    if *aggregate.input_schema().field(column).data_type() != DataType::Utf8 {
        return None;
    }
    let uses = |expr: &Arc<dyn PhysicalExpr>| collect_columns(expr).iter().any(|used| used.index() == column);
    let filters = aggregate.filter_expr().iter().flatten();
    let can_be_done = aggregate.aggr_expr().iter().all(|function| {
        function.groups_accumulator_supported()
            && function.order_bys().is_empty()
            && !sorts_itself(function.fun())
            && !function.expressions().iter().any(&uses)
    });
    (can_be_done && !filters.into_iter().any(uses)).then_some(column)
}

/// The input with that column as dictionaries; `None` when it is none of a scan.
fn with_dictionary(input: &Arc<dyn ExecutionPlan>, column: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = input.downcast_ref::<EntityScanExec>() {
        let scan = scan.with_dictionary(column)?;
        return Ok(scan.map(|scan| Arc::new(scan) as _));
    }
    let passes_rows_on = input.is::<CooperativeExec>()
        || input
            .downcast_ref::<RepartitionExec>()
            .is_some_and(|node| matches!(node.partitioning(), Partitioning::RoundRobinBatch(_)));
    let children = input.children();
    let ([below], true) = (children.as_slice(), passes_rows_on) else { return Ok(None) };
    let Some(below) = with_dictionary(below, column)? else { return Ok(None) };
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Some(Arc::clone(input).replace_children(vec![below], options)?))
}

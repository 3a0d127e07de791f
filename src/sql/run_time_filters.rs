//! What joins and TopK find out while they run, sent down to the scans whose rows it is about.
//!
//! The engine has a rule for this, but it looks for the columns of a filter by their names in what is below. Of two
//! tables with an `id` each it takes the first, and so rows of one table would be dropped by a filter on the other.
//! Here a column is followed by its place, node by node; where a node does not say what a column comes from, the filter
//! goes no further. That is always allowed, because a filter only saves work.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, Result};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, build_join_schema};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use crate::passing::{Plan, passes_rows, with_children};
use crate::range_join::RangeJoinExec;
use crate::scan::EntityScanExec;

type Filter = Arc<dyn PhysicalExpr>;

/// The engine's rules of this name begin so, of the two phases of a plan.
const ENGINE_RULES: &str = "FilterPushdown";

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The engine's rules, with this one in the place of its own, and another one right before it. Filters that are known when a
/// statement is planned were sent to the scans before.
pub(crate) fn with_run_time_filters(rules: Vec<Rule>, before: Rule) -> Vec<Rule> {
    let last = rules.iter().rposition(|rule| rule.name().starts_with(ENGINE_RULES));
    let own = |(place, rule): (usize, Rule)| match () {
        () if Some(place) == last => vec![Arc::clone(&before), Arc::new(RunTimeFilters) as _],
        () if rule.name().starts_with(ENGINE_RULES) => Vec::new(),
        () => vec![rule],
    };
    rules.into_iter().enumerate().flat_map(own).collect()
}

#[derive(Debug)]
struct RunTimeFilters;

impl PhysicalOptimizerRule for RunTimeFilters {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        Ok(plan.transform_up(sent_by)?.data)
    }

    fn name(&self) -> &'static str {
        "run_time_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A node whose filters, if it has any, are at the scans below it.
fn sent_by(plan: Plan) -> Result<Transformed<Plan>> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return sent_by_join(join).map(|sent| sent.map_or(Transformed::no(plan), Transformed::yes));
    }
    if let Some(join) = plan.downcast_ref::<RangeJoinExec>() {
        return sent_by_range_join(&plan, join).map(|sent| sent.map_or(Transformed::no(plan), Transformed::yes));
    }
    // Those of TopK, and of the least and greatest of all rows, are there already.
    let children = plan.children();
    let [input] = children.as_slice() else { return Ok(Transformed::no(plan)) };
    let mut below = Plan::clone(input);
    for filter in plan.dynamic_expressions_produced() {
        if is_of_single_values(filter.children(), &input.schema())? {
            below = sent(&below, &filter)?.unwrap_or(below);
        }
    }
    if Arc::ptr_eq(&below, input) {
        Ok(Transformed::no(plan))
    } else {
        // A filter at a scan changes no node's properties.
        with_children(plan, vec![below]).map(Transformed::yes)
    }
}

/// Whether values of these keys are compared alike by whoever finds the least and greatest of them and by whoever looks at rows:
/// arrays and records are not.
fn is_of_single_values(keys: Vec<&Filter>, schema: &SchemaRef) -> Result<bool> {
    for key in keys {
        if key.data_type(schema)?.is_nested() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A join that tells the scans of its probe side which keys its build side has, unless rows without a match are wanted.
fn sent_by_join(join: &HashJoinExec) -> Result<Option<Plan>> {
    let (_, drops_unmatched) = join.join_type().on_lr_is_preserved();
    if !drops_unmatched {
        return Ok(None);
    }
    let keys: Vec<Filter> = join.on().iter().map(|(_, key)| Arc::clone(key)).collect();
    if !is_of_single_values(keys.iter().collect(), &join.right().schema())? {
        return Ok(None);
    }
    let filter = Arc::new(DynamicFilterPhysicalExpr::new(keys, lit(true)));
    let Some(probe) = sent(join.right(), &(Arc::clone(&filter) as Filter))? else { return Ok(None) };
    let join = join.builder().with_new_children(vec![Arc::clone(join.left()), probe])?.build()?;
    Ok(Some(Arc::new(join.with_dynamic_filter_expr(filter)?)))
}

/// A join by ranges that tells the scans of one side what the other side has.
fn sent_by_range_join(plan: &Plan, join: &RangeJoinExec) -> Result<Option<Plan>> {
    let Some((told, filters)) = join.run_time_filters() else { return Ok(None) };
    let mut children = join.sides().map(Arc::clone);
    let place = usize::from(told == JoinSide::Right);
    let mut is_sent = false;
    for filter in filters {
        if let Some(below) = sent(&children[place], &filter)? {
            children[place] = below;
            is_sent = true;
        }
    }
    if is_sent { with_children(Arc::clone(plan), children.into()).map(Some) } else { Ok(None) }
}

/// The plan with a filter over its columns at the scans that they come from; `None` where there are none, or rows that are left
/// out below would be missed: by a limit, or an outer join.
fn sent(plan: &Plan, filter: &Filter) -> Result<Option<Plan>> {
    if let Some(scan) = plan.downcast_ref::<EntityScanExec>() {
        return Ok(scan.with_run_time_filter(filter).map(|scan| Arc::new(scan) as Plan));
    }
    if plan.fetch().is_some() {
        return Ok(None);
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let (_, origins) = build_join_schema(&join.left().schema(), &join.right().schema(), join.join_type());
        let origin = |column: usize| match &join.projection {
            Some(projection) => origins.get(*projection.get(column)?).cloned(),
            None => origins.get(column).cloned(),
        };
        let joined =
            Joined { sides: [join.left(), join.right()], join_type: *join.join_type(), on: join.on(), is_cut: None };
        return sent_into_join(plan, &joined, &origin, filter);
    }
    if let Some(join) = plan.downcast_ref::<RangeJoinExec>() {
        let joined =
            Joined { sides: join.sides(), join_type: join.join_type(), on: join.on(), is_cut: join.gives_first_of() };
        return sent_into_join(plan, &joined, &|column| join.origin(column).cloned(), filter);
    }
    let own = |column: &Column| Some(Arc::new(column.clone()) as Filter);
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return into_only(plan, filter, |column| projection.expr().get(column.index()).map(|e| Arc::clone(&e.expr)));
    }
    if let Some(rows) = plan.downcast_ref::<FilterExec>() {
        let Some(projection) = rows.projection().as_ref() else { return into_only(plan, filter, own) };
        let schema = rows.input().schema();
        return into_only(plan, filter, |column| {
            let place = *projection.get(column.index())?;
            Some(Arc::new(Column::new(schema.field(place).name(), place)))
        });
    }
    if let Some(groups) = plan.downcast_ref::<AggregateExec>() {
        // A group has all of its rows or none.
        let by = groups.group_expr();
        if by.is_true_no_grouping() || !by.is_single() || groups.limit_options().is_some() {
            return Ok(None);
        }
        return into_only(plan, filter, |column| by.expr().get(column.index()).map(|(expr, _)| Arc::clone(expr)));
    }
    if let Some(windows) = windows_of(plan) {
        // A partition has all of its rows or none.
        let columns = plan.children()[0].schema().fields().len();
        let is_key = |column: &Column, window: &Arc<dyn WindowExpr>| {
            window.partition_by().iter().any(|key| key.downcast_ref::<Column>() == Some(column))
        };
        return into_only(plan, filter, |column| {
            let is_key = column.index() < columns && windows.iter().all(|window| is_key(column, window));
            is_key.then(|| Arc::new(column.clone()) as Filter)
        });
    }
    if plan.is::<UnionExec>() {
        let children: Vec<Plan> = plan.children().into_iter().cloned().collect();
        let sent = children.iter().map(|child| sent(child, filter)).collect::<Result<Vec<_>>>()?;
        if sent.iter().all(Option::is_none) {
            return Ok(None);
        }
        let children = sent.into_iter().zip(children).map(|(sent, child)| sent.unwrap_or(child)).collect();
        return with_children(Arc::clone(plan), children).map(Some);
    }
    if passes_rows(plan) { into_only(plan, filter, own) } else { Ok(None) }
}

/// What a node computes over its rows; `None` for one that computes nothing over them.
fn windows_of(plan: &Plan) -> Option<&[Arc<dyn WindowExpr>]> {
    let bounded = plan.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr);
    bounded.or_else(|| plan.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr))
}

/// What joins say alike.
struct Joined<'p> {
    sides: [&'p Plan; 2],
    join_type: JoinType,
    on: &'p [(Filter, Filter)],
    /// The side of which not all rows come out: others would be in the place of those that are left out.
    is_cut: Option<JoinSide>,
}

/// Into the sides of a join that the filter is about. A row of one that is left out is one that the join would not give.
fn sent_into_join(
    plan: &Plan,
    join: &Joined<'_>,
    origin: &dyn Fn(usize) -> Option<ColumnIndex>,
    filter: &Filter,
) -> Result<Option<Plan>> {
    let sides = [JoinSide::Left, JoinSide::Right].into_iter().zip(join.sides);
    let (gives_left, gives_right) = gives_rows(join.join_type);
    let is_semi = matches!(join.join_type, JoinType::LeftSemi | JoinType::RightSemi);
    let mut children: Vec<Plan> = Vec::with_capacity(join.sides.len());
    let mut is_sent = false;
    for ((side, rows), gives) in sides.zip([gives_left, gives_right]) {
        let own = |column: &Column| {
            let origin = origin(column.index())?;
            if origin.side == side {
                return Some(Arc::new(Column::new(rows.schema().field(origin.index).name(), origin.index)) as Filter);
            }
            // What is equal on the side whose rows do not come out.
            let pair = |(left, right): &(Filter, Filter)| {
                let (own, other) = if side == JoinSide::Left { (left, right) } else { (right, left) };
                let is_equal = other.downcast_ref::<Column>().is_some_and(|other| other.index() == origin.index);
                (is_equal && own.is::<Column>()).then(|| Arc::clone(own))
            };
            is_semi.then(|| join.on.iter().find_map(pair)).flatten()
        };
        let moved = if gives && join.is_cut != Some(side) { moved(filter, own)? } else { None };
        let below = moved.map(|moved| sent(rows, &moved)).transpose()?.flatten();
        is_sent |= below.is_some();
        children.push(below.unwrap_or_else(|| Arc::clone(rows)));
    }
    if is_sent { with_children(Arc::clone(plan), children).map(Some) } else { Ok(None) }
}

/// Whether what comes out of a join are rows of its sides, each as it is and only where it has a match or is kept without one.
fn gives_rows(join_type: JoinType) -> (bool, bool) {
    match join_type {
        JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => (true, true),
        JoinType::Left | JoinType::LeftAnti | JoinType::LeftMark => (true, false),
        JoinType::Right | JoinType::RightAnti | JoinType::RightMark => (false, true),
        JoinType::Full => (false, false),
    }
}

/// Into the only input, of which each column of the plan is an expression.
fn into_only(
    plan: &Plan,
    filter: &Filter,
    origin: impl Fn(&Column) -> Option<Arc<dyn PhysicalExpr>>,
) -> Result<Option<Plan>> {
    let children = plan.children();
    let [input] = children.as_slice() else { return Ok(None) };
    let Some(moved) = moved(filter, origin)? else { return Ok(None) };
    match sent(input, &moved)? {
        Some(input) => with_children(Arc::clone(plan), vec![input]).map(Some),
        None => Ok(None),
    }
}

/// The filter over what its columns come from; `None` where one comes from elsewhere, or is another value each time it is
/// computed.
fn moved(filter: &Filter, origin: impl Fn(&Column) -> Option<Filter>) -> Result<Option<Filter>> {
    let mut is_known = true;
    let moved = Arc::clone(filter).transform_up(|expr| {
        let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        match origin(column).filter(|origin| !is_volatile(origin)) {
            Some(origin) => Ok(Transformed::yes(origin)),
            None => {
                is_known = false;
                Ok(Transformed::no(expr))
            }
        }
    })?;
    Ok(is_known.then_some(moved.data))
}

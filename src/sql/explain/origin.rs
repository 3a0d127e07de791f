//! What the columns of a node are, where nodes below have computed or renamed them: EXPLAIN shows expressions as they were
//! written, and not the names that a plan has for them in between.

use std::sync::Arc;

use datafusion::common::{JoinSide, JoinType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use tablegate_types::quoting::quote_ident;

use super::nodes::{Kind, kind_of};
use crate::expr::{of_column, printed_physical};
use crate::range_join::RangeJoinExec;
use crate::scan::EntityScanExec;
use crate::turns::asked_of_pairs;

/// How columns of tables are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    Alone,
    /// With the names of their tables.
    OfTable,
}

/// An expression over the rows of a plan, in terms of what its columns are computed from.
pub(super) fn shown(expr: &Arc<dyn PhysicalExpr>, input: &Arc<dyn ExecutionPlan>, called: Called) -> String {
    printed_physical(expr, &|column| origin(input, column.index(), called))
}

/// The condition of a join, over the columns of both sides.
pub(super) fn join_filter(
    filter: &JoinFilter,
    left: &Arc<dyn ExecutionPlan>,
    right: &Arc<dyn ExecutionPlan>,
) -> String {
    printed_physical(asked_of_pairs(filter.expression()), &|column| {
        let of = filter.column_indices().get(column.index())?;
        match of.side {
            JoinSide::Left => origin(left, of.index, Called::OfTable),
            JoinSide::Right => origin(right, of.index, Called::OfTable),
            JoinSide::None => None,
        }
    })
}

/// What a column of a plan is computed from.
fn origin(plan: &Arc<dyn ExecutionPlan>, at: usize, called: Called) -> Option<String> {
    Origin::of(plan, at, called).map(|origin| origin.text)
}

struct Origin {
    text: String,
    /// It is the column of a node that is no table's: it goes by the name that it got last.
    is_named_anew: bool,
}

impl Origin {
    fn computed(text: String) -> Self {
        Self { text, is_named_anew: false }
    }

    fn of(plan: &Arc<dyn ExecutionPlan>, at: usize, called: Called) -> Option<Self> {
        let (mut plan, mut at) = (plan, at);
        loop {
            if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
                return Self::of_projection(projection, at, called);
            }
            if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
                let keys = aggregate.group_expr().expr();
                if let Some((key, _)) = keys.get(at) {
                    return Some(Self::computed(shown(key, aggregate.input(), called)));
                }
                // A join looks into groups that are not whole for their least and greatest values: one column each.
                if *aggregate.mode() == AggregateMode::Partial {
                    let function = aggregate.aggr_expr().get(at - keys.len())?;
                    let value = shown(function.expressions().first()?, aggregate.input(), called);
                    return Some(Self::computed(format!("{}({value})", function.fun().name())));
                }
            }
            if let Some(filter) = plan.downcast_ref::<FilterExec>() {
                at = filter.projection().as_ref().map_or(Some(at), |kept| kept.get(at).copied())?;
                plan = filter.input();
                continue;
            }
            if let Some(side) = side_of(plan, at) {
                (plan, at) = side;
                continue;
            }
            if let Some(rows) = numbered(plan) {
                if at < rows.schema().fields().len() {
                    plan = rows;
                    continue;
                }
                if let Some(number) = own_number(plan.schema().field(at).name()) {
                    return Some(Self::computed(number));
                }
            }
            match (kind_of(plan), plan.children().as_slice()) {
                (Kind::HandsOn, [only]) if only.schema().fields().len() == plan.schema().fields().len() => plan = only,
                _ => break,
            }
        }
        let schema = plan.schema();
        let name = of_column(schema.fields().get(at)?.name());
        Some(match plan.downcast_ref::<EntityScanExec>() {
            Some(scan) if called == Called::OfTable => {
                Self::computed(format!("{}.{name}", quote_ident(&scan.relation().name)))
            }
            scan => Self { text: name, is_named_anew: scan.is_none() },
        })
    }

    fn of_projection(projection: &ProjectionExec, at: usize, called: Called) -> Option<Self> {
        let ProjectionExpr { expr, alias } = projection.expr().get(at)?;
        let Some(column) = expr.downcast_ref::<Column>() else {
            return Some(Self::computed(shown(expr, projection.input(), called)));
        };
        let below = Self::of(projection.input(), column.index(), called)?;
        // Names that a plan makes for itself have a sign that no column has.
        Some(match below.is_named_anew && !alias.contains('#') {
            true => Self { text: of_column(alias), is_named_anew: true },
            false => below,
        })
    }
}

/// The rows below a node that adds columns behind theirs, or none.
fn numbered(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let adds_only = plan.is::<BoundedWindowAggExec>() || plan.is::<WindowAggExec>() || plan.is::<SortExec>();
    if adds_only { plan.children().first().copied() } else { None }
}

/// A number that a plan counts for itself, as PostgreSQL shows functions of windows.
fn own_number(name: &str) -> Option<String> {
    let function = match name.split_once('#')?.0 {
        "row" => "row_number()",
        "rank" => "rank()",
        _ => return None,
    };
    Some(format!("{function} OVER (?)"))
}

/// The side of a join that a column of it is of, and its place there.
fn side_of(plan: &Arc<dyn ExecutionPlan>, at: usize) -> Option<(&Arc<dyn ExecutionPlan>, usize)> {
    if let Some(join) = plan.downcast_ref::<RangeJoinExec>() {
        let ([left, right], origin) = (join.sides(), join.origin(at)?);
        return Some((if origin.side == JoinSide::Left { left } else { right }, origin.index));
    }
    let (left, right, join_type, kept) = match plan.downcast_ref::<HashJoinExec>() {
        Some(join) => (join.left(), join.right(), *join.join_type(), join.projection.as_deref()),
        None => {
            let join = plan.downcast_ref::<NestedLoopJoinExec>()?;
            (join.left(), join.right(), *join.join_type(), join.projection().as_deref())
        }
    };
    let at = kept.map_or(Some(at), |kept| kept.get(at).copied())?;
    let on_left = left.schema().fields().len();
    match join_type {
        JoinType::RightSemi | JoinType::RightAnti => Some((right, at)),
        _ if at < on_left => Some((left, at)),
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => Some((right, at - on_left)),
        _ => None,
    }
}

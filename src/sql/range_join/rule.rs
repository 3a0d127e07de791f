//! Which joins of a plan are joins by ranges.

use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::utils::{JoinFilter, build_join_schema};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::exec::RangeJoinExec;
use super::first;
use super::join::RangeJoin;
use super::probe::Gives;
use super::terms::{Terms, ways};
use super::unique::are_unique;
use crate::passing::Plan;

/// The rule. It comes before those that choose the sides of joins and bring their rows together: this node says itself what it
/// needs.
#[derive(Debug)]
pub(crate) struct RangeJoins;

impl PhysicalOptimizerRule for RangeJoins {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        // Downwards: what is above a join says which of its rows are wanted.
        let replaced = |node: Plan| {
            let replaced = match first::below(&node)? {
                None => ways_of(&node)?.into_iter().next().map(|join| Arc::new(join) as Plan),
                cut => cut,
            };
            Ok(replaced.map_or(Transformed::no(node), Transformed::yes))
        };
        plan.transform_down(replaced).data()
    }

    fn name(&self) -> &'static str {
        "range_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What the two kinds of joins say alike.
struct Join<'a> {
    left: &'a Plan,
    right: &'a Plan,
    join_type: JoinType,
    on: &'a [(PhysicalExprRef, PhysicalExprRef)],
    nulls: NullEquality,
    filter: &'a JoinFilter,
}

/// All ways in which this node is a join by ranges, the best one first.
pub(super) fn ways_of(node: &Plan) -> Result<Vec<RangeJoinExec>> {
    let join = match node.downcast_ref::<HashJoinExec>() {
        Some(hashed) => {
            let Some(filter) = hashed.filter().filter(|_| !hashed.null_aware && hashed.projection.is_none()) else {
                return Ok(Vec::new());
            };
            let (left, right, join_type) = (hashed.left(), hashed.right(), *hashed.join_type());
            Join { left, right, join_type, on: hashed.on(), nulls: hashed.null_equality(), filter }
        }
        None => {
            let Some(nested) = node.downcast_ref::<NestedLoopJoinExec>() else { return Ok(Vec::new()) };
            let Some(filter) = nested.filter().filter(|_| nested.projection().is_none()) else { return Ok(Vec::new()) };
            let (left, right, join_type) = (nested.left(), nested.right(), *nested.join_type());
            Join { left, right, join_type, on: &[], nulls: NullEquality::NullEqualsNothing, filter }
        }
    };
    let Some(gives) = Gives::of(join.join_type) else { return Ok(Vec::new()) };
    if join.finds_one() || !join.can_be_encoded()? {
        return Ok(Vec::new());
    }
    let ways = ways(join.filter, &join.left.schema(), &join.right.schema())?;
    let can_be_sorted = |way: &Terms| {
        let schema = if way.sorted == JoinSide::Left { join.left.schema() } else { join.right.schema() };
        is_ordered(schema.field(way.column.index()).data_type())
    };
    let mut ways: Vec<Terms> = ways.into_iter().filter(can_be_sorted).collect();
    if ways.is_empty() {
        return Ok(Vec::new());
    }
    let known = StatisticsContext::new();
    let rows = Rows { left: rows(&known, join.left), right: rows(&known, join.right) };
    ways.sort_by_key(|way| rows.cost(way));
    let statistics = known.compute(node.as_ref(), &StatisticsArgs::new())?;
    let (schema, columns) = build_join_schema(&join.left.schema(), &join.right.schema(), &join.join_type);
    let schema = Arc::new(schema);
    let joined = |terms: Terms| RangeJoin {
        join_type: join.join_type,
        on: join.on.to_vec(),
        nulls: join.nulls,
        first: None,
        read_first: rows.read_first(&terms, gives),
        columns: columns.clone(),
        terms,
        gives,
    };
    let node = |joined: RangeJoin| {
        let sides = [Arc::clone(join.left), Arc::clone(join.right)];
        RangeJoinExec::new(sides, joined, Arc::clone(&schema), Arc::clone(&statistics))
    };
    Ok(ways.into_iter().map(joined).map(node).collect())
}

impl Join<'_> {
    /// Whether its keys leave each row of one side one partner.
    fn finds_one(&self) -> bool {
        are_unique(self.left, self.on.iter().map(|(left, _)| left))
            || are_unique(self.right, self.on.iter().map(|(_, right)| right))
    }

    /// Whether its keys can be told from each other by their bytes.
    fn can_be_encoded(&self) -> Result<bool> {
        for (left, right) in self.on {
            let (left, right) = (left.data_type(&self.left.schema())?, right.data_type(&self.right.schema())?);
            if left != right || !RowConverter::supports_fields(&[SortField::new(left)]) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether the bytes of encoded values are in the order that comparisons have.
fn is_ordered(data_type: &DataType) -> bool {
    let is_plain =
        data_type.is_integer() || data_type.is_floating() || data_type.is_temporal() || data_type.is_decimal();
    is_plain || matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary)
}

fn rows(known: &StatisticsContext, plan: &Plan) -> Option<usize> {
    known.compute(plan.as_ref(), &StatisticsArgs::new()).ok()?.num_rows.get_value().copied()
}

/// How many rows the sides have, about; `None` where nothing is known.
struct Rows {
    left: Option<usize>,
    right: Option<usize>,
}

impl Rows {
    fn of(&self, side: JoinSide) -> Option<usize> {
        if side == JoinSide::Left { self.left } else { self.right }
    }

    /// Ranges with two ends have fewer rows within them; and fewer rows are sorted sooner.
    fn cost(&self, terms: &Terms) -> (bool, usize) {
        (!terms.are_closed(), self.of(terms.sorted).unwrap_or(usize::MAX))
    }

    /// The side that has fewer rows tells the scan of the other which it needs. What is sorted must all be there first, unless
    /// the other side has been read before.
    fn read_first(&self, terms: &Terms, gives: Gives) -> JoinSide {
        let (sorted, other) = (terms.sorted, terms.sorted.negate());
        let is_shorter = match (self.of(other), self.of(sorted)) {
            (Some(other), Some(sorted)) => other < sorted,
            _ => false,
        };
        // Rows that come without a partner are all read.
        let can_be_told = gives.of_side(sorted).is_none();
        if is_shorter && can_be_told { other } else { sorted }
    }
}

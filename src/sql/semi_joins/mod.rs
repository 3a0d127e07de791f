//! Joins that only ask whether there is a row: each value that is looked for is kept once.
//!
//! The engine's join finds all pairs of rows and drops those that it has told of. `x IN (SELECT y ..)` with ten thousand rows of each
//! value on both sides would be a hundred million pairs of each. So what is looked for is grouped first, part by part. Where nearly
//! all values differ, the engine sees that after some rows and hands on the others as they come.

mod differing;

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, JoinType, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::joins::HashJoinExec;

use self::differing::of_least_and_greatest;
use crate::passing::{Plan, over_children};
use crate::range_join::are_unique;

/// The rule. It comes behind those that say how rows are shared among threads.
#[derive(Debug)]
pub(crate) struct SemiJoins;

impl PhysicalOptimizerRule for SemiJoins {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| Ok(grouped(&node)?.map_or(Transformed::no(node), Transformed::yes))).data()
    }

    fn name(&self) -> &'static str {
        "semi_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The join with what it looks for grouped; `None` where it is no such join, or each value comes once as it is.
fn grouped(node: &Plan) -> Result<Option<Plan>> {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else { return Ok(None) };
    let side = match join.join_type() {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => JoinSide::Right,
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => JoinSide::Left,
        _ => return Ok(None),
    };
    let place = usize::from(side == JoinSide::Right);
    let mut children = [Arc::clone(join.left()), Arc::clone(join.right())];
    let looked_for = &children[place];
    if !has_no_others(looked_for, join, side) || are_unique(looked_for, keys_of(join, side)) {
        return Ok(None);
    }
    if let Some(join) = of_least_and_greatest(join, side)? {
        return Ok(Some(join));
    }
    let schema = looked_for.schema();
    let columns = schema.fields().iter().enumerate();
    let by = columns.map(|(at, field)| (Arc::new(Column::new(field.name(), at)) as Arc<_>, field.name().clone()));
    let by = PhysicalGroupBy::new_single(by.collect());
    let input = Arc::clone(looked_for);
    let groups = AggregateExec::try_new(AggregateMode::Partial, by, vec![], vec![], input, Arc::clone(&schema))?;
    if groups.schema() != schema {
        return Ok(None);
    }
    children[place] = Arc::new(groups);
    over_children(Arc::clone(node), children.into()).map(Some)
}

/// What is compared of the rows of this side.
fn keys_of(join: &HashJoinExec, side: JoinSide) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
    join.on().iter().map(move |(left, right)| if side == JoinSide::Left { left } else { right })
}

/// Whether the rows of this side have no columns but those that the join looks at.
fn has_no_others(rows: &Plan, join: &HashJoinExec, side: JoinSide) -> bool {
    let keys = keys_of(join, side);
    let mut used: BTreeSet<usize> = keys.flat_map(collect_columns).map(|column| column.index()).collect();
    let asked = join.filter().into_iter().flat_map(|filter| filter.column_indices());
    used.extend(asked.filter(|column| column.side == side).map(|column| column.index));
    used.len() == rows.schema().fields().len()
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::common::NullEquality;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::BinaryExpr;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::joins::PartitionMode;
    use datafusion::physical_plan::joins::utils::JoinFilter;

    use super::*;

    /// Rows with these columns, all integers.
    fn rows(columns: &[&str]) -> Plan {
        let fields: Vec<Field> = columns.iter().map(|name| Field::new(*name, DataType::Int32, true)).collect();
        Arc::new(EmptyExec::new(Arc::new(Schema::new(fields))))
    }

    /// A join by the first columns as the rule leaves it.
    fn joined(left: Plan, right: Plan, join_type: JoinType, filter: Option<JoinFilter>) -> Plan {
        let first = |plan: &Plan| Arc::new(Column::new(plan.schema().field(0).name(), 0)) as Arc<dyn PhysicalExpr>;
        let on = vec![(first(&left), first(&right))];
        let (mode, nulls) = (PartitionMode::CollectLeft, NullEquality::NullEqualsNothing);
        let join = HashJoinExec::try_new(left, right, on, filter, &join_type, None, mode, nulls, false).unwrap();
        SemiJoins.optimize(Arc::new(join), &ConfigOptions::default()).unwrap()
    }

    /// Which sides of it are grouped.
    fn grouped_sides(left: Plan, right: Plan, join_type: JoinType) -> [bool; 2] {
        let plan = joined(left, right, join_type, None);
        let children = plan.children();
        [children[0].is::<AggregateExec>(), children[1].is::<AggregateExec>()]
    }

    #[test]
    fn what_is_only_looked_for_is_grouped() {
        let of = |join_type| grouped_sides(rows(&["a"]), rows(&["b"]), join_type);
        assert_eq!(of(JoinType::LeftSemi), [false, true]);
        assert_eq!(of(JoinType::LeftAnti), [false, true]);
        assert_eq!(of(JoinType::RightSemi), [true, false]);
        assert_eq!(of(JoinType::RightAnti), [true, false]);
        assert_eq!(of(JoinType::Inner), [false, false]);
        assert_eq!(of(JoinType::Left), [false, false]);
    }

    #[test]
    fn rows_with_other_columns_stay_as_they_are() {
        assert_eq!(grouped_sides(rows(&["a"]), rows(&["b", "c"]), JoinType::LeftSemi), [false, false]);
        assert_eq!(grouped_sides(rows(&["a", "c"]), rows(&["b"]), JoinType::LeftSemi), [false, true]);
    }

    #[test]
    fn of_rows_with_another_value_the_least_and_the_greatest_are_kept() {
        let compared = |op| {
            let schema = rows(&["c", "d"]).schema();
            let [one, other] = [0, 1].map(|at| Arc::new(Column::new(schema.field(at).name(), at)) as Arc<_>);
            let columns = JoinFilter::build_column_indices(vec![1], vec![1]);
            JoinFilter::new(Arc::new(BinaryExpr::new(one, op, other)), columns, schema)
        };
        let of = |op| {
            let plan = joined(rows(&["a", "c"]), rows(&["b", "d"]), JoinType::RightAnti, Some(compared(op)));
            let groups = plan.children()[0].downcast_ref::<AggregateExec>().unwrap().aggr_expr().len();
            (groups, plan.downcast_ref::<HashJoinExec>().unwrap().filter().unwrap().expression().to_string())
        };
        let either = "min(c)[value]@0 != d@1 OR max(c)[value]@2 != d@1";
        assert_eq!(of(Operator::NotEq), (2, either.to_owned()));
        assert_eq!(of(Operator::Lt), (0, "c@0 < d@1".to_owned()));
    }
}

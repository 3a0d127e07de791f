//! Which tables' columns the columns of a result are, as RowDescription tells it: drivers look up names and keys by that.

use arrow::datatypes::Schema;
use datafusion::common::Column;
use datafusion::logical_expr::{Distinct, Expr, JoinType, LogicalPlan};

/// A column of a table, by the key the planner knows the table by, and the column's name.
pub(super) struct Origin<'p> {
    pub table: &'p str,
    pub column: &'p str,
}

/// Where a column of a plan's result comes from, unchanged; `None` for what is computed.
pub(super) fn of_column(plan: &LogicalPlan, index: usize) -> Option<Origin<'_>> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let column = plain_column(projection.expr.get(index)?)?;
            of_column(&projection.input, index_of(&projection.input, column)?)
        }
        LogicalPlan::Filter(filter) => of_column(&filter.input, index),
        LogicalPlan::Sort(sort) => of_column(&sort.input, index),
        LogicalPlan::Limit(limit) => of_column(&limit.input, index),
        LogicalPlan::SubqueryAlias(alias) => of_column(&alias.input, index),
        LogicalPlan::Distinct(Distinct::All(input)) => of_column(input, index),
        LogicalPlan::Distinct(Distinct::On(distinct)) => {
            let column = plain_column(distinct.select_expr.get(index)?)?;
            of_column(&distinct.input, index_of(&distinct.input, column)?)
        }
        LogicalPlan::Window(window) => of_column(&window.input, index),
        LogicalPlan::Aggregate(aggregate) => {
            let column = plain_column(aggregate.group_expr.get(index)?)?;
            of_column(&aggregate.input, index_of(&aggregate.input, column)?)
        }
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
                let width = join.left.schema().fields().len();
                match index.checked_sub(width) {
                    None => of_column(&join.left, index),
                    Some(index) => of_column(&join.right, index),
                }
            }
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => of_column(&join.left, index),
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => of_column(&join.right, index),
        },
        LogicalPlan::Subquery(subquery) => of_column(&subquery.subquery, index),
        LogicalPlan::TableScan(scan) => {
            let schema: &Schema = scan.projected_schema.as_arrow();
            Some(Origin { table: scan.table_name.table(), column: schema.fields().get(index)?.name() })
        }
        _ => None,
    }
}

/// The column that an expression is, whatever it is called.
fn plain_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => plain_column(&alias.expr),
        _ => None,
    }
}

fn index_of(plan: &LogicalPlan, column: &Column) -> Option<usize> {
    plan.schema().maybe_index_of_column(column)
}

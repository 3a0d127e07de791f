//! How many rows a scan may give, by its scope and by how many the table has: a guess that puts the narrower scan on the
//! build side of a join.

use datafusion::arrow::datatypes::Schema;
use datafusion::common::stats::Precision;
use datafusion::common::{Column, ScalarValue, Statistics};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use tablegate_store::table::KeyRange;

use crate::key_range::{KeyPlan, flatten};

/// Orders of magnitude only: what matters is that a point is less than a partition, and that less than a table.
const ROW_RANGE_ROWS: usize = 100;
const PARTITION_ROWS: usize = 1_000;
/// A partition of a large table is taken to be one of so many.
const PARTITION_IS_ONE_OF: usize = 100;
const PARTITION_RANGE_ROWS: usize = 100_000;
const TABLE_ROWS: usize = 1_000_000;
/// A table is taken to have no fewer rows: it may grow after a statement was prepared, as PostgreSQL expects of a small one
/// too, and a part of it is still to be less than the whole.
const TABLE_ROWS_LEAST: usize = 100;
/// A range of partitions is taken to be one of so many parts of its table.
const PARTITION_RANGE_IS_ONE_OF: usize = 10;
/// The part of the rows that conditions are taken to keep: equality with a constant, a pattern, a range with one end,
/// and any other condition.
const EQUAL: f64 = 0.05;
const LIKE: f64 = 0.1;
const RANGE: f64 = 1.0 / 3.0;
const UNKNOWN: f64 = 0.25;
/// A list is taken to keep no more of them, however long it is.
const LIST_MOST: f64 = 0.5;
/// Deeper than this no condition is looked at.
const DEPTH_MAX: usize = 64;

/// Statistics with an inexact row count. Never an exact one: it would be the answer of `count(*)`, and stale.
pub(super) fn statistics(plan: &KeyPlan, table_rows: Option<u64>, fetch: Option<usize>, schema: &Schema) -> Statistics {
    let table_rows = table_rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX).max(TABLE_ROWS_LEAST));
    let rows = plan.groups.iter().fold(0_usize, |total, group| {
        let rows = group.ranges.iter().map(|range| rows(range, table_rows)).fold(0, usize::saturating_add);
        let rows = table_rows.map_or(rows, |table_rows| rows.min(table_rows));
        let kept = group.residual.as_ref().map_or(rows, |filter| part_of(rows, selectivity(filter, &|_| None)));
        total.saturating_add(kept)
    });
    let rows = fetch.map_or(rows, |fetch| rows.min(fetch));
    Statistics { num_rows: Precision::Inexact(rows), ..Statistics::new_unknown(schema) }
}

/// The part of rows that satisfies a condition, guessed by its form. `values` knows of a column how many values it has,
/// where that is known.
pub(crate) fn selectivity(condition: &Expr, values: &dyn Fn(&Column) -> Option<f64>) -> f64 {
    Guess { values }.part(condition, DEPTH_MAX)
}

struct Guess<'a> {
    values: &'a dyn Fn(&Column) -> Option<f64>,
}

impl Guess<'_> {
    fn part(&self, condition: &Expr, depth: usize) -> f64 {
        let Some(depth) = depth.checked_sub(1) else { return UNKNOWN };
        match condition {
            Expr::Alias(alias) => self.part(&alias.expr, depth),
            Expr::Not(inner) => 1.0 - self.part(inner, depth),
            Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
                let parts = flatten(condition, *op).into_iter().map(|part| self.part(part, depth));
                if *op == Operator::And { parts.product() } else { parts.sum::<f64>().min(1.0) }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
                Operator::Eq | Operator::IsNotDistinctFrom => self.equal(left).min(self.equal(right)),
                Operator::NotEq | Operator::IsDistinctFrom => 1.0 - self.equal(left).min(self.equal(right)),
                Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => RANGE,
                _ => UNKNOWN,
            },
            Expr::Between(between) => complement(RANGE * RANGE, between.negated),
            Expr::InList(list) => {
                #[expect(clippy::cast_precision_loss, reason = "a guess")]
                let items = list.list.len() as f64;
                complement((self.equal(&list.expr) * items).min(LIST_MOST), list.negated)
            }
            Expr::Like(like) => complement(LIKE, like.negated),
            Expr::IsNull(_) => EQUAL,
            Expr::IsNotNull(_) => 1.0 - EQUAL,
            Expr::Literal(ScalarValue::Boolean(Some(value)), _) => f64::from(u8::from(*value)),
            _ => UNKNOWN,
        }
    }

    /// The part of rows that have one of the values of an expression.
    fn equal(&self, expr: &Expr) -> f64 {
        match expr {
            Expr::Column(column) => (self.values)(column).map_or(EQUAL, |values| 1.0 / values.max(1.0)),
            Expr::Cast(cast) => self.equal(&cast.expr),
            _ => EQUAL,
        }
    }
}

fn complement(part: f64, is_negated: bool) -> f64 {
    if is_negated { 1.0 - part } else { part }
}

/// No filter is taken to leave nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a guess")]
fn part_of(rows: usize, part: f64) -> usize {
    ((rows as f64 * part) as usize).max(1).min(rows)
}

fn rows(range: &KeyRange, table_rows: Option<usize>) -> usize {
    if range.as_point().is_some() {
        1
    } else if range.partitions.as_point().is_some() {
        let of_partition = || table_rows.map_or(0, |rows| rows / PARTITION_IS_ONE_OF).max(PARTITION_ROWS);
        if range.has_all_rows() { of_partition() } else { ROW_RANGE_ROWS }
    } else if range.partitions.is_all() && range.has_all_rows() {
        table_rows.unwrap_or(TABLE_ROWS)
    } else {
        table_rows.map_or(PARTITION_RANGE_ROWS, |rows| rows.div_ceil(PARTITION_RANGE_IS_ONE_OF))
    }
}

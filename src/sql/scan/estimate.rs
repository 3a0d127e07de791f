//! How many rows a scan may give, by its scope and by how many the table has: a guess that puts the narrower scan on the
//! build side of a join.

use datafusion::arrow::datatypes::Schema;
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;

use crate::sql::key_range::KeyPlan;
use crate::table::KeyRange;

/// Orders of magnitude only: what matters is that a point is less than a partition, and that less than a table.
const ROW_RANGE_ROWS: usize = 100;
const PARTITION_ROWS: usize = 1_000;
const PARTITION_RANGE_ROWS: usize = 100_000;
const TABLE_ROWS: usize = 1_000_000;
/// A table is taken to have no fewer rows: it may grow after a statement was prepared, as PostgreSQL expects of a small one
/// too, and a part of it is still to be less than the whole.
const TABLE_ROWS_LEAST: usize = 20_000;
/// A range of partitions is taken to be one of so many parts of its table.
const PARTITION_RANGE_IS_ONE_OF: usize = 10;
/// A filter is taken to keep one row of so many.
const FILTER_KEEPS_ONE_OF: usize = 10;

/// Statistics with an inexact row count. Never an exact one: it would be the answer of `count(*)`, and stale.
pub(super) fn statistics(plan: &KeyPlan, table_rows: Option<u64>, fetch: Option<usize>, schema: &Schema) -> Statistics {
    let table_rows = table_rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX).max(TABLE_ROWS_LEAST));
    let rows = plan.groups.iter().fold(0_usize, |total, group| {
        let rows = group.ranges.iter().map(|range| rows(range, table_rows)).fold(0, usize::saturating_add);
        let rows = table_rows.map_or(rows, |table_rows| rows.min(table_rows));
        let kept = if group.residual.is_some() { rows / FILTER_KEEPS_ONE_OF } else { rows };
        total.saturating_add(kept)
    });
    let rows = fetch.map_or(rows, |fetch| rows.min(fetch));
    Statistics { num_rows: Precision::Inexact(rows), ..Statistics::new_unknown(schema) }
}

fn rows(range: &KeyRange, table_rows: Option<usize>) -> usize {
    if range.as_point().is_some() {
        1
    } else if range.partitions.as_point().is_some() {
        if range.has_all_rows() { PARTITION_ROWS } else { ROW_RANGE_ROWS }
    } else if range.partitions.is_all() && range.has_all_rows() {
        table_rows.unwrap_or(TABLE_ROWS)
    } else {
        table_rows.map_or(PARTITION_RANGE_ROWS, |rows| rows.div_ceil(PARTITION_RANGE_IS_ONE_OF))
    }
}

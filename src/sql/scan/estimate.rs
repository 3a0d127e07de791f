//! How many rows a scan may give, by its scope: a guess that puts the narrower scan on the build side of a join.

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
/// A filter is taken to keep one row of so many.
const FILTER_KEEPS_ONE_OF: usize = 10;

/// Statistics with an inexact row count. Never an exact one: it would be the answer of `count(*)`, and stale.
pub(super) fn statistics(plan: &KeyPlan, fetch: Option<usize>, schema: &Schema) -> Statistics {
    let rows = plan.groups.iter().fold(0_usize, |total, group| {
        let rows = group.ranges.iter().map(rows).fold(0, usize::saturating_add);
        let kept = if group.residual.is_some() { rows / FILTER_KEEPS_ONE_OF } else { rows };
        total.saturating_add(kept)
    });
    let rows = fetch.map_or(rows, |fetch| rows.min(fetch));
    Statistics { num_rows: Precision::Inexact(rows), ..Statistics::new_unknown(schema) }
}

fn rows(range: &KeyRange) -> usize {
    if range.as_point().is_some() {
        1
    } else if range.partitions.as_point().is_some() {
        if range.has_all_rows() { PARTITION_ROWS } else { ROW_RANGE_ROWS }
    } else if range.partitions.is_all() && range.has_all_rows() {
        TABLE_ROWS
    } else {
        PARTITION_RANGE_ROWS
    }
}

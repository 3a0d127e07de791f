//! How many rows a batch of a query has, so that its batches are of a size where rows are long.
//!
//! Batches of scans end with so many bytes. What operators make of them (a join, a sort) ends with so many rows, which would
//! be gigabytes of texts of some kilobytes.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::physical_plan::ExecutionPlan;

use super::exec::EntityScanExec;
use crate::short_batches::rows_of;

/// So many rows, at most so many as are usual: by how long rows of the tables are, next to each other where they are joined.
/// What expressions make longer is not foreseen.
pub(crate) fn batch_rows(plan: &Arc<dyn ExecutionPlan>, usual: usize) -> usize {
    let mut longest = 1;
    row_bytes(plan, &mut longest);
    usual.min(rows_of(longest))
}

/// About how long rows of this node are; `longest` becomes the length of those of any node that has longer ones.
fn row_bytes(plan: &Arc<dyn ExecutionPlan>, longest: &mut usize) -> usize {
    let below = plan.children().into_iter().map(|child| row_bytes(child, longest)).fold(0, usize::saturating_add);
    let of_table = plan.downcast_ref::<EntityScanExec>().and_then(EntityScanExec::row_bytes).unwrap_or_default();
    let has_texts = plan.schema().fields().iter().any(|field| is_of_any_length(field.data_type()));
    let bytes = if has_texts { below.saturating_add(of_table) } else { 0 };
    *longest = bytes.max(*longest);
    bytes
}

/// Whether values of this type may be long.
pub(super) fn is_of_any_length(data_type: &DataType) -> bool {
    !data_type.is_primitive() && !matches!(data_type, DataType::Boolean | DataType::FixedSizeBinary(_))
}

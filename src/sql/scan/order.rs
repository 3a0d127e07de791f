//! What order a scan's rows have, in terms of the columns it returns.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{ConstExpr, EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use tablegate_store::table::Direction;
use tablegate_types::key_codec::PartitionScheme;

use crate::key_range::KeyPlan;
use crate::relation::{ColumnSource, Relation};

/// The orderings and constants of a scan that returns the relation's columns at `projection`.
pub(super) fn properties(
    relation: &Relation,
    projection: &[usize],
    schema: &SchemaRef,
    plan: &KeyPlan,
    direction: Direction,
) -> Result<EquivalenceProperties> {
    let mut properties = EquivalenceProperties::new(Arc::clone(schema));
    let one_partition = plan.is_one_partition();
    for key in [stored_key(one_partition), key_columns(relation, one_partition)] {
        let mut ordering = Vec::new();
        for part in key {
            let output = projection.iter().position(|&column| relation.columns[column].source == part.source);
            let column = output.map(|at| Arc::new(Column::new(schema.field(at).name(), at)) as Arc<dyn PhysicalExpr>);
            match column {
                Some(column) if part.fixed => properties.add_constants([ConstExpr::from(column)])?,
                Some(column) => {
                    let descending = part.descending != (direction == Direction::Reverse);
                    // Keys are never NULL; what is said of NULLs is PostgreSQL's default.
                    let options = SortOptions { descending, nulls_first: descending };
                    ordering.push(PhysicalSortExpr::new(column, options));
                }
                None if part.fixed => {}
                // What follows is ordered only among rows that agree on this one.
                None => break,
            }
        }
        properties.add_ordering(ordering);
    }
    Ok(properties)
}

/// A column the scan is sorted by.
struct KeyPart {
    source: ColumnSource,
    descending: bool,
    /// The scan's ranges leave it one value.
    fixed: bool,
}

fn stored_key(one_partition: bool) -> Vec<KeyPart> {
    let part = |source, fixed| KeyPart { source, descending: false, fixed };
    vec![part(ColumnSource::PartitionKey, one_partition), part(ColumnSource::RowKey, false)]
}

/// The key columns of a relational table. Encoding keeps their order, except over buckets.
fn key_columns(relation: &Relation, one_partition: bool) -> Vec<KeyPart> {
    let in_partition = match relation.codec.partition() {
        PartitionScheme::Columns(count) => *count,
        PartitionScheme::Bucket(_) if !one_partition => return Vec::new(),
        PartitionScheme::Constant(_) | PartitionScheme::Bucket(_) => 0,
    };
    let columns = relation.codec.columns().iter().enumerate();
    columns
        .map(|(index, column)| KeyPart {
            source: ColumnSource::KeyPart(index),
            descending: column.descending,
            fixed: one_partition && index < in_partition,
        })
        .collect()
}

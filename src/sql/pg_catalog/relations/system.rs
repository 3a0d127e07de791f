//! What the catalogue says of the system relations themselves: made once, and the same in every session.

use std::sync::OnceLock;

use arrow::record_batch::RecordBatch;
use tablegate_types::error::SqlResult;

use super::{Rows, attributes, classes};
use crate::pg_catalog::layout::Layout;

static CLASSES: OnceLock<RecordBatch> = OnceLock::new();
static ATTRIBUTES: OnceLock<RecordBatch> = OnceLock::new();

/// The rows about system relations, where the relation has any.
///
/// # Errors
/// None are expected: rows are made to fit their columns.
pub(super) fn batch(layout: &'static Layout) -> SqlResult<Option<RecordBatch>> {
    let Some((kept, fill)) = source_of(layout) else { return Ok(None) };
    if let Some(batch) = kept.get() {
        return Ok(Some(batch.clone()));
    }
    let mut rows = Rows::new(layout);
    fill(&mut rows);
    let batch = rows.finish()?;
    Ok(Some(kept.get_or_init(|| batch).clone()))
}

type Source = (&'static OnceLock<RecordBatch>, fn(&mut Rows));

fn source_of(layout: &Layout) -> Option<Source> {
    Some(match (layout.schema, layout.name) {
        ("pg_catalog", "pg_class") => (&CLASSES, classes::system_classes),
        ("pg_catalog", "pg_attribute") => (&ATTRIBUTES, attributes::system_attributes),
        _ => return None,
    })
}

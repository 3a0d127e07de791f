//! The plain part of a filter, evaluated before values are read that take long to read: texts that are checked, or that become
//! numbers. Of the rows that it leaves out they are not read at all.

use std::sync::Arc;

use arrow::compute::filter_record_batch;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};

use super::layout::RowLayout;
use super::residual::Residual;

/// Rows are copied when no more than this part of them, in percent, is left: the others are worth the same twice.
const COPIED_MOST: usize = 50;

/// The plain part of a filter over some of a layout's columns.
pub(super) struct EarlyFilter {
    plain: Residual,
    /// The columns that it names, by their places in the layout: these are what it is evaluated over.
    columns: Vec<usize>,
}

impl EarlyFilter {
    /// The plain part of a filter of the layout's rows; `None` where it spares nothing.
    ///
    /// # Errors
    /// None are expected: the conjuncts name columns that there are.
    pub(super) fn of(residual: &Residual, layout: &RowLayout) -> Result<Option<Self>> {
        let named = residual.plain_columns();
        let spared = (0..layout.schema().fields().len()).filter(|place| !named.contains(place));
        if named.is_empty() || !spared.into_iter().any(|place| layout.takes_long(place)) {
            return Ok(None);
        }
        let columns: Vec<usize> = named.into_iter().collect();
        Ok(Some(Self { plain: residual.plain_over(&columns)?, columns }))
    }

    /// The rows of a scan that may be left; `None` where that is most of them.
    ///
    /// # Errors
    /// 22P02 for a stored value that is not one of the declared type.
    pub(super) fn left(&self, scanned: &RecordBatch, layout: &RowLayout) -> Result<Option<RecordBatch>> {
        let columns = layout.columns(scanned, &self.columns).map_err(|error| DataFusionError::External(error))?;
        let fields: Vec<_> = self.columns.iter().map(|place| Arc::clone(&layout.schema().fields()[*place])).collect();
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let few = self.plain.plain(&rows)?.filter(|kept| kept.true_count() * 100 <= kept.len() * COPIED_MOST);
        Ok(few.map(|kept| filter_record_batch(scanned, &kept)).transpose()?)
    }
}

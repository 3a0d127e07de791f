//! The plain part of a filter, evaluated before values are read that take long to read: texts that are checked, or that become
//! numbers. Of the rows that it leaves out they are not read at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::compute::{and_kleene, filter_record_batch};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;

use super::layout::RowLayout;
use super::residual::{Residual, plain_truth};

/// Rows are copied when no more than this part of them, in percent, is left: the others are worth the same twice.
const COPIED_MOST: usize = 50;

/// Conjuncts over some of a layout's columns.
pub(super) struct EarlyFilter {
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns that they name, by their places in the layout: these are what they are evaluated over.
    columns: Vec<usize>,
}

impl EarlyFilter {
    /// The plain part of a filter of the layout's rows; `None` where it spares nothing.
    ///
    /// # Errors
    /// None are expected: the conjuncts name columns that there are.
    pub(super) fn of(residual: &Residual, layout: &RowLayout) -> Result<Option<Self>> {
        let named: BTreeSet<usize> =
            residual.plain_conjuncts().iter().flat_map(collect_columns).map(|column| column.index()).collect();
        let spared = (0..layout.schema().fields().len()).filter(|place| !named.contains(place));
        if named.is_empty() || !spared.into_iter().any(|place| layout.takes_long(place)) {
            return Ok(None);
        }
        let columns: Vec<usize> = named.into_iter().collect();
        let conjuncts = residual.plain_conjuncts().iter().map(|conjunct| over(conjunct, &columns));
        Ok(Some(Self { conjuncts: conjuncts.collect::<Result<_>>()?, columns }))
    }

    /// The rows of a scan that may be left; `None` where that is most of them.
    ///
    /// # Errors
    /// 22P02 for a stored value that is not one of the declared type.
    pub(super) fn left(&self, scanned: &RecordBatch, layout: &RowLayout) -> Result<Option<RecordBatch>> {
        let columns = layout.columns(scanned, &self.columns).map_err(|error| DataFusionError::External(error))?;
        let fields: Vec<_> = self.columns.iter().map(|place| Arc::clone(&layout.schema().fields()[*place])).collect();
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let mut kept: Option<BooleanArray> = None;
        for conjunct in &self.conjuncts {
            let own = plain_truth(conjunct, &rows)?;
            kept = Some(match kept {
                Some(kept) => and_kleene(&kept, &own)?,
                None => own,
            });
        }
        let few = kept.filter(|kept| kept.true_count() * 100 <= kept.len() * COPIED_MOST);
        Ok(few.map(|kept| filter_record_batch(scanned, &kept)).transpose()?)
    }
}

/// An expression over these columns alone.
fn over(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = Arc::clone(expr).transform(|part| {
        let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
        let place = columns.iter().position(|place| *place == column.index());
        Ok(match place {
            Some(place) => Transformed::yes(Arc::new(Column::new(column.name(), place)) as _),
            None => Transformed::no(part),
        })
    })?;
    Ok(moved.data)
}

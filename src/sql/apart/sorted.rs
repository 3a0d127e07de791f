//! The rows of one sort, of which those of a group follow each other.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use arrow::row::{OwnedRow, Row, RowConverter, Rows, SortField};
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::EmptyRecordBatchStream;
use futures::StreamExt;

/// The rows, from the first one that nobody has taken yet.
pub(super) struct Sorted {
    rows: SendableRecordBatchStream,
    /// Tells groups apart, which are in the first columns; `None` where all rows are one group.
    groups: Option<Arc<RowConverter>>,
    width: usize,
    once: Option<Once>,
    batch: RecordBatch,
    /// The groups of the batch.
    of_batch: Option<Rows>,
    at: usize,
    is_over: bool,
}

/// Leaves out rows that are like the one before.
struct Once {
    converter: RowConverter,
    /// So many columns are compared.
    width: usize,
    last: Option<OwnedRow>,
}

/// What groups in these columns of the rows are told apart by; all sorts of an aggregation have the same.
///
/// # Errors
/// For types that cannot be compared.
pub(super) fn groups(rows: &SendableRecordBatchStream, width: usize) -> Result<Option<Arc<RowConverter>>> {
    if width == 0 { Ok(None) } else { Ok(Some(Arc::new(converter(rows, width)?))) }
}

fn converter(rows: &SendableRecordBatchStream, width: usize) -> Result<RowConverter> {
    let schema = rows.schema();
    let fields = schema.fields().iter().take(width).map(|field| SortField::new(field.data_type().clone()));
    Ok(RowConverter::new(fields.collect())?)
}

impl Sorted {
    /// Rows with their group in so many columns; of those that are equal in `once` columns only the first.
    ///
    /// # Errors
    /// For types that cannot be compared.
    pub(super) fn new(
        rows: SendableRecordBatchStream,
        groups: Option<Arc<RowConverter>>,
        width: usize,
        once: Option<usize>,
    ) -> Result<Self> {
        let batch = RecordBatch::new_empty(rows.schema());
        let once = once.map(|width| {
            Ok::<_, datafusion::common::DataFusionError>(Once {
                converter: converter(&rows, width)?,
                width,
                last: None,
            })
        });
        Ok(Self { rows, groups, width, once: once.transpose()?, batch, of_batch: None, at: 0, is_over: false })
    }

    /// Makes sure that the next row is here; false behind the last one.
    ///
    /// # Errors
    /// Those of the rows.
    pub(super) async fn has_more(&mut self) -> Result<bool> {
        while self.at == self.batch.num_rows() && !self.is_over {
            match self.rows.next().await.transpose()? {
                Some(batch) => self.take(batch)?,
                None => {
                    self.is_over = true;
                    // What it has kept is given back.
                    self.rows = Box::pin(EmptyRecordBatchStream::new(self.rows.schema()));
                }
            }
        }
        Ok(self.at < self.batch.num_rows())
    }

    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        let batch = match &mut self.once {
            Some(once) => once.of(batch)?,
            None => batch,
        };
        let columns = &batch.columns()[..self.width];
        self.of_batch = self.groups.as_ref().map(|groups| groups.convert_columns(columns)).transpose()?;
        (self.batch, self.at) = (batch, 0);
        Ok(())
    }

    /// The group of the next row, which is here; `None` where all are one group.
    pub(super) fn group(&self) -> Option<Row<'_>> {
        self.of_batch.as_ref().map(|groups| groups.row(self.at))
    }

    /// Whether all rows are one group.
    pub(super) fn is_of_one_group(&self) -> bool {
        self.groups.is_none()
    }

    /// Takes the rows of this group that are here.
    pub(super) fn take_group(&mut self, group: Option<&Row<'_>>) -> Range<usize> {
        let first = self.at;
        self.at = match (&self.of_batch, group) {
            (Some(groups), Some(group)) => {
                (first..groups.num_rows()).find(|row| groups.row(*row) != *group).unwrap_or(groups.num_rows())
            }
            _ => self.batch.num_rows(),
        };
        first..self.at
    }

    /// The count in this column of the next row, which is here.
    pub(super) fn count(&self, column: usize) -> Option<usize> {
        let counts = self.batch.columns().get(column)?.as_primitive_opt::<Int64Type>()?;
        usize::try_from(counts.value(self.at)).ok()
    }

    /// Takes the next row, which is here.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// How many rows there are before others have to come.
    pub(super) fn here(&self) -> usize {
        self.batch.num_rows() - self.at
    }

    /// Some of the rows that were here, without their groups.
    pub(super) fn values(&self, rows: &Range<usize>) -> Vec<ArrayRef> {
        self.batch.columns()[self.width..].iter().map(|column| column.slice(rows.start, rows.len())).collect()
    }

    /// The columns of some of the rows that were here.
    pub(super) fn columns(&self, rows: &Range<usize>) -> Vec<ArrayRef> {
        self.batch.columns().iter().map(|column| column.slice(rows.start, rows.len())).collect()
    }
}

impl Once {
    fn of(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = self.converter.convert_columns(&batch.columns()[..self.width])?;
        let Some(last) = rows.num_rows().checked_sub(1) else { return Ok(batch) };
        let is_new = |row: usize| match (row.checked_sub(1), &self.last) {
            (Some(before), _) => rows.row(row) != rows.row(before),
            (None, Some(before)) => rows.row(row) != before.row(),
            (None, None) => true,
        };
        let are_new: BooleanArray = (0..=last).map(|row| Some(is_new(row))).collect();
        self.last = Some(rows.row(last).owned());
        if are_new.true_count() == are_new.len() { Ok(batch) } else { Ok(filter_record_batch(&batch, &are_new)?) }
    }
}

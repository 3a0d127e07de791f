//! Filters that joins and TopK find out while they run, evaluated on rows: those that are left out here are not hashed,
//! grouped or sorted by whoever comes before the join.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::{and_kleene, filter_record_batch};
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

/// Rows that are looked at before it is known whether looking at more of them pays.
const ROWS_TRIED: usize = 32 * 1024;
/// It pays when no more than this part of the rows, in percent, is left.
const LEFT_MOST: usize = 75;

/// The filters, and what they were good for so far.
pub(super) struct Sieve {
    filters: Vec<Arc<dyn PhysicalExpr>>,
    seen: usize,
    left: usize,
}

impl Sieve {
    pub fn new(filters: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self { filters, seen: 0, left: 0 }
    }

    /// The rows that the filters may be true of. Their owners apply them all the same.
    ///
    /// # Errors
    /// What an expression raises.
    pub fn sifted(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        let is_idle = self.seen >= ROWS_TRIED && self.left * 100 > self.seen * LEFT_MOST;
        if self.filters.is_empty() || rows.num_rows() == 0 || is_idle {
            return Ok(rows);
        }
        let mut kept: Option<BooleanArray> = None;
        for filter in &self.filters {
            match filter.evaluate(&rows)? {
                // A join that does not know its keys yet says so.
                ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => {}
                value => {
                    let own = value.into_array(rows.num_rows())?;
                    kept = Some(match kept {
                        Some(kept) => and_kleene(&kept, own.as_boolean())?,
                        None => own.as_boolean().clone(),
                    });
                }
            }
        }
        let Some(kept) = kept else { return Ok(rows) };
        let left = kept.true_count();
        self.seen += rows.num_rows();
        self.left += left;
        if left == rows.num_rows() { Ok(rows) } else { Ok(filter_record_batch(&rows, &kept)?) }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{BinaryExpr, Column, lit};

    use super::*;

    fn rows(from: i32, to: i32) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("n", DataType::Int32, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from_iter_values(from..to))]).unwrap()
    }

    fn below(bound: i32) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(Arc::new(Column::new("n", 0)), Operator::Lt, lit(bound)))
    }

    #[test]
    fn rows_that_no_filter_rules_out_are_left() {
        let mut sieve = Sieve::new(vec![lit(true), below(7), below(5)]);
        assert_eq!(sieve.sifted(rows(0, 10)).unwrap(), rows(0, 5));
        assert_eq!(sieve.sifted(rows(0, 3)).unwrap(), rows(0, 3));
    }

    #[test]
    fn a_filter_that_leaves_most_rows_is_given_up() {
        let mut sieve = Sieve::new(vec![below(40_000)]);
        assert_eq!(sieve.sifted(rows(10_000, 50_000)).unwrap().num_rows(), 30_000);
        assert_eq!(sieve.sifted(rows(39_000, 41_000)).unwrap().num_rows(), 1_000, "three in four are few enough");
        let mut sieve = Sieve::new(vec![below(40_000)]);
        assert_eq!(sieve.sifted(rows(1_000, 41_000)).unwrap().num_rows(), 39_000);
        assert_eq!(sieve.sifted(rows(39_000, 41_000)).unwrap().num_rows(), 2_000);
    }
}

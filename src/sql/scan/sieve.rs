//! Filters that joins and TopK find out while they run, evaluated on rows: those that are left out here are not hashed,
//! grouped or sorted by whoever comes before the join.
//!
//! A filter that is NULL says nothing: a join in which NULL equals NULL has such filters too. Nor do filters on arrays and
//! records: what is least and greatest among them is another matter than which are equal.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::compute::{and_kleene, filter_record_batch};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;

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
    /// `schema` is that of the rows.
    pub fn new(filters: &[Arc<dyn PhysicalExpr>], schema: &Schema) -> Self {
        let is_plain = |index: usize| schema.fields().get(index).is_some_and(|field| !field.data_type().is_nested());
        let says_something =
            |filter: &&Arc<dyn PhysicalExpr>| collect_columns(filter).iter().all(|column| is_plain(column.index()));
        Self { filters: filters.iter().filter(says_something).cloned().collect(), seen: 0, left: 0 }
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
        let kept = unless_false(&kept);
        let left = kept.true_count();
        self.seen += rows.num_rows();
        self.left += left;
        if left == rows.num_rows() { Ok(rows) } else { Ok(filter_record_batch(&rows, &kept)?) }
    }
}

fn unless_false(values: &BooleanArray) -> BooleanArray {
    let kept = match values.nulls() {
        None => return values.clone(),
        Some(nulls) => values.values() | &!nulls.inner(),
    };
    BooleanArray::new(kept, None)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array, ListArray};
    use arrow::datatypes::{DataType, Field, Int32Type};
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNullExpr, lit};

    use super::*;

    fn rows(from: i32, to: i32) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("n", DataType::Int32, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from_iter_values(from..to))]).unwrap()
    }

    fn sieve(filters: &[Arc<dyn PhysicalExpr>]) -> Sieve {
        Sieve::new(filters, &rows(0, 0).schema())
    }

    fn below(bound: i32) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(Arc::new(Column::new("n", 0)), Operator::Lt, lit(bound)))
    }

    #[test]
    fn rows_that_no_filter_rules_out_are_left() {
        let mut sieving = sieve(&[lit(true), below(7), below(5)]);
        assert_eq!(sieving.sifted(rows(0, 10)).unwrap(), rows(0, 5));
        assert_eq!(sieving.sifted(rows(0, 3)).unwrap(), rows(0, 3));
    }

    #[test]
    fn what_a_filter_says_nothing_of_is_left() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(4), Some(9)]));
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([None, Some(vec![Some(1)]), Some(vec![None])]);
        let rows = RecordBatch::try_from_iter([("n", numbers), ("l", Arc::new(lists) as ArrayRef)]).unwrap();
        let never = Arc::new(IsNullExpr::new(Arc::new(Column::new("l", 1)))) as Arc<dyn PhysicalExpr>;
        let mut sieve = Sieve::new(&[below(5), never], &rows.schema());
        assert_eq!(sieve.sifted(rows.clone()).unwrap(), rows.slice(0, 2));
    }

    #[test]
    fn a_filter_that_leaves_most_rows_is_given_up() {
        let mut sieving = sieve(&[below(40_000)]);
        assert_eq!(sieving.sifted(rows(10_000, 50_000)).unwrap().num_rows(), 30_000);
        assert_eq!(sieving.sifted(rows(39_000, 41_000)).unwrap().num_rows(), 1_000, "three in four are few enough");
        let mut sieving = sieve(&[below(40_000)]);
        assert_eq!(sieving.sifted(rows(1_000, 41_000)).unwrap().num_rows(), 39_000);
        assert_eq!(sieving.sifted(rows(39_000, 41_000)).unwrap().num_rows(), 2_000);
    }
}

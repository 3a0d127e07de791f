//! Filters that joins and TopK find out while they run, evaluated on rows: rows that are dropped here need not be
//! hashed, grouped or sorted by the operators between the scan and the join.
//!
//! A filter that is NULL says nothing: a join in which NULL equals NULL has such filters too. Filters on arrays and
//! records are not used either, because the engine orders them otherwise than SQL does.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::compute::{and, filter_record_batch};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, InListExpr};
use datafusion::physical_expr::utils::collect_columns;

use super::members::Members;
use super::residual::is_plain;
use crate::key_range::flatten_physical;

/// Rows that are looked at before it is known whether looking at more of them pays.
const ROWS_TRIED: usize = 32 * 1024;
/// It pays when no more than this part of the rows, in percent, is left. Then they are copied too, before the next test.
const LEFT_MOST: usize = 75;
/// So many rows later it is tried again: what comes in the order of its keys is not alike everywhere.
const ROWS_RESTED: usize = 1024 * 1024;

/// The filters, and what they were good for so far.
pub(super) struct Sieve {
    filters: Vec<Filter>,
}

struct Filter {
    filter: Arc<dyn PhysicalExpr>,
    /// What it said last.
    current: Option<Arc<dyn PhysicalExpr>>,
    /// Its conjuncts.
    tests: Vec<Test>,
}

impl Sieve {
    /// `schema` is that of the rows.
    pub(super) fn new(filters: &[Arc<dyn PhysicalExpr>], schema: &Schema) -> Self {
        let is_plain = |index: usize| schema.fields().get(index).is_some_and(|field| !field.data_type().is_nested());
        let says_something =
            |filter: &&Arc<dyn PhysicalExpr>| collect_columns(filter).iter().all(|column| is_plain(column.index()));
        let filter = |filter: &Arc<dyn PhysicalExpr>| Filter { filter: filter.clone(), current: None, tests: vec![] };
        Self { filters: filters.iter().filter(says_something).map(filter).collect() }
    }

    /// The rows that the filters may be true of. Their owners apply them all the same.
    ///
    /// # Errors
    /// The errors of evaluating an expression.
    pub(super) fn sifted(&mut self, mut rows: RecordBatch) -> Result<RecordBatch> {
        for filter in &mut self.filters {
            filter.renew()?;
        }
        let mut tests: Vec<&mut Test> = self.filters.iter_mut().flat_map(|filter| &mut filter.tests).collect();
        // What leaves the fewest rows for the least work comes first.
        tests.sort_by(|a, b| b.worth().total_cmp(&a.worth()));
        let mut kept: Option<BooleanArray> = None;
        for test in tests {
            if rows.num_rows() == 0 || test.rests(rows.num_rows()) {
                continue;
            }
            let own = test.kept(&rows)?;
            let now = match &kept {
                Some(kept) => and(kept, &own)?,
                None => own,
            };
            kept = Some(now).filter(|now| now.true_count() < rows.num_rows());
            if let Some(now) = kept.take_if(|now| now.true_count() * 100 <= rows.num_rows() * LEFT_MOST) {
                rows = filter_record_batch(&rows, &now)?;
            }
        }
        Ok(match kept {
            Some(kept) => filter_record_batch(&rows, &kept)?,
            None => rows,
        })
    }
}

impl Filter {
    /// Takes apart what it says, if that is not what it said before.
    fn renew(&mut self) -> Result<()> {
        let current = match self.filter.downcast_ref::<DynamicFilterPhysicalExpr>() {
            Some(dynamic) => dynamic.current()?,
            None => Arc::clone(&self.filter),
        };
        if !self.current.as_ref().is_some_and(|before| Arc::ptr_eq(before, &current)) {
            let conjuncts = flatten_physical(&current, Operator::And);
            self.tests = conjuncts.into_iter().map(Test::new).collect();
            self.current = Some(current);
        }
        Ok(())
    }
}

/// A conjunct of a filter, and what it was good for so far.
struct Test {
    what: What,
    /// About what it costs for a row, in looks at a value.
    cost: f64,
    seen: usize,
    left: usize,
    /// Rows that were not looked at since it was known that it does not pay.
    rested: usize,
}

enum What {
    /// Whether the value of the column of this index is one of some.
    Members(usize, Members),
    Expression(Arc<dyn PhysicalExpr>),
}

impl Test {
    fn new(conjunct: &Arc<dyn PhysicalExpr>) -> Self {
        let (what, cost) = match conjunct.downcast_ref::<InListExpr>().and_then(Members::of) {
            Some((column, members)) => (What::Members(column, members), 1.0),
            None => (What::Expression(Arc::clone(conjunct)), if is_plain(conjunct) { 1.0 } else { 10.0 }),
        };
        Self { what, cost, seen: 0, left: 0, rested: 0 }
    }

    /// Rows ruled out for the work it takes; half of them as long as nothing is known.
    #[expect(clippy::cast_precision_loss, reason = "to put tests in order")]
    fn worth(&self) -> f64 {
        let ruled_out = if self.seen == 0 { 0.5 } else { 1.0 - self.left as f64 / self.seen as f64 };
        ruled_out / self.cost
    }

    /// Whether it is left out for so many rows, because it has not paid.
    fn rests(&mut self, rows: usize) -> bool {
        let is_idle = self.seen >= ROWS_TRIED && self.left * 100 > self.seen * LEFT_MOST;
        if is_idle && self.rested >= ROWS_RESTED {
            (self.seen, self.left, self.rested) = (0, 0, 0);
            return false;
        }
        self.rested += if is_idle { rows } else { 0 };
        is_idle
    }

    /// The rows that it may be true of.
    fn kept(&mut self, rows: &RecordBatch) -> Result<BooleanArray> {
        let kept = match &self.what {
            What::Members(column, members) => members.kept(rows.column(*column)),
            What::Expression(expression) => match expression.evaluate(rows)? {
                // A join that does not know its keys yet says so.
                ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => None,
                value => Some(unless_false(value.into_array(rows.num_rows())?.as_boolean())),
            },
        };
        let kept = kept.unwrap_or_else(|| BooleanArray::from(vec![true; rows.num_rows()]));
        self.seen += rows.num_rows();
        self.left += kept.true_count();
        Ok(kept)
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

    fn column() -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new("n", 0))
    }

    fn below(bound: i32) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(column(), Operator::Lt, lit(bound)))
    }

    fn in_list(tested: Arc<dyn PhysicalExpr>, list: Vec<Arc<dyn PhysicalExpr>>) -> Arc<dyn PhysicalExpr> {
        datafusion::physical_expr::expressions::in_list(tested, list, &false, &rows(0, 0).schema()).unwrap()
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
    fn the_test_that_leaves_the_fewest_comes_first() {
        let mut sieving = sieve(&[below(900), below(5), in_list(column(), vec![lit(3), lit(700)])]);
        assert_eq!(sieving.sifted(rows(0, 1000)).unwrap(), rows(3, 4));
        let worths: Vec<f64> = sieving.filters.iter().flat_map(|filter| &filter.tests).map(Test::worth).collect();
        assert!(worths[0] < worths[1] && worths[0] < worths[2], "{worths:?}");
        assert_eq!(sieving.sifted(rows(0, 1000)).unwrap(), rows(3, 4));
        // What it leaves is all that the others see.
        let seen: Vec<usize> = sieving.filters.iter().flat_map(|filter| &filter.tests).map(|test| test.seen).collect();
        assert!(seen[0] < 2000 && seen.contains(&2000), "{seen:?}");
    }

    #[test]
    fn what_a_filter_says_can_change() {
        let dynamic = Arc::new(DynamicFilterPhysicalExpr::new(vec![column()], lit(true)));
        let mut sieving = sieve(&[Arc::clone(&dynamic) as _]);
        assert_eq!(sieving.sifted(rows(0, 10)).unwrap(), rows(0, 10));
        dynamic.update(below(5)).unwrap();
        assert_eq!(sieving.sifted(rows(0, 10)).unwrap(), rows(0, 5));
        let both = BinaryExpr::new(below(5), Operator::And, in_list(column(), vec![lit(4), lit(7)]));
        dynamic.update(Arc::new(both)).unwrap();
        assert_eq!(sieving.sifted(rows(0, 10)).unwrap(), rows(4, 5));
        assert_eq!(sieving.sifted(rows(20, 30)).unwrap().num_rows(), 0);
    }

    #[test]
    fn a_filter_that_was_given_up_is_tried_again() {
        let mut sieving = sieve(&[below(1_000_000)]);
        let batch = 100_000;
        let left: Vec<usize> =
            (0..25).map(|n| sieving.sifted(rows(n * batch, (n + 1) * batch)).unwrap().num_rows()).collect();
        assert!(left[..10].iter().all(|rows| *rows == 100_000));
        assert!(left[10..].contains(&0) && left[24] == 0, "{left:?}");
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

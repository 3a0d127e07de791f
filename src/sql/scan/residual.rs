//! The part of a scan's filter that its key ranges do not decide, evaluated conjunct by conjunct.
//!
//! Conjuncts that cost about as much as a look at the values and cannot fail are evaluated on all rows of a batch, the
//! others on the rows that these leave. DataFusion's own AND copies, for its right side, all columns of the rows that its
//! left side is true of: for a comparison that is many times the work.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::{and_kleene, filter_record_batch, or_kleene};
use arrow::datatypes::{DataType, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr, conjunction_opt};
use tablegate_types::calendar::MICROS_PER_DAY;

use crate::key_range::flatten_physical;

/// Rows are copied before the other conjuncts are evaluated when no more than this part of them, in percent, is left.
const COPIED_MOST: usize = 75;

/// A filter over the rows that are read.
pub(super) struct Residual {
    /// On all rows of a batch.
    plain: Vec<Arc<dyn PhysicalExpr>>,
    /// On those that are left.
    others: Option<Arc<dyn PhysicalExpr>>,
}

impl Residual {
    /// `schema` is that of the rows.
    ///
    /// # Errors
    /// When the filter is not made for the schema.
    pub(super) fn new(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Self> {
        let filter = as_dates(filter, schema)?;
        let conjuncts = flatten_physical(&filter, Operator::And).into_iter().cloned();
        let (plain, others): (Vec<_>, Vec<_>) = conjuncts.partition(is_plain);
        Ok(Self { plain, others: conjunction_opt(others) })
    }

    /// The columns that the plain conjuncts name.
    pub(super) fn plain_columns(&self) -> BTreeSet<usize> {
        self.plain.iter().flat_map(collect_columns).map(|column| column.index()).collect()
    }

    /// The plain conjuncts, over these columns alone.
    ///
    /// # Errors
    /// None are expected: they name no other columns.
    pub(super) fn plain_over(&self, columns: &[usize]) -> Result<Self> {
        let plain = self.plain.iter().map(|conjunct| over(conjunct, columns)).collect::<Result<_>>()?;
        Ok(Self { plain, others: None })
    }

    /// The rows that it is true of, with their first columns only, as many as come out.
    ///
    /// # Errors
    /// The errors of evaluating an expression.
    pub(super) fn sifted(&self, mut rows: RecordBatch, outputs: usize) -> Result<RecordBatch> {
        let mut kept = self.plain(&rows)?;
        if let Some(others) = &self.others {
            if let Some(now) = kept.take_if(|kept| kept.true_count() * 100 <= rows.num_rows() * COPIED_MOST) {
                rows = filter_record_batch(&rows, &now)?;
            }
            let own = truth(others, &rows)?;
            kept = Some(match kept {
                Some(kept) => and_kleene(&kept, &own)?,
                None => own,
            });
        }
        if rows.num_columns() > outputs {
            // What only the filter needs is not copied for the rows that it keeps.
            rows = rows.project(&(0..outputs).collect::<Vec<_>>())?;
        }
        match kept {
            // As most batches are of which the store knows the least and greatest values.
            Some(kept) if kept.true_count() < rows.num_rows() => Ok(filter_record_batch(&rows, &kept)?),
            _ => Ok(rows),
        }
    }

    /// Which rows the plain conjuncts are true of; `None` where there are no such conjuncts.
    pub(super) fn plain(&self, rows: &RecordBatch) -> Result<Option<BooleanArray>> {
        let mut kept: Option<BooleanArray> = None;
        for conjunct in &self.plain {
            if kept.as_ref().is_some_and(|kept| !kept.has_true()) {
                break;
            }
            let own = plain_truth(conjunct, rows)?;
            kept = Some(match kept {
                Some(kept) => and_kleene(&kept, &own)?,
                None => own,
            });
        }
        Ok(kept)
    }
}

/// Whether it costs about as much as a look at the values, and cannot fail.
pub(super) fn is_plain(expr: &Arc<dyn PhysicalExpr>) -> bool {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            operator @ (Operator::And | Operator::Or) => flatten_physical(expr, *operator).into_iter().all(is_plain),
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom => is_plain(binary.left()) && is_plain(binary.right()),
            _ => false,
        };
    }
    if let Some(list) = expr.downcast_ref::<InListExpr>() {
        return is_plain(list.expr()) && list.list().iter().all(|item| item.is::<Literal>());
    }
    if let Some(not) = expr.downcast_ref::<NotExpr>() {
        return is_plain(not.arg());
    }
    if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
        return is_plain(test.arg());
    }
    if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
        return is_plain(test.arg());
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        return call.fun().name() == "relabel" && call.args().iter().all(is_plain);
    }
    expr.is::<Column>() || expr.is::<Literal>()
}

/// The truth of a plain expression, without copies of rows for one side of an AND or OR.
fn plain_truth(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<BooleanArray> {
    let operator = expr.downcast_ref::<BinaryExpr>().map(BinaryExpr::op);
    let combine = match operator {
        Some(Operator::And) => and_kleene,
        Some(Operator::Or) => or_kleene,
        _ => return truth(expr, rows),
    };
    let mut combined: Option<BooleanArray> = None;
    for operand in operator.into_iter().flat_map(|operator| flatten_physical(expr, *operator)) {
        let own = plain_truth(operand, rows)?;
        combined = Some(match combined {
            Some(before) => combine(&before, &own)?,
            None => own,
        });
    }
    combined.map_or_else(|| truth(expr, rows), Ok)
}

fn truth(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<BooleanArray> {
    Ok(expr.evaluate(rows)?.into_array(rows.num_rows())?.as_boolean().clone())
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

/// With dates that are compared with the beginning of a day compared as dates, not as timestamps.
fn as_dates(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let compared = |expr: Arc<dyn PhysicalExpr>| {
        let Some(binary) = expr.downcast_ref::<BinaryExpr>() else { return Ok(Transformed::no(expr)) };
        let is_comparison =
            matches!(binary.op(), Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq);
        let operands = is_comparison.then(|| {
            let (left, right) = (binary.left(), binary.right());
            let dates_left = || Some((date_of(left, schema)?, day_of(right)?));
            let dates_right = || Some((day_of(left)?, date_of(right, schema)?));
            dates_left().or_else(dates_right)
        });
        Ok(match operands.flatten() {
            Some((left, right)) => Transformed::yes(Arc::new(BinaryExpr::new(left, *binary.op(), right)) as _),
            None => Transformed::no(expr),
        })
    };
    Ok(Arc::clone(filter).transform_up(compared)?.data)
}

/// The date that is made a timestamp.
fn date_of(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Arc<dyn PhysicalExpr>> {
    let cast = expr.downcast_ref::<CastExpr>().map(CastExpr::expr);
    let call = expr.downcast_ref::<ScalarFunctionExpr>().filter(|call| call.fun().name() == "cast");
    let operand = cast.or_else(|| match call?.args() {
        [operand] => Some(operand),
        _ => None,
    })?;
    let is_instant = expr.data_type(schema).ok()? == DataType::Timestamp(TimeUnit::Microsecond, None);
    let is_date = operand.data_type(schema).ok()? == DataType::Date32;
    (is_instant && is_date).then(|| Arc::clone(operand))
}

/// The day that begins with a timestamp.
fn day_of(expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let ScalarValue::TimestampMicrosecond(Some(micros), None) = expr.downcast_ref::<Literal>()?.value() else {
        return None;
    };
    let day = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
    let is_beginning = micros.rem_euclid(MICROS_PER_DAY) == 0;
    is_beginning.then(|| Arc::new(Literal::new(ScalarValue::Date32(Some(day)))) as _)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Date32Array, Int32Array};
    use arrow::datatypes::Field;
    use datafusion::physical_expr::expressions::{cast, col, in_list, lit};

    use super::*;

    fn rows() -> RecordBatch {
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), Some(2), None, Some(4)]));
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(10), None, Some(0), Some(40)]));
        let names: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["a", "b", "c", "d"]));
        let fields = vec![
            Field::new("name", DataType::Utf8, true),
            Field::new("day", DataType::Date32, true),
            Field::new("n", DataType::Int32, true),
        ];
        RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![names, dates, numbers]).unwrap()
    }

    fn column(name: &str) -> Arc<dyn PhysicalExpr> {
        col(name, &rows().schema()).unwrap()
    }

    fn binary(left: Arc<dyn PhysicalExpr>, op: Operator, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(left, op, right))
    }

    fn timestamp(micros: i64) -> Arc<dyn PhysicalExpr> {
        lit(ScalarValue::TimestampMicrosecond(Some(micros), None))
    }

    fn day_as_timestamp() -> Arc<dyn PhysicalExpr> {
        let to = DataType::Timestamp(TimeUnit::Microsecond, None);
        cast(column("day"), &rows().schema(), to).unwrap()
    }

    /// The names of the rows that are left, and how many conjuncts are plain.
    fn left(filter: &Arc<dyn PhysicalExpr>) -> (String, usize) {
        let residual = Residual::new(filter, &rows().schema()).unwrap();
        let left = residual.sifted(rows(), 1).unwrap();
        assert_eq!(left.num_columns(), 1);
        (left.column(0).as_string::<i32>().iter().flatten().collect(), residual.plain.len())
    }

    #[test]
    fn rows_of_which_it_is_true_are_left() {
        let few = binary(column("n"), Operator::Lt, lit(30));
        let known = binary(column("day"), Operator::GtEq, lit(ScalarValue::Date32(Some(1))));
        assert_eq!(left(&few), ("ac".to_owned(), 1));
        assert_eq!(left(&binary(few.clone(), Operator::And, known.clone())), ("a".to_owned(), 2));
        assert_eq!(left(&binary(few.clone(), Operator::Or, known)), ("abcd".to_owned(), 1));
        let listed = in_list(column("n"), vec![lit(40), lit(10)], &false, &rows().schema()).unwrap();
        assert_eq!(left(&listed), ("ad".to_owned(), 1));
        assert_eq!(left(&(Arc::new(IsNullExpr::new(column("n"))) as _)), ("b".to_owned(), 1));
        let never = binary(few, Operator::And, lit(false));
        assert_eq!(left(&never), (String::new(), 2));
    }

    #[test]
    fn what_can_fail_sees_only_what_is_left() {
        let quotient = |of: i32| binary(lit(of), Operator::Divide, column("n"));
        let is_large = binary(quotient(100), Operator::Gt, lit(5));
        assert!(Residual::new(&is_large, &rows().schema()).unwrap().sifted(rows(), 1).is_err(), "divided by zero");
        let is_some = binary(column("n"), Operator::NotEq, lit(0));
        // In whatever order they are written.
        assert_eq!(left(&binary(is_large.clone(), Operator::And, is_some.clone())), ("a".to_owned(), 1));
        assert_eq!(left(&binary(is_some, Operator::And, is_large)), ("a".to_owned(), 1));
    }

    #[test]
    fn dates_are_compared_as_dates_where_that_is_the_same() {
        let second = timestamp(2 * MICROS_PER_DAY);
        for (op, expected) in [(Operator::Lt, "a"), (Operator::LtEq, "ab"), (Operator::Gt, "d"), (Operator::Eq, "b")] {
            assert_eq!(left(&binary(day_as_timestamp(), op, second.clone())), (expected.to_owned(), 1), "{op}");
        }
        assert_eq!(left(&binary(second, Operator::Lt, day_as_timestamp())), ("d".to_owned(), 1));
        // Within a day: as timestamps.
        let later = timestamp(2 * MICROS_PER_DAY + 1);
        assert_eq!(left(&binary(day_as_timestamp(), Operator::Lt, later)), ("ab".to_owned(), 0));
        // The days before 1970.
        let before = timestamp(-MICROS_PER_DAY);
        assert_eq!(left(&binary(day_as_timestamp(), Operator::Gt, before)), ("abd".to_owned(), 1));
    }
}

//! One row that is named by its key, and looked at: `id = $1 AND active AND deleted_at IS NULL`.
//!
//! Where each condition beside the key compares a column with a value of its type, or asks whether it is NULL, the values of the row
//! say whether it is wanted, without an expression of the engine's.

use std::cmp::Ordering;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr};
use tablegate_store::table::predicate::CompareOp;
use tablegate_types::single_row::{SingleRow, Value};

use crate::key_range::{PointPredicate, Wanted, comparison, not_widened};
use crate::relation::Relation;
use crate::scan::DirectScan;

/// The key, and what is asked of its row.
#[derive(Debug)]
pub(super) struct Looked {
    pub point: PointPredicate,
    /// The columns of the scan that are read: those that come out, and behind them those that are looked at.
    pub places: Box<[usize]>,
    /// How many come out.
    width: usize,
    /// Of the columns behind these.
    asked: Vec<Asked>,
}

/// What is asked of a column.
#[derive(Debug)]
enum Asked {
    IsNull(bool),
    Compared(CompareOp, Wanted),
}

impl Looked {
    /// What filters ask of a scan's rows, of which the columns at `places` come out; `None` where it takes more than a look.
    pub(super) fn of(scan: &DirectScan, filters: &[Expr], places: &[usize]) -> Option<Self> {
        let relation = &*scan.relation;
        let (point, others) = PointPredicate::among(relation, filters)?;
        let mut read = places.to_vec();
        let mut all = Vec::with_capacity(others.len());
        for other in others {
            let (column, asked) = Asked::of(relation, other)?;
            read.push(scan.place_of(column)?);
            all.push(asked);
        }
        (scan.shows_values() && !all.is_empty()).then(|| Self {
            point,
            places: read.into(),
            width: places.len(),
            asked: all,
        })
    }

    /// Whether the row is wanted; `None` where it takes more than a look to say so.
    pub(super) fn wants(&self, row: &SingleRow, parameters: &[ScalarValue]) -> Option<bool> {
        for (value, asked) in row.values().skip(self.width).zip(&self.asked) {
            if !asked.is_true_of(value, parameters)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The columns that come out.
    pub(super) fn shown(&self, mut row: SingleRow) -> SingleRow {
        row.truncate(self.width);
        row
    }
}

impl Asked {
    /// What an expression asks, and of which column of the relation.
    fn of(relation: &Relation, expr: &Expr) -> Option<(usize, Self)> {
        let named = |expr: &Expr| match expr {
            Expr::Column(column) => Some(relation.column(&column.name)?.0),
            _ => None,
        };
        let is = |value: bool| Asked::Compared(CompareOp::Eq, Wanted::Value(ScalarValue::Boolean(Some(value))));
        Some(match expr {
            Expr::Column(_) => (named(expr)?, is(true)),
            Expr::Not(inner) => (named(inner)?, is(false)),
            Expr::IsNull(inner) => (named(inner)?, Asked::IsNull(true)),
            Expr::IsNotNull(inner) => (named(inner)?, Asked::IsNull(false)),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let type_of = |name: &str| -> Option<DataType> {
                    Some(relation.arrow_schema.field_with_name(name).ok()?.data_type().clone())
                };
                let (left, right) = (not_widened(left, &type_of), not_widened(right, &type_of));
                match named(left) {
                    Some(column) => (column, Asked::Compared(comparison(*op)?, Wanted::of(right)?)),
                    None => (named(right)?, Asked::Compared(comparison(op.swap()?)?, Wanted::of(left)?)),
                }
            }
            _ => return None,
        })
    }

    fn is_true_of(&self, value: Value<'_>, parameters: &[ScalarValue]) -> Option<bool> {
        let (operator, wanted) = match self {
            Asked::IsNull(wanted) => return Some((value == Value::Null) == *wanted),
            Asked::Compared(operator, wanted) => (operator, wanted.value(parameters)?),
        };
        if value == Value::Null || wanted.is_null() {
            return Some(false);
        }
        Some(operator.holds(compared(value, &wanted)?))
    }
}

/// How a stored value compares with one that is not NULL; `None` where they are not of one type, or their order takes more than a look.
fn compared(value: Value<'_>, with: &ScalarValue) -> Option<Ordering> {
    Some(match (value, with) {
        (Value::Bool(value), ScalarValue::Boolean(Some(with))) => value.cmp(with),
        (Value::Int2(value), _) => i64::from(value).cmp(&integer(with)?),
        (Value::Int4(value), _) => i64::from(value).cmp(&integer(with)?),
        (Value::Int8(value), _) => value.cmp(&integer(with)?),
        (Value::Decimal { unscaled, scale }, ScalarValue::Decimal128(Some(with), _, with_scale))
            if i8::try_from(scale).ok()? == *with_scale =>
        {
            i128::from(unscaled).cmp(with)
        }
        (Value::Text(value) | Value::Char(value, _), ScalarValue::Utf8(Some(with))) => value.cmp(with.as_str()),
        (Value::Uuid(value), ScalarValue::FixedSizeBinary(16, Some(with))) => value.as_slice().cmp(with),
        (Value::Date(value), ScalarValue::Date32(Some(with))) => value.cmp(with),
        (Value::Timestamp(value), ScalarValue::TimestampMicrosecond(Some(with), None)) => value.cmp(with),
        (Value::Timestamptz(value), ScalarValue::TimestampMicrosecond(Some(with), Some(_))) => value.cmp(with),
        _ => return None,
    })
}

fn integer(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int16(Some(value)) => Some((*value).into()),
        ScalarValue::Int32(Some(value)) => Some((*value).into()),
        ScalarValue::Int64(Some(value)) => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared_with(operator: CompareOp, value: Value<'_>, with: ScalarValue) -> Option<bool> {
        Asked::Compared(operator, Wanted::Value(with)).is_true_of(value, &[])
    }

    #[test]
    fn values_are_compared_with_those_of_their_type() {
        let (some, other) = (ScalarValue::Int64(Some(5)), ScalarValue::Utf8(Some("b".to_owned())));
        assert_eq!(compared_with(CompareOp::Eq, Value::Int4(5), some.clone()), Some(true));
        assert_eq!(compared_with(CompareOp::Lt, Value::Int2(6), some.clone()), Some(false));
        assert_eq!(compared_with(CompareOp::GtEq, Value::Text("c"), other.clone()), Some(true));
        assert_eq!(compared_with(CompareOp::NotEq, Value::Char("b", 3), other.clone()), Some(false));
        assert_eq!(compared_with(CompareOp::Eq, Value::Text("5"), some), None);
        assert_eq!(compared_with(CompareOp::Eq, Value::Float8(5.0), ScalarValue::Float64(Some(5.0))), None);
    }

    #[test]
    fn nothing_is_true_of_a_null_but_that_it_is_one() {
        assert_eq!(compared_with(CompareOp::NotEq, Value::Null, ScalarValue::Int32(Some(1))), Some(false));
        assert_eq!(compared_with(CompareOp::NotEq, Value::Int4(1), ScalarValue::Int32(None)), Some(false));
        assert_eq!(Asked::IsNull(true).is_true_of(Value::Null, &[]), Some(true));
        assert_eq!(Asked::IsNull(false).is_true_of(Value::Null, &[]), Some(false));
        assert_eq!(Asked::IsNull(false).is_true_of(Value::Int4(1), &[]), Some(true));
    }
}

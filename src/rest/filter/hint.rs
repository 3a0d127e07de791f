//! What a store may leave out when it looks for what a filter finds: the filter, as far as predicates of stores say it.
//!
//! A predicate may be true of more, never of less. So nothing is said of `not` and `ne`, which are true of values of other
//! types, and bounds of instants are never strict: predicates see them by the microsecond.

use tablegate_store::model::limits::DOUBLE_EXACT_INTEGER_MAX;
use tablegate_store::model::{EdmValue, PropertyName};
use tablegate_store::table::predicate::PredicateColumn;
use tablegate_store::table::{ColumnType, Predicate};

use super::{CompareOp, Comparison, Filter, Property};

impl Filter {
    /// `None` where there is nothing to say.
    pub(crate) fn hint(&self) -> Option<Predicate> {
        match self {
            Filter::All(parts) => Predicate::all(parts.iter().filter_map(Filter::hint)),
            Filter::Any(parts) => Predicate::any(parts.iter().map(Filter::hint).collect::<Option<Vec<_>>>()?),
            Filter::Compare(comparison) => of_comparison(comparison),
            Filter::Not(_) | Filter::Constant(_) => None,
        }
    }
}

fn of_comparison(Comparison { property, op, constant }: &Comparison) -> Option<Predicate> {
    if *op == CompareOp::NotEq {
        return None;
    }
    let (constant, op) = match constant {
        // It meets all types of numbers that are no narrower.
        EdmValue::Int32(number) => (EdmValue::Double((*number).into()), *op),
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, as the guard says")]
        EdmValue::Int64(number) if number.unsigned_abs() <= DOUBLE_EXACT_INTEGER_MAX => {
            (EdmValue::Double(*number as f64), *op)
        }
        EdmValue::Int64(_) => return None,
        EdmValue::Double(number) if number.is_nan() => return None,
        EdmValue::DateTime(_) => {
            let op = match op {
                CompareOp::Lt => CompareOp::LtEq,
                CompareOp::Gt => CompareOp::GtEq,
                other => *other,
            };
            (constant.clone(), op)
        }
        other => (other.clone(), *op),
    };
    let column = match property {
        // Keys are in the ranges that are read.
        Property::PartitionKey | Property::RowKey => return None,
        Property::Timestamp => PredicateColumn::Timestamp,
        Property::Custom(name) => PredicateColumn::Property {
            name: PropertyName::parse(name).ok()?,
            column_type: ColumnType::of(constant.edm_type()),
        },
    };
    Predicate::compare(column, op, constant)
}

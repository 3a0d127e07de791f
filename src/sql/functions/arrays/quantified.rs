//! `x = ANY (array)` and `x = ALL (array)`, with any comparison.
//!
//! The truth of the comparisons with all items, joined by OR or by AND: NULL where an item is NULL and no other decides.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use arrow::compute::SortOptions;
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::sql::error::SqlResult;
use crate::sql::functions::call::Call;
use crate::sql::functions::signature::Overload;
use crate::sql::functions::signature::Type::{Bool, Compatible, CompatibleArray};

/// ANY or ALL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sql::functions) enum Quantifier {
    Any,
    All,
}

impl Quantifier {
    /// The function of an operator; `None` for one that is no comparison.
    pub fn function(self, operator: &BinaryOperator) -> Option<&'static str> {
        Some(match (self, operator) {
            (Quantifier::Any, BinaryOperator::Eq) => "any_equal",
            (Quantifier::Any, BinaryOperator::NotEq) => "any_not_equal",
            (Quantifier::Any, BinaryOperator::Lt) => "any_less",
            (Quantifier::Any, BinaryOperator::LtEq) => "any_not_greater",
            (Quantifier::Any, BinaryOperator::Gt) => "any_greater",
            (Quantifier::Any, BinaryOperator::GtEq) => "any_not_less",
            (Quantifier::All, BinaryOperator::Eq) => "all_equal",
            (Quantifier::All, BinaryOperator::NotEq) => "all_not_equal",
            (Quantifier::All, BinaryOperator::Lt) => "all_less",
            (Quantifier::All, BinaryOperator::LtEq) => "all_not_greater",
            (Quantifier::All, BinaryOperator::Gt) => "all_greater",
            (Quantifier::All, BinaryOperator::GtEq) => "all_not_less",
            _ => return None,
        })
    }
}

const ARGUMENTS: &[crate::sql::functions::signature::Type] = &[Compatible, CompatibleArray];

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("any_equal", ARGUMENTS, Bool, |call| any(call, Ordering::is_eq)).of_nulls(),
    Overload::new("any_not_equal", ARGUMENTS, Bool, |call| any(call, Ordering::is_ne)).of_nulls(),
    Overload::new("any_less", ARGUMENTS, Bool, |call| any(call, Ordering::is_lt)).of_nulls(),
    Overload::new("any_not_greater", ARGUMENTS, Bool, |call| any(call, Ordering::is_le)).of_nulls(),
    Overload::new("any_greater", ARGUMENTS, Bool, |call| any(call, Ordering::is_gt)).of_nulls(),
    Overload::new("any_not_less", ARGUMENTS, Bool, |call| any(call, Ordering::is_ge)).of_nulls(),
    Overload::new("all_equal", ARGUMENTS, Bool, |call| all(call, Ordering::is_eq)).of_nulls(),
    Overload::new("all_not_equal", ARGUMENTS, Bool, |call| all(call, Ordering::is_ne)).of_nulls(),
    Overload::new("all_less", ARGUMENTS, Bool, |call| all(call, Ordering::is_lt)).of_nulls(),
    Overload::new("all_not_greater", ARGUMENTS, Bool, |call| all(call, Ordering::is_le)).of_nulls(),
    Overload::new("all_greater", ARGUMENTS, Bool, |call| all(call, Ordering::is_gt)).of_nulls(),
    Overload::new("all_not_less", ARGUMENTS, Bool, |call| all(call, Ordering::is_ge)).of_nulls(),
];

fn any(call: &Call, holds: fn(Ordering) -> bool) -> SqlResult<ArrayRef> {
    decided(call, holds, true)
}

fn all(call: &Call, holds: fn(Ordering) -> bool) -> SqlResult<ArrayRef> {
    decided(call, holds, false)
}

/// The first comparison with the deciding truth decides.
fn decided(call: &Call, holds: fn(Ordering) -> bool, deciding: bool) -> SqlResult<ArrayRef> {
    let operand = &call.arguments[0];
    let lists = call.lists(1)?;
    let compare = make_comparator(&operand.array, lists.items(), SortOptions::default())?;
    let decide = |row: usize| {
        if lists.is_null(row) {
            return None;
        }
        let mut unknown = false;
        for item in lists.range(row) {
            if operand.is_null(row) || lists.items().is_null(item) {
                unknown = true;
            } else if holds(compare(operand.index(row), item)) == deciding {
                return Some(deciding);
            }
        }
        (!unknown).then_some(!deciding)
    };
    let values: BooleanArray = (0..call.rows).map(decide).collect();
    Ok(std::sync::Arc::new(values))
}

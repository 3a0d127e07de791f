//! The least and greatest values of a column over many entities, and which tests none of these entities can pass: for
//! stores that skip whole batches.

use std::cmp::Ordering;

use super::{CompareOp, Condition, Test, compare, text};
use crate::model::{EdmRef, EdmValue};

/// What is known of one column of several entities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<'a> {
    /// Whether an entity may lack it.
    pub has_absent: bool,
    /// Whether an entity may have it.
    pub has_values: bool,
    /// No value, as the column shows it, is less. `None` when that is not known.
    ///
    /// Only where all values fit the column: a store that keeps others beside them knows neither end.
    pub least: Option<EdmRef<'a>>,
    /// No value is greater, NaN being the greatest of doubles.
    pub greatest: Option<EdmRef<'a>>,
}

impl<'a> Bounds<'a> {
    /// Nothing is known.
    pub const UNKNOWN: Bounds<'static> = Bounds { has_absent: true, has_values: true, least: None, greatest: None };

    /// No entity has it.
    pub const ABSENT: Bounds<'static> = Bounds { has_absent: true, has_values: false, least: None, greatest: None };

    /// All values, of which there are some, lie between these two.
    pub fn between(least: EdmRef<'a>, greatest: EdmRef<'a>, has_absent: bool) -> Self {
        Self { has_absent, has_values: true, least: Some(least), greatest: Some(greatest) }
    }

    pub(super) fn may_hold(&self, test: &Test) -> bool {
        match &test.condition {
            Condition::IsNull => return self.has_absent,
            _ if !self.has_values => return false,
            Condition::IsNotNull => return true,
            _ => {}
        }
        let against = |end: Option<EdmRef<'_>>, constant: &EdmValue| {
            end.and_then(|end| compare(test.column.column_type(), end, constant.as_ref()))
        };
        let least = |constant: &EdmValue| against(self.least, constant);
        let greatest = |constant: &EdmValue| against(self.greatest, constant);
        // An end that is not known rules nothing out.
        let may_equal = |constant: &EdmValue| {
            least(constant) != Some(Ordering::Greater) && greatest(constant) != Some(Ordering::Less)
        };
        match &test.condition {
            Condition::Compare(CompareOp::Eq, constant) => may_equal(constant),
            Condition::Compare(CompareOp::NotEq, constant) => {
                (least(constant), greatest(constant)) != (Some(Ordering::Equal), Some(Ordering::Equal))
            }
            Condition::Compare(op @ (CompareOp::Lt | CompareOp::LtEq), constant) => {
                least(constant).is_none_or(|order| op.holds(order))
            }
            Condition::Compare(op @ (CompareOp::Gt | CompareOp::GtEq), constant) => {
                greatest(constant).is_none_or(|order| op.holds(order))
            }
            Condition::OneOf(constants) => constants.iter().any(may_equal),
            Condition::StartsWith(prefix) => {
                let is_before = self.greatest.is_some_and(|greatest| *text(greatest) < **prefix);
                let is_behind =
                    self.least.map(text).is_some_and(|least| *least > **prefix && !least.starts_with(&**prefix));
                !is_before && !is_behind
            }
            Condition::IsNull | Condition::IsNotNull => true,
        }
    }
}

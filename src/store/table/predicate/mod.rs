//! What a scan's rows must be true of, as far as a store can tell: comparisons of stored values with constants.
//!
//! A [`Predicate`] is a hint. A store may leave out every entity of which it is not true, and must never leave out one
//! of which it is true: the caller checks again what comes out. So a store may use all of it, some of it or nothing,
//! per entity ([`Predicate::may_hold`]) or for a whole batch of which it knows the least and the greatest values
//! ([`Predicate::may_hold_within`]).
//!
//! Values are compared as the scan column of the test's type shows them:
//!
//! | column type | which stored types | order |
//! |---|---|---|
//! | `Int32`, `Int64` | Int32; `Int64` also | by number |
//! | `Double` | Double, Int32, Int64 up to 2^53 | by number, -0 equal to 0; NaN equal to itself and above all others |
//! | `Boolean` | Boolean | false first |
//! | `DateTime` | DateTime | by the microsecond, rounded down: what SQL sees |
//! | `Guid`, `Binary` | their own | by bytes |
//! | `Text` | all, as their text | by UTF-8 bytes |
//!
//! A stored value of another type does not fit its column. Of such a value nothing is known: stores keep its entity, so
//! that the scan can say so, unless they cannot tell types apart.

mod bounds;
mod display;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

pub use self::bounds::Bounds;
use super::ColumnType;
use crate::model::limits::DOUBLE_EXACT_INTEGER_MAX;
use crate::model::{EdmDateTime, EdmRef, EdmType, EdmValue, PropertyName};

/// Comparisons with AND and OR between them. There is no NOT, because an absent value makes both a comparison and its
/// opposite untrue: code that has a NOT to express replaces each comparison below it by its opposite. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// True when all of them are.
    All(Arc<[Predicate]>),
    /// True when one of them is.
    Any(Arc<[Predicate]>),
    Test(Arc<Test>),
}

/// A column and what is asked of its value. An absent value passes [`Condition::IsNull`] only.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    column: PredicateColumn,
    condition: Condition,
}

/// Which value of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PredicateColumn {
    /// When the entity was last written; never absent.
    Timestamp,
    /// A property, as a scan column of this type shows it.
    Property { name: PropertyName, column_type: ColumnType },
}

/// What is asked of a value. The constants are of the column's own EDM type.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    Compare(CompareOp, EdmValue),
    /// Equal to one of these: ascending, each once, at least one.
    OneOf(Arc<[EdmValue]>),
    /// Of text columns.
    StartsWith(Box<str>),
    IsNull,
    IsNotNull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
}

/// A value of an entity, as far as a store knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StoredValue<'a> {
    Absent,
    Value(EdmRef<'a>),
    /// It cannot be told here: any test of it may hold.
    Unknown,
}

impl CompareOp {
    /// Whether values in this order satisfy the comparison.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            CompareOp::Eq => order == Ordering::Equal,
            CompareOp::NotEq => order != Ordering::Equal,
            CompareOp::Lt => order == Ordering::Less,
            CompareOp::LtEq => order != Ordering::Greater,
            CompareOp::Gt => order == Ordering::Greater,
            CompareOp::GtEq => order != Ordering::Less,
        }
    }

    /// What holds of two values when this does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            CompareOp::Eq => CompareOp::NotEq,
            CompareOp::NotEq => CompareOp::Eq,
            CompareOp::Lt => CompareOp::GtEq,
            CompareOp::LtEq => CompareOp::Gt,
            CompareOp::Gt => CompareOp::LtEq,
            CompareOp::GtEq => CompareOp::Lt,
        }
    }

    /// The comparison with its sides changed over.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::LtEq => CompareOp::GtEq,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::GtEq => CompareOp::LtEq,
            same @ (CompareOp::Eq | CompareOp::NotEq) => same,
        }
    }

    /// Without "or equal".
    #[must_use]
    pub fn strict(self) -> Self {
        match self {
            CompareOp::LtEq => CompareOp::Lt,
            CompareOp::GtEq => CompareOp::Gt,
            other => other,
        }
    }
}

impl PredicateColumn {
    pub fn column_type(&self) -> ColumnType {
        match self {
            PredicateColumn::Timestamp => ColumnType::DateTime,
            PredicateColumn::Property { column_type, .. } => *column_type,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            PredicateColumn::Timestamp => "Timestamp",
            PredicateColumn::Property { name, .. } => name.as_str(),
        }
    }

    fn takes(&self, value: &EdmValue) -> bool {
        ColumnType::of(value.edm_type()) == self.column_type()
    }
}

impl Test {
    pub fn column(&self) -> &PredicateColumn {
        &self.column
    }

    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    fn may_hold(&self, value: StoredValue<'_>) -> bool {
        let value = match value {
            StoredValue::Unknown => return true,
            StoredValue::Absent => return self.condition == Condition::IsNull,
            StoredValue::Value(value) => value,
        };
        let compared = |constant: &EdmValue| compare(self.column.column_type(), value, constant.as_ref());
        match &self.condition {
            Condition::IsNull => false,
            Condition::IsNotNull => true,
            Condition::Compare(op, constant) => compared(constant).is_none_or(|order| op.holds(order)),
            Condition::OneOf(constants) => {
                let mut fits = true;
                let found = constants.binary_search_by(|constant| match compared(constant) {
                    Some(order) => order.reverse(),
                    None => {
                        fits = false;
                        Ordering::Equal
                    }
                });
                found.is_ok() || !fits
            }
            Condition::StartsWith(prefix) => text(value).starts_with(&**prefix),
        }
    }
}

impl Predicate {
    /// `column op constant`; `None` when the constant is not of the column's type.
    pub fn compare(column: PredicateColumn, op: CompareOp, constant: EdmValue) -> Option<Self> {
        column.takes(&constant).then(|| Self::test(column, Condition::Compare(op, constant)))
    }

    /// `column IN (constants)`; `None` for no constants, and when one is not of the column's type.
    pub fn one_of(column: PredicateColumn, mut constants: Vec<EdmValue>) -> Option<Self> {
        if constants.is_empty() || !constants.iter().all(|constant| column.takes(constant)) {
            return None;
        }
        let order = |a: &EdmValue, b: &EdmValue| compare(column.column_type(), a.as_ref(), b.as_ref());
        constants.sort_by(|a, b| order(a, b).unwrap_or(Ordering::Equal));
        constants.dedup_by(|a, b| order(a, b) == Some(Ordering::Equal));
        if constants.len() == 1 {
            return constants.pop().and_then(|only| Self::compare(column, CompareOp::Eq, only));
        }
        Some(Self::test(column, Condition::OneOf(constants.into())))
    }

    /// The column's text starts with this; `None` for columns of other types.
    pub fn starts_with(column: PredicateColumn, prefix: &str) -> Option<Self> {
        let is_text = column.column_type() == ColumnType::Text;
        is_text.then(|| Self::test(column, Condition::StartsWith(prefix.into())))
    }

    pub fn is_null(column: PredicateColumn) -> Self {
        Self::test(column, Condition::IsNull)
    }

    pub fn is_not_null(column: PredicateColumn) -> Self {
        Self::test(column, Condition::IsNotNull)
    }

    /// All of them; `None` for none, which say nothing.
    pub fn all(parts: impl IntoIterator<Item = Predicate>) -> Option<Self> {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Predicate::All(parts) => flat.extend(parts.iter().cloned()),
                other => flat.push(other),
            }
        }
        if flat.len() > 1 { Some(Predicate::All(flat.into())) } else { flat.pop() }
    }

    /// One of them; `None` for none.
    pub fn any(parts: impl IntoIterator<Item = Predicate>) -> Option<Self> {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Predicate::Any(parts) => flat.extend(parts.iter().cloned()),
                other => flat.push(other),
            }
        }
        if flat.len() > 1 { Some(Predicate::Any(flat.into())) } else { flat.pop() }
    }

    fn test(column: PredicateColumn, condition: Condition) -> Self {
        Predicate::Test(Arc::new(Test { column, condition }))
    }

    /// Whether it may be true of an entity with this Timestamp and these properties. False only when it is not true.
    pub fn may_hold<'a>(
        &self,
        timestamp: EdmDateTime,
        property: &mut dyn FnMut(&PropertyName) -> StoredValue<'a>,
    ) -> bool {
        match self {
            Predicate::All(parts) => parts.iter().all(|part| part.may_hold(timestamp, property)),
            Predicate::Any(parts) => parts.iter().any(|part| part.may_hold(timestamp, property)),
            Predicate::Test(test) => test.may_hold(match &test.column {
                PredicateColumn::Timestamp => StoredValue::Value(EdmRef::DateTime(timestamp)),
                PredicateColumn::Property { name, .. } => property(name),
            }),
        }
    }

    /// Whether it may be true of one entity of several, of which so much is known.
    pub fn may_hold_within<'a>(&self, bounds: &mut dyn FnMut(&PredicateColumn) -> Bounds<'a>) -> bool {
        match self {
            Predicate::All(parts) => parts.iter().all(|part| part.may_hold_within(bounds)),
            Predicate::Any(parts) => parts.iter().any(|part| part.may_hold_within(bounds)),
            Predicate::Test(test) => bounds(&test.column).may_hold(test),
        }
    }

    /// Every test, in order.
    pub fn for_each_test<'a>(&'a self, visit: &mut dyn FnMut(&'a Test)) {
        match self {
            Predicate::All(parts) | Predicate::Any(parts) => {
                for part in parts.iter() {
                    part.for_each_test(visit);
                }
            }
            Predicate::Test(test) => visit(test),
        }
    }

    /// The properties it asks about, each once.
    pub fn properties(&self) -> Vec<&PropertyName> {
        let mut names = Vec::new();
        self.for_each_test(&mut |test| {
            if let PredicateColumn::Property { name, .. } = &test.column
                && !names.contains(&name)
            {
                names.push(name);
            }
        });
        names
    }
}

/// How a stored value, as a column of this type shows it, stands to a constant of the type; `None` when it does not fit
/// the column.
pub fn compare(column_type: ColumnType, stored: EdmRef<'_>, constant: EdmRef<'_>) -> Option<Ordering> {
    match (column_type, constant) {
        (ColumnType::Text, EdmRef::String(constant)) => Some(text(stored).as_bytes().cmp(constant.as_bytes())),
        (ColumnType::Int32, EdmRef::Int32(constant)) => match stored {
            EdmRef::Int32(stored) => Some(stored.cmp(&constant)),
            _ => None,
        },
        (ColumnType::Int64, EdmRef::Int64(constant)) => match stored {
            EdmRef::Int32(stored) => Some(i64::from(stored).cmp(&constant)),
            EdmRef::Int64(stored) => Some(stored.cmp(&constant)),
            _ => None,
        },
        (ColumnType::Double, EdmRef::Double(constant)) => Some(compare_doubles(double(stored)?, constant)),
        (ColumnType::DateTime, EdmRef::DateTime(constant)) => match stored {
            EdmRef::DateTime(stored) => Some(stored.unix_micros().cmp(&constant.unix_micros())),
            _ => None,
        },
        _ => match (stored, constant) {
            _ if ColumnType::of(constant.edm_type()) != column_type => None,
            (EdmRef::Boolean(stored), EdmRef::Boolean(constant)) => Some(stored.cmp(&constant)),
            (EdmRef::Guid(stored), EdmRef::Guid(constant)) => Some(stored.as_bytes().cmp(constant.as_bytes())),
            (EdmRef::Binary(stored), EdmRef::Binary(constant)) => Some(stored.cmp(constant)),
            _ => None,
        },
    }
}

/// PostgreSQL's order of doubles.
fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn double(stored: EdmRef<'_>) -> Option<f64> {
    match stored {
        EdmRef::Double(value) => Some(value),
        EdmRef::Int32(value) => Some(value.into()),
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, as the guard says")]
        EdmRef::Int64(value) if value.unsigned_abs() <= DOUBLE_EXACT_INTEGER_MAX => Some(value as f64),
        _ => None,
    }
}

/// A value as a text column shows it.
fn text(value: EdmRef<'_>) -> Cow<'_, str> {
    match value {
        EdmRef::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The stored types that a column of this type can show.
pub fn fitting_types(column_type: ColumnType) -> &'static [EdmType] {
    match column_type {
        ColumnType::Text => &EdmType::ALL,
        ColumnType::Int32 => &[EdmType::Int32],
        ColumnType::Int64 => &[EdmType::Int32, EdmType::Int64],
        ColumnType::Double => &[EdmType::Int32, EdmType::Int64, EdmType::Double],
        ColumnType::Boolean => &[EdmType::Boolean],
        ColumnType::DateTime => &[EdmType::DateTime],
        ColumnType::Guid => &[EdmType::Guid],
        ColumnType::Binary => &[EdmType::Binary],
    }
}

#[cfg(test)]
mod tests;

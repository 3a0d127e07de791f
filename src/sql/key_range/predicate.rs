//! What a predicate says about key columns, in the few forms the analysis knows.
//!
//! Logical and physical expressions are both brought into this form, so there is one place that knows what a comparison
//! proves. Whatever it does not know is [`KeyPredicate::Other`]: it may be true, false or null for any key.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use tablegate_store::table::predicate::CompareOp;
use tablegate_types::key_codec::KeyCodec;

use crate::relation::{ColumnSource, Relation};

/// Which columns of a relation count as key columns: those of the codec, which is the relation's own or the raw one.
#[derive(Clone, Copy)]
pub(super) struct KeyView<'a> {
    pub relation: &'a Relation,
    pub codec: &'a KeyCodec,
}

/// A predicate; key columns are named by their index in the codec's columns.
#[derive(Debug, Clone)]
pub(super) enum KeyPredicate {
    /// The same for every row; `None` is NULL.
    Literal(Option<bool>),
    /// The value is not NULL.
    Compare {
        column: usize,
        op: CompareOp,
        value: ScalarValue,
    },
    /// NULLs among the values have SQL's meaning.
    InList {
        column: usize,
        values: Vec<ScalarValue>,
    },
    /// The column's text starts with `prefix`; unless `exact`, more is asked of it.
    Prefix {
        column: usize,
        prefix: String,
        exact: bool,
    },
    Other {
        may_be_null: bool,
    },
    And(Vec<KeyPredicate>),
    Or(Vec<KeyPredicate>),
    Not(Box<KeyPredicate>),
    /// IS TRUE, IS FALSE, IS NULL.
    Is {
        inner: Box<KeyPredicate>,
        outcome: Option<bool>,
    },
    /// One of these, but it is not known which: the branches of a CASE.
    OneOf(Vec<KeyPredicate>),
    /// Where the analysis cannot decide it, the expression with this number is to be evaluated.
    Sourced {
        inner: Box<KeyPredicate>,
        source: usize,
    },
}

/// A side of a comparison.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    /// A key column, seen as this type through casts that keep its order.
    Column {
        column: usize,
        data_type: DataType,
    },
    Literal(ScalarValue),
    Row(Vec<Operand>),
    Unknown,
}

/// What a LIKE pattern asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// This text and no other.
    Text(String),
    /// Texts that start with this; unless `exact`, more is asked of them.
    Prefix { prefix: String, exact: bool },
}

impl Pattern {
    /// `None` for a pattern that readers disagree about.
    pub(crate) fn read(pattern: &str, escape: char) -> Option<Self> {
        let mut prefix = String::new();
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            if c == '%' || c == '_' {
                let exact = c == '%' && rest.all(|c| c == '%');
                return Some(Pattern::Prefix { prefix, exact });
            }
            if c != escape {
                prefix.push(c);
                continue;
            }
            match rest.next() {
                // Whether an escape before an ordinary character stays is read differently by different readers.
                Some(escaped) if escaped == '%' || escaped == '_' || escaped == escape => prefix.push(escaped),
                _ => return None,
            }
        }
        Some(Pattern::Text(prefix))
    }
}

impl KeyPredicate {
    pub(super) const UNKNOWN: KeyPredicate = KeyPredicate::Other { may_be_null: true };

    pub(super) fn negate_if(self, negated: bool) -> Self {
        if negated { KeyPredicate::Not(Box::new(self)) } else { self }
    }

    pub(super) fn is(self, outcome: Option<bool>) -> Self {
        KeyPredicate::Is { inner: Box::new(self), outcome }
    }

    pub(super) fn sourced(self, source: usize) -> Self {
        KeyPredicate::Sourced { inner: Box::new(self), source }
    }

    pub(super) fn literal(value: &ScalarValue) -> Self {
        match value {
            ScalarValue::Boolean(value) => KeyPredicate::Literal(*value),
            ScalarValue::Null => KeyPredicate::Literal(None),
            _ => KeyPredicate::UNKNOWN,
        }
    }

    /// `left operator right`, for any operator that gives a truth value.
    pub(super) fn binary(operator: Operator, left: &Operand, right: &Operand) -> Self {
        let distinct = match operator {
            Operator::IsDistinctFrom => true,
            Operator::IsNotDistinctFrom => false,
            _ => {
                return match comparison(operator) {
                    Some(op) => compare(op, left, right),
                    None => KeyPredicate::UNKNOWN,
                };
            }
        };
        match (left, right) {
            // Key columns are never NULL.
            (Operand::Column { .. }, Operand::Literal(v)) | (Operand::Literal(v), Operand::Column { .. })
                if v.is_null() =>
            {
                KeyPredicate::Literal(Some(distinct))
            }
            (Operand::Column { .. }, Operand::Literal(_)) | (Operand::Literal(_), Operand::Column { .. }) => {
                compare(if distinct { CompareOp::NotEq } else { CompareOp::Eq }, left, right)
            }
            _ => KeyPredicate::Other { may_be_null: false },
        }
    }

    /// `tested IN (items)`.
    pub(super) fn in_list(tested: &Operand, items: Vec<Operand>) -> Self {
        if let Operand::Column { column, .. } = tested {
            let values = items.iter().map(|item| match item {
                Operand::Literal(value) => Some(value.clone()),
                _ => None,
            });
            if let Some(values) = values.collect::<Option<Vec<_>>>() {
                return KeyPredicate::InList { column: *column, values };
            }
        }
        if matches!(tested, Operand::Unknown) {
            return KeyPredicate::UNKNOWN;
        }
        KeyPredicate::Or(items.iter().map(|item| compare(CompareOp::Eq, tested, item)).collect())
    }

    /// `tested LIKE pattern`, case-sensitive.
    pub(super) fn like(tested: &Operand, pattern: &Operand, escape: char) -> Self {
        let Operand::Literal(pattern) = pattern else { return KeyPredicate::UNKNOWN };
        if pattern.is_null() {
            return KeyPredicate::Literal(None);
        }
        let (Operand::Column { column, .. }, Some(Some(pattern))) = (tested, pattern.try_as_str()) else {
            return KeyPredicate::UNKNOWN;
        };
        match Pattern::read(pattern, escape) {
            Some(Pattern::Text(text)) => {
                KeyPredicate::Compare { column: *column, op: CompareOp::Eq, value: ScalarValue::Utf8(Some(text)) }
            }
            Some(Pattern::Prefix { prefix, exact }) => KeyPredicate::Prefix { column: *column, prefix, exact },
            None => KeyPredicate::UNKNOWN,
        }
    }

    /// `starts_with(tested, prefix)`.
    pub(super) fn starts_with(tested: &Operand, prefix: &Operand) -> Self {
        match (tested, prefix) {
            (_, Operand::Literal(prefix)) if prefix.is_null() => KeyPredicate::Literal(None),
            (Operand::Column { column, .. }, Operand::Literal(prefix)) => match prefix.try_as_str() {
                Some(Some(prefix)) => KeyPredicate::Prefix { column: *column, prefix: prefix.to_owned(), exact: true },
                _ => KeyPredicate::UNKNOWN,
            },
            _ => KeyPredicate::UNKNOWN,
        }
    }

    /// An operand that is itself a truth value.
    pub(super) fn truth_of(operand: &Operand) -> Self {
        match operand {
            Operand::Column { column, data_type: DataType::Boolean } => {
                KeyPredicate::Compare { column: *column, op: CompareOp::Eq, value: ScalarValue::Boolean(Some(true)) }
            }
            Operand::Literal(value) => KeyPredicate::literal(value),
            _ => KeyPredicate::UNKNOWN,
        }
    }
}

/// The comparison that an operator stands for.
pub(crate) fn comparison(operator: Operator) -> Option<CompareOp> {
    Some(match operator {
        Operator::Eq => CompareOp::Eq,
        Operator::NotEq => CompareOp::NotEq,
        Operator::Lt => CompareOp::Lt,
        Operator::LtEq => CompareOp::LtEq,
        Operator::Gt => CompareOp::Gt,
        Operator::GtEq => CompareOp::GtEq,
        _ => return None,
    })
}

impl Operand {
    /// The column of this name.
    pub(super) fn column(keys: &KeyView<'_>, name: &str) -> Self {
        let Some((_, found)) = keys.relation.column(name) else { return Operand::Unknown };
        let raw = keys.codec.is_raw();
        let column = match &found.source {
            ColumnSource::KeyPart(index) if !raw => *index,
            ColumnSource::PartitionKey if raw => 0,
            ColumnSource::RowKey if raw => 1,
            _ => return Operand::Unknown,
        };
        match keys.codec.columns().get(column) {
            Some(key) => Operand::Column { column, data_type: key.sql_type.arrow() },
            None => Operand::Unknown,
        }
    }

    /// This operand cast to a type. `attempt`: what cannot be cast becomes NULL.
    pub(super) fn cast(self, target: &DataType, attempt: bool) -> Self {
        match self {
            Operand::Column { column, data_type } if keeps_order(&data_type, target) => {
                Operand::Column { column, data_type: target.clone() }
            }
            Operand::Literal(value) => match value.cast_to(target) {
                Ok(value) => Operand::Literal(value),
                Err(_) if attempt => ScalarValue::try_from(target).map_or(Operand::Unknown, Operand::Literal),
                Err(_) => Operand::Unknown,
            },
            Operand::Row(items) => match target {
                DataType::Struct(fields) if fields.len() == items.len() => Operand::Row(
                    items.into_iter().zip(fields).map(|(item, field)| item.cast(field.data_type(), attempt)).collect(),
                ),
                _ => Operand::Unknown,
            },
            _ => Operand::Unknown,
        }
    }

    /// A call of `struct` or `named_struct`, which is how rows are written.
    pub(super) fn row_of(function: &str, mut arguments: Vec<Operand>) -> Self {
        match function {
            "struct" => Operand::Row(arguments),
            "named_struct" => {
                let mut is_value = true;
                arguments.retain(|_| {
                    is_value = !is_value;
                    is_value
                });
                Operand::Row(arguments)
            }
            _ => Operand::Unknown,
        }
    }
}

fn compare(op: CompareOp, left: &Operand, right: &Operand) -> KeyPredicate {
    match (left, right) {
        (Operand::Row(left), Operand::Row(right)) => compare_rows(op, left, right),
        (Operand::Row(left), Operand::Literal(ScalarValue::Struct(right))) => match struct_items(right) {
            Some(right) => compare_rows(op, left, &right),
            None => KeyPredicate::UNKNOWN,
        },
        (Operand::Literal(ScalarValue::Struct(_)), Operand::Row(_)) => compare(op.flipped(), right, left),
        (Operand::Literal(value), _) | (_, Operand::Literal(value)) if value.is_null() => KeyPredicate::Literal(None),
        (Operand::Column { column, .. }, Operand::Literal(value)) => {
            KeyPredicate::Compare { column: *column, op, value: value.clone() }
        }
        (Operand::Literal(_), Operand::Column { .. }) => compare(op.flipped(), right, left),
        _ => KeyPredicate::UNKNOWN,
    }
}

/// Row by row: the first items that differ decide.
fn compare_rows(op: CompareOp, left: &[Operand], right: &[Operand]) -> KeyPredicate {
    if left.len() != right.len() || left.is_empty() {
        return KeyPredicate::UNKNOWN;
    }
    let item = |op: CompareOp, index: usize| match (&left[index], &right[index]) {
        // Inside of rows, NULL is compared by rules of its own.
        (Operand::Literal(v), _) | (_, Operand::Literal(v)) if v.is_null() => KeyPredicate::UNKNOWN,
        (left, right) => compare(op, left, right),
    };
    let last = left.len() - 1;
    match op {
        CompareOp::Eq => KeyPredicate::And((0..=last).map(|i| item(op, i)).collect()),
        CompareOp::NotEq => KeyPredicate::Or((0..=last).map(|i| item(op, i)).collect()),
        _ => {
            let decided_at = |index: usize| {
                let equal_before = (0..index).map(|i| item(CompareOp::Eq, i));
                let decides = item(if index == last { op } else { op.strict() }, index);
                KeyPredicate::And(equal_before.chain([decides]).collect())
            };
            KeyPredicate::Or((0..=last).map(decided_at).collect())
        }
    }
}

fn struct_items(value: &arrow::array::StructArray) -> Option<Vec<Operand>> {
    if value.len() != 1 || value.is_null(0) {
        return None;
    }
    let item = |column: &Arc<dyn Array>| ScalarValue::try_from_array(column, 0).ok().map(Operand::Literal);
    value.columns().iter().map(item).collect()
}

/// Whether values cast from one type to the other compare as before, none falling together and none failing.
fn keeps_order(from: &DataType, to: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Date32, Date64, Decimal128, Decimal256, Dictionary, FixedSizeBinary, Float32, Float64,
        Int16, Int32, Int64, LargeBinary, LargeUtf8, Time64, Timestamp, UInt32, Utf8, Utf8View,
    };
    let whole_digits = |data_type: &DataType| match data_type {
        Decimal128(p, s) | Decimal256(p, s) => Some((i16::from(*p) - i16::from(*s), *s)),
        Int16 => Some((5, 0)),
        Int32 | UInt32 => Some((10, 0)),
        Int64 => Some((19, 0)),
        _ => None,
    };
    match (from, to) {
        _ if from == to => true,
        (_, Dictionary(_, values)) => keeps_order(from, values),
        (Dictionary(_, values), _) => keeps_order(values, to),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View)
        | (Binary | LargeBinary | BinaryView | FixedSizeBinary(_), Binary | LargeBinary | BinaryView)
        | (Int16, Int32 | Int64 | Float32 | Float64)
        | (Int32, Int64 | Float64)
        | (UInt32, Int64 | Float64)
        // Not for large numbers, and those are not located.
        | (Int64, Float64)
        | (Float32, Float64)
        | (Date32, Date64 | Timestamp(_, None)) => true,
        (Timestamp(coarse, zone), Timestamp(fine, to_zone)) => coarse <= fine && zone.is_some() == to_zone.is_some(),
        (Time64(coarse), Time64(fine)) => coarse <= fine,
        (_, Decimal128(..) | Decimal256(..)) => match (whole_digits(from), whole_digits(to)) {
            (Some((digits, scale)), Some((to_digits, to_scale))) => digits <= to_digits && scale <= to_scale,
            _ => false,
        },
        _ => false,
    }
}

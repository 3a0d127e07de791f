//! Predicates over stored values as `$filter` expressions, as far as the service decides them as SQL does.
//!
//! What comes out may let too much through and never too little, by these rules of the service:
//! - A comparison with an absent property is false, `ne` too, and `not` of it true: NOT is used for NaN alone.
//! - A literal meets values of its own type. An Int32 literal also meets Int64 and Double, an Int64 literal does not meet
//!   Int32: numbers are asked for once for each type they may be stored with.
//! - Texts are compared by their UTF-16 units, so a bound gives way as those of keys do.
//! - NaN, which SQL has above all numbers, is neither less nor greater there.
//!
//! What the emulator does otherwise is in [`Dialect`].

use tablegate_store::model::limits::FILTER_COMPARISONS_MAX;
use tablegate_store::model::{Cut, EdmDateTime, EdmType, EdmValue, PropertyName};
use tablegate_store::table::predicate::{CompareOp, Condition, PredicateColumn, Test, fitting_types};
use tablegate_store::table::{ColumnType, Predicate, TypeSet};

use super::filter::{literal, lower, upper};

/// Longer texts and binaries are not sent: a URL has room for so much.
const LITERAL_MAX: usize = 512;
/// All that is sent of a predicate, before it is encoded.
const TEXT_MAX: usize = 2_000;
/// Words that a filter has other uses for.
const RESERVED: &[&str] = &[
    "and", "or", "not", "eq", "ne", "gt", "ge", "lt", "le", "true", "false", "null", "datetime", "guid", "binary", "x",
];

/// Who evaluates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Service,
    /// Azurite: an Int64 is a text there, which a number without `L` is compared with in order only and one with `L` not at
    /// all where it meets an Int32; times are cut to milliseconds; a GUID or binary equals its own spelling alone.
    Emulator,
}

/// What a predicate asks of the service: parts that all must hold, of which any can be left out.
#[derive(Debug, Default)]
pub(super) struct PropertyFilter {
    parts: Vec<Expression>,
}

#[derive(Debug, Clone)]
struct Expression {
    text: String,
    comparisons: usize,
    /// What stands between its operands, if it has several.
    joined_by: Option<&'static str>,
}

impl PropertyFilter {
    /// `types_of` tells which types a property was seen with, as far as anybody has looked.
    pub(super) fn new(predicate: &Predicate, dialect: Dialect, types_of: &dyn Fn(&PropertyName) -> TypeSet) -> Self {
        let writer = Writer { dialect, types_of };
        let parts = match predicate {
            Predicate::All(parts) => parts.iter().filter_map(|part| writer.expression(part)).collect(),
            other => writer.expression(other).into_iter().collect(),
        };
        Self { parts }
    }

    /// As much of it as has room beside so many comparisons.
    pub(super) fn beside(&self, comparisons: usize) -> Option<String> {
        let mut room = FILTER_COMPARISONS_MAX.saturating_sub(comparisons);
        let mut bytes = TEXT_MAX;
        let mut taken = Vec::new();
        for part in &self.parts {
            if part.comparisons <= room && part.text.len() <= bytes {
                room -= part.comparisons;
                bytes -= part.text.len();
                taken.push(part.clone());
            }
        }
        join(taken, "and").map(|whole| whole.within("and"))
    }
}

fn join(mut parts: Vec<Expression>, by: &'static str) -> Option<Expression> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let comparisons = parts.iter().map(|part| part.comparisons).sum();
    let texts: Vec<String> = parts.into_iter().map(|part| part.within(by)).collect();
    Some(Expression { text: texts.join(&format!(" {by} ")), comparisons, joined_by: Some(by) })
}

impl Expression {
    fn one(text: String) -> Self {
        Self { text, comparisons: 1, joined_by: None }
    }

    /// As an operand.
    fn within(self, by: &str) -> String {
        if self.joined_by.is_some_and(|own| own != by) { format!("({})", self.text) } else { self.text }
    }
}

struct Writer<'a> {
    dialect: Dialect,
    types_of: &'a dyn Fn(&PropertyName) -> TypeSet,
}

impl Writer<'_> {
    /// What the service can decide; `None` for nothing.
    fn expression(&self, predicate: &Predicate) -> Option<Expression> {
        let written = match predicate {
            Predicate::All(parts) => join(parts.iter().filter_map(|part| self.expression(part)).collect(), "and"),
            Predicate::Any(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|part| self.expression(part)).collect();
                join(parts?, "or")
            }
            Predicate::Test(test) => self.test(test),
        };
        written.filter(|written| written.comparisons <= FILTER_COMPARISONS_MAX)
    }

    fn test(&self, test: &Test) -> Option<Expression> {
        let column = test.column();
        if !self.is_decided(column) {
            return None;
        }
        match test.condition() {
            Condition::Compare(op, constant) => self.compare(column, *op, constant),
            Condition::OneOf(constants) => {
                let each: Vec<_> = constants
                    .iter()
                    .take(FILTER_COMPARISONS_MAX + 1)
                    .map_while(|constant| self.compare(column, CompareOp::Eq, constant))
                    .collect();
                let comparisons: usize = each.iter().map(|one| one.comparisons).sum();
                // Beside the two of a range of keys.
                if each.len() == constants.len() && comparisons <= FILTER_COMPARISONS_MAX - 2 {
                    return join(each, "or");
                }
                let ends = [(CompareOp::GtEq, constants.first()?), (CompareOp::LtEq, constants.last()?)];
                let bounds = ends.into_iter().filter_map(|(op, end)| self.compare(column, op, end));
                join(bounds.collect(), "and")
            }
            Condition::StartsWith(prefix) => {
                let (from, to) = (Cut::Before((**prefix).into()), Cut::AfterPrefix((**prefix).into()));
                let bounds = lower(&from).into_iter().chain(upper(&to));
                join(bounds.filter_map(|(op, at)| text(column, op, &at)).collect(), "and")
            }
            // No filter of the service finds absent properties.
            Condition::IsNull | Condition::IsNotNull => None,
        }
    }

    /// Whether its name can stand in a filter, and it was not seen with types that the column shows in a form of its own.
    fn is_decided(&self, column: &PredicateColumn) -> bool {
        let PredicateColumn::Property { name, column_type } = column else { return true };
        let text = name.as_str();
        let is_plain = text.is_ascii() && !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text));
        is_plain && (*column_type != ColumnType::Text || self.types(column).iter().all(|t| t == EdmType::String))
    }

    fn types(&self, column: &PredicateColumn) -> TypeSet {
        match column {
            PredicateColumn::Timestamp => TypeSet::default(),
            PredicateColumn::Property { name, .. } => (self.types_of)(name),
        }
    }

    fn compare(&self, column: &PredicateColumn, op: CompareOp, constant: &EdmValue) -> Option<Expression> {
        debug_assert!(fitting_types(column.column_type()).contains(&constant.edm_type()), "as tests are made");
        let simple = |op: &str, literal: String| Expression::one(format!("{} {op} {literal}", column.name()));
        let is_equality = matches!(op, CompareOp::Eq | CompareOp::NotEq);
        match constant {
            EdmValue::String(constant) => match op {
                CompareOp::Eq | CompareOp::NotEq => text(column, word(op), constant),
                _ => {
                    let at = std::sync::Arc::<str>::from(&**constant);
                    let bound = match op {
                        CompareOp::Lt => upper(&Cut::Before(at)),
                        CompareOp::LtEq => upper(&Cut::After(at)),
                        CompareOp::Gt => lower(&Cut::After(at)),
                        _ => lower(&Cut::Before(at)),
                    };
                    let (op, at) = bound?;
                    text(column, op, &at)
                }
            },
            EdmValue::Int32(constant) => Some(simple(word(op), constant.to_string())),
            EdmValue::Int64(constant) => self.compare_int64(column.name(), op, *constant),
            EdmValue::Double(constant) => self.compare_double(column, op, *constant),
            EdmValue::Boolean(constant) if is_equality => {
                Some(simple("eq", (*constant == (op == CompareOp::Eq)).to_string()))
            }
            EdmValue::DateTime(constant) => compare_moment(column.name(), op, *constant),
            EdmValue::Guid(constant) if is_equality && self.dialect == Dialect::Service => {
                Some(simple(word(op), format!("guid'{constant}'")))
            }
            EdmValue::Binary(constant)
                if is_equality && self.dialect == Dialect::Service && 2 * constant.len() <= LITERAL_MAX =>
            {
                let hex: String = constant.iter().map(|byte| format!("{byte:02x}")).collect();
                Some(simple(word(op), format!("X'{hex}'")))
            }
            EdmValue::Boolean(_) | EdmValue::Guid(_) | EdmValue::Binary(_) => None,
        }
    }

    /// The column shows Int32 and Int64.
    fn compare_int64(&self, name: &str, op: CompareOp, constant: i64) -> Option<Expression> {
        let simple = |op: CompareOp, literal: String| Expression::one(format!("{name} {} {literal}", word(op)));
        let narrow = i32::try_from(constant).ok();
        if self.dialect == Dialect::Emulator {
            let narrow = narrow?.to_string();
            return in_order(op, |op| simple(op, narrow.clone()));
        }
        let long = simple(op, format!("{constant}L"));
        let short = match (narrow, op) {
            (Some(narrow), op) => Some(simple(op, narrow.to_string())),
            // Every Int32 is below, or above.
            (None, CompareOp::Lt | CompareOp::LtEq | CompareOp::NotEq) if constant > 0 => {
                Some(simple(CompareOp::LtEq, i32::MAX.to_string()))
            }
            (None, CompareOp::Gt | CompareOp::GtEq | CompareOp::NotEq) if constant < 0 => {
                Some(simple(CompareOp::GtEq, i32::MIN.to_string()))
            }
            (None, _) => None,
        };
        join(short.into_iter().chain([long]).collect(), "or")
    }

    /// The column shows all numbers.
    fn compare_double(&self, column: &PredicateColumn, op: CompareOp, constant: f64) -> Option<Expression> {
        let name = column.name();
        // Literals with an exponent, which smaller and greater ones get below, are read in more than one way.
        if constant != 0.0 && !(1e-4..1e15).contains(&constant.abs()) {
            return None;
        }
        // Without the sign of -0.
        let digits = format!("{:?}", constant + 0.0);
        let simple = |op: CompareOp, literal: &str| Expression::one(format!("{name} {} {literal}", word(op)));
        let double = |op| match op {
            // NaN is to be among them.
            CompareOp::Gt | CompareOp::GtEq => Expression::one(format!("not ({})", simple(op.negated(), &digits).text)),
            op => simple(op, &digits),
        };
        if self.dialect == Dialect::Emulator {
            // One kind of number there, but for the texts of Int64.
            return match op {
                CompareOp::Eq => in_order(op, |op| simple(op, &digits)),
                op => Some(double(op)),
            };
        }
        let whole = match op {
            CompareOp::NotEq => return Some(double(op)),
            CompareOp::Eq if constant.fract() != 0.0 => return Some(double(op)),
            CompareOp::Eq => (op, constant),
            CompareOp::Lt => (CompareOp::LtEq, constant.ceil() - 1.0),
            CompareOp::LtEq => (op, constant.floor()),
            CompareOp::Gt => (CompareOp::GtEq, constant.floor() + 1.0),
            CompareOp::GtEq => (op, constant.ceil()),
        };
        // Beyond Int32 one more literal would be needed for each of the integers' types.
        if whole.1 < f64::from(i32::MIN) || whole.1 > f64::from(i32::MAX) {
            return None;
        }
        join(vec![double(op), simple(whole.0, &format!("{:.0}", whole.1 + 0.0))], "or")
    }
}

/// Equality, written as "not less and not greater".
fn in_order(op: CompareOp, simple: impl Fn(CompareOp) -> Expression) -> Option<Expression> {
    match op {
        CompareOp::Eq => join(vec![simple(CompareOp::GtEq), simple(CompareOp::LtEq)], "and"),
        CompareOp::NotEq => join(vec![simple(CompareOp::Lt), simple(CompareOp::Gt)], "or"),
        op => Some(simple(op)),
    }
}

/// The column shows microseconds; what is stored is up to nine ticks of 100 ns later. Bounds are never strict: cut to
/// milliseconds, as the emulator does, they are still no narrower.
fn compare_moment(name: &str, op: CompareOp, constant: EdmDateTime) -> Option<Expression> {
    let first = EdmDateTime::from_unix_micros(constant.unix_micros())?.unix_ticks();
    let bound = |op: CompareOp, ticks: i64| {
        let at = EdmDateTime::from_unix_ticks(ticks)?;
        Some(Expression::one(format!("{name} {} datetime'{at}'", word(op))))
    };
    let from = |ticks| bound(CompareOp::GtEq, ticks);
    let to = |ticks| bound(CompareOp::LtEq, ticks);
    match op {
        CompareOp::Eq => join(vec![from(first)?, to(first + 9)?], "and"),
        CompareOp::NotEq => join(vec![to(first - 1)?, from(first + 10)?], "or"),
        CompareOp::Lt => to(first - 1),
        CompareOp::LtEq => to(first + 9),
        CompareOp::Gt => from(first + 10),
        CompareOp::GtEq => from(first),
    }
}

fn text(column: &PredicateColumn, op: &str, constant: &str) -> Option<Expression> {
    let is_plain = constant.len() <= LITERAL_MAX && !constant.chars().any(char::is_control);
    is_plain.then(|| Expression::one(format!("{} {op} {}", column.name(), literal(constant))))
}

fn word(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "eq",
        CompareOp::NotEq => "ne",
        CompareOp::Lt => "lt",
        CompareOp::LtEq => "le",
        CompareOp::Gt => "gt",
        CompareOp::GtEq => "ge",
    }
}

#[cfg(test)]
mod tests;

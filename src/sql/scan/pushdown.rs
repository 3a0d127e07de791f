//! What a filter says about stored values, as a hint for the store.
//!
//! Read out of it is what must hold of a row for the filter to be true; what a store could not know or would see in
//! another way (a numeric, which is kept as text; `char(n)` with its blanks; anything that is computed) is left out. The
//! scan evaluates the filter itself on whatever the store returns, so too little here is slow and too much is wrong.

use arrow::datatypes::{DataType, TimeUnit, i256};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{InList, Like};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Operator};
use tablegate_store::model::{EdmDateTime, EdmValue};
use tablegate_store::table::predicate::{CompareOp, PredicateColumn};
use tablegate_store::table::{ColumnType, Predicate};
use tablegate_types::sql_type::SqlType;
use uuid::Uuid;

use crate::key_range::{Pattern, comparison, flatten};
use crate::relation::{ColumnSource, Relation};

/// Items of a list that are compared one by one; of a longer one no more is said.
const LIST_MAX: usize = 1_000;
/// Deeper than this nothing is read: the filter is evaluated anyway.
const DEPTH_MAX: usize = 64;
/// Below it a double is any integer near it.
const EXACT_DOUBLE: f64 = 9_007_199_254_740_992.0;

/// What must hold of rows for which the filter is true; `None` when that is nothing a store could use.
pub(super) fn predicate(relation: &Relation, filter: &Expr) -> Option<Predicate> {
    Reader { relation }.holds(filter, true, DEPTH_MAX)
}

struct Reader<'a> {
    relation: &'a Relation,
}

/// A column that a store can compare.
struct Tested {
    column: PredicateColumn,
    /// Most characters of a `varchar(n)`: what is stored can have blanks behind them.
    length: Option<usize>,
    /// As which type the filter sees it.
    seen_as: DataType,
}

impl Reader<'_> {
    /// What must hold for the expression to be `outcome`, and not null.
    fn holds(&self, expr: &Expr, outcome: bool, depth: usize) -> Option<Predicate> {
        let depth = depth.checked_sub(1)?;
        match expr {
            Expr::Alias(alias) => self.holds(&alias.expr, outcome, depth),
            Expr::Not(inner) => self.holds(inner, !outcome, depth),
            Expr::IsTrue(inner) if outcome => self.holds(inner, true, depth),
            Expr::IsFalse(inner) if outcome => self.holds(inner, false, depth),
            Expr::IsNotTrue(inner) if !outcome => self.holds(inner, true, depth),
            Expr::IsNotFalse(inner) if !outcome => self.holds(inner, false, depth),
            Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
                let parts = flatten(expr, *op).into_iter().map(|part| self.holds(part, outcome, depth));
                // What makes AND true must make all of its parts true; what makes it false, one of them.
                if (*op == Operator::And) == outcome {
                    Predicate::all(parts.flatten())
                } else {
                    Predicate::any(parts.collect::<Option<Vec<_>>>()?)
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.binary(left, *op, right, outcome),
            Expr::Between(between) => {
                let is_between = outcome != between.negated;
                let low = self.compared(&between.expr, CompareOp::GtEq, &between.low, is_between);
                let high = self.compared(&between.expr, CompareOp::LtEq, &between.high, is_between);
                if is_between { Predicate::all(low.into_iter().chain(high)) } else { Predicate::any([low?, high?]) }
            }
            Expr::InList(list) => self.listed(list, outcome),
            Expr::Like(Like { negated, expr, pattern, escape_char, case_insensitive: false }) => {
                let Expr::Literal(pattern, _) = &**pattern else { return None };
                let pattern = Pattern::read(pattern.try_as_str()??, escape_char.unwrap_or('\\'))?;
                let tested = self.tested(expr)?;
                match (pattern, outcome != *negated) {
                    (Pattern::Text(text), true) => tested.compare(CompareOp::Eq, &ScalarValue::Utf8(Some(text))),
                    (Pattern::Prefix { prefix, .. }, true) if !prefix.is_empty() => {
                        Predicate::starts_with(tested.column, &prefix)
                    }
                    _ => None,
                }
            }
            Expr::ScalarFunction(call) if call.name() == "starts_with" && outcome => {
                let [tested, Expr::Literal(prefix, _)] = &*call.args else { return None };
                let prefix = prefix.try_as_str()??;
                let tested = self.tested(tested)?;
                if prefix.is_empty() { None } else { Predicate::starts_with(tested.column, prefix) }
            }
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                let column = self.property(inner)?;
                let is_null = matches!(expr, Expr::IsNull(_)) == outcome;
                Some(if is_null { Predicate::is_null(column) } else { Predicate::is_not_null(column) })
            }
            Expr::Column(_) => {
                let tested = self.tested(expr).filter(|tested| tested.seen_as == DataType::Boolean)?;
                tested.compare(CompareOp::Eq, &ScalarValue::Boolean(Some(outcome)))
            }
            _ => None,
        }
    }

    fn binary(&self, left: &Expr, operator: Operator, right: &Expr, outcome: bool) -> Option<Predicate> {
        match operator {
            Operator::IsDistinctFrom => self.distinct(left, right, outcome),
            Operator::IsNotDistinctFrom => self.distinct(left, right, !outcome),
            _ => self.compared(left, comparison(operator)?, right, outcome),
        }
    }

    fn compared(&self, left: &Expr, op: CompareOp, right: &Expr, outcome: bool) -> Option<Predicate> {
        let op = if outcome { op } else { op.negated() };
        match (left, right) {
            (_, Expr::Literal(value, _)) => self.tested(left)?.compare(op, value),
            (Expr::Literal(value, _), _) => self.tested(right)?.compare(op.flipped(), value),
            _ => None,
        }
    }

    /// IS DISTINCT FROM, which is never null.
    fn distinct(&self, left: &Expr, right: &Expr, is_distinct: bool) -> Option<Predicate> {
        let (tested, value) = match (left, right) {
            (tested, Expr::Literal(value, _)) | (Expr::Literal(value, _), tested) => (tested, value),
            _ => return None,
        };
        match (value.is_null(), is_distinct) {
            (true, true) => Some(Predicate::is_not_null(self.property(tested)?)),
            (true, false) => Some(Predicate::is_null(self.property(tested)?)),
            (false, false) => self.tested(tested)?.compare(CompareOp::Eq, value),
            (false, true) => {
                let absent = Predicate::is_null(self.property(tested)?);
                Predicate::any([absent, self.tested(tested)?.compare(CompareOp::NotEq, value)?])
            }
        }
    }

    fn listed(&self, list: &InList, outcome: bool) -> Option<Predicate> {
        if list.list.len() > LIST_MAX {
            return None;
        }
        let is_in = outcome != list.negated;
        let mut tests = Vec::with_capacity(list.list.len());
        for item in &list.list {
            let Expr::Literal(value, _) = item else { return None };
            // To be equal to NULL is never true, and neither is to be different from it.
            if !value.is_null() {
                tests.push(self.compared(&list.expr, CompareOp::Eq, item, is_in));
            }
        }
        if !is_in {
            return Predicate::all(tests.into_iter().flatten());
        }
        let tests = tests.into_iter().collect::<Option<Vec<_>>>()?;
        let column = self.tested(&list.expr)?.column;
        let constants: Option<Vec<_>> = tests.iter().map(equal_to).collect();
        match constants {
            Some(constants) => Predicate::one_of(column, constants),
            None => Predicate::any(tests),
        }
    }

    /// The column that an expression is, in types and forms that a store compares as SQL does.
    fn tested(&self, expr: &Expr) -> Option<Tested> {
        match expr {
            Expr::Alias(alias) => self.tested(&alias.expr),
            Expr::Column(column) => {
                let (_, found) = self.relation.column(&column.name)?;
                let sql_type = found.sql_type.bare();
                let column = match &found.source {
                    ColumnSource::Timestamp => PredicateColumn::Timestamp,
                    ColumnSource::Property { name, column_type } => {
                        PredicateColumn::Property { name: name.clone(), column_type: *column_type }
                    }
                    _ => return None,
                };
                let length = match &*sql_type {
                    SqlType::Varchar(Some(length)) => Some(usize::try_from(*length).ok()?),
                    _ => None,
                };
                is_shown_as_stored(&sql_type, column.column_type()).then(|| Tested {
                    column,
                    length,
                    seen_as: sql_type.arrow(),
                })
            }
            // It says of a value which type it has, and changes nothing.
            Expr::ScalarFunction(call) if call.name() == "relabel" => match &*call.args {
                [inner] => self.tested(inner),
                _ => None,
            },
            Expr::Cast(Cast { expr, field }) => {
                let tested = self.tested(expr)?;
                keeps_values(&tested.seen_as, field.data_type())
                    .then(|| Tested { seen_as: field.data_type().clone(), ..tested })
            }
            _ => None,
        }
    }

    /// The property that an expression is, whatever its type: it is there or it is not.
    fn property(&self, expr: &Expr) -> Option<PredicateColumn> {
        match expr {
            Expr::Alias(alias) => self.property(&alias.expr),
            Expr::Column(column) => match &self.relation.column(&column.name)?.1.source {
                ColumnSource::Property { name, column_type } => {
                    Some(PredicateColumn::Property { name: name.clone(), column_type: *column_type })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl Tested {
    fn compare(self, op: CompareOp, value: &ScalarValue) -> Option<Predicate> {
        if value.is_null() {
            return None;
        }
        match self.column.column_type() {
            ColumnType::Int32 | ColumnType::Int64 => self.compare_integer(op, value),
            ColumnType::Text => self.compare_text(op, value.try_as_str()??),
            ColumnType::Double => {
                let ScalarValue::Float64(Some(value)) = value else { return None };
                if value.is_nan() {
                    return None;
                }
                // Whether -0 is less than 0 is not for this to say.
                let op = match op {
                    CompareOp::Lt if *value == 0.0 => CompareOp::LtEq,
                    CompareOp::Gt if *value == 0.0 => CompareOp::GtEq,
                    CompareOp::NotEq if *value == 0.0 => return None,
                    op => op,
                };
                Predicate::compare(self.column, op, EdmValue::Double(*value))
            }
            ColumnType::Boolean | ColumnType::DateTime | ColumnType::Guid | ColumnType::Binary => {
                let value = constant(value, &self.seen_as)?;
                Predicate::compare(self.column, op, value)
            }
        }
    }

    /// The number may have a fraction, and the column be seen as another kind of number.
    fn compare_integer(self, op: CompareOp, value: &ScalarValue) -> Option<Predicate> {
        let (whole, is_exact) = whole_part(value)?;
        let constant = match self.column.column_type() {
            ColumnType::Int32 => EdmValue::Int32(i32::try_from(whole).ok()?),
            _ => EdmValue::Int64(i64::try_from(whole).ok()?),
        };
        let op = match op {
            op if is_exact => op,
            // The integers below 5.5 are those up to 5.
            CompareOp::Lt | CompareOp::LtEq => CompareOp::LtEq,
            CompareOp::Gt | CompareOp::GtEq => CompareOp::Gt,
            CompareOp::NotEq => return Some(Predicate::is_not_null(self.column)),
            CompareOp::Eq => return None,
        };
        Predicate::compare(self.column, op, constant)
    }

    /// A `varchar(n)` shows no more than n characters of what somebody else stored with blanks behind them.
    fn compare_text(self, op: CompareOp, text: &str) -> Option<Predicate> {
        let constant = EdmValue::string(text);
        let Some(length) = self.length else { return Predicate::compare(self.column, op, constant) };
        let chars = text.chars().count();
        match op {
            CompareOp::Eq if chars < length => Predicate::compare(self.column, op, constant),
            CompareOp::Eq => Predicate::starts_with(self.column, text),
            CompareOp::NotEq if chars <= length => Predicate::compare(self.column, op, constant),
            CompareOp::Gt | CompareOp::GtEq => Predicate::compare(self.column, CompareOp::GtEq, constant),
            _ => None,
        }
    }
}

/// The constant of a test for equality.
fn equal_to(test: &Predicate) -> Option<EdmValue> {
    use tablegate_store::table::predicate::Condition;
    match test {
        Predicate::Test(test) => match test.condition() {
            Condition::Compare(CompareOp::Eq, constant) => Some(constant.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether SQL values of this type compare as the stored ones do.
fn is_shown_as_stored(sql_type: &SqlType, column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::Int32 => matches!(sql_type, SqlType::Int2 | SqlType::Int4),
        ColumnType::Int64 => matches!(sql_type, SqlType::Int8 | SqlType::Oid),
        // float4 is rounded when it is read.
        ColumnType::Double => matches!(sql_type, SqlType::Float8),
        ColumnType::Boolean => matches!(sql_type, SqlType::Bool),
        ColumnType::DateTime => matches!(sql_type, SqlType::Timestamp | SqlType::Timestamptz | SqlType::Date),
        ColumnType::Guid => matches!(sql_type, SqlType::Uuid),
        ColumnType::Binary => matches!(sql_type, SqlType::Bytea),
        ColumnType::Text => matches!(sql_type, SqlType::Text | SqlType::Varchar(_)),
    }
}

/// Whether a cast leaves every value the same value.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use DataType::{
        Date32, Decimal128, Decimal256, Float64, Int16, Int32, Int64, LargeUtf8, Timestamp, UInt32, Utf8, Utf8View,
    };
    match (from, to) {
        _ if from == to => true,
        // Rounded to a double, an int8 is on the same side of any constant below 2^53.
        (Int16 | Int32 | Int64 | UInt32, Int32 | Int64 | Float64 | Decimal128(..) | Decimal256(..)) => true,
        (Date32, Timestamp(TimeUnit::Microsecond, None)) => true,
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        _ => false,
    }
}

/// A constant of a type that stands for itself.
fn constant(value: &ScalarValue, seen_as: &DataType) -> Option<EdmValue> {
    Some(match (value, seen_as) {
        (ScalarValue::Boolean(Some(value)), DataType::Boolean) => EdmValue::Boolean(*value),
        (ScalarValue::TimestampMicrosecond(Some(micros), zone), DataType::Timestamp(TimeUnit::Microsecond, of)) => {
            let is_same_kind = zone.is_some() == of.is_some();
            EdmValue::DateTime(EdmDateTime::from_unix_micros(*micros).filter(|_| is_same_kind)?)
        }
        (ScalarValue::Date32(Some(day)), DataType::Date32) => {
            EdmValue::DateTime(EdmDateTime::from_unix_micros(i64::from(*day).checked_mul(86_400_000_000)?)?)
        }
        (ScalarValue::FixedSizeBinary(16, Some(bytes)), DataType::FixedSizeBinary(16)) => {
            EdmValue::Guid(Uuid::from_slice(bytes).ok()?)
        }
        (ScalarValue::Binary(Some(bytes)), DataType::Binary) => EdmValue::Binary(bytes.as_slice().into()),
        _ => return None,
    })
}

/// The greatest integer that is no greater than the number, and whether it is the number itself.
fn whole_part(value: &ScalarValue) -> Option<(i128, bool)> {
    Some(match value {
        ScalarValue::Int16(Some(value)) => (i128::from(*value), true),
        ScalarValue::Int32(Some(value)) => (i128::from(*value), true),
        ScalarValue::Int64(Some(value)) => (i128::from(*value), true),
        ScalarValue::UInt32(Some(value)) => (i128::from(*value), true),
        ScalarValue::Float64(Some(value)) if value.abs() < EXACT_DOUBLE => {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and below 2^53")]
            let whole = value.floor() as i128;
            (whole, value.fract() == 0.0)
        }
        ScalarValue::Decimal128(Some(value), _, scale) => divided(*value, *scale)?,
        ScalarValue::Decimal256(Some(value), _, scale) => {
            let scale = u32::try_from(*scale).ok()?;
            let unit = i256::from_i128(10).checked_pow(scale)?;
            let (whole, rest) = (value.checked_div(unit)?, value.checked_rem(unit)?);
            let below = i128::from(rest < i256::ZERO);
            (whole.to_i128()?.checked_sub(below)?, rest == i256::ZERO)
        }
        _ => return None,
    })
}

fn divided(value: i128, scale: i8) -> Option<(i128, bool)> {
    let unit = 10_i128.checked_pow(u32::try_from(scale).ok()?)?;
    Some((value.div_euclid(unit), value.rem_euclid(unit) == 0))
}

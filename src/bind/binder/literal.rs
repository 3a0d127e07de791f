//! Constants as they are written.

use std::borrow::Cow;

use sqlparser::ast::{Expr, Ident, Interval, TypedString, Value, ValueWithSpan};
use tablegate_types::ScalarValue;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{IntervalFields, TimeLimits};

use super::Binder;
use crate::catalogue::oids::{self, Oid};
use crate::expr::{BoundExpr, ExprKind, ExprType, Literal, ValueWord};
use crate::numeric;
use crate::place::{AtPlace, Place};

fn no_digit(wrong: char, base: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidTextRepresentation, format!("\"{wrong}\" is not a valid {base} digit"))
}

impl Binder<'_> {
    pub(crate) fn value(&mut self, value: &ValueWithSpan) -> SqlResult<BoundExpr> {
        let place = Place::start(value.span);
        match &value.value {
            Value::Number(digits, _) => Ok(self.number(digits, false, place)),
            Value::Boolean(truth) => {
                let literal = Literal::Value(ScalarValue::Boolean(Some(*truth)));
                Ok(BoundExpr::new(ExprKind::Constant(literal), ExprType::BOOL, place))
            }
            Value::Null => Ok(self.unknown(Literal::Null, place)),
            Value::Placeholder(name) => match name.strip_prefix('$').and_then(|digits| digits.parse().ok()) {
                Some(number) => self.typing.parameter(number, place),
                None => Err(SqlError::not_supported(format!("the placeholder {name}"))),
            },
            Value::SingleQuotedByteStringLiteral(bits) => {
                match bits.chars().find(|digit| !matches!(digit, '0' | '1')) {
                    None => Ok(self.constant(bits, oids::BIT, place)),
                    Some(wrong) => Err(no_digit(wrong, "binary").at_place(place)),
                }
            }
            Value::HexStringLiteral(digits) => {
                let four = |digit: char| match digit.to_digit(16) {
                    Some(value) => Ok(format!("{value:04b}")),
                    None => Err(no_digit(digit, "hexadecimal").at_place(place)),
                };
                let bits = digits.chars().map(four).collect::<SqlResult<String>>()?;
                Ok(self.constant(&bits, oids::BIT, place))
            }
            Value::NationalStringLiteral(text) => Ok(self.constant(text, oids::BPCHAR, place)),
            other => match text_of(other) {
                Some(text) => Ok(self.unknown(Literal::Text(text.into()), place)),
                None => Err(SqlError::not_supported(format!("the literal {other}"))),
            },
        }
    }

    /// PostgreSQL's `make_const`: the smallest type that the number fits.
    pub(crate) fn number(&self, digits: &str, negative: bool, place: Place) -> BoundExpr {
        let signed = if negative { Cow::Owned(format!("-{digits}")) } else { Cow::Borrowed(digits) };
        let (literal, oid) = match signed.parse::<i64>() {
            Ok(value) => match i32::try_from(value) {
                Ok(value) => (Literal::Value(ScalarValue::Int32(Some(value))), oids::INT4),
                Err(_) => (Literal::Value(ScalarValue::Int64(Some(value))), oids::INT8),
            },
            Err(_) => {
                (Literal::Text(numeric::printed(&signed).unwrap_or_else(|| signed.into_owned()).into()), oids::NUMERIC)
            }
        };
        BoundExpr::new(ExprKind::Constant(literal), ExprType::plain(oid), place)
    }

    /// A text without a type yet.
    pub(super) fn unknown(&self, literal: Literal, place: Place) -> BoundExpr {
        BoundExpr::new(ExprKind::Constant(literal), ExprType::plain(oids::UNKNOWN), place)
    }

    fn constant(&self, text: &str, oid: Oid, place: Place) -> BoundExpr {
        BoundExpr::new(ExprKind::Constant(Literal::Text(text.into())), self.lookup.of_type(oid, -1), place)
    }

    /// `date '2000-01-01'`.
    pub(super) fn typed_string(&mut self, typed: &TypedString) -> SqlResult<BoundExpr> {
        let (oid, typmod) = self.type_of(&typed.data_type)?;
        let text = self.value(&typed.value)?;
        self.cast_explicitly(text, oid, typmod, Place::NOWHERE)
    }

    /// `interval '1' day`.
    pub(super) fn interval(&mut self, interval: &Interval) -> SqlResult<BoundExpr> {
        let Expr::Value(value) = &*interval.value else {
            return Err(SqlError::not_supported("an interval of what is no literal"));
        };
        let text = self.value(value)?;
        let digits = interval.fractional_seconds_precision.or(interval.leading_precision);
        let words = match (&interval.leading_field, &interval.last_field) {
            (Some(first), Some(last)) => Some(format!("{first} TO {last}")),
            (Some(only), None) => Some(only.to_string()),
            (None, _) => None,
        };
        let typmod = match (words, digits) {
            (None, None) => -1,
            (None, digits) => TimeLimits::interval(IntervalFields::ALL, digits).modifier(),
            (Some(words), digits) => match IntervalFields::named(&words) {
                Some(fields) => TimeLimits::interval(fields, digits).modifier(),
                None => return Err(SqlError::not_supported(format!("type interval {words}"))),
            },
        };
        self.cast_explicitly(text, oids::INTERVAL, typmod, Place::NOWHERE)
    }

    /// CURRENT_ROLE and CURRENT_SCHEMA, which the parser takes for names.
    pub(super) fn word_without_parentheses(&self, ident: &Ident, place: Place) -> Option<BoundExpr> {
        if ident.quote_style.is_some() {
            return None;
        }
        let is = |word: &str| ident.value.eq_ignore_ascii_case(word);
        let word = match () {
            () if is("current_role") => ValueWord::CurrentRole,
            () if is("current_schema") => ValueWord::CurrentSchema,
            () => return None,
        };
        Some(self.value_word(word, -1, place))
    }

    pub(super) fn value_word(&self, word: ValueWord, typmod: i32, place: Place) -> BoundExpr {
        let oid = match word {
            ValueWord::CurrentDate => oids::DATE,
            ValueWord::CurrentTime => oids::TIMETZ,
            ValueWord::CurrentTimestamp => oids::TIMESTAMPTZ,
            ValueWord::LocalTime => oids::TIME,
            ValueWord::LocalTimestamp => oids::TIMESTAMP,
            _ => oids::NAME,
        };
        BoundExpr::new(ExprKind::Word(word), self.lookup.of_type(oid, typmod), place)
    }
}

/// The text of a string literal.
pub(super) fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) | Value::UnicodeStringLiteral(text) => {
            Some(text)
        }
        Value::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

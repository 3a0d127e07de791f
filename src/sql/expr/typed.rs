//! The type of a value: PostgreSQL's, and the Arrow layout it has here.
//!
//! They differ in numerics. PostgreSQL's know for each value how many digits there are behind the point; a column here has
//! one scale. So an expression of numerics gets a scale that holds every result, and says in its field (as plain
//! `numeric`) when the digits shown are to be as many as a value needs.

use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use tablegate_types::sql_type::{BARE_NUMERIC_SCALE, SqlType, TYPE_KEY};

/// Most digits of a numeric.
const MAX_PRECISION: u8 = 76;
const DECIMAL128_PRECISION: u8 = 38;
/// Digits behind the point that a quotient keeps when not all can be kept.
const QUOTIENT_SCALE: u8 = 36;
/// Significant digits of a quotient.
const SIGNIFICANT_DIGITS: u8 = 16;
/// Decimal digits in one digit of PostgreSQL's numeric: it rounds scales up to whole ones.
const GROUP: u8 = 4;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ValueType {
    pub sql_type: SqlType,
    pub data_type: DataType,
}

impl ValueType {
    pub(super) fn of(sql_type: SqlType) -> Self {
        let data_type = sql_type.arrow();
        Self { sql_type, data_type }
    }

    /// The type of a field; NULL alone has none.
    pub(super) fn of_field(field: &Field) -> Self {
        let sql_type = match field.data_type() {
            DataType::Null => SqlType::Unknown,
            _ => SqlType::of_field(field),
        };
        Self { sql_type, data_type: field.data_type().clone() }
    }

    pub(super) fn boolean() -> Self {
        Self::of(SqlType::Bool)
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.sql_type == SqlType::Unknown
    }

    /// A field of this type, which says what Arrow's type does not.
    pub(super) fn field(&self, name: &str, nullable: bool) -> Field {
        let field = Field::new(name, self.data_type.clone(), nullable);
        if SqlType::of_arrow(&self.data_type) == self.sql_type {
            return field;
        }
        field.with_metadata([(TYPE_KEY.to_owned(), self.sql_type.tag())].into())
    }

    /// Whether a field of the Arrow type alone says all.
    pub(super) fn is_obvious(&self) -> bool {
        SqlType::of_arrow(&self.data_type) == self.sql_type
    }
}

/// How many digits the values of a numeric have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Digits before the point.
    pub whole: u8,
    /// Digits behind the point.
    pub scale: u8,
    /// All digits behind the point are shown, zeros too.
    pub fixed: bool,
}

impl Shape {
    const fn new(whole: u8, scale: u8) -> Self {
        Self { whole, scale, fixed: true }
    }

    /// Of the values of an integer or numeric type; `None` for others.
    pub(super) fn of(value_type: &ValueType) -> Option<Self> {
        Some(match &value_type.sql_type {
            SqlType::Int2 => Shape::new(5, 0),
            SqlType::Int4 => Shape::new(10, 0),
            SqlType::Int8 => Shape::new(19, 0),
            SqlType::Numeric(declared) => {
                let (precision, scale) = digits_of(&value_type.data_type)?;
                let scale = u8::try_from(scale).unwrap_or(0);
                Shape { whole: precision.saturating_sub(scale), scale, fixed: declared.is_some() }
            }
            _ => return None,
        })
    }

    /// Of numeric without precision.
    pub(super) fn bare() -> Self {
        let scale = bare_scale();
        Self { whole: MAX_PRECISION - scale, scale, fixed: false }
    }

    /// Of one integer.
    pub(super) fn of_integer(value: i64) -> Self {
        let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
        Shape::new(u8::try_from(digits).unwrap_or(MAX_PRECISION), 0)
    }

    /// Of a constant; `None` for what is not an integer.
    pub(super) fn of_literal(value: &ScalarValue) -> Option<Self> {
        match value {
            ScalarValue::Int16(Some(value)) => Some(Shape::of_integer((*value).into())),
            ScalarValue::Int32(Some(value)) => Some(Shape::of_integer((*value).into())),
            ScalarValue::Int64(Some(value)) => Some(Shape::of_integer(*value)),
            _ => None,
        }
    }

    pub(super) fn value_type(self) -> ValueType {
        let precision = (self.whole + self.scale).max(1);
        let scale = self.scale.cast_signed();
        let data_type = match precision {
            ..=DECIMAL128_PRECISION => DataType::Decimal128(precision, scale),
            _ => DataType::Decimal256(precision, scale),
        };
        let sql_type = if self.fixed { SqlType::Numeric(Some((precision, scale))) } else { SqlType::Numeric(None) };
        // Its layout is that of numeric without precision, whose digits are shown as needed.
        let sql_type =
            if SqlType::of_arrow(&data_type) == SqlType::Numeric(None) { SqlType::Numeric(None) } else { sql_type };
        ValueType { sql_type, data_type }
    }

    /// The type of quotients with so many digits.
    pub(super) fn quotient_type(self) -> ValueType {
        ValueType { sql_type: SqlType::Quotient, ..self.value_type() }
    }

    /// One that holds the values of both.
    pub(super) fn union(self, other: Self) -> Self {
        let fixed = self.fixed && other.fixed && self.scale == other.scale;
        Self::fitted(self.whole.max(other.whole), self.scale.max(other.scale), fixed, bare_scale())
    }

    /// One that holds the values, and numbers that are written out: shown as the values are, if they have as many digits.
    pub(super) fn with_literals(self, literals: Self) -> Self {
        let fixed = self.fixed && literals.scale <= self.scale;
        Self::fitted(self.whole.max(literals.whole), self.scale.max(literals.scale), fixed, bare_scale())
    }

    /// Of sums and differences.
    pub(super) fn sum(self, other: Self) -> Self {
        let fixed = self.fixed && other.fixed;
        Self::fitted(self.whole.max(other.whole) + 1, self.scale.max(other.scale), fixed, bare_scale())
    }

    pub(super) fn product(self, other: Self) -> Self {
        let fixed = self.fixed && other.fixed;
        Self::fitted(self.whole + other.whole, self.scale + other.scale, fixed, bare_scale())
    }

    pub(super) fn remainder(self, other: Self) -> Self {
        let fixed = self.fixed && other.fixed;
        // No shorter than the operands: they are computed with at the same width.
        Self::fitted(self.whole.max(other.whole), self.scale.max(other.scale), fixed, bare_scale())
    }

    /// Of quotients, with the digits that PostgreSQL gives the smallest one.
    pub(super) fn quotient(self, divisor: Self) -> Self {
        let zeros = self.scale + divisor.whole;
        let groups = zeros.div_ceil(GROUP) + 1;
        let scale = (SIGNIFICANT_DIGITS + GROUP * groups).max(self.scale).max(divisor.scale);
        Self::fitted(self.whole + divisor.scale, scale, false, QUOTIENT_SCALE)
    }

    /// With as many digits behind the point as there is room for, but not fewer than `kept` of them.
    fn fitted(whole: u8, scale: u8, fixed: bool, kept: u8) -> Self {
        if whole + scale <= MAX_PRECISION {
            return Self { whole, scale, fixed };
        }
        let scale = MAX_PRECISION.saturating_sub(whole).max(kept.min(scale));
        Self { whole: MAX_PRECISION - scale, scale, fixed: false }
    }
}

const fn bare_scale() -> u8 {
    BARE_NUMERIC_SCALE.cast_unsigned()
}

/// Precision and scale of a decimal layout.
pub(super) fn digits_of(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => Some((*p, *s)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(whole: u8, scale: u8) -> Shape {
        Shape::new(whole, scale)
    }

    #[test]
    fn arithmetic_keeps_all_digits_where_there_is_room() {
        assert_eq!(shape(10, 2).sum(shape(1, 4)), shape(11, 4));
        assert_eq!(shape(10, 2).product(shape(1, 4)), shape(11, 6));
        assert_eq!(shape(10, 2).remainder(shape(1, 4)), shape(10, 4));
        assert_eq!(shape(1, 0).quotient(shape(1, 0)), Shape { whole: 1, scale: 24, fixed: false });
    }

    #[test]
    fn what_has_no_room_loses_digits_behind_the_point() {
        let bare = Shape { whole: 56, scale: 20, fixed: false };
        assert_eq!(bare.sum(bare), bare);
        assert_eq!(bare.product(bare), bare);
        assert_eq!(bare.quotient(bare), Shape { whole: 40, scale: 36, fixed: false });
        assert_eq!(shape(28, 10).product(shape(28, 10)), shape(56, 20));
    }

    #[test]
    fn fields_tell_the_shape() {
        for shape in [shape(3, 2), shape(40, 2), shape(1, 0).quotient(shape(1, 0)), shape(0, 3)] {
            let value_type = shape.value_type();
            let field = value_type.field("c", true);
            assert_eq!(ValueType::of_field(&field), value_type);
            assert_eq!(Shape::of(&value_type), Some(shape));
        }
    }
}

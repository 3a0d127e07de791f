//! Constants: what a literal without a type means where a type is asked for, and casts of constants, done while planning.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::metadata::FieldMetadata;
use datafusion::logical_expr::Expr;
use tablegate_types::conversion::is_text;
use tablegate_types::error::{ErrorKind, SqlResult};
use tablegate_types::input::{parse_text, parse_text_as};
use tablegate_types::sql_type::{SqlType, TYPE_KEY};
use tablegate_types::style::{Reading, Style, ambiguous};

use super::kernels::{Computation, RELABEL, convert};
use super::parameters::Parameters;
use super::typed::{Shape, ValueType};

/// Most digits of a constant numeric.
const MAX_DIGITS: usize = 76;

/// The constant as an expression whose type can be told from it. A text says that it is one, and so does a NULL: without
/// that they would be literals without a type.
pub(crate) fn literal(value: ScalarValue, sql_type: &SqlType) -> Expr {
    let obvious = SqlType::of_arrow(&value.data_type()) == *sql_type && !is_text(sql_type) && !value.is_null();
    let metadata = || FieldMetadata::from(std::collections::BTreeMap::from([(TYPE_KEY.to_owned(), sql_type.tag())]));
    Expr::Literal(value, (!obvious).then(metadata))
}

/// NULL of a type. A numeric gets the precision of plain `numeric`.
pub(super) fn null(value_type: &ValueType) -> SqlResult<Expr> {
    let null = literal(ScalarValue::try_from(&value_type.data_type)?, &value_type.sql_type);
    let has_precision = matches!(value_type.sql_type, SqlType::Numeric(Some(_)));
    Ok(if has_precision { Computation::call(&RELABEL, None, value_type.clone(), vec![null]) } else { null })
}

/// The value that the text of a literal stands for where a type is asked for. A length that was not declared does not
/// cut the value.
///
/// # Errors
/// The errors of the type's input function.
pub(super) fn read(text: &str, sql_type: &SqlType, reading: Reading) -> SqlResult<ScalarValue> {
    match sql_type {
        // Blanks at the end of a char(n) do not count.
        SqlType::Char(_) => Ok(ScalarValue::from(text.trim_end_matches(' '))),
        SqlType::Numeric(None) => read_numeric(text),
        _ => parse_text_as(sql_type, text, reading),
    }
}

/// As [`read`], as an expression: words like `now` are read when the statement runs.
///
/// # Errors
/// As [`read`].
pub(super) fn reading(text: &str, sql_type: &SqlType, parameters: &Parameters) -> SqlResult<Expr> {
    match read(text, sql_type, parameters.reading()) {
        Ok(value) => {
            if parameters.is_kept() {
                check_kept(text, sql_type, &value, parameters.reading().style)?;
            }
            Ok(literal(value, sql_type))
        }
        Err(error) if error.kind == ErrorKind::FeatureNotSupported && !parameters.is_kept() => {
            // Whether it can be read does not depend on the time.
            parse_text_as(sql_type, text, Reading { now: Some(0), ..parameters.reading() })?;
            let text = literal(text.into(), &SqlType::Text);
            Ok(Computation::reading(ValueType::of(sql_type.clone()), text))
        }
        Err(error) => Err(error),
    }
}

/// What is kept is read in the plain style by every session: it must mean the same in this one.
fn check_kept(text: &str, sql_type: &SqlType, value: &ScalarValue, style: Style) -> SqlResult<()> {
    if style == Style::PLAIN || read(text, sql_type, Reading::default()).is_ok_and(|plain| plain == *value) {
        return Ok(());
    }
    Err(ambiguous(&format!("\"{text}\""), sql_type))
}

/// A numeric with the digits it is written with.
fn read_numeric(text: &str) -> SqlResult<ScalarValue> {
    let shape = written_shape(text.trim()).unwrap_or(SqlType::Numeric(None));
    parse_text(&shape, text)
}

/// The type that holds exactly the digits of `-12.50`; `None` for other ways to write a number.
fn written_shape(text: &str) -> Option<SqlType> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let whole_digits = whole.trim_start_matches('0').len();
    let count = whole_digits + fraction.len();
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 || count > MAX_DIGITS {
        return None;
    }
    let (precision, scale) = (u8::try_from(count.max(1)).ok()?, i8::try_from(fraction.len()).ok()?);
    Some(SqlType::Numeric(Some((precision, scale))))
}

/// A constant as another type, as CAST gives it.
///
/// # Errors
/// The errors of CAST.
pub(super) fn cast(value: &ScalarValue, from: &SqlType, to: &ValueType, reading: Reading) -> SqlResult<ScalarValue> {
    let converted = convert(&value.to_array()?, from, to, reading)?;
    Ok(ScalarValue::try_from_array(&converted, 0)?)
}

/// A constant number as one of another Arrow type, if that holds it exactly.
pub(super) fn exactly(value: &ScalarValue, data_type: &DataType) -> Option<ScalarValue> {
    let target = SqlType::of_arrow(data_type);
    let from = SqlType::of_arrow(&value.data_type());
    Shape::of(&ValueType { sql_type: target.clone(), data_type: data_type.clone() })?;
    if value.is_null() || Shape::of(&ValueType { sql_type: from.clone(), data_type: value.data_type() }).is_none() {
        return None;
    }
    let to = ValueType { sql_type: target, data_type: data_type.clone() };
    let plain = Reading::default();
    let converted = cast(value, &from, &to, plain).ok().filter(|converted| converted.data_type() == *data_type)?;
    // What was rounded does not come back.
    let back =
        cast(&converted, &to.sql_type, &ValueType { sql_type: from, data_type: value.data_type() }, plain).ok()?;
    (back == *value).then_some(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerics_keep_the_digits_they_are_written_with() {
        assert_eq!(
            read("1.50", &SqlType::Numeric(None), Reading::default()).unwrap(),
            ScalarValue::Decimal128(Some(150), 3, 2)
        );
        assert_eq!(
            read("0.05", &SqlType::Numeric(None), Reading::default()).unwrap(),
            ScalarValue::Decimal128(Some(5), 2, 2)
        );
        assert_eq!(
            read(" -7 ", &SqlType::Numeric(None), Reading::default()).unwrap(),
            ScalarValue::Decimal128(Some(-7), 1, 0)
        );
        let bare = SqlType::Numeric(None).arrow();
        assert_eq!(read("1e3", &SqlType::Numeric(None), Reading::default()).unwrap().data_type(), bare);
        assert!(read("1.2.3", &SqlType::Numeric(None), Reading::default()).is_err());
    }

    #[test]
    fn constants_move_to_narrower_types_only_when_they_fit() {
        let five = ScalarValue::Int32(Some(5));
        assert_eq!(exactly(&five, &DataType::Int64), Some(ScalarValue::Int64(Some(5))));
        assert_eq!(exactly(&five, &DataType::Decimal128(12, 2)), Some(ScalarValue::Decimal128(Some(500), 12, 2)));
        let half = ScalarValue::Decimal128(Some(25), 2, 1);
        assert_eq!(exactly(&half, &DataType::Int32), None);
        assert_eq!(exactly(&half, &DataType::Float64), None);
        assert_eq!(exactly(&ScalarValue::Int64(Some(1 << 40)), &DataType::Int32), None);
    }
}

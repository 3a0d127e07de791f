//! From stored values, as the store hands them out, to SQL values.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, Float32Array, Int16Array, StringArray, UInt32Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt32Type};
use tablegate_store::table::{ColumnType, dictionary_texts, dictionary_type, text_for_each_row};

use crate::calendar::MICROS_PER_DAY;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::input::{ColumnParser, TextRule, is_own_jsonb};
use crate::sql_type::SqlType;

/// So many digits, with a point among them, fit 64 bits whatever they are.
pub(super) const PLAIN_CHARS_MAX: usize = 18;
/// Enough of a stored value to recognise it by.
const SHOWN_CHARS: usize = 64;

/// A stored column, of the type [`super::column_type`] asks for, as a column of SQL type `to`. Columns that need no
/// change are passed through.
///
/// # Errors
/// 22P02 for a stored value that is not one of the type.
pub fn to_sql(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    match array.data_type() {
        DataType::Utf8 => from_text(array, to),
        DataType::LargeUtf8 | DataType::Utf8View => from_text(&cast(array, &DataType::Utf8)?, to),
        same if *same == dictionary_type() => from_dictionary(array, to),
        same if *same == to.arrow() => Ok(array.clone()),
        DataType::Int32 if *to == SqlType::Int2 => {
            checked::<Int16Array, _>(array.as_primitive::<Int32Type>(), to, |v| i16::try_from(v).ok())
        }
        DataType::Int64 if *to == SqlType::Oid => {
            checked::<UInt32Array, _>(array.as_primitive::<Int64Type>(), to, |v| u32::try_from(v).ok())
        }
        DataType::Float64 if *to == SqlType::Float4 => {
            checked::<Float32Array, _>(array.as_primitive::<Float64Type>(), to, narrow)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => from_instants(array, to),
        _ => cast(array, &to.arrow()).map_err(|error| {
            SqlError::new(ErrorKind::StoredValueUnfit, format!("a stored value is not a value of type {to}"))
                .with_detail(error.to_string())
        }),
    }
}

/// Rounded to the nearest float4; `None` when it is beyond them.
pub(super) fn narrow(value: f64) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what float4 means")]
    let narrowed = value as f32;
    (narrowed.is_finite() || !value.is_finite()).then_some(narrowed)
}

/// Each value by a conversion that may refuse it.
fn checked<A, T>(
    values: &arrow::array::PrimitiveArray<T>,
    to: &SqlType,
    convert: impl Fn(T::Native) -> Option<<A as ArrayValues>::Value>,
) -> SqlResult<ArrayRef>
where
    T: arrow::datatypes::ArrowPrimitiveType,
    T::Native: std::fmt::Display,
    A: ArrayValues + FromIterator<Option<<A as ArrayValues>::Value>> + Array + 'static,
{
    let convert = |value: Option<T::Native>| match value {
        Some(value) => convert(value).map(Some).ok_or_else(|| not_of_type(&value.to_string(), to)),
        None => Ok(None),
    };
    Ok(Arc::new(values.iter().map(convert).collect::<SqlResult<A>>()?))
}

/// The native values an array is made of.
trait ArrayValues {
    type Value;
}

impl<T: arrow::datatypes::ArrowPrimitiveType> ArrayValues for arrow::array::PrimitiveArray<T> {
    type Value = T::Native;
}

fn from_instants(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let bare = to.bare();
    let instants = array.as_primitive::<TimestampMicrosecondType>();
    match &*bare {
        SqlType::Timestamp => Ok(Arc::new(instants.clone().with_timezone_opt(None::<Arc<str>>))),
        SqlType::Timestamptz => Ok(Arc::new(instants.clone().with_timezone("UTC"))),
        SqlType::Date => {
            let day = |micros: i64| {
                let whole = micros.rem_euclid(MICROS_PER_DAY) == 0;
                whole.then(|| i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()).flatten()
            };
            // What stands in the place of a NULL may be no day.
            let all: Option<Vec<i32>> = instants.values().iter().map(|micros| day(*micros)).collect();
            if let Some(all) = all {
                return Ok(Arc::new(Date32Array::new(all.into(), instants.nulls().cloned())));
            }
            let days = instants.iter().map(|micros| match micros {
                Some(micros) => {
                    let refused = || {
                        not_of_type(
                            &tablegate_store::model::EdmDateTime::from_unix_micros_saturating(micros).to_string(),
                            to,
                        )
                    };
                    day(micros).map(Some).ok_or_else(refused)
                }
                None => Ok(None),
            });
            Ok(Arc::new(days.collect::<SqlResult<Date32Array>>()?))
        }
        _ => Ok(cast(array, &to.arrow())?),
    }
}

/// Whether values of this type are stored as texts, each of which is looked at when it is read.
pub fn is_read_from_text(to: &SqlType) -> bool {
    let is_any = matches!(TextRule::of(to), Some(TextRule::Any | TextRule::Name | TextRule::InternalChar));
    super::column_type(to) == ColumnType::Text && !is_any
}

fn from_text(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let texts = array.as_string::<i32>();
    if let DataType::Decimal128(precision, scale) = to.arrow()
        && let Some(numbers) = plain_numbers(texts, precision, scale)
    {
        return Ok(numbers);
    }
    match TextRule::of(to) {
        Some(TextRule::Any | TextRule::Name | TextRule::InternalChar) => Ok(array.clone()),
        // Checked, but the same texts: unless one of them is not in the type's own form.
        Some(rule) if has_own_form(texts, rule, to)? => Ok(array.clone()),
        _ => parsed(texts, to),
    }
}

/// Numbers that are written plainly, as they are saved: read without a look at each character's meaning. `None` when there
/// is another one among them.
fn plain_numbers(texts: &StringArray, precision: u8, scale: i8) -> Option<ArrayRef> {
    let scale = usize::try_from(scale).ok()?;
    let bound = 10_i64.checked_pow(precision.into()).unwrap_or(i64::MAX);
    let (bytes, nulls) = (texts.value_data(), texts.nulls());
    let number = |(row, ends): (usize, &[i32])| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Some(0);
        }
        let (from, to) = (usize::try_from(ends[0]).ok()?, usize::try_from(ends[1]).ok()?);
        plain_number(bytes.get(from..to)?, scale).filter(|number| number.abs() < bound).map(i128::from)
    };
    let numbers: Option<Vec<i128>> = texts.value_offsets().windows(2).enumerate().map(number).collect();
    let array = Decimal128Array::new(numbers?.into(), nulls.cloned());
    Some(Arc::new(array.with_precision_and_scale(precision, i8::try_from(scale).ok()?).ok()?))
}

/// `-12.5` in units of the scale: digits before a point, and no more behind it than the scale has.
pub(super) fn plain_number(text: &[u8], scale: usize) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut number = 0_i64;
    let mut behind_point = None;
    if digits.len() > PLAIN_CHARS_MAX || scale > PLAIN_CHARS_MAX || !digits.first()?.is_ascii_digit() {
        return None;
    }
    for &digit in digits {
        match digit {
            b'0'..=b'9' => {
                number = number * 10 + i64::from(digit - b'0');
                behind_point = behind_point.map(|count| count + 1);
            }
            b'.' if behind_point.is_none() => behind_point = Some(0),
            _ => return None,
        }
    }
    let missing = scale.checked_sub(behind_point.unwrap_or(0))?;
    for _ in 0..missing {
        number = number.checked_mul(10)?;
    }
    Some(if is_negative { -number } else { number })
}

/// Whether every text is the type's own form of its value.
fn has_own_form(texts: &StringArray, rule: TextRule, to: &SqlType) -> SqlResult<bool> {
    if is_plainly_own(texts, rule) {
        return Ok(true);
    }
    for text in texts.iter().flatten() {
        if !is_own_form(text, rule, to)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a text is as the type makes it.
///
/// # Errors
/// 22P02 when it is not one of the type.
pub(super) fn is_own_form(text: &str, rule: TextRule, to: &SqlType) -> SqlResult<bool> {
    if rule == TextRule::Jsonb && is_own_jsonb(text) {
        return Ok(true);
    }
    let own = rule.apply(text).map_err(|error| not_of_type(text, to).with_detail(error.message))?;
    Ok(*own == *text)
}

/// Texts as a dictionary, of which each that a row has is looked at once.
fn from_dictionary(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let dictionary = array.as_dictionary::<UInt32Type>();
    let texts = dictionary.values().as_string::<i32>();
    let rule = match TextRule::of(to) {
        Some(TextRule::Any) => return Ok(array.clone()),
        Some(rule) => rule,
        None => return Err(SqlError::new(ErrorKind::Internal, format!("{to} has no dictionaries"))),
    };
    let mut seen = vec![false; texts.len()];
    for key in dictionary.keys().iter().flatten() {
        let place = key as usize;
        if !std::mem::replace(&mut seen[place], true)
            && texts.is_valid(place)
            && !is_own_form(texts.value(place), rule, to)?
        {
            let rows = parsed(dictionary_texts(dictionary)?.as_string(), to)?;
            return Ok(text_for_each_row(rows)?);
        }
    }
    Ok(array.clone())
}

/// The same, decided from lengths in bytes and last characters alone: false where these do not suffice to decide.
fn is_plainly_own(texts: &StringArray, rule: TextRule) -> bool {
    let (length, is_padded) = match rule {
        TextRule::Varchar(length) => (length, false),
        TextRule::Char(length) => (length, true),
        _ => return false,
    };
    let (bytes, ends) = (texts.value_data(), texts.value_offsets());
    let place = |end: i32| usize::try_from(end).unwrap_or_default();
    let (from, to) = (place(ends[0]), place(ends[ends.len() - 1]));
    !bytes[from..to].contains(&0)
        && ends.windows(2).all(|pair| {
            let (from, to) = (place(pair[0]), place(pair[1]));
            to - from <= length as usize && !(is_padded && to > from && bytes[to - 1] == b' ')
        })
}

fn parsed(texts: &StringArray, to: &SqlType) -> SqlResult<ArrayRef> {
    let mut column = ColumnParser::new(to);
    for text in texts {
        match text {
            Some(text) => {
                column.push_stored(text).map_err(|error| not_of_type(text, to).with_detail(error.message))?;
            }
            None => column.push(None)?,
        }
    }
    Ok(column.finish())
}

/// The error of a stored value that a column of this type does not show.
pub fn not_of_type(value: &str, to: &SqlType) -> Box<SqlError> {
    let shown: String = value.chars().take(SHOWN_CHARS).collect();
    let message = format!("stored value \"{shown}\" is not a value of type {to}");
    SqlError::new(ErrorKind::StoredValueUnfit, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::table::texts_of_rows;

    fn slowly(texts: &StringArray, to: &SqlType) -> Option<ArrayRef> {
        parsed(texts, to).ok()
    }

    #[test]
    fn plain_numbers_are_those_that_the_parser_reads() {
        let forms =
            ["0.00", "17.00", "-0.05", "901.10", "5", "-12.5", "9999999999999.99", "-9999999999999.99", "007.1"];
        let array = StringArray::from_iter(forms.iter().map(|text| Some(*text)).chain([None]));
        let numeric = SqlType::Numeric(Some((15, 2)));
        let plain = plain_numbers(&array, 15, 2).unwrap();
        assert_eq!(Some(plain), slowly(&array, &numeric));
        // The same of a slice.
        let slice = array.slice(3, 5);
        assert_eq!(plain_numbers(&slice, 15, 2), slowly(&slice, &numeric));
    }

    #[test]
    fn other_forms_are_left_to_the_parser() {
        for text in ["", "-", ".", ".5", "+1", "1e3", "1.234", " 1", "1,0", "1.2.3", "NaN", "10000000000000", "--1"] {
            assert_eq!(plain_numbers(&StringArray::from(vec![text]), 15, 2), None, "{text}");
        }
        // A precision that 64 bits do not hold, and texts that they do.
        let wide = StringArray::from(vec!["123456789012345.67", "-0.01"]);
        assert_eq!(plain_numbers(&wide, 38, 2), slowly(&wide, &SqlType::Numeric(Some((38, 2)))));
    }

    #[test]
    fn texts_are_their_own_form_unless_something_is_to_be_cut() {
        let texts = |list: &[&str]| StringArray::from(list.to_vec());
        assert!(is_plainly_own(&texts(&["ab", "", "a c"]), TextRule::Char(3)));
        assert!(!is_plainly_own(&texts(&["ab "]), TextRule::Char(3)));
        assert!(is_plainly_own(&texts(&["ab "]), TextRule::Varchar(3)));
        assert!(!is_plainly_own(&texts(&["abcd"]), TextRule::Varchar(3)));
        assert!(!is_plainly_own(&texts(&["a\0"]), TextRule::Varchar(3)));
        assert!(is_plainly_own(&texts(&["abcd", "ab"]).slice(1, 1), TextRule::Varchar(3)));
    }

    #[test]
    fn of_a_dictionary_those_texts_are_looked_at_that_rows_have() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), Some("abcd"), Some("c "), None]));
        let array = |keys: &[Option<u32>]| texts_of_rows(keys.iter().copied().collect(), Arc::clone(&texts)).unwrap();
        let shown = |array: &ArrayRef, to: &SqlType| {
            to_sql(array, to).map(|array| dictionary_texts(array.as_dictionary()).unwrap().as_string().clone())
        };
        let plain = array(&[Some(0), None, Some(0), Some(3)]);
        assert!(Arc::ptr_eq(&to_sql(&plain, &SqlType::Varchar(Some(3))).unwrap(), &plain));
        let padded = array(&[Some(2), None, Some(0), Some(2), Some(3)]);
        let trimmed = StringArray::from(vec![Some("c"), None, Some("ab"), Some("c"), None]);
        assert_eq!(shown(&padded, &SqlType::Char(3)).unwrap(), trimmed);
        assert!(Arc::ptr_eq(&to_sql(&padded, &SqlType::Text).unwrap(), &padded));
        let error = shown(&array(&[Some(0), Some(1)]), &SqlType::Varchar(Some(3))).unwrap_err();
        assert_eq!(error.message, "stored value \"abcd\" is not a value of type character varying(3)");
    }

    #[test]
    fn days_are_whole_also_where_a_null_is_none() {
        use arrow::array::TimestampMicrosecondArray;
        use arrow::buffer::NullBuffer;
        let day = MICROS_PER_DAY;
        let instants =
            TimestampMicrosecondArray::new(vec![day, -day, 5].into(), Some(NullBuffer::from(vec![true, true, false])));
        let array: ArrayRef = Arc::new(instants.with_timezone("UTC"));
        let days = to_sql(&array, &SqlType::Date).unwrap();
        assert_eq!(
            days.as_primitive::<arrow::datatypes::Date32Type>(),
            &Date32Array::from(vec![Some(1), Some(-1), None])
        );
        let broken: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![day, 5]).with_timezone("UTC"));
        assert!(to_sql(&broken, &SqlType::Date).is_err());
    }
}

//! `to_char` of numbers, and `to_number`.
//!
//! What is placed into the template differs by type, as in PostgreSQL: integers get zeros behind the point, a `numeric` is
//! rounded to it, a float shows no more digits than it has.

use std::fmt::Write as _;

use arrow::array::ArrayRef;
use arrow::datatypes::{Float32Type, Float64Type, Int32Type, Int64Type, i256};
use datafusion_common::ScalarValue;

use super::Latest;
use super::number_patterns::NumberTemplate;
use super::number_reader::read_number;
use super::number_writer::{Digits, write_number, write_roman};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Type::{Float4, Float8, Int4, Int8, Numeric, Text};
use crate::functions::signature::{Arguments, Overload};
use crate::input;
use crate::output::{ShownDigits, write_decimal};
use crate::sql_type::SqlType;

/// Digits of a double precision and of a real that mean something.
const FLOAT8_DIGITS: usize = 15;
const FLOAT4_DIGITS: usize = 6;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("to_char", &[Int4, Text], Text, |call| {
        let values = call.primitive::<Int32Type>(0)?;
        written(call, |row, template, out| integer(values.at(row).into(), template, "integer", out))
    })
    .stable(),
    Overload::new("to_char", &[Int8, Text], Text, |call| {
        let values = call.primitive::<Int64Type>(0)?;
        written(call, |row, template, out| integer(values.at(row), template, "bigint", out))
    })
    .stable(),
    Overload::new("to_char", &[Numeric, Text], Text, |call| {
        let values = call.decimals(0)?;
        written(call, |row, template, out| decimal(values.at(row), values.scale, template, out))
    })
    .stable(),
    Overload::new("to_char", &[Float4, Text], Text, |call| {
        let values = call.primitive::<Float32Type>(0)?;
        written(call, |row, template, out| float(values.at(row).into(), FLOAT4_DIGITS, template, out))
    })
    .stable(),
    Overload::new("to_char", &[Float8, Text], Text, |call| {
        let values = call.primitive::<Float64Type>(0)?;
        written(call, |row, template, out| float(values.at(row), FLOAT8_DIGITS, template, out))
    })
    .stable(),
    Overload::new("to_number", &[Text, Text], Numeric, to_number).sized(number_size).stable(),
];

fn written(call: &Call, write: impl Fn(usize, &NumberTemplate, &mut String) -> SqlResult<()>) -> SqlResult<ArrayRef> {
    let templates = call.text(1)?;
    let mut latest = Latest::<NumberTemplate>::new();
    let mut text = String::new();
    call.texts(|row, out| {
        text.clear();
        write(row, latest.of(templates.at(row), NumberTemplate::parse)?, &mut text)?;
        out.push_str(&text);
        Ok(())
    })
}

/// # Errors
/// 22003 beyond an `integer`, as which PostgreSQL writes it.
fn roman(value: Option<i64>, template: &NumberTemplate, out: &mut String) -> SqlResult<()> {
    let value = value.filter(|value| i32::try_from(*value).is_ok());
    let value = value.ok_or_else(|| SqlError::new(ErrorKind::NumericOutOfRange, "integer out of range"))?;
    write_roman(value, template, out);
    Ok(())
}

fn integer(value: i64, template: &NumberTemplate, sql_type: &str, out: &mut String) -> SqlResult<()> {
    if template.roman {
        return roman(Some(value), template, out);
    }
    if template.exponent {
        #[expect(clippy::cast_precision_loss, reason = "PostgreSQL writes it as a double")]
        scientific(&format!("{:.*e}", template.behind, value as f64), out);
        return Ok(());
    }
    let shifted = u32::try_from(template.shift).ok().and_then(|shift| 10_i64.checked_pow(shift));
    let shifted = shifted.and_then(|factor| value.checked_mul(factor));
    let value =
        shifted.ok_or_else(|| SqlError::new(ErrorKind::NumericOutOfRange, format!("{sql_type} out of range")))?;
    let mut text = value.to_string();
    if template.behind > 0 {
        text.push('.');
        (0..template.behind).for_each(|_| text.push('0'));
    }
    write_number(&Digits::of(&text, template, template.behind), template, out);
    Ok(())
}

fn decimal(value: i256, scale: i8, template: &NumberTemplate, out: &mut String) -> SqlResult<()> {
    const PRECISION_MAX: u8 = 76;
    let rounded = |places: i8| input::Digits::of(Some((PRECISION_MAX, places))).rescale(value, scale);
    if template.roman {
        let whole = rounded(0)?.to_i128().and_then(|whole| i64::try_from(whole).ok());
        return roman(whole, template, out);
    }
    let mut text = String::new();
    if template.exponent {
        // Writing to memory does not fail.
        let _ = write_decimal(&mut text, value, scale, ShownDigits::All);
        scientific(&decimal_exponent(&text, template.behind), out);
        return Ok(());
    }
    let shift = i8::try_from(template.shift).unwrap_or(i8::MAX);
    // More digits behind the point than a numeric has are zeros.
    let places = i8::try_from(template.behind).unwrap_or(i8::MAX).min(scale.max(0));
    let moved = input::Digits::of(Some((PRECISION_MAX, places))).rescale(value, scale.saturating_sub(shift))?;
    let _ = write_decimal(&mut text, moved, places, ShownDigits::All);
    if template.behind > usize::from(places.unsigned_abs()) {
        if places == 0 {
            text.push('.');
        }
        (usize::from(places.unsigned_abs())..template.behind).for_each(|_| text.push('0'));
    }
    write_number(&Digits::of(&text, template, template.behind), template, out);
    Ok(())
}

/// `-12.5` as `-1.25e+01`, rounded half away from zero.
fn decimal_exponent(text: &str, behind: usize) -> String {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = [whole, fraction].concat();
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    let significant = digits.trim_start_matches('0');
    let exponent = i64::try_from(whole.len()).unwrap_or(0) - i64::try_from(zeros).unwrap_or(0) - 1;
    if significant.is_empty() {
        return format!("{sign}{}e+00", with_point("0", behind));
    }
    let mut kept: Vec<u8> = significant.bytes().chain(std::iter::repeat(b'0')).take(behind + 1).collect();
    let carried = significant.as_bytes().get(behind + 1).is_some_and(|next| *next >= b'5') && carry(&mut kept);
    let kept: String = kept.into_iter().map(char::from).collect();
    let mark = if exponent < 0 { '-' } else { '+' };
    // PostgreSQL keeps the exponent: 99.99 is 10.0e+01.
    let front = if carried { "1" } else { "" };
    format!("{sign}{front}{}e{mark}{:02}", with_point(&kept, behind), exponent.unsigned_abs())
}

/// Adds one to the last digit; whether it went beyond the first.
fn carry(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return false;
        }
        *digit = b'0';
    }
    true
}

fn with_point(digits: &str, behind: usize) -> String {
    let (first, rest) = digits.split_at(1);
    if behind == 0 {
        first.to_owned()
    } else {
        format!("{first}.{rest}{}", "0".repeat(behind.saturating_sub(rest.len())))
    }
}

/// With an exponent and so many digits behind the point, however many: from some place on all of them are zeros.
fn exponential(value: f64, behind: usize) -> String {
    const MOST_DIGITS: usize = 1_100;
    let text = format!("{value:.*e}", behind.min(MOST_DIGITS));
    match text.split_once('e') {
        Some((mantissa, exponent)) if behind > MOST_DIGITS => {
            format!("{mantissa}{}e{exponent}", "0".repeat(behind - MOST_DIGITS))
        }
        _ => text,
    }
}

/// Rust's `1.5e7` and `1.5e-7` as C writes them, a blank standing for the plus sign.
fn scientific(text: &str, out: &mut String) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    if !mantissa.starts_with('-') {
        out.push(' ');
    }
    let (mark, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent.trim_start_matches('+')),
    };
    // Writing to memory does not fail.
    let _ = write!(out, "{mantissa}e{mark}{digits:0>2}");
}

fn float(value: f64, significant: usize, template: &NumberTemplate, out: &mut String) -> SqlResult<()> {
    if template.roman {
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates beyond what has Roman digits")]
        write_roman(value.round_ties_even() as i64, template, out);
        return Ok(());
    }
    if template.exponent {
        if value.is_finite() {
            scientific(&exponential(value, template.behind), out);
        } else {
            // As wide as a number would be.
            let _ = write!(out, " {}.{}", "#".repeat(template.before), "#".repeat(template.behind + 4));
        }
        return Ok(());
    }
    let power = i32::try_from(template.shift).unwrap_or(i32::MAX);
    let value = if template.shifts { value * 10_f64.powi(power) } else { value };
    if !value.is_finite() {
        let text = if value.is_nan() {
            "NaN"
        } else if value < 0.0 {
            "-Infinity"
        } else {
            "Infinity"
        };
        write_number(&Digits::of(text, template, 0), template, out);
        return Ok(());
    }
    let whole = format!("{:.0}", value.abs()).len();
    let behind = template.behind.min(significant.saturating_sub(whole));
    write_number(&Digits::of(&format!("{value:.behind$}"), template, behind), template, out);
    Ok(())
}

/// The number with its scale, in the digits of a numeric.
fn parsed(text: &str, template: &NumberTemplate, digits: input::Digits) -> SqlResult<i256> {
    let number = read_number(text, template)?;
    let shifted = format!("{}e-{}", number.trim_start(), template.shift);
    if number.trim().is_empty() {
        let message = format!("invalid input syntax for type numeric: \"{number}\"");
        return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, message));
    }
    check_places(number.trim_start(), template)?;
    digits.parse(if template.shift == 0 { number.trim_start() } else { &shifted })
}

/// # Errors
/// 22003 for a number that has more digits before its point than its template has places for.
fn check_places(number: &str, template: &NumberTemplate) -> SqlResult<()> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (places, scale) = (template.before + template.shift, fraction.len());
    if whole.trim_start_matches(['-', '+', '0']).len() <= places {
        return Ok(());
    }
    let (precision, scale) = (u8::try_from(places + scale), i8::try_from(scale));
    Err(input::Digits::of(Some((precision.unwrap_or(u8::MAX), scale.unwrap_or(i8::MAX)))).overflow())
}

fn to_number(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, templates) = (call.text(0)?, call.text(1)?);
    let mut latest = Latest::<NumberTemplate>::new();
    call.decimal_results(|row, digits| {
        parsed(texts.at(row), latest.of(templates.at(row), NumberTemplate::parse)?, digits)
    })
}

/// As many digits behind the point as were read, when both arguments are constants.
#[expect(clippy::unnecessary_wraps, reason = "the shape that Overload::sized asks for")]
fn number_size(arguments: &Arguments<'_>) -> SqlResult<SqlType> {
    let text = |index| arguments.constant(index).and_then(ScalarValue::try_as_str).flatten();
    let scale = text(0).zip(text(1)).and_then(|(text, template)| {
        // What fails here fails when it is evaluated.
        let template = NumberTemplate::parse(template).ok()?;
        let number = read_number(text, &template).ok()?;
        let read = number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        // A moved point makes a product with a power of ten, which has 16 digits.
        i8::try_from(if template.shifts { read + 16 } else { read }).ok()
    });
    Ok(SqlType::Numeric(scale.map(|scale| (76, scale))))
}

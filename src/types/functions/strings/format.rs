//! `format('%s %I %L %1$s')`.

use arrow::array::ArrayRef;

use super::concat::Printed;
use super::quote::quote_literal;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Any, Text};
use crate::functions::text_writer::TextWriter;
use crate::quoting::quote_ident;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("format", &[Text], Text, format).of_nulls().stable(),
    Overload::new("format", &[Text, Any], Text, format).variadic().of_nulls().stable(),
];

fn format(call: &Call) -> SqlResult<ArrayRef> {
    let templates = call.text(0)?;
    let values: Vec<Printed<'_>> =
        call.arguments.iter().skip(1).map(|argument| Printed::of(argument, call.style())).collect();
    let mut scratch = String::new();
    call.maybe_texts(|row, out| {
        let Some(template) = templates.get(row) else { return Ok(false) };
        let mut values = RowValues { values: &values, row, next: 0, scratch: &mut scratch };
        fill(template, &mut values, out).map(|()| true)
    })
}

/// The values of one row, taken in order or by number.
struct RowValues<'a> {
    values: &'a [Printed<'a>],
    row: usize,
    /// Place of the next one in order.
    next: usize,
    scratch: &'a mut String,
}

impl RowValues<'_> {
    /// The text of the value of this number, else of the next one; `None` for NULL.
    fn take(&mut self, number: Option<usize>) -> SqlResult<Option<&str>> {
        let place = number.map_or(self.next, |number| number - 1);
        let value = self.values.get(place).ok_or_else(|| invalid("too few arguments for format()"))?;
        self.next = place + 1;
        self.scratch.clear();
        Ok(value.write(self.row, self.scratch).then_some(self.scratch.as_str()))
    }
}

/// What stands between `%` and the letter.
#[derive(Default)]
struct Spec {
    number: Option<usize>,
    left: bool,
    width: usize,
}

fn fill(template: &str, values: &mut RowValues<'_>, out: &mut TextWriter) -> SqlResult<()> {
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(behind) = behind.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let mut behind = behind;
        let spec = spec(&mut behind, values)?;
        let mut letters = behind.chars();
        let letter = letters.next().ok_or_else(unterminated)?;
        rest = letters.as_str();
        if !matches!(letter, 's' | 'I' | 'L') {
            return Err(invalid(format!("unrecognized format() type specifier \"{letter}\"")).with_hint(HINT));
        }
        write_value(letter, &spec, values.take(spec.number)?, out)?;
    }
    out.push_str(rest);
    Ok(())
}

fn write_value(letter: char, spec: &Spec, value: Option<&str>, out: &mut TextWriter) -> SqlResult<()> {
    let quoted = match (letter, value) {
        ('I', None) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(SqlError::new(ErrorKind::NullValueNotAllowed, message));
        }
        ('I', Some(value)) => Some(quote_ident(value)),
        ('L', value) => Some(value.map_or("NULL".to_owned(), quote_literal)),
        _ => None,
    };
    let text = quoted.as_deref().or(value).unwrap_or_default();
    let missing = spec.width.saturating_sub(text.chars().count());
    out.reserve(missing)?;
    let blanks = || std::iter::repeat_n(' ', missing);
    if !spec.left {
        out.push_chars(blanks())?;
    }
    out.push_str(text);
    if spec.left {
        out.push_chars(blanks())?;
    }
    out.going_on()
}

/// Reads `2$`, `-`, and a width: digits, `*` or `*2$`.
fn spec(rest: &mut &str, values: &mut RowValues<'_>) -> SqlResult<Spec> {
    let mut spec = Spec::default();
    if let Some(number) = digits(rest)? {
        if let Some(behind) = rest.strip_prefix('$') {
            *rest = behind;
            spec.number = Some(argument_number(number)?);
        } else {
            spec.width = number;
            return if rest.is_empty() { Err(unterminated()) } else { Ok(spec) };
        }
    }
    while let Some(behind) = rest.strip_prefix('-') {
        *rest = behind;
        spec.left = true;
    }
    if let Some(behind) = rest.strip_prefix('*') {
        *rest = behind;
        let number = match digits(rest)? {
            Some(number) => {
                let Some(behind) = rest.strip_prefix('$') else {
                    return Err(invalid("width argument position must be ended by \"$\""));
                };
                *rest = behind;
                Some(argument_number(number)?)
            }
            None => None,
        };
        let width = computed_width(values.take(number)?)?;
        spec.left |= width < 0;
        spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
    } else if let Some(width) = digits(rest)? {
        spec.width = width;
    }
    Ok(spec)
}

fn computed_width(text: Option<&str>) -> SqlResult<i32> {
    let Some(text) = text else { return Ok(0) };
    text.trim().parse().map_err(|_| {
        let message = format!("invalid input syntax for type integer: \"{text}\"");
        SqlError::new(ErrorKind::InvalidTextRepresentation, message)
    })
}

fn argument_number(number: usize) -> SqlResult<usize> {
    if number == 0 {
        return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
    }
    Ok(number)
}

/// A number in front of the rest, which it is taken off.
fn digits(rest: &mut &str) -> SqlResult<Option<usize>> {
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return Ok(None);
    }
    let (digits, behind) = rest.split_at(length);
    *rest = behind;
    let number: i32 =
        digits.parse().map_err(|_| SqlError::new(ErrorKind::NumericOutOfRange, "number is out of range"))?;
    Ok(usize::try_from(number).ok())
}

const HINT: &str = "For a single \"%\" use \"%%\".";

fn unterminated() -> Box<SqlError> {
    invalid("unterminated format() type specifier").with_hint(HINT)
}

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, AsArray, Int32Array, StringArray};

    use super::*;
    use crate::functions::call::Argument;
    use crate::functions::moments::Moments;
    use crate::sql_type::SqlType;

    fn formatted(template: &str, values: &[Option<&str>]) -> SqlResult<String> {
        let text = |value: Option<&str>| Argument {
            array: Arc::new(StringArray::from(vec![value])),
            sql_type: SqlType::Text,
            constant: true,
        };
        let arguments = std::iter::once(Some(template)).chain(values.iter().copied()).map(text).collect();
        let call = Call { arguments, returns: SqlType::Text, rows: 1, nulls: None, moments: Moments::unknown() };
        Ok(format(&call)?.as_string::<i32>().value(0).to_owned())
    }

    #[test]
    fn values_are_placed_as_told() {
        for (template, values, expected) in [
            ("%s|%10s|%-10s|%I|%L|%%", vec!["a", "b", "c", "D", "e'f"], "a|         b|c         |\"D\"|'e''f'|%"),
            ("%2$s %1$s %s", vec!["a", "b", "c"], "b a b"),
            ("%*s|%-*s|", vec!["5", "x", "-6", "y"], "    x|y     |"),
            ("%1$*2$s|", vec!["a", "3"], "  a|"),
            ("%-5s|", vec!["é"], "é    |"),
        ] {
            let values: Vec<_> = values.into_iter().map(Some).collect();
            assert_eq!(formatted(template, &values).unwrap(), expected, "{template}");
        }
        assert_eq!(formatted("%s|%-5L|", &[None, None]).unwrap(), "|NULL |");
    }

    #[test]
    fn wrong_templates_are_refused_as_in_postgresql() {
        for (template, message) in [
            ("%", "unterminated format() type specifier"),
            ("%x", "unrecognized format() type specifier \"x\""),
            ("%s%s", "too few arguments for format()"),
            ("%0$s", "format specifies argument 0, but arguments are numbered from 1"),
            ("%5", "unterminated format() type specifier"),
            ("%1$", "unterminated format() type specifier"),
            ("%*2s", "width argument position must be ended by \"$\""),
            ("%99999999999s", "number is out of range"),
        ] {
            assert_eq!(formatted(template, &[Some("1")]).unwrap_err().message, message, "{template}");
        }
        assert_eq!(formatted("%I", &[None]).unwrap_err().kind, ErrorKind::NullValueNotAllowed);
    }

    #[test]
    fn a_null_template_gives_null() {
        let template = Argument { array: Arc::new(StringArray::new_null(1)), sql_type: SqlType::Text, constant: true };
        let number = Argument { array: Arc::new(Int32Array::from(vec![1])), sql_type: SqlType::Int4, constant: true };
        let call = Call {
            arguments: vec![template, number],
            returns: SqlType::Text,
            rows: 1,
            nulls: None,
            moments: Moments::unknown(),
        };
        assert!(format(&call).unwrap().is_null(0));
    }
}

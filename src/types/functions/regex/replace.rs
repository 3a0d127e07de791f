//! `regexp_replace`.

use arrow::array::{ArrayRef, Int32Array};

use super::matches::{Latest, byte_of_character, for_each_match, not_negative};
use super::pattern::Pattern;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::{Call, Texts};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Int4, Text};
use crate::functions::text_writer::TextWriter;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("regexp_replace", &[Text, Text, Text], Text, |call| replace(call, None)),
    Overload::new("regexp_replace", &[Text, Text, Text, Text], Text, with_letters),
    Overload::new("regexp_replace", &[Text, Text, Text, Int4], Text, |call| replace(call, None)),
    Overload::new("regexp_replace", &[Text, Text, Text, Int4, Int4], Text, |call| replace(call, None)),
    Overload::new("regexp_replace", &[Text, Text, Text, Int4, Int4, Text], Text, |call| {
        replace(call, Some(call.text(5)?))
    }),
];

/// Options in the fourth place, where a number could stand that was not given its type.
fn with_letters(call: &Call) -> SqlResult<ArrayRef> {
    let letters = call.text(3)?;
    if let Some(first) = (call.rows > 0 && !call.is_null(0)).then(|| letters.at(0))
        && first.starts_with(|c: char| c.is_ascii_digit())
    {
        let message = format!("invalid regular expression option: \"{}\"", &first[..1]);
        return Err(SqlError::new(ErrorKind::InvalidParameterValue, message).with_hint(
            "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.",
        ));
    }
    replace(call, Some(letters))
}

fn replace(call: &Call, letters: Option<Texts<'_>>) -> SqlResult<ArrayRef> {
    let (texts, expressions, replacements) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let has_numbers = letters.is_none() || call.arguments.len() == 6;
    let starts = if has_numbers { call.maybe_values::<Int32Array>(3)? } else { None };
    let counts = if has_numbers { call.maybe_values::<Int32Array>(4)? } else { None };
    let mut latest = Latest::new();
    call.texts(|row, out| {
        let text = texts.at(row);
        let letters = letters.map_or("", |letters| letters.at(row));
        let start = byte_of_character(text, starts.map_or(1, |starts| starts.at(row)))?;
        let (pattern, options) = latest.of(expressions.at(row), letters, Ok)?;
        // 0 is all of them; without a number `g` says whether it is all or the first.
        let wanted = match counts {
            Some(counts) => not_negative(counts.at(row), "n")?,
            None if options.global => 0,
            None => 1,
        };
        match start {
            Some(start) => replace_matches(pattern, text, start, wanted, replacements.at(row), out),
            None => {
                out.push_str(text);
                Ok(())
            }
        }
    })
}

fn replace_matches(
    pattern: &mut Pattern,
    text: &str,
    start: usize,
    wanted: usize,
    replacement: &str,
    out: &mut TextWriter,
) -> SqlResult<()> {
    let (mut passed, mut kept) = (0, 0);
    for_each_match(pattern, text, start, |pattern, span| {
        passed += 1;
        if wanted == 0 || passed == wanted {
            out.push_str(&text[kept..span.start]);
            push_replacement(pattern, text, replacement, out);
            kept = span.end;
        }
        out.going_on()?;
        Ok(wanted == 0 || passed < wanted)
    })?;
    out.push_str(&text[kept..]);
    Ok(())
}

/// `\1` to `\9` are groups, `\&` is the match, `\\` a backslash.
fn push_replacement(pattern: &Pattern, text: &str, replacement: &str, out: &mut TextWriter) {
    let push_group = |index: usize, out: &mut TextWriter| {
        let span = if index <= pattern.groups() { pattern.group(index) } else { None };
        span.into_iter().for_each(|span| out.push_str(&text[span]));
    };
    let mut rest = replacement;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = behind.chars();
        rest = match chars.next() {
            Some('&') => {
                push_group(0, out);
                chars.as_str()
            }
            Some(digit @ '1'..='9') => {
                push_group(digit.to_digit(10).and_then(|d| usize::try_from(d).ok()).unwrap_or(0), out);
                chars.as_str()
            }
            Some('\\') => {
                out.push('\\');
                chars.as_str()
            }
            // Anything else is as it stands.
            _ => {
                out.push('\\');
                behind
            }
        };
    }
    out.push_str(rest);
}

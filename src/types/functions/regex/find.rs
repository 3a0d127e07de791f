//! Functions that look for matches: `regexp_match`, `regexp_like`, `regexp_count`, `regexp_instr`, `regexp_substr`,
//! `substring(x FROM pattern)`, and the operators `~` and `~*`.

use std::ops::Range;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::Int32Type;

use super::matches::{Check, Latest, byte_of_character, for_each_match, not_negative, out_of_range, positive};
use super::options::Options;
use super::pattern::Pattern;
use crate::error::SqlResult;
use crate::functions::call::{Call, Texts, Values};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Bool, Int4, Text};
use crate::functions::strings::int4;

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    // The functions of the operators ~, ~*, !~ and !~*.
    Overload::new("textregexeq", &[Text, Text], Bool, |call| is_match(call, "", true)),
    Overload::new("texticregexeq", &[Text, Text], Bool, |call| is_match(call, "i", true)),
    Overload::new("textregexne", &[Text, Text], Bool, |call| is_match(call, "", false)),
    Overload::new("texticregexne", &[Text, Text], Bool, |call| is_match(call, "i", false)),
    Overload::new("regexp_like", &[Text, Text], Bool, |call| is_match(call, "", true)),
    Overload::new("regexp_like", &[Text, Text, Text], Bool, |call| is_match(call, "", true)),
    Overload::new("regexp_match", &[Text, Text], TEXTS, regexp_match),
    Overload::new("regexp_match", &[Text, Text, Text], TEXTS, regexp_match),
    Overload::new("substring", &[Text, Text], Text, substring),
    Overload::new("regexp_count", &[Text, Text], Int4, count),
    Overload::new("regexp_count", &[Text, Text, Int4], Int4, count),
    Overload::new("regexp_count", &[Text, Text, Int4, Text], Int4, count),
    Overload::new("regexp_instr", &[Text, Text], Int4, position),
    Overload::new("regexp_instr", &[Text, Text, Int4], Int4, position),
    Overload::new("regexp_instr", &[Text, Text, Int4, Int4], Int4, position),
    Overload::new("regexp_instr", &[Text, Text, Int4, Int4, Int4], Int4, position),
    Overload::new("regexp_instr", &[Text, Text, Int4, Int4, Int4, Text], Int4, position),
    Overload::new("regexp_instr", &[Text, Text, Int4, Int4, Int4, Text, Int4], Int4, position),
    Overload::new("regexp_substr", &[Text, Text], Text, part),
    Overload::new("regexp_substr", &[Text, Text, Int4], Text, part),
    Overload::new("regexp_substr", &[Text, Text, Int4, Int4], Text, part),
    Overload::new("regexp_substr", &[Text, Text, Int4, Int4, Text], Text, part),
    Overload::new("regexp_substr", &[Text, Text, Int4, Int4, Text, Int4], Text, part),
];

/// A text argument of a row; empty when it is not given.
fn letters<'a>(argument: Option<Texts<'a>>, row: usize) -> &'a str {
    argument.map_or("", |letters| letters.at(row))
}

/// An integer argument of a row, or what it is when it is not given.
fn number(argument: Option<Values<'_, Int32Array>>, row: usize, default: i32) -> i32 {
    argument.map_or(default, |numbers| numbers.at(row))
}

fn is_match(call: &Call, default: &str, wanted: bool) -> SqlResult<ArrayRef> {
    let (texts, expressions, options) = (call.text(0)?, call.text(1)?, call.maybe_text(2)?);
    let check: Check = |options| options.without_global("regexp_like", None);
    let mut latest = Latest::new();
    call.booleans(|row| {
        let letters = options.map_or(default, |letters| letters.at(row));
        let (pattern, _) = latest.of(expressions.at(row), letters, check)?;
        Ok(pattern.is_match(texts.at(row)) == wanted)
    })
}

/// The groups of the first match, or the whole of it when there are none; NULL when there is no match.
fn regexp_match(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, expressions, options) = (call.text(0)?, call.text(1)?, call.maybe_text(2)?);
    let check: Check = |options| options.without_global("regexp_match", Some("regexp_matches"));
    let mut latest = Latest::new();
    call.text_lists(|row, items| {
        let text = texts.at(row);
        let (pattern, _) = latest.of(expressions.at(row), letters(options, row), check)?;
        if !pattern.find_at(text, 0)? {
            return Ok(false);
        }
        for index in usize::from(pattern.groups() > 0)..=pattern.groups() {
            match pattern.group(index) {
                Some(span) => items.push(&text[span])?,
                None => items.push_null()?,
            }
        }
        Ok(true)
    })
}

/// The first group of the first match, or the whole of it.
fn substring(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, expressions) = (call.text(0)?, call.text(1)?);
    let mut latest = Latest::new();
    call.maybe_texts(|row, out| {
        let text = texts.at(row);
        let (pattern, _) = latest.of(expressions.at(row), "", Ok)?;
        if !pattern.find_at(text, 0)? {
            return Ok(false);
        }
        let span = pattern.group(usize::from(pattern.groups() > 0));
        span.into_iter().for_each(|span| out.push_str(&text[span]));
        Ok(pattern.group(usize::from(pattern.groups() > 0)).is_some())
    })
}

fn count(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, expressions) = (call.text(0)?, call.text(1)?);
    let (starts, options) = (call.maybe_values::<Int32Array>(2)?, call.maybe_text(3)?);
    let check: Check = |options| options.without_global("regexp_count", None);
    let mut latest = Latest::new();
    call.numbers::<Int32Type>(|row| {
        let text = texts.at(row);
        let (pattern, _) = latest.of(expressions.at(row), letters(options, row), check)?;
        let Some(start) = byte_of_character(text, number(starts, row, 1))? else { return Ok(0) };
        let mut matches = 0;
        for_each_match(pattern, text, start, |_, _| {
            matches += 1;
            Ok(true)
        })?;
        int4(matches)
    })
}

/// The n-th match from a character on, or a group of it.
fn nth(pattern: &mut Pattern, text: &str, start: i32, n: usize, group: usize) -> SqlResult<Option<Range<usize>>> {
    let Some(start) = byte_of_character(text, start)? else { return Ok(None) };
    let mut passed = 0;
    let mut found = None;
    for_each_match(pattern, text, start, |pattern, _| {
        passed += 1;
        if passed == n && group <= pattern.groups() {
            found = pattern.group(group);
        }
        Ok(passed < n)
    })?;
    Ok(found)
}

fn position(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, expressions) = (call.text(0)?, call.text(1)?);
    let [starts, counts, ends, groups] = [2, 3, 4, 6].map(|index| call.maybe_values::<Int32Array>(index));
    let (starts, counts, ends, groups) = (starts?, counts?, ends?, groups?);
    let options = call.maybe_text(5)?;
    let check: Check = |options| options.without_global("regexp_instr", None);
    let mut latest = Latest::new();
    call.numbers::<Int32Type>(|row| {
        let text = texts.at(row);
        let (start, n) = (number(starts, row, 1), positive(number(counts, row, 1), "n")?);
        positive(start, "start")?;
        let at_end = match number(ends, row, 0) {
            0 => false,
            1 => true,
            other => return Err(out_of_range(other, "endoption")),
        };
        let group = not_negative(number(groups, row, 0), "subexpr")?;
        let (pattern, _) = latest.of(expressions.at(row), letters(options, row), check)?;
        match nth(pattern, text, start, n, group)? {
            Some(span) => int4(text[..if at_end { span.end } else { span.start }].chars().count() + 1),
            None => Ok(0),
        }
    })
}

fn part(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, expressions) = (call.text(0)?, call.text(1)?);
    let [starts, counts, groups] = [2, 3, 5].map(|index| call.maybe_values::<Int32Array>(index));
    let (starts, counts, groups) = (starts?, counts?, groups?);
    let options = call.maybe_text(4)?;
    let check: Check = |options: Options| options.without_global("regexp_substr", None);
    let mut latest = Latest::new();
    call.maybe_texts(|row, out| {
        let text = texts.at(row);
        let (start, n) = (number(starts, row, 1), positive(number(counts, row, 1), "n")?);
        positive(start, "start")?;
        let group = not_negative(number(groups, row, 0), "subexpr")?;
        let (pattern, _) = latest.of(expressions.at(row), letters(options, row), check)?;
        let Some(span) = nth(pattern, text, start, n, group)? else { return Ok(false) };
        out.push_str(&text[span]);
        Ok(true)
    })
}

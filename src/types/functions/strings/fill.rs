//! Functions that make texts longer: `repeat`, `lpad`, `rpad`, `replace`.

use arrow::array::ArrayRef;
use arrow::datatypes::Int32Type;

use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Int4, Text};
use crate::functions::text_writer::TextWriter;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("repeat", &[Text, Int4], Text, repeat),
    Overload::new("lpad", &[Text, Int4], Text, |call| pad(call, true)),
    Overload::new("lpad", &[Text, Int4, Text], Text, |call| pad(call, true)),
    Overload::new("rpad", &[Text, Int4], Text, |call| pad(call, false)),
    Overload::new("rpad", &[Text, Int4, Text], Text, |call| pad(call, false)),
    Overload::new("replace", &[Text, Text, Text], Text, replace),
];

/// How much is written at once of what is repeated.
const PIECE_BYTES: usize = 4096;

fn count(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn repeat(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, counts) = (call.text(0)?, call.primitive::<Int32Type>(1)?);
    call.texts(|row, out| {
        let (text, count) = (texts.at(row), count(counts.at(row)));
        out.reserve(text.len().saturating_mul(count))?;
        push_repeated(out, text, count)
    })
}

/// A short text many times is written as a longer one not so many times.
fn push_repeated(out: &mut TextWriter, text: &str, count: usize) -> SqlResult<()> {
    if text.is_empty() {
        return Ok(());
    }
    let at_once = (PIECE_BYTES / text.len()).clamp(1, count.max(1));
    if at_once > 1 {
        let piece = text.repeat(at_once);
        push_times(out, &piece, count / at_once)?;
    }
    let rest = if at_once > 1 { count % at_once } else { count };
    push_times(out, text, rest)
}

fn push_times(out: &mut TextWriter, text: &str, times: usize) -> SqlResult<()> {
    (0..times).try_for_each(|_| {
        out.push_str(text);
        out.going_on()
    })
}

/// To so many characters: what is missing is filled in, what is too much is cut off at the end.
fn pad(call: &Call, left: bool) -> SqlResult<ArrayRef> {
    let (texts, lengths) = (call.text(0)?, call.primitive::<Int32Type>(1)?);
    let fills = call.maybe_text(2)?;
    call.texts(|row, out| {
        let (text, length) = (texts.at(row), count(lengths.at(row)));
        let fill = fills.map_or(" ", |fills| fills.at(row));
        let has = text.chars().count();
        let missing = if fill.is_empty() { 0 } else { length.saturating_sub(has) };
        let kept = text.char_indices().nth(length).map_or(text, |(at, _)| &text[..at]);
        out.reserve(kept.len().saturating_add(missing))?;
        if left {
            push_fill(out, fill, missing)?;
        }
        out.push_str(kept);
        if !left {
            push_fill(out, fill, missing)?;
        }
        Ok(())
    })
}

fn push_fill(out: &mut TextWriter, fill: &str, characters: usize) -> SqlResult<()> {
    let length = fill.chars().count().max(1);
    push_repeated(out, fill, characters / length)?;
    out.push_chars(fill.chars().take(characters % length))
}

fn replace(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, from, to) = (call.text(0)?, call.text(1)?, call.text(2)?);
    call.texts(|row, out| {
        let (text, from, to) = (texts.at(row), from.at(row), to.at(row));
        if from.is_empty() {
            out.push_str(text);
            return Ok(());
        }
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(from) {
            out.push_str(before);
            out.push_str(to);
            out.going_on()?;
            rest = behind;
        }
        out.push_str(rest);
        Ok(())
    })
}

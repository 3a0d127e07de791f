//! Parts of a text by place: `substring`, `left`, `right`, `overlay`. The first character is number 1.

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::Int32Type;

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bytea, Int4, Text};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("substring", &[Text, Int4], Text, of_text),
    Overload::new("substring", &[Text, Int4, Int4], Text, of_text),
    Overload::new("substring", &[Bytea, Int4], Bytea, of_bytes),
    Overload::new("substring", &[Bytea, Int4, Int4], Bytea, of_bytes),
    Overload::new("substr", &[Text, Int4], Text, of_text),
    Overload::new("substr", &[Text, Int4, Int4], Text, of_text),
    Overload::new("substr", &[Bytea, Int4], Bytea, of_bytes),
    Overload::new("substr", &[Bytea, Int4, Int4], Bytea, of_bytes),
    Overload::new("left", &[Text, Int4], Text, |call| {
        let (text, counts) = (call.text(0)?, call.primitive::<Int32Type>(1)?);
        call.texts(|row, out| {
            out.push_str(split_at_character(text.at(row), counts.at(row)).0);
            Ok(())
        })
    }),
    Overload::new("right", &[Text, Int4], Text, |call| {
        let (text, counts) = (call.text(0)?, call.primitive::<Int32Type>(1)?);
        call.texts(|row, out| {
            // The last n characters are what is behind all but the last n.
            let kept = counts.at(row).checked_neg().map_or("", |n| match n {
                0 => "",
                n => split_at_character(text.at(row), n).1,
            });
            out.push_str(kept);
            Ok(())
        })
    }),
    Overload::new("overlay", &[Text, Text, Int4], Text, overlay_text),
    Overload::new("overlay", &[Text, Text, Int4, Int4], Text, overlay_text),
    Overload::new("overlay", &[Bytea, Bytea, Int4], Bytea, overlay_bytes),
    Overload::new("overlay", &[Bytea, Bytea, Int4, Int4], Bytea, overlay_bytes),
];

/// The text before and behind its first n characters, or but its last -n.
fn split_at_character(text: &str, count: i32) -> (&str, &str) {
    let places = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let at = if count >= 0 {
        text.char_indices().nth(places).map_or(text.len(), |(at, _)| at)
    } else {
        text.char_indices().nth_back(places - 1).map_or(0, |(at, _)| at)
    };
    text.split_at(at)
}

/// How many units to skip and how many to take.
fn window(start: i32, length: Option<i32>) -> SqlResult<(usize, usize)> {
    let skip = usize::try_from(start.saturating_sub(1).max(0)).unwrap_or(usize::MAX);
    let Some(length) = length else { return Ok((skip, usize::MAX)) };
    if length < 0 {
        return Err(negative_length());
    }
    // What lies before the first character counts too.
    let end = i64::from(start) + i64::from(length);
    let take = end - i64::from(start.max(1));
    Ok((skip, usize::try_from(take).unwrap_or(0)))
}

fn negative_length() -> Box<SqlError> {
    SqlError::new(ErrorKind::SubstringError, "negative substring length not allowed")
}

/// So many characters of a text, behind others that are skipped.
fn characters(text: &str, skip: usize, take: usize) -> &str {
    if text.is_ascii() {
        let start = skip.min(text.len());
        return &text[start..start.saturating_add(take).min(text.len())];
    }
    let start = text.char_indices().nth(skip).map_or(text.len(), |(at, _)| at);
    let rest = &text[start..];
    let end = rest.char_indices().nth(take).map_or(rest.len(), |(at, _)| at);
    &rest[..end]
}

fn bytes(value: &[u8], skip: usize, take: usize) -> &[u8] {
    let start = skip.min(value.len());
    &value[start..start.saturating_add(take).min(value.len())]
}

fn of_text(call: &Call) -> SqlResult<ArrayRef> {
    let (text, starts) = (call.text(0)?, call.primitive::<Int32Type>(1)?);
    let lengths = call.maybe_values::<Int32Array>(2)?;
    call.texts(|row, out| {
        let (skip, take) = window(starts.at(row), lengths.map(|l| l.at(row)))?;
        out.push_str(characters(text.at(row), skip, take));
        Ok(())
    })
}

fn of_bytes(call: &Call) -> SqlResult<ArrayRef> {
    let (values, starts) = (call.bytes(0)?, call.primitive::<Int32Type>(1)?);
    let lengths = call.maybe_values::<Int32Array>(2)?;
    call.byte_strings(|row, out| {
        let (skip, take) = window(starts.at(row), lengths.map(|l| l.at(row)))?;
        out.extend_from_slice(bytes(values.at(row), skip, take));
        Ok(())
    })
}

/// How much is kept in front of what is laid over, and how much is skipped to go on behind it.
fn gap(start: i32, length: i32) -> SqlResult<(usize, usize)> {
    if start <= 0 {
        return Err(negative_length());
    }
    let end = start.checked_add(length);
    let end = end.ok_or_else(|| SqlError::new(ErrorKind::NumericOutOfRange, "integer out of range"))?;
    let units = |place: i32| usize::try_from(place.saturating_sub(1).max(0)).unwrap_or(0);
    Ok((units(start), units(end)))
}

fn overlay_text(call: &Call) -> SqlResult<ArrayRef> {
    let (text, new, starts) = (call.text(0)?, call.text(1)?, call.primitive::<Int32Type>(2)?);
    let lengths = call.maybe_values::<Int32Array>(3)?;
    call.texts(|row, out| {
        let (text, new) = (text.at(row), new.at(row));
        let length = match lengths {
            Some(lengths) => lengths.at(row),
            None => super::measure::int4(new.chars().count())?,
        };
        let (front, behind) = gap(starts.at(row), length)?;
        out.push_str(characters(text, 0, front));
        out.push_str(new);
        out.push_str(characters(text, behind, usize::MAX));
        Ok(())
    })
}

fn overlay_bytes(call: &Call) -> SqlResult<ArrayRef> {
    let (values, new, starts) = (call.bytes(0)?, call.bytes(1)?, call.primitive::<Int32Type>(2)?);
    let lengths = call.maybe_values::<Int32Array>(3)?;
    call.byte_strings(|row, out| {
        let (value, new) = (values.at(row), new.at(row));
        let length = match lengths {
            Some(lengths) => lengths.at(row),
            None => super::measure::int4(new.len())?,
        };
        let (front, behind) = gap(starts.at(row), length)?;
        out.extend_from_slice(bytes(value, 0, front));
        out.extend_from_slice(new);
        out.extend_from_slice(bytes(value, behind, usize::MAX));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substring(text: &str, start: i32, length: Option<i32>) -> &str {
        let (skip, take) = window(start, length).unwrap();
        characters(text, skip, take)
    }

    #[test]
    fn substrings_begin_before_the_text_and_end_behind_it() {
        for (start, length, expected) in [
            (2, Some(2), "bç"),
            (-1, Some(3), "a"),
            (0, None, "abçd"),
            (-5, Some(2), ""),
            (3, None, "çd"),
            (9, Some(1), ""),
            (i32::MIN, Some(i32::MAX), ""),
            (2, Some(i32::MAX), "bçd"),
        ] {
            assert_eq!(substring("abçd", start, length), expected, "{start} {length:?}");
        }
        assert_eq!(substring("abcd", 2, Some(2)), "bc");
        assert_eq!(window(1, Some(-1)).unwrap_err().kind, ErrorKind::SubstringError);
    }

    #[test]
    fn left_and_right_count_from_both_ends() {
        for (count, left, right) in
            [(2, "ab", "çd"), (-1, "abç", "d"), (0, "", "abçd"), (9, "abçd", ""), (-9, "", "abçd")]
        {
            assert_eq!(split_at_character("abçd", count).0, left, "{count}");
            if count < 0 {
                assert_eq!(split_at_character("abçd", count).1, right, "{count}");
            }
        }
    }
}

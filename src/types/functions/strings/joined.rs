//! `string_agg` of delimiters that differ from row to row, and of bytea: texts that are collected first and then joined.
//!
//! Every such call is rewritten (`functions::collected`) as a function of the array that `array_agg` collects. Each item is
//! the length of its delimiter, the delimiter, and the value.

use arrow::array::{ArrayRef, AsArray, BinaryArray, StringArray};

use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Bytea, Text};

const TEXTS: Type = Type::ArrayOf(&Text);
const BYTE_STRINGS: Type = Type::ArrayOf(&Bytea);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("string_agg_of_item", &[Text, Text], Text, text_item).of_nulls(),
    Overload::new("string_agg_of_item", &[Bytea, Bytea], Bytea, bytes_item).of_nulls(),
    Overload::new("string_agg_of_items", &[TEXTS], Text, joined_texts),
    Overload::new("string_agg_of_items", &[BYTE_STRINGS], Bytea, joined_bytes),
];

/// What stands behind the length of a delimiter of text.
const BEHIND_LENGTH: char = ':';
/// Bytes that the length of a delimiter of bytes takes.
const LENGTH_BYTES: usize = 4;

fn text_item(call: &Call) -> SqlResult<ArrayRef> {
    let (values, delimiters) = (call.text(0)?, call.text(1)?);
    call.maybe_texts(|row, out| {
        let Some(value) = values.get(row) else { return Ok(false) };
        let delimiter = delimiters.get(row).unwrap_or_default();
        out.push_str(&delimiter.len().to_string());
        out.push(BEHIND_LENGTH);
        out.push_str(delimiter);
        out.push_str(value);
        Ok(true)
    })
}

fn bytes_item(call: &Call) -> SqlResult<ArrayRef> {
    let (values, delimiters) = (call.bytes(0)?, call.bytes(1)?);
    call.maybe_byte_strings(|row, item| {
        let Some(value) = values.get(row) else { return Ok(false) };
        let delimiter = delimiters.get(row).unwrap_or_default();
        item.extend(u32::try_from(delimiter.len()).unwrap_or(u32::MAX).to_be_bytes());
        item.extend(delimiter);
        item.extend(value);
        Ok(true)
    })
}

/// NULLs are left out, with their delimiters; so is the delimiter of the first value. Of no value there is NULL.
fn joined_texts(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    call.maybe_texts(|row, out| {
        let items = lists.at(row);
        let items: &StringArray = items.as_string();
        let mut is_first = true;
        for item in items.iter().flatten() {
            let (length, rest) = item.split_once(BEHIND_LENGTH).unwrap_or(("0", item));
            let (delimiter, value) = rest.split_at_checked(length.parse().unwrap_or(0)).unwrap_or(("", rest));
            if !std::mem::take(&mut is_first) {
                out.push_str(delimiter);
            }
            out.push_str(value);
            out.going_on()?;
        }
        Ok(!is_first)
    })
}

fn joined_bytes(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    call.maybe_byte_strings(|row, joined| {
        let items = lists.at(row);
        let items: &BinaryArray = items.as_binary();
        let mut is_first = true;
        for item in items.iter().flatten() {
            let (length, rest) = item.split_first_chunk::<LENGTH_BYTES>().unwrap_or((&[0; LENGTH_BYTES], item));
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(0);
            let (delimiter, value) = rest.split_at_checked(length).unwrap_or((&[], rest));
            if !std::mem::take(&mut is_first) {
                joined.extend(delimiter);
            }
            joined.extend(value);
        }
        Ok(!is_first)
    })
}

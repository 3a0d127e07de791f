//! Texts from and to arrays: `string_to_array`, `array_to_string`.

use arrow::array::{Array, ArrayRef};

use super::concat::Printed;
use crate::error::SqlResult;
use crate::functions::call::{Argument, Call, TextItems};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Text};
use crate::functions::text_writer::TextWriter;
use crate::sql_type::SqlType;
use crate::style::Style;

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("string_to_array", &[Text, Text], TEXTS, string_to_array).of_nulls(),
    Overload::new("string_to_array", &[Text, Text, Text], TEXTS, string_to_array).of_nulls(),
    // The rows of string_to_table.
    Overload::new("string_to_table", &[Text, Text], TEXTS, string_to_array).of_nulls(),
    Overload::new("string_to_table", &[Text, Text, Text], TEXTS, string_to_array).of_nulls(),
    Overload::new("array_to_string", &[Type::Array, Text], Text, array_to_string).stable(),
    Overload::new("array_to_string", &[Type::Array, Text, Text], Text, array_to_string).of_nulls().stable(),
];

fn string_to_array(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, separators) = (call.text(0)?, call.text(1)?);
    let nulls = call.maybe_text(2)?;
    call.text_lists(|row, items| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        push_fields(text, separators.get(row), nulls.and_then(|n| n.get(row)), items)?;
        Ok(true)
    })
}

/// Every field; every character when the separator is NULL. A field equal to `null` is NULL.
fn push_fields(text: &str, separator: Option<&str>, null: Option<&str>, items: &mut TextItems) -> SqlResult<()> {
    let mut push = |field: &str| if null == Some(field) { items.push_null() } else { items.push(field) };
    match separator {
        _ if text.is_empty() => Ok(()),
        None => text.char_indices().try_for_each(|(at, c)| push(&text[at..at + c.len_utf8()])),
        Some("") => push(text),
        Some(separator) => text.split(separator).try_for_each(push),
    }
}

fn array_to_string(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, separators) = (call.lists(0)?, call.text(1)?);
    let nulls = call.maybe_text(2)?;
    call.maybe_texts(|row, out| {
        let (Some(list), Some(separator)) = (lists.get(row), separators.get(row)) else { return Ok(false) };
        let item_type = match call.arguments.first().map(|a| &a.sql_type) {
            Some(SqlType::Array(item)) => (**item).clone(),
            _ => SqlType::Text,
        };
        let items = Argument { array: list, sql_type: item_type, constant: false };
        join(&items, call.style(), separator, nulls.and_then(|n| n.get(row)), out)?;
        Ok(true)
    })
}

fn join(items: &Argument, style: Style, separator: &str, null: Option<&str>, out: &mut TextWriter) -> SqlResult<()> {
    let rows = items.array.len();
    let printed = Printed::of(items, style);
    let mut first = true;
    for row in 0..rows {
        let is_null = printed.is_null(row);
        if is_null && null.is_none() {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push_str(separator);
        }
        match null {
            Some(null) if is_null => out.push_str(null),
            _ => {
                printed.write(row, out);
            }
        }
        out.going_on()?;
    }
    Ok(())
}

//! `regexp_split_to_array`, and all matches as a list for `regexp_matches`.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;

use super::matches::{Check, Latest, for_each_match};
use super::pattern::Pattern;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::{Call, TextItems};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Text};
use crate::grown::Grown;

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("regexp_split_to_array", &[Text, Text], TEXTS, |call| split(call, NO_GLOBAL)),
    Overload::new("regexp_split_to_array", &[Text, Text, Text], TEXTS, |call| split(call, NO_GLOBAL)),
    // The rows of the functions of these names.
    Overload::new("regexp_split_to_table", &[Text, Text], TEXTS, |call| split(call, NO_GLOBAL_TABLE)),
    Overload::new("regexp_split_to_table", &[Text, Text, Text], TEXTS, |call| split(call, NO_GLOBAL_TABLE)),
    Overload::new("regexp_matches", &[Text, Text], Type::ArrayOf(&TEXTS), matches),
    Overload::new("regexp_matches", &[Text, Text, Text], Type::ArrayOf(&TEXTS), matches),
];

const NO_GLOBAL_TABLE: Check = |options| options.without_global("regexp_split_to_table", None);
const NO_GLOBAL: Check = |options| options.without_global("regexp_split_to_array", None);

fn split(call: &Call, check: Check) -> SqlResult<ArrayRef> {
    let (texts, expressions, options) = (call.text(0)?, call.text(1)?, call.maybe_text(2)?);
    let mut latest = Latest::new();
    call.text_lists(|row, items| {
        let letters = options.map_or("", |letters| letters.at(row));
        let (pattern, _) = latest.of(expressions.at(row), letters, check)?;
        push_fields(pattern, texts.at(row), items)?;
        Ok(true)
    })
}

/// What is between the matches. An empty match at either end, or right behind another, separates nothing.
fn push_fields(pattern: &mut Pattern, text: &str, items: &mut TextItems) -> SqlResult<()> {
    let mut kept = 0;
    for_each_match(pattern, text, 0, |_, span| {
        if !(span.is_empty() && (span.start >= text.len() || span.start == kept)) {
            items.push(&text[kept..span.start])?;
            kept = span.end;
        }
        Ok(true)
    })?;
    items.push(&text[kept..])
}

/// The groups of every match, or with `g` missing of the first one.
fn matches(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, expressions, options) = (call.text(0)?, call.text(1)?, call.maybe_text(2)?);
    let mut latest = Latest::new();
    let mut groups = TextItems::new();
    // Of each match, where its groups end; of each row, how many matches it has.
    let mut ends = Grown::<i32>::new();
    ends.push(0)?;
    let mut counts = Vec::with_capacity(call.rows);
    let place = |groups: &TextItems| i32::try_from(groups.len()).map_err(|_| too_many());
    for row in call.each_row() {
        let row = row?;
        let before = ends.len();
        if !call.is_null(row) {
            let (text, letters) = (texts.at(row), options.map_or("", |letters| letters.at(row)));
            let (pattern, options) = latest.of(expressions.at(row), letters, Ok)?;
            for_each_match(pattern, text, 0, |pattern, _| {
                for index in usize::from(pattern.groups() > 0)..=pattern.groups() {
                    match pattern.group(index) {
                        Some(span) => groups.push(&text[span])?,
                        None => groups.push_null()?,
                    }
                }
                ends.push(place(&groups)?)?;
                Ok(options.global)
            })?;
        }
        counts.push(ends.len() - before);
    }
    let DataType::List(of_row) = call.returns.arrow() else { return Err(not_lists()) };
    let DataType::List(of_match) = of_row.data_type() else { return Err(not_lists()) };
    let ends = OffsetBuffer::new(ends.into_vec().into());
    let matches = ListArray::try_new(of_match.clone(), ends, groups.finish(), None)?;
    let counts = OffsetBuffer::from_lengths(counts);
    Ok(Arc::new(ListArray::try_new(of_row, counts, Arc::new(matches), call.nulls.clone())?))
}

fn too_many() -> Box<SqlError> {
    SqlError::new(ErrorKind::LimitExceeded, "too many matches at a time")
}

fn not_lists() -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, "matches were planned as something else")
}

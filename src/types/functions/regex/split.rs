//! `regexp_split_to_array`, and all matches as a list for `regexp_matches`.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListBuilder, StringBuilder};

use super::matches::{Check, Latest, for_each_match};
use super::pattern::Pattern;
use crate::error::SqlResult;
use crate::functions::call::{Call, TextItems};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Text};

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
            items.push(&text[kept..span.start]);
            kept = span.end;
        }
        Ok(true)
    })?;
    items.push(&text[kept..]);
    Ok(())
}

/// The groups of every match, or with `g` missing of the first one.
fn matches(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, expressions, options) = (call.text(0)?, call.text(1)?, call.maybe_text(2)?);
    let mut latest = Latest::new();
    let mut out = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for row in 0..call.rows {
        if call.is_null(row) {
            out.append(false);
            continue;
        }
        let (text, letters) = (texts.at(row), options.map_or("", |letters| letters.at(row)));
        let (pattern, options) = latest.of(expressions.at(row), letters, Ok)?;
        for_each_match(pattern, text, 0, |pattern, _| {
            let groups = out.values();
            for index in usize::from(pattern.groups() > 0)..=pattern.groups() {
                groups.values().append_option(pattern.group(index).map(|span| &text[span]));
            }
            groups.append(true);
            Ok(options.global)
        })?;
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

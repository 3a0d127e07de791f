//! `a[1]` and `a[1:2]`: an item or a part of an array, counted from 1. What is not there is NULL, or empty.

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::Int32Type;

use super::lists::Lists;
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Array as AnyArray, Element, Int4};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("array_subscript", &[AnyArray, Int4], Element, |call| item(call, 1)),
    Overload::new("array_part", &[AnyArray, Int4, Int4], AnyArray, |call| part(call, 1)),
];

/// The items under the numbers of the second argument, where the first item of an array has the number `lowest`.
pub(super) fn item(call: &Call, lowest: i32) -> SqlResult<ArrayRef> {
    let (lists, numbers) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    let place = |row: usize| {
        let nth = usize::try_from(numbers.at(row).saturating_sub(lowest)).ok()?;
        let place = lists.range(row).nth(nth)?;
        u32::try_from(place).ok()
    };
    let places: UInt32Array = (0..call.rows).map(|row| if call.is_null(row) { None } else { place(row) }).collect();
    Ok(take(lists.items(), &places, None)?)
}

/// The items from the number of the second argument to that of the third, counted as [`item`] does.
pub(super) fn part(call: &Call, lowest: i32) -> SqlResult<ArrayRef> {
    let (lists, first, last) = (call.lists(0)?, call.primitive::<Int32Type>(1)?, call.primitive::<Int32Type>(2)?);
    let mut out = Lists::of(vec![lists.items().as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        if call.is_null(row) {
            out.push_null();
            continue;
        }
        let items = lists.range(row);
        let skipped = usize::try_from(first.at(row).saturating_sub(lowest).max(0)).unwrap_or(0);
        let end = usize::try_from(last.at(row).saturating_sub(lowest).saturating_add(1)).unwrap_or(0).min(items.len());
        out.push(0, items.start + skipped.min(end)..items.start + end)?;
        out.finish_list();
    }
    out.finish(&call.returns)
}

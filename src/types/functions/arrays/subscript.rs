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
    Overload::new("array_subscript", &[AnyArray, Int4], Element, item),
    Overload::new("array_part", &[AnyArray, Int4, Int4], AnyArray, part),
];

fn item(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, numbers) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    let place = |row: usize| {
        let number = usize::try_from(numbers.at(row)).ok()?.checked_sub(1)?;
        let place = lists.range(row).nth(number)?;
        u32::try_from(place).ok()
    };
    let places: UInt32Array = (0..call.rows).map(|row| if call.is_null(row) { None } else { place(row) }).collect();
    Ok(take(lists.items(), &places, None)?)
}

fn part(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, first, last) = (call.lists(0)?, call.primitive::<Int32Type>(1)?, call.primitive::<Int32Type>(2)?);
    let mut out = Lists::of(vec![lists.items().as_ref()], call.rows);
    for row in 0..call.rows {
        if call.is_null(row) {
            out.push_null();
            continue;
        }
        let items = lists.range(row);
        let skipped = usize::try_from(first.at(row).saturating_sub(1).max(0)).unwrap_or(0);
        let end = usize::try_from(last.at(row)).unwrap_or(0).min(items.len());
        out.push(0, items.start + skipped.min(end)..items.start + end);
        out.finish_list();
    }
    out.finish(&call.returns)
}

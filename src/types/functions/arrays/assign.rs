//! `SET a[1] = ..` and `SET a[1:2] = ..`: an array with an item, or a part, put in the place of what was there.

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::datatypes::Int32Type;

use super::lists::Lists;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Array as AnyArray, Element, Int4};

/// Stand for the ends of a part that are not written: those of the array.
const FROM_THE_FIRST: i32 = i32::MIN;
const TO_THE_LAST: i32 = i32::MAX;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("array_item_set", &[AnyArray, Int4, Element], AnyArray, set_item).of_nulls(),
    Overload::new("array_part_set", &[AnyArray, Int4, Int4, AnyArray], AnyArray, set_part).of_nulls(),
];

/// Behind the end of the array NULLs fill the room between.
fn set_item(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, numbers, new) = (call.lists(0)?, call.primitive::<Int32Type>(1)?, &call.arguments[2]);
    let nothing = new_null_array(lists.items().data_type(), 1);
    let mut out = Lists::of(vec![lists.items().as_ref(), new.array.as_ref(), nothing.as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        let (items, place) = (lists.range(row), place_of(numbers.get(row))?);
        let before = place.min(items.len());
        out.push(0, items.start..items.start + before)?;
        out.push_times(2, 0, place - before)?;
        out.push(1, new.index(row)..new.index(row) + 1)?;
        out.push(0, items.end.min(items.start + before + 1)..items.end)?;
        out.finish_list();
    }
    out.finish(&call.returns)
}

/// As many items of the new part as there is room for; a part that is NULL changes nothing.
fn set_part(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    let (first, last) = (call.primitive::<Int32Type>(1)?, call.primitive::<Int32Type>(2)?);
    let new = call.lists(3)?;
    let nothing = new_null_array(lists.items().data_type(), 1);
    let mut out = Lists::of(vec![lists.items().as_ref(), new.items().as_ref(), nothing.as_ref()], call.rows);
    let wrong = |message: &str| SqlError::new(ErrorKind::SubscriptError, message);
    for row in call.each_row() {
        let row = row?;
        let items = lists.range(row);
        if new.is_null(row) {
            out.push(0, items)?;
            out.finish_list();
            continue;
        }
        let (first, last) = (first.get(row), last.get(row));
        if items.is_empty() && (first == Some(FROM_THE_FIRST) || last == Some(TO_THE_LAST)) {
            return Err(wrong("array slice subscript must provide both boundaries").with_detail(
                "When assigning to a slice of an empty array value, slice boundaries must be fully specified.",
            ));
        }
        let place = if first == Some(FROM_THE_FIRST) { 0 } else { place_of(first)? };
        let end = if last == Some(TO_THE_LAST) { items.len() } else { place_of(last)? + 1 };
        let count = end.checked_sub(place).filter(|count| *count > 0);
        let count = count.ok_or_else(|| wrong("upper bound cannot be less than lower bound"))?;
        let part = new.range(row);
        if part.len() < count {
            return Err(wrong("source array too small"));
        }
        let before = place.min(items.len());
        out.push(0, items.start..items.start + before)?;
        out.push_times(2, 0, place - before)?;
        out.push(1, part.start..part.start + count)?;
        out.push(0, items.end.min(items.start + end)..items.end)?;
        out.finish_list();
    }
    out.finish(&call.returns)
}

/// Where the item of a number is, counted from 0.
fn place_of(number: Option<i32>) -> SqlResult<usize> {
    let Some(number) = number else {
        let message = "array subscript in assignment must not be null";
        return Err(SqlError::new(ErrorKind::NullValueNotAllowed, message));
    };
    usize::try_from(number).ok().and_then(|number| number.checked_sub(1)).ok_or_else(|| {
        SqlError::not_supported("an item before the first one of an array").with_hint("Items are numbered from 1.")
    })
}

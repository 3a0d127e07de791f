//! Arrays with items added, taken away or replaced. An array that is NULL has no items to which one is added.

use arrow::array::{Array, ArrayRef, AsArray, ListArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::Int32Type;

use super::lists::Lists;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Array as AnyArray, Compatible, CompatibleArray, Element, Int4};
use crate::sql_type::SqlType;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("array_append", &[CompatibleArray, Compatible], CompatibleArray, |call| add(call, 0, 1)).of_nulls(),
    Overload::new("array_prepend", &[Compatible, CompatibleArray], CompatibleArray, |call| add(call, 1, 0)).of_nulls(),
    Overload::new("array_cat", &[CompatibleArray, CompatibleArray], CompatibleArray, concatenate).of_nulls(),
    Overload::new("array_remove", &[CompatibleArray, Compatible], CompatibleArray, remove).of_nulls(),
    Overload::new("array_replace", &[CompatibleArray, Compatible, Compatible], CompatibleArray, replace).of_nulls(),
    Overload::new("trim_array", &[AnyArray, Int4], AnyArray, trim),
    // What the rows of unnest are taken from: an array of arrays gives the items of all.
    Overload::new("unnest_items", &[AnyArray], AnyArray, flatten).sized(|arguments| {
        let mut sql_type = arguments.types[0].clone();
        while let SqlType::Array(item) = &sql_type
            && let SqlType::Array(_) = **item
        {
            sql_type = (**item).clone();
        }
        Ok(sql_type)
    }),
    Overload::new("array_fill", &[Element, Type::ArrayOf(&Int4)], AnyArray, fill).of_nulls(),
];

/// An item at the end of a list, or at its front.
fn add(call: &Call, list: usize, item: usize) -> SqlResult<ArrayRef> {
    let lists = call.lists(list)?;
    let added = &call.arguments[item];
    let mut out = Lists::of(vec![lists.items().as_ref(), added.array.as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        let place = added.index(row);
        if item < list {
            out.push(1, place..place + 1)?;
        }
        out.push(0, lists.range(row))?;
        if item > list {
            out.push(1, place..place + 1)?;
        }
        out.finish_list();
    }
    out.finish(&call.returns)
}

/// NULL only where both are.
fn concatenate(call: &Call) -> SqlResult<ArrayRef> {
    let (first, second) = (call.lists(0)?, call.lists(1)?);
    let mut out = Lists::of(vec![first.items().as_ref(), second.items().as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        if first.is_null(row) && second.is_null(row) {
            out.push_null();
            continue;
        }
        out.push(0, first.range(row))?;
        out.push(1, second.range(row))?;
        out.finish_list();
    }
    out.finish(&call.returns)
}

fn remove(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    let removed = &call.arguments[1];
    let compare = make_comparator(lists.items(), &removed.array, SortOptions::default())?;
    let mut out = Lists::of(vec![lists.items().as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        if lists.is_null(row) {
            out.push_null();
            continue;
        }
        for item in lists.range(row).filter(|item| compare(*item, removed.index(row)).is_ne()) {
            out.push(0, item..item + 1)?;
        }
        out.finish_list();
    }
    out.finish(&call.returns)
}

fn replace(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    let (old, new) = (&call.arguments[1], &call.arguments[2]);
    let compare = make_comparator(lists.items(), &old.array, SortOptions::default())?;
    let mut out = Lists::of(vec![lists.items().as_ref(), new.array.as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        if lists.is_null(row) {
            out.push_null();
            continue;
        }
        for item in lists.range(row) {
            if compare(item, old.index(row)).is_eq() {
                out.push(1, new.index(row)..new.index(row) + 1)?;
            } else {
                out.push(0, item..item + 1)?;
            }
        }
        out.finish_list();
    }
    out.finish(&call.returns)
}

/// Without its last n items.
fn trim(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, counts) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    let mut out = Lists::of(vec![lists.items().as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        if call.is_null(row) {
            out.push_null();
            continue;
        }
        let items = lists.range(row);
        let count = usize::try_from(counts.at(row)).ok().filter(|count| *count <= items.len()).ok_or_else(|| {
            let message = format!("number of elements to trim must be between 0 and {}", items.len());
            SqlError::new(ErrorKind::SubscriptError, message)
        })?;
        out.push(0, items.start..items.end - count)?;
        out.finish_list();
    }
    out.finish(&call.returns)
}

/// The same item so many times.
fn fill(call: &Call) -> SqlResult<ArrayRef> {
    /// Most items an array has, as in PostgreSQL.
    const ITEMS_MAX: usize = 134_217_727;
    let item = &call.arguments[0];
    let dimensions = call.lists(1)?;
    let mut out = Lists::of(vec![item.array.as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        let Some(lengths) = dimensions.get(row) else {
            let message = "dimension array or low bound array cannot be null";
            return Err(SqlError::new(ErrorKind::NullValueNotAllowed, message));
        };
        if lengths.null_count() > 0 {
            return Err(SqlError::new(ErrorKind::NullValueNotAllowed, "dimension values cannot be null"));
        }
        let lengths = lengths.as_primitive::<Int32Type>().values().to_vec();
        let length = match lengths.as_slice() {
            [] => 0,
            [length] => usize::try_from(*length).unwrap_or(0),
            _ => return Err(SqlError::not_supported("array_fill of several dimensions")),
        };
        if length > ITEMS_MAX {
            let message = format!("array size exceeds the maximum allowed ({ITEMS_MAX})");
            return Err(SqlError::new(ErrorKind::LimitExceeded, message));
        }
        out.push_times(0, item.index(row), length)?;
        out.finish_list();
    }
    out.finish(&call.returns)
}

fn flatten(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    let mut levels: Vec<&ListArray> = Vec::new();
    let mut items = lists.items();
    while let Some(inner) = items.as_list_opt::<i32>() {
        levels.push(inner);
        items = inner.values();
    }
    if let (true, Some(argument)) = (levels.is_empty(), call.arguments.first().filter(|list| !list.constant)) {
        return Ok(argument.array.clone());
    }
    let mut out = Lists::of(vec![items.as_ref()], call.rows);
    for row in call.each_row() {
        let row = row?;
        if call.is_null(row) {
            out.push_null();
            continue;
        }
        let range = levels.iter().fold(lists.range(row), |range, level| {
            let offsets = level.value_offsets();
            let place = |index: usize| usize::try_from(offsets[index]).unwrap_or(0);
            place(range.start)..place(range.end)
        });
        out.push(0, range)?;
        out.finish_list();
    }
    out.finish(&call.returns)
}

//! `int2vector` and `oidvector`, the catalogue's arrays of columns and types: they count from 0, as no other array does.

use arrow::array::{ArrayRef, BooleanArray, Int32Builder, ListBuilder, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::Int32Type;
use std::sync::Arc;

use super::lists::Lists;
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Bool, Int2, Int2Vector, Int4, Oid, OidVector, Text};
use crate::functions::strings::int4;

const INT2S: Type = Type::ArrayOf(&Int2);
const INT4S: Type = Type::ArrayOf(&Int4);
const OIDS: Type = Type::ArrayOf(&Oid);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("array_subscript", &[Int2Vector, Int4], Int2, item),
    Overload::new("array_subscript", &[OidVector, Int4], Oid, item),
    Overload::new("array_part", &[Int2Vector, Int4, Int4], INT2S, part),
    Overload::new("array_part", &[OidVector, Int4, Int4], OIDS, part),
    Overload::new("array_lower", &[Int2Vector, Int4], Int4, |call| bound(call, |_| 0)),
    Overload::new("array_lower", &[OidVector, Int4], Int4, |call| bound(call, |_| 0)),
    Overload::new("array_upper", &[Int2Vector, Int4], Int4, |call| bound(call, |length| length - 1)),
    Overload::new("array_upper", &[OidVector, Int4], Int4, |call| bound(call, |length| length - 1)),
    Overload::new("array_dims", &[Int2Vector], Text, dimensions),
    Overload::new("array_dims", &[OidVector], Text, dimensions),
    Overload::new("generate_subscripts", &[Int2Vector, Int4], INT4S, subscripts),
    Overload::new("generate_subscripts", &[OidVector, Int4], INT4S, subscripts),
    Overload::new("generate_subscripts", &[Int2Vector, Int4, Bool], INT4S, subscripts),
    Overload::new("generate_subscripts", &[OidVector, Int4, Bool], INT4S, subscripts),
];

fn item(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, numbers) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    let place = |row: usize| {
        let place = lists.range(row).nth(usize::try_from(numbers.at(row)).ok()?)?;
        u32::try_from(place).ok()
    };
    let places: UInt32Array = (0..call.rows).map(|row| if call.is_null(row) { None } else { place(row) }).collect();
    Ok(take(lists.items(), &places, None)?)
}

/// A part is an array as all others.
fn part(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, first, last) = (call.lists(0)?, call.primitive::<Int32Type>(1)?, call.primitive::<Int32Type>(2)?);
    let mut out = Lists::of(vec![lists.items().as_ref()], call.rows);
    for row in 0..call.rows {
        if call.is_null(row) {
            out.push_null();
            continue;
        }
        let items = lists.range(row);
        let skipped = usize::try_from(first.at(row).max(0)).unwrap_or(0);
        let end = usize::try_from(last.at(row).saturating_add(1)).unwrap_or(0).min(items.len());
        out.push(0, items.start + skipped.min(end)..items.start + end);
        out.finish_list();
    }
    out.finish(&call.returns)
}

/// Of the one dimension there is; an empty vector has none.
fn bound(call: &Call, value: fn(i32) -> i32) -> SqlResult<ArrayRef> {
    let (lists, dimensions) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    call.maybe_numbers::<Int32Type>(|row| match lists.range(row).len() {
        length if length > 0 && dimensions.at(row) == 1 => Ok(Some(value(int4(length)?))),
        _ => Ok(None),
    })
}

fn dimensions(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    call.maybe_texts(|row, out| {
        let length = lists.range(row).len();
        if let Some(last) = length.checked_sub(1) {
            out.push_str(&format!("[0:{last}]"));
        }
        Ok(length > 0)
    })
}

fn subscripts(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, dimensions) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    let reversed = call.maybe_values::<BooleanArray>(2)?;
    let mut out = ListBuilder::new(Int32Builder::new());
    for row in 0..call.rows {
        let is_null = call.is_null(row);
        let length = if is_null || dimensions.at(row) != 1 { 0 } else { int4(lists.range(row).len())? };
        if !is_null && reversed.is_some_and(|reversed| reversed.at(row)) {
            out.values().extend((0..length).rev().map(Some));
        } else {
            out.values().extend((0..length).map(Some));
        }
        out.append(!is_null);
    }
    Ok(Arc::new(out.finish()))
}

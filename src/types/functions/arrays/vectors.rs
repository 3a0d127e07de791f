//! `int2vector` and `oidvector`, the catalogue's arrays of columns and types: they count from 0, as no other array does.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Builder, ListBuilder};
use arrow::datatypes::Int32Type;

use super::subscript::{item, part};
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Bool, Int2, Int2Vector, Int4, Oid, OidVector, Text};
use crate::functions::strings::int4;

/// The number of the first item.
const LOWEST: i32 = 0;

const INT2S: Type = Type::ArrayOf(&Int2);
const INT4S: Type = Type::ArrayOf(&Int4);
const OIDS: Type = Type::ArrayOf(&Oid);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("array_subscript", &[Int2Vector, Int4], Int2, |call| item(call, LOWEST)),
    Overload::new("array_subscript", &[OidVector, Int4], Oid, |call| item(call, LOWEST)),
    Overload::new("array_part", &[Int2Vector, Int4, Int4], INT2S, |call| part(call, LOWEST)),
    Overload::new("array_part", &[OidVector, Int4, Int4], OIDS, |call| part(call, LOWEST)),
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
    for row in call.each_row() {
        let row = row?;
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

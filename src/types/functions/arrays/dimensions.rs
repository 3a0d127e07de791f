//! How large an array is: `array_length`, `cardinality` and their relatives. An empty array has no dimensions.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int32Type;

use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Array as AnyArray, Int4, Text};
use crate::functions::strings::int4;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("array_length", &[AnyArray, Int4], Int4, |call| of_dimension(call, int4)),
    Overload::new("array_upper", &[AnyArray, Int4], Int4, |call| of_dimension(call, int4)),
    Overload::new("array_lower", &[AnyArray, Int4], Int4, |call| of_dimension(call, |_| Ok(1))),
    Overload::new("array_ndims", &[AnyArray], Int4, |call| {
        let lists = call.lists(0)?;
        call.maybe_numbers::<Int32Type>(|row| match lengths(&lists.at(row)).len() {
            0 => Ok(None),
            count => int4(count).map(Some),
        })
    }),
    Overload::new("array_dims", &[AnyArray], Text, |call| {
        let lists = call.lists(0)?;
        call.maybe_texts(|row, out| {
            let lengths = lengths(&lists.at(row));
            lengths.iter().for_each(|length| out.push_str(&format!("[1:{length}]")));
            Ok(!lengths.is_empty())
        })
    }),
    Overload::new("cardinality", &[AnyArray], Int4, |call| {
        let lists = call.lists(0)?;
        call.numbers::<Int32Type>(|row| {
            let lengths = lengths(&lists.at(row));
            int4(if lengths.is_empty() { 0 } else { lengths.iter().product() })
        })
    }),
];

/// The length of each dimension of an array with these items.
pub fn lengths(items: &ArrayRef) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut items = items.clone();
    while !items.is_empty() {
        lengths.push(items.len());
        items = match items.as_list_opt::<i32>() {
            Some(lists) if lists.is_valid(0) => lists.value(0),
            _ => break,
        };
    }
    lengths
}

fn of_dimension(call: &Call, value: fn(usize) -> SqlResult<i32>) -> SqlResult<ArrayRef> {
    let (lists, dimensions) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    call.maybe_numbers::<Int32Type>(|row| {
        let dimension = usize::try_from(dimensions.at(row)).ok().and_then(|dimension| dimension.checked_sub(1));
        let lengths = lengths(&lists.at(row));
        dimension.and_then(|dimension| lengths.get(dimension)).map(|length| value(*length)).transpose()
    })
}

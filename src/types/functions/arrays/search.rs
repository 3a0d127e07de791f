//! `array_position` and `array_positions`: where an item stands. NULL is found as any other item.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int32Builder, ListBuilder, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::Int32Type;

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Compatible, CompatibleArray, Int4};
use crate::functions::strings::int4;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("array_position", &[CompatibleArray, Compatible], Int4, position).of_nulls(),
    Overload::new("array_position", &[CompatibleArray, Compatible, Int4], Int4, position).of_nulls(),
    Overload::new("array_positions", &[CompatibleArray, Compatible], Type::ArrayOf(&Int4), positions).of_nulls(),
];

fn position(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    let sought = &call.arguments[1];
    let starts = call.maybe_values::<Int32Array>(2)?;
    let compare = make_comparator(lists.items(), &sought.array, SortOptions::default())?;
    call.maybe_numbers::<Int32Type>(|row| {
        let skipped = match starts.map(|starts| starts.get(row)) {
            Some(None) => {
                return Err(SqlError::new(ErrorKind::NullValueNotAllowed, "initial position must not be null"));
            }
            Some(Some(start)) => usize::try_from(start.saturating_sub(1).max(0)).unwrap_or(0),
            None => 0,
        };
        let found =
            lists.range(row).enumerate().skip(skipped).find(|(_, item)| compare(*item, sought.index(row)).is_eq());
        found.map(|(place, _)| int4(place + 1)).transpose()
    })
}

fn positions(call: &Call) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    let sought = &call.arguments[1];
    let compare = make_comparator(lists.items(), &sought.array, SortOptions::default())?;
    let mut out = ListBuilder::new(Int32Builder::new());
    for row in call.each_row() {
        let row = row?;
        let range = lists.range(row);
        let found = range.enumerate().filter(|(_, item)| compare(*item, sought.index(row)).is_eq());
        for (place, _) in found {
            out.values().append_value(int4(place + 1)?);
        }
        out.append(!lists.is_null(row));
    }
    Ok(Arc::new(out.finish()))
}

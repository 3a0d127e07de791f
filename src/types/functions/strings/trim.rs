//! `trim` and its relatives: takes off characters of a set at one end or both.

use arrow::array::ArrayRef;

use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bytea, Text};

pub(super) const FUNCTIONS: &[Overload] = &[
    // TRIM(x) is syntax, for which the planner asks under this name.
    Overload::new("trim", &[Text], Text, |call| text(call, true, true)),
    Overload::new("trim", &[Text, Text], Text, |call| text(call, true, true)),
    Overload::new("trim", &[Bytea, Bytea], Bytea, |call| bytes(call, true, true)),
    Overload::new("btrim", &[Text], Text, |call| text(call, true, true)),
    Overload::new("btrim", &[Text, Text], Text, |call| text(call, true, true)),
    Overload::new("btrim", &[Bytea, Bytea], Bytea, |call| bytes(call, true, true)),
    Overload::new("ltrim", &[Text], Text, |call| text(call, true, false)),
    Overload::new("ltrim", &[Text, Text], Text, |call| text(call, true, false)),
    Overload::new("ltrim", &[Bytea, Bytea], Bytea, |call| bytes(call, true, false)),
    Overload::new("rtrim", &[Text], Text, |call| text(call, false, true)),
    Overload::new("rtrim", &[Text, Text], Text, |call| text(call, false, true)),
    Overload::new("rtrim", &[Bytea, Bytea], Bytea, |call| bytes(call, false, true)),
];

fn text(call: &Call, front: bool, back: bool) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    let sets = call.maybe_text(1)?;
    call.texts(|row, out| {
        let set = sets.map_or(" ", |sets| sets.at(row));
        let mut value = values.at(row);
        if front {
            value = value.trim_start_matches(|c| set.contains(c));
        }
        if back {
            value = value.trim_end_matches(|c| set.contains(c));
        }
        out.push_str(value);
        Ok(())
    })
}

fn bytes(call: &Call, front: bool, back: bool) -> SqlResult<ArrayRef> {
    let (values, sets) = (call.bytes(0)?, call.bytes(1)?);
    call.byte_strings(|row, out| {
        let set = sets.at(row);
        let mut value = values.at(row);
        while let (true, [first, rest @ ..]) = (front, value)
            && set.contains(first)
        {
            value = rest;
        }
        while let (true, [rest @ .., last]) = (back, value)
            && set.contains(last)
        {
            value = rest;
        }
        out.extend_from_slice(value);
        Ok(())
    })
}

//! `json_agg`, `json_object_agg` and those of jsonb: lists that are collected first and then written.
//!
//! Every call is rewritten (`functions::collected`) as a function of the arrays that `array_agg` collects.

use arrow::array::{ArrayRef, AsArray};

use super::build::texts;
use super::write::JsonArgument;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Json as JsonType, Jsonb, Text};

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("json_of_items", &[TEXTS], JsonType, |call| array(call, false)),
    Overload::new("jsonb_of_items", &[TEXTS], Jsonb, |call| array(call, true)),
    Overload::new("json_of_members", &[TEXTS], JsonType, |call| object(call, false)),
    Overload::new("jsonb_of_members", &[TEXTS], Jsonb, |call| object(call, true)),
    // One member, its key and its value.
    Overload::new("json_member", &[Type::Any, Type::Any], Text, member).of_nulls().stable(),
    // One item, with a mark in front where a line is to begin.
    Overload::new("json_item", &[Type::Element], Text, item).of_nulls().stable(),
];

/// In front of an item before which PostgreSQL begins a line: arrays and rows.
const LINE: char = '\n';

fn array(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    texts(call, binary, |row, out| {
        let items = lists.at(row);
        let items = items.as_string::<i32>();
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            let item = item.unwrap_or("null");
            let (item, begins_line) = item.strip_prefix(LINE).map_or((item, false), |item| (item, true));
            if index > 0 {
                out.push_str(if begins_line { ", \n " } else { ", " });
            }
            out.push_str(item);
        }
        out.push(']');
        Ok(())
    })
}

fn object(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    texts(call, binary, |row, out| {
        let members = lists.at(row);
        out.push_str("{ ");
        for (index, member) in members.as_string::<i32>().iter().flatten().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            out.push_str(member);
        }
        out.push_str(" }");
        Ok(())
    })
}

fn item(call: &Call) -> SqlResult<ArrayRef> {
    let value = JsonArgument::of(call, 0);
    texts(call, false, |row, out| {
        let place = value.index(row);
        if value.column.is_composite() && !value.column.is_null(place) {
            out.push(LINE);
        }
        value.column.write(place, out);
        Ok(())
    })
}

fn member(call: &Call) -> SqlResult<ArrayRef> {
    let key = JsonArgument::of(call, 0);
    let value = JsonArgument::of(call, 1);
    texts(call, false, |row, out| {
        if key.column.is_null(key.index(row)) {
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, "field name must not be null"));
        }
        key.column.write_key(key.index(row), out)?;
        out.push_str(" : ");
        value.column.write(value.index(row), out);
        Ok(())
    })
}

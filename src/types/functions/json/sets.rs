//! The parts of JSON as lists, whose items become rows: `json_array_elements`, `json_each`, `json_object_keys`.

use arrow::array::ArrayRef;

use super::cursor::{Json, Kind};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::{Call, TextItems};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Json as JsonType, Jsonb, Text};

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("json_array_elements", &[JsonType], TEXTS, |call| elements(call, "json_array_elements", raw)),
    Overload::new("jsonb_array_elements", &[Jsonb], TEXTS, |call| elements(call, "", raw)),
    Overload::new("json_array_elements_text", &[JsonType], TEXTS, |call| {
        elements(call, "json_array_elements_text", text)
    }),
    Overload::new("jsonb_array_elements_text", &[Jsonb], TEXTS, |call| elements(call, "", text)),
    Overload::new("json_object_keys", &[JsonType], TEXTS, |call| keys(call, "json_object_keys")),
    Overload::new("jsonb_object_keys", &[Jsonb], TEXTS, |call| keys(call, "jsonb_object_keys")),
    // The first column of those that give keys and values.
    Overload::new("json_each_key", &[JsonType], TEXTS, |call| members(call, "", key)),
    Overload::new("jsonb_each_key", &[Jsonb], TEXTS, |call| members(call, "jsonb_each", key)),
    Overload::new("jsonb_each_text_key", &[Jsonb], TEXTS, |call| members(call, "jsonb_each_text", key)),
    Overload::new("json_each", &[JsonType], TEXTS, |call| members(call, "", |(_, value), items| raw(value, items))),
    Overload::new("jsonb_each", &[Jsonb], TEXTS, |call| {
        members(call, "jsonb_each", |(_, value), items| raw(value, items))
    }),
    Overload::new("json_each_text", &[JsonType], TEXTS, |call| {
        members(call, "", |(_, value), items| text(value, items))
    }),
    Overload::new("jsonb_each_text", &[Jsonb], TEXTS, |call| {
        members(call, "jsonb_each_text", |(_, value), items| text(value, items))
    }),
    // Objects whose members become columns that a statement defines.
    Overload::new("json records", &[JsonType], TEXTS, |call| records(call, "json_to_recordset")),
    Overload::new("jsonb records", &[Jsonb], TEXTS, |call| records(call, "jsonb_to_recordset")),
    Overload::new("json record", &[JsonType], JsonType, |call| record(call, "json_to_record")),
    Overload::new("jsonb record", &[Jsonb], Jsonb, |call| record(call, "jsonb_to_record")),
];

/// Key and value.
type Member<'a> = (Json<'a>, Json<'a>);

fn key((key, _): Member<'_>, items: &mut TextItems) -> SqlResult<()> {
    text(key, items)
}

fn raw(json: Json<'_>, items: &mut TextItems) -> SqlResult<()> {
    items.push(json.text())
}

fn text(json: Json<'_>, items: &mut TextItems) -> SqlResult<()> {
    match json.as_text()? {
        Some(text) => items.push(text),
        None => items.push_null(),
    }
}

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

/// Messages name the function for json, and say what it is that has no items for jsonb.
fn elements(call: &Call, name: &str, push: fn(Json<'_>, &mut TextItems) -> SqlResult<()>) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.text_lists(|row, items| {
        let json = Json::new(values.at(row));
        match json.kind() {
            Kind::Array => json.items().try_for_each(|item| push(item, items))?,
            Kind::Object if name.is_empty() => return Err(invalid("cannot extract elements from an object")),
            _ if name.is_empty() => return Err(invalid("cannot extract elements from a scalar")),
            Kind::Object => return Err(invalid(format!("cannot call {name} on a non-array"))),
            _ => return Err(invalid(format!("cannot call {name} on a scalar"))),
        }
        Ok(true)
    })
}

/// The objects in an array.
fn records(call: &Call, name: &str) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.text_lists(|row, items| {
        let json = Json::new(values.at(row));
        match json.kind() {
            Kind::Array => {}
            Kind::Object => return Err(invalid(format!("cannot call {name} on an object"))),
            _ => return Err(invalid(format!("cannot call {name} on a scalar"))),
        }
        for item in json.items() {
            if item.kind() != Kind::Object {
                return Err(invalid(format!("argument of {name} must be an array of objects")));
            }
            raw(item, items)?;
        }
        Ok(true)
    })
}

/// The same value, which is an object.
fn record(call: &Call, name: &str) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.texts(|row, out| {
        let json = Json::new(values.at(row));
        match json.kind() {
            Kind::Object => out.push_str(json.text()),
            Kind::Array => return Err(invalid(format!("cannot call {name} on an array"))),
            _ => return Err(invalid(format!("cannot call {name} on a scalar"))),
        }
        Ok(())
    })
}

fn keys(call: &Call, name: &str) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.text_lists(|row, items| {
        let json = Json::new(values.at(row));
        match json.kind() {
            Kind::Object => json.members().try_for_each(|member| key(member, items))?,
            Kind::Array => return Err(invalid(format!("cannot call {name} on an array"))),
            _ => return Err(invalid(format!("cannot call {name} on a scalar"))),
        }
        Ok(true)
    })
}

/// A part of every member: its key or its value.
fn members(call: &Call, name: &str, push: fn(Member<'_>, &mut TextItems) -> SqlResult<()>) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.text_lists(|row, items| {
        let json = Json::new(values.at(row));
        match json.kind() {
            Kind::Object => json.members().try_for_each(|member| push(member, items))?,
            _ if !name.is_empty() => return Err(invalid(format!("cannot call {name} on a non-object"))),
            Kind::Array => return Err(invalid("cannot deconstruct an array as an object")),
            _ => return Err(invalid("cannot deconstruct a scalar")),
        }
        Ok(true)
    })
}

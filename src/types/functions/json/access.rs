//! Functions and operators that look into JSON: `->`, `->>`, `#>`, `#>>`, `json_typeof` and their relatives.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int32Type;

use super::cursor::{Json, Kind};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::{Call, Texts};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Int4, Json as JsonType, Jsonb, Text};
use crate::functions::strings::int4;

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    // ->
    Overload::new("json_get", &[JsonType, Text], JsonType, |call| found(call, member, false)),
    Overload::new("json_get", &[JsonType, Int4], JsonType, |call| found(call, item, false)),
    Overload::new("json_get", &[Jsonb, Text], Jsonb, |call| found(call, member, false)),
    Overload::new("json_get", &[Jsonb, Int4], Jsonb, |call| found(call, item_or_scalar, false)),
    // ->>
    Overload::new("json_get_text", &[JsonType, Text], Text, |call| found(call, member, true)),
    Overload::new("json_get_text", &[JsonType, Int4], Text, |call| found(call, item, true)),
    Overload::new("json_get_text", &[Jsonb, Text], Text, |call| found(call, member, true)),
    Overload::new("json_get_text", &[Jsonb, Int4], Text, |call| found(call, item_or_scalar, true)),
    // #> and #>>
    Overload::new("json_at", &[JsonType, TEXTS], JsonType, |call| found(call, at_path, false)),
    Overload::new("json_at", &[Jsonb, TEXTS], Jsonb, |call| found(call, at_path, false)),
    Overload::new("json_at_text", &[JsonType, TEXTS], Text, |call| found(call, at_path, true)),
    Overload::new("json_at_text", &[Jsonb, TEXTS], Text, |call| found(call, at_path, true)),
    Overload::new("json_extract_path", &[JsonType, Text], JsonType, |call| found(call, along, false)).variadic(),
    Overload::new("jsonb_extract_path", &[Jsonb, Text], Jsonb, |call| found(call, along, false)).variadic(),
    Overload::new("json_extract_path_text", &[JsonType, Text], Text, |call| found(call, along, true)).variadic(),
    Overload::new("jsonb_extract_path_text", &[Jsonb, Text], Text, |call| found(call, along, true)).variadic(),
    Overload::new("json_typeof", &[JsonType], Text, type_name),
    Overload::new("jsonb_typeof", &[Jsonb], Text, type_name),
    Overload::new("json_array_length", &[JsonType], Int4, array_length),
    Overload::new("jsonb_array_length", &[Jsonb], Int4, array_length),
];

/// Finds a part of the value of a row.
type Find = for<'a> fn(&Call, Json<'a>, usize) -> SqlResult<Option<Json<'a>>>;

fn found(call: &Call, find: Find, as_text: bool) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.maybe_texts(|row, out| {
        let Some(part) = find(call, Json::new(values.at(row)), row)? else { return Ok(false) };
        if !as_text {
            out.push_str(part.text());
            return Ok(true);
        }
        let text = part.as_text()?;
        text.iter().for_each(|text| out.push_str(text));
        Ok(text.is_some())
    })
}

fn member<'a>(call: &Call, json: Json<'a>, row: usize) -> SqlResult<Option<Json<'a>>> {
    Ok(json.member(call.text(1)?.at(row)))
}

fn item<'a>(call: &Call, json: Json<'a>, row: usize) -> SqlResult<Option<Json<'a>>> {
    Ok(json.item(call.primitive::<Int32Type>(1)?.at(row).into()))
}

/// To jsonb a bare value is an array of one item.
fn item_or_scalar<'a>(call: &Call, json: Json<'a>, row: usize) -> SqlResult<Option<Json<'a>>> {
    if json.is_scalar() {
        let place = call.primitive::<Int32Type>(1)?.at(row);
        return Ok(matches!(place, 0 | -1).then_some(json));
    }
    item(call, json, row)
}

/// Along the path that an array is; one with a NULL in it leads nowhere.
fn at_path<'a>(call: &Call, json: Json<'a>, row: usize) -> SqlResult<Option<Json<'a>>> {
    let path = call.lists(1)?.at(row);
    let steps = path.as_string::<i32>();
    if steps.null_count() > 0 {
        return Ok(None);
    }
    Ok((0..steps.len()).try_fold(json, |json, index| json.step(steps.value(index))))
}

/// Along the path that all arguments behind the first are.
fn along<'a>(call: &Call, json: Json<'a>, row: usize) -> SqlResult<Option<Json<'a>>> {
    let steps = (1..call.arguments.len()).map(|index| call.text(index)).collect::<SqlResult<Vec<Texts<'_>>>>()?;
    Ok(steps.iter().try_fold(json, |json, step| json.step(step.at(row))))
}

fn type_name(call: &Call) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.texts(|row, out| {
        out.push_str(Json::new(values.at(row)).kind().name());
        Ok(())
    })
}

fn array_length(call: &Call) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    call.numbers::<Int32Type>(|row| {
        let json = Json::new(values.at(row));
        match json.kind() {
            Kind::Array => int4(json.items().count()),
            Kind::Object => Err(no_array("cannot get array length of a non-array")),
            _ => Err(no_array("cannot get array length of a scalar")),
        }
    })
}

fn no_array(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

//! JSON from SQL values: `to_json`, `json_build_object`, `json_build_array` and their relatives.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};

use super::write::JsonArgument;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Any, Array as AnyArray, Bool, Element, Json, Jsonb, Record, Text};
use crate::input::{canonical_json, write_json_string};

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("to_json", &[Element], Json, |call| converted(call, false)).stable(),
    Overload::new("to_jsonb", &[Element], Jsonb, |call| converted(call, true)).stable(),
    Overload::new("array_to_json", &[AnyArray], Json, |call| converted(call, false)).stable(),
    Overload::new("array_to_json", &[AnyArray, Bool], Json, pretty).stable(),
    Overload::new("row_to_json", &[Record], Json, |call| converted(call, false)).stable(),
    Overload::new("row_to_json", &[Record, Bool], Json, pretty).stable(),
    Overload::new("json_build_array", &[], Json, |call| array(call, false)).of_nulls().stable(),
    Overload::new("json_build_array", &[Any], Json, |call| array(call, false)).variadic().of_nulls().stable(),
    Overload::new("jsonb_build_array", &[], Jsonb, |call| array(call, true)).of_nulls().stable(),
    Overload::new("jsonb_build_array", &[Any], Jsonb, |call| array(call, true)).variadic().of_nulls().stable(),
    Overload::new("json_build_object", &[], Json, |call| object(call, false)).of_nulls().stable(),
    Overload::new("json_build_object", &[Any], Json, |call| object(call, false)).variadic().of_nulls().stable(),
    Overload::new("jsonb_build_object", &[], Jsonb, |call| object(call, true)).of_nulls().stable(),
    Overload::new("jsonb_build_object", &[Any], Jsonb, |call| object(call, true)).variadic().of_nulls().stable(),
    Overload::new("json_object", &[TEXTS], Json, |call| of_texts(call, false)),
    Overload::new("json_object", &[TEXTS, TEXTS], Json, |call| of_texts(call, false)),
    Overload::new("jsonb_object", &[TEXTS], Jsonb, |call| of_texts(call, true)),
    Overload::new("jsonb_object", &[TEXTS, TEXTS], Jsonb, |call| of_texts(call, true)),
    // What says again that the items of a list are JSON.
    Overload::new("typed_json", &[Text], Json, |call| Ok(call.arguments[0].array.clone())),
    Overload::new("typed_jsonb", &[Text], Jsonb, |call| Ok(call.arguments[0].array.clone())),
];

/// A JSON text for each row; as jsonb prints it if it is to be one.
pub(super) fn texts(
    call: &Call,
    binary: bool,
    mut write: impl FnMut(usize, &mut String) -> SqlResult<()>,
) -> SqlResult<ArrayRef> {
    let mut text = String::new();
    call.texts(|row, out| {
        text.clear();
        write(row, &mut text)?;
        if binary {
            out.push_str(&canonical_json(&text)?);
        } else {
            out.push_str(&text);
        }
        Ok(())
    })
}

fn converted(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let value = JsonArgument::of(call, 0);
    texts(call, binary, |row, out| {
        value.column.write(value.index(row), out);
        Ok(())
    })
}

fn pretty(call: &Call) -> SqlResult<ArrayRef> {
    let value = JsonArgument::of(call, 0);
    let pretty = call.values::<BooleanArray>(1)?;
    texts(call, false, |row, out| {
        if pretty.at(row) {
            value.column.write_pretty(value.index(row), out);
        } else {
            value.column.write(value.index(row), out);
        }
        Ok(())
    })
}

fn array(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let values: Vec<JsonArgument<'_>> = JsonArgument::all(call);
    texts(call, binary, |row, out| {
        out.push('[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            value.column.write(value.index(row), out);
        }
        out.push(']');
        Ok(())
    })
}

fn object(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let values: Vec<JsonArgument<'_>> = JsonArgument::all(call);
    if !values.len().is_multiple_of(2) {
        let name = if binary { "jsonb_build_object" } else { "json_build_object" };
        return Err(invalid("argument list must have even number of elements")
            .with_hint(format!("The arguments of {name}() must consist of alternating keys and values.")));
    }
    texts(call, binary, |row, out| {
        out.push('{');
        for (index, pair) in values.chunks_exact(2).enumerate() {
            let [key, value] = pair else { continue };
            if index > 0 {
                out.push_str(", ");
            }
            if key.column.is_null(key.index(row)) {
                let number = 2 * index + 1;
                return Err(if binary {
                    invalid(format!("argument {number}: key must not be null"))
                } else {
                    invalid(format!("argument {number} cannot be null")).with_hint("Object keys should be text.")
                });
            }
            key.column.write_key(key.index(row), out)?;
            out.push_str(" : ");
            value.column.write(value.index(row), out);
        }
        out.push('}');
        Ok(())
    })
}

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

/// Keys and values in turns in one array, or in two.
fn of_texts(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let first = call.lists(0)?;
    let second = if call.arguments.len() > 1 { Some(call.lists(1)?) } else { None };
    texts(call, binary, |row, out| {
        let first = first.at(row);
        let first = first.as_string::<i32>();
        match second {
            Some(second) => {
                let values = second.at(row);
                let values = values.as_string::<i32>();
                if values.len() != first.len() {
                    return Err(SqlError::new(ErrorKind::SubscriptError, "mismatched array dimensions"));
                }
                write_pairs((0..first.len()).map(|index| (index, index)), first, values, out)
            }
            None if first.len() % 2 != 0 => {
                Err(SqlError::new(ErrorKind::SubscriptError, "array must have even number of elements"))
            }
            None => write_pairs((0..first.len() / 2).map(|index| (2 * index, 2 * index + 1)), first, first, out),
        }
    })
}

fn write_pairs(
    places: impl Iterator<Item = (usize, usize)>,
    keys: &StringArray,
    values: &StringArray,
    out: &mut String,
) -> SqlResult<()> {
    out.push('{');
    for (index, (key, value)) in places.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        if keys.is_null(key) {
            return Err(SqlError::new(ErrorKind::NullValueNotAllowed, "null value not allowed for object key"));
        }
        write_json_string(out, keys.value(key));
        out.push_str(" : ");
        if values.is_null(value) {
            out.push_str("null");
        } else {
            write_json_string(out, values.value(value));
        }
    }
    out.push('}');
    Ok(())
}

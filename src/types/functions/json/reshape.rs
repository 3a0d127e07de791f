//! JSON in another shape: `json_strip_nulls`, `jsonb_pretty`.

use arrow::array::ArrayRef;

use super::cursor::{Json, Kind};
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Json as JsonType, Jsonb, Text};
use crate::input::write_json_string;
use crate::stack::deeper;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("json_strip_nulls", &[JsonType], JsonType, |call| {
        written(call, |json, out| strip_nulls(json, [",", ":"], out))
    }),
    Overload::new("jsonb_strip_nulls", &[Jsonb], Jsonb, |call| {
        written(call, |json, out| strip_nulls(json, [", ", ": "], out))
    }),
    Overload::new("jsonb_pretty", &[Jsonb], Text, |call| written(call, |json, out| pretty(json, 0, out))),
];

fn written(call: &Call, write: fn(Json<'_>, &mut String)) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    let mut text = String::new();
    call.texts(|row, out| {
        text.clear();
        write(Json::new(values.at(row)), &mut text);
        out.push_str(&text);
        Ok(())
    })
}

/// Without the members that are null; items of arrays stay.
fn strip_nulls(json: Json<'_>, separators: [&str; 2], out: &mut String) {
    match json.kind() {
        Kind::Object => {
            out.push('{');
            let kept = json.members().filter(|(_, value)| value.kind() != Kind::Null);
            for (index, (key, value)) in kept.enumerate() {
                if index > 0 {
                    out.push_str(separators[0]);
                }
                write_json_string(out, &key.content());
                out.push_str(separators[1]);
                deeper(|| strip_nulls(value, separators, out));
            }
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for (index, item) in json.items().enumerate() {
                if index > 0 {
                    out.push_str(separators[0]);
                }
                deeper(|| strip_nulls(item, separators, out));
            }
            out.push(']');
        }
        Kind::String => write_json_string(out, &json.content()),
        _ => out.push_str(json.text()),
    }
}

/// A line for each member and item, indented by four blanks a level.
fn pretty(json: Json<'_>, depth: usize, out: &mut String) {
    let indent = |depth: usize, out: &mut String| {
        out.push('\n');
        (0..depth * 4).for_each(|_| out.push(' '));
    };
    match json.kind() {
        Kind::Object => {
            out.push('{');
            for (index, (key, value)) in json.members().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                indent(depth + 1, out);
                out.push_str(key.text());
                out.push_str(": ");
                deeper(|| pretty(value, depth + 1, out));
            }
            indent(depth, out);
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for (index, item) in json.items().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                indent(depth + 1, out);
                deeper(|| pretty(item, depth + 1, out));
            }
            indent(depth, out);
            out.push(']');
        }
        _ => out.push_str(json.text()),
    }
}

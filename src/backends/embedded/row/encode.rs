//! From properties to a row's bytes.

use tablegate_store::model::{EdmDateTime, EdmRef, Properties};

use super::super::bytes::put_varint;
use super::{VERSION, put_signature};

/// Appends the bytes of a row. Without a number of its shape, the shape stands in the row.
pub(in crate::embedded) fn encode(
    properties: &Properties,
    timestamp: EdmDateTime,
    shape: Option<u32>,
    out: &mut Vec<u8>,
) {
    let variable_bytes: usize = properties.iter().filter_map(|(_, value)| variable(value)).map(<[u8]>::len).sum();
    let is_wide = variable_bytes > usize::from(u16::MAX);
    out.reserve(32 + 12 * properties.len() + variable_bytes);
    out.push(VERSION);
    let number = shape.map_or(0, |number| u64::from(number) + 1);
    put_varint(out, number << 1 | u64::from(is_wide));
    out.extend_from_slice(&timestamp.unix_ticks().to_le_bytes());
    if shape.is_none() {
        put_signature(out, properties);
    }
    for (_, value) in properties.iter() {
        put_fixed(out, value);
    }
    put_ends(out, properties, is_wide);
    for (_, value) in properties.iter() {
        out.extend_from_slice(variable(value).unwrap_or_default());
    }
}

fn put_fixed(out: &mut Vec<u8>, value: EdmRef<'_>) {
    match value {
        EdmRef::String(_) | EdmRef::Binary(_) => {}
        EdmRef::Int32(v) => out.extend_from_slice(&v.to_le_bytes()),
        EdmRef::Int64(v) => out.extend_from_slice(&v.to_le_bytes()),
        EdmRef::Double(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
        EdmRef::Boolean(v) => out.push(u8::from(v)),
        EdmRef::DateTime(v) => out.extend_from_slice(&v.unix_ticks().to_le_bytes()),
        EdmRef::Guid(v) => out.extend_from_slice(v.as_bytes()),
    }
}

fn put_ends(out: &mut Vec<u8>, properties: &Properties, is_wide: bool) {
    let mut end = 0;
    for bytes in properties.iter().filter_map(|(_, value)| variable(value)) {
        end += bytes.len();
        if is_wide {
            out.extend_from_slice(&u32::try_from(end).expect("an entity has at most a few MiB").to_le_bytes());
        } else {
            out.extend_from_slice(&u16::try_from(end).expect("the row is not wide").to_le_bytes());
        }
    }
}

fn variable(value: EdmRef<'_>) -> Option<&[u8]> {
    match value {
        EdmRef::String(v) => Some(v.as_bytes()),
        EdmRef::Binary(v) => Some(v),
        EdmRef::Int32(_)
        | EdmRef::Int64(_)
        | EdmRef::Double(_)
        | EdmRef::Boolean(_)
        | EdmRef::DateTime(_)
        | EdmRef::Guid(_) => None,
    }
}

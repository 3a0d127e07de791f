//! From properties to a row's bytes.

use tablegate_store::model::{EdmDateTime, EdmRef, Properties};

use super::super::bytes::put_varint;
use super::shape::fixed_width;
use super::{VERSION, put_signature};

/// Bytes that a row takes besides its texts and binaries, about.
const HEAD_BYTES: usize = 32;

/// Appends the bytes of a row. Without a number of its shape, the shape stands in the row.
pub(in crate::embedded) fn encode(
    properties: &Properties,
    timestamp: EdmDateTime,
    shape: Option<u32>,
    out: &mut Vec<u8>,
) {
    let values = properties.iter().map(|(_, value)| value);
    let variable_bytes = variable_bytes(values.clone());
    let is_wide = is_wide(variable_bytes);
    out.reserve(HEAD_BYTES + 12 * properties.len() + variable_bytes);
    put_head(out, timestamp, shape, is_wide);
    if shape.is_none() {
        put_signature(out, properties);
    }
    put_values(out, values, is_wide);
}

/// Appends what comes before the shape, where that stands in the row, and before the values.
pub(in crate::embedded) fn put_head(out: &mut Vec<u8>, timestamp: EdmDateTime, shape: Option<u32>, is_wide: bool) {
    out.push(VERSION);
    let number = shape.map_or(0, |number| u64::from(number) + 1);
    put_varint(out, number << 1 | u64::from(is_wide));
    out.extend_from_slice(&timestamp.unix_ticks().to_le_bytes());
}

/// Appends the values of a row, in the order of its shape.
pub(in crate::embedded) fn put_values<'a>(
    out: &mut Vec<u8>,
    values: impl Iterator<Item = EdmRef<'a>> + Clone,
    is_wide: bool,
) {
    values.clone().for_each(|value| put_fixed(out, value));
    put_ends(out, values.clone(), is_wide);
    values.for_each(|value| out.extend_from_slice(variable(value).unwrap_or_default()));
}

/// Bytes of texts and binaries.
pub(in crate::embedded) fn variable_bytes<'a>(values: impl Iterator<Item = EdmRef<'a>>) -> usize {
    values.filter_map(variable).map(<[u8]>::len).sum()
}

/// Whether texts and binaries of so many bytes need wide end offsets.
pub(in crate::embedded) fn is_wide(variable_bytes: usize) -> bool {
    variable_bytes > usize::from(u16::MAX)
}

fn put_fixed(out: &mut Vec<u8>, value: EdmRef<'_>) {
    let begin = out.len();
    out.resize(begin + fixed_width(value.edm_type()).unwrap_or_default(), 0);
    write_fixed(&mut out[begin..], value);
}

/// Writes a value into its place in the fixed area, which is as wide as its type; nothing of a text or binary.
pub(super) fn write_fixed(place: &mut [u8], value: EdmRef<'_>) {
    match value {
        EdmRef::String(_) | EdmRef::Binary(_) => {}
        EdmRef::Int32(v) => place.copy_from_slice(&v.to_le_bytes()),
        EdmRef::Int64(v) => place.copy_from_slice(&v.to_le_bytes()),
        EdmRef::Double(v) => place.copy_from_slice(&v.to_bits().to_le_bytes()),
        EdmRef::Boolean(v) => place.copy_from_slice(&[u8::from(v)]),
        EdmRef::DateTime(v) => place.copy_from_slice(&v.unix_ticks().to_le_bytes()),
        EdmRef::Guid(v) => place.copy_from_slice(v.as_bytes()),
    }
}

fn put_ends<'a>(out: &mut Vec<u8>, values: impl Iterator<Item = EdmRef<'a>>, is_wide: bool) {
    let mut end = 0;
    for bytes in values.filter_map(variable) {
        end += bytes.len();
        put_end(out, end, is_wide);
    }
}

/// Appends where a text or binary ends.
pub(super) fn put_end(out: &mut Vec<u8>, end: usize, is_wide: bool) {
    if is_wide {
        out.extend_from_slice(&u32::try_from(end).expect("an entity has at most a few MiB").to_le_bytes());
    } else {
        out.extend_from_slice(&u16::try_from(end).expect("the row is not wide").to_le_bytes());
    }
}

/// The bytes of a text or binary.
pub(super) fn variable(value: EdmRef<'_>) -> Option<&[u8]> {
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

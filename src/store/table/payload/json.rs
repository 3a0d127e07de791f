//! An entity as the JSON of a write request.
//!
//! A type is annotated only where the service would otherwise read another one: Int64, DateTime, Guid and Binary
//! travel as strings. A Double is written with a point or an exponent, which already says Double to the service; it is
//! annotated as the strings `NaN`, `Infinity` and `-Infinity`, and where it is a whole number, which readers of JSON
//! that know one kind of number (the emulator is one) would take for an integer.

use std::fmt::{self, Write};

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use super::length::length;
use crate::model::{EdmRef, Entity, PropertyName};

/// A Guid's text.
const GUID_BYTES: usize = 36;

/// Writes the entity, PartitionKey and RowKey first.
///
/// # Errors
/// Those of `out`.
pub fn write_entity(out: &mut impl Write, entity: &Entity) -> fmt::Result {
    out.write_str("{\"PartitionKey\":")?;
    write_string(out, entity.key.partition.as_str())?;
    out.write_str(",\"RowKey\":")?;
    write_string(out, entity.key.row.as_str())?;
    for (name, value) in entity.properties.iter() {
        out.write_char(',')?;
        write_property(out, name, value)?;
    }
    out.write_char('}')
}

/// Writes a property, without a comma.
///
/// # Errors
/// Those of `out`.
pub(super) fn write_property(out: &mut impl Write, name: &PropertyName, value: EdmRef<'_>) -> fmt::Result {
    if is_annotated(value) {
        write!(out, "\"{name}@odata.type\":\"{}\",", value.edm_type())?;
    }
    // A property name is letters, digits and underscores: nothing to escape.
    write!(out, "\"{name}\":")?;
    match value {
        EdmRef::String(v) => write_string(out, v),
        EdmRef::Int32(v) => write!(out, "{v}"),
        EdmRef::Int64(v) => write!(out, "\"{v}\""),
        // Rust's `Debug` of a float is the shortest text with a point or an exponent.
        EdmRef::Double(v) if v.is_finite() => write!(out, "{v:?}"),
        EdmRef::Double(_) | EdmRef::DateTime(_) => write!(out, "\"{value}\""),
        EdmRef::Boolean(v) => write!(out, "{v}"),
        EdmRef::Guid(v) => write!(out, "\"{v}\""),
        EdmRef::Binary(v) => write!(out, "\"{}\"", Base64Display::new(v, &STANDARD)),
    }
}

/// How many bytes [`write_entity`] writes of an entity with these keys and properties.
pub(super) fn entity_bytes<'a>(
    (partition, row): (&str, &str),
    properties: impl Iterator<Item = (&'a PropertyName, EdmRef<'a>)>,
) -> usize {
    let keys = "{\"PartitionKey\":,\"RowKey\":}".len() + string_bytes(partition) + string_bytes(row);
    keys + properties.map(|(name, value)| ",".len() + property_bytes(name, value)).sum::<usize>()
}

/// How many bytes [`write_property`] writes: what is common is counted without writing it.
pub(super) fn property_bytes(name: &PropertyName, value: EdmRef<'_>) -> usize {
    let name_bytes = "\"\":".len() + name.as_str().len();
    let digits = |number: u64| number.checked_ilog10().unwrap_or(0) as usize + 1;
    match value {
        EdmRef::String(text) => name_bytes + string_bytes(text),
        EdmRef::Int32(number) => name_bytes + usize::from(number < 0) + digits(number.unsigned_abs().into()),
        EdmRef::Boolean(true) => name_bytes + "true".len(),
        EdmRef::Boolean(false) => name_bytes + "false".len(),
        EdmRef::Int64(number) => {
            let number_bytes = usize::from(number < 0) + digits(number.unsigned_abs());
            annotation_bytes(name, value) + name_bytes + "\"\"".len() + number_bytes
        }
        EdmRef::DateTime(at) => annotation_bytes(name, value) + name_bytes + "\"\"".len() + at.text_bytes(),
        EdmRef::Guid(_) => annotation_bytes(name, value) + name_bytes + "\"\"".len() + GUID_BYTES,
        _ => length(|out| write_property(out, name, value)),
    }
}

/// How many bytes the name of the type takes that stands before a property.
fn annotation_bytes(name: &PropertyName, value: EdmRef<'_>) -> usize {
    "\"@odata.type\":\"\",".len() + name.as_str().len() + value.edm_type().name().len()
}

/// How many bytes [`write_string`] writes.
fn string_bytes(text: &str) -> usize {
    let more = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..=0x1f => 5,
        _ => 0,
    };
    "\"\"".len() + text.len() + text.bytes().map(more).sum::<usize>()
}

fn is_annotated(value: EdmRef<'_>) -> bool {
    match value {
        EdmRef::Int64(_) | EdmRef::DateTime(_) | EdmRef::Guid(_) | EdmRef::Binary(_) => true,
        EdmRef::Double(v) => !v.is_finite() || v.fract() == 0.0,
        EdmRef::String(_) | EdmRef::Int32(_) | EdmRef::Boolean(_) => false,
    }
}

/// A JSON string: what needs no escape goes out in runs, as it is.
fn write_string(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for run in text.split_inclusive(needs_escape) {
        match run.char_indices().next_back() {
            Some((at, last)) if needs_escape(last) => {
                out.write_str(run.get(..at).unwrap_or_default())?;
                write_escape(out, last)?;
            }
            _ => out.write_str(run)?,
        }
    }
    out.write_char('"')
}

fn needs_escape(c: char) -> bool {
    matches!(c, '"' | '\\' | '\u{0}'..='\u{1f}')
}

fn write_escape(out: &mut impl Write, c: char) -> fmt::Result {
    match c {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        _ => write!(out, "\\u{:04x}", u32::from(c)),
    }
}

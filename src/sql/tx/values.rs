//! Values of collected writes as bytes, for the file that takes what memory has no room for.
//!
//! The bytes live as long as the transaction, in a file that only its process can read, so they carry no version. They
//! pass the same constructors as everything else that becomes a name or a value.

use bytes::{Buf, BufMut};
use tablegate_store::model::{EdmDateTime, EdmRef, EdmType, EdmValue, Properties, PropertyName};
use uuid::Uuid;

use super::spill::Values;

/// About how much memory the values take.
pub(super) fn memory_of(values: &Values) -> usize {
    let of = |properties: &Properties| -> usize {
        properties.iter().map(|(name, value)| 64 + name.as_str().len() + length_of(value)).sum()
    };
    of(&values.after) + values.patch.as_ref().map_or(0, of)
}

pub(super) fn to_bytes(values: &Values) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(memory_of(values));
    put_properties(&mut bytes, &values.after);
    bytes.put_u8(u8::from(values.patch.is_some()));
    if let Some(patch) = &values.patch {
        put_properties(&mut bytes, patch);
    }
    bytes
}

/// `None` when these are not the bytes of values.
pub(super) fn from_bytes(mut bytes: &[u8]) -> Option<Values> {
    let after = get_properties(&mut bytes)?;
    let patch = match bytes.try_get_u8().ok()? {
        0 => None,
        _ => Some(get_properties(&mut bytes)?),
    };
    bytes.is_empty().then_some(Values { after, patch })
}

fn length_of(value: EdmRef<'_>) -> usize {
    match value {
        EdmRef::String(text) => text.len(),
        EdmRef::Binary(bytes) => bytes.len(),
        _ => 16,
    }
}

fn put_properties(bytes: &mut Vec<u8>, properties: &Properties) {
    put_length(bytes, properties.len());
    for (name, value) in properties.iter() {
        put_length(bytes, name.as_str().len());
        bytes.put_slice(name.as_str().as_bytes());
        bytes.put_u8(value.edm_type().code());
        match value {
            EdmRef::String(text) => {
                put_length(bytes, text.len());
                bytes.put_slice(text.as_bytes());
            }
            EdmRef::Binary(value) => {
                put_length(bytes, value.len());
                bytes.put_slice(value);
            }
            EdmRef::Int32(value) => bytes.put_i32_le(value),
            EdmRef::Int64(value) => bytes.put_i64_le(value),
            EdmRef::Double(value) => bytes.put_f64_le(value),
            EdmRef::Boolean(value) => bytes.put_u8(u8::from(value)),
            EdmRef::DateTime(value) => bytes.put_i64_le(value.unix_ticks()),
            EdmRef::Guid(value) => bytes.put_slice(value.as_bytes()),
        }
    }
}

/// The service's limits are far below: an entity has at most 1 MiB.
fn put_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.put_u32_le(u32::try_from(length).unwrap_or(u32::MAX));
}

fn get_properties(bytes: &mut &[u8]) -> Option<Properties> {
    let count = get_length(bytes)?;
    (0..count).map(|_| get_property(bytes)).collect()
}

fn get_property(bytes: &mut &[u8]) -> Option<(PropertyName, EdmValue)> {
    let name = PropertyName::parse(get_text(bytes)?).ok()?;
    let value = match EdmType::from_code(bytes.try_get_u8().ok()?)? {
        EdmType::String => EdmValue::string(get_text(bytes)?),
        EdmType::Binary => EdmValue::Binary(get_slice(bytes)?.into()),
        EdmType::Int32 => EdmValue::Int32(bytes.try_get_i32_le().ok()?),
        EdmType::Int64 => EdmValue::Int64(bytes.try_get_i64_le().ok()?),
        EdmType::Double => EdmValue::Double(bytes.try_get_f64_le().ok()?),
        EdmType::Boolean => EdmValue::Boolean(bytes.try_get_u8().ok()? != 0),
        EdmType::DateTime => EdmValue::DateTime(EdmDateTime::from_unix_ticks(bytes.try_get_i64_le().ok()?)?),
        EdmType::Guid => {
            let (guid, rest) = bytes.split_first_chunk::<16>()?;
            *bytes = rest;
            EdmValue::Guid(Uuid::from_bytes(*guid))
        }
    };
    Some((name, value))
}

fn get_length(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(bytes.try_get_u32_le().ok()?).ok()
}

fn get_text<'b>(bytes: &mut &'b [u8]) -> Option<&'b str> {
    std::str::from_utf8(get_slice(bytes)?).ok()
}

fn get_slice<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = get_length(bytes)?;
    let (value, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        let all = [
            EdmValue::string("größe"),
            EdmValue::Int32(-1),
            EdmValue::Int64(i64::MIN),
            EdmValue::Double(-0.0),
            EdmValue::Boolean(true),
            EdmValue::DateTime(EdmDateTime::from_unix_ticks(1).unwrap()),
            EdmValue::Guid(Uuid::from_u128(7)),
            EdmValue::Binary(vec![0, 255].into()),
        ];
        let name = |i| PropertyName::parse(&format!("p{i}")).unwrap();
        let after: Properties = all.into_iter().enumerate().map(|(i, value)| (name(i), value)).collect();
        let patch = [(name(3), EdmValue::Double(f64::INFINITY))].into_iter().collect();
        Values { after, patch: Some(patch) }
    }

    #[test]
    fn every_type_comes_back() {
        for values in [values(), Values { patch: None, ..values() }, Values { after: Properties::new(), patch: None }] {
            assert_eq!(from_bytes(&to_bytes(&values)), Some(values));
        }
    }

    #[test]
    fn what_is_cut_or_longer_is_nothing() {
        let bytes = to_bytes(&values());
        for length in 0..bytes.len() {
            assert_eq!(from_bytes(&bytes[..length]), None, "{length}");
        }
        assert_eq!(from_bytes(&[bytes.as_slice(), &[0]].concat()), None);
    }
}

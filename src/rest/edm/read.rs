//! An entity out of the JSON of a write request.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use tablegate_store::model::limits::CUSTOM_PROPERTIES_MAX;
use tablegate_store::model::{EdmType, EdmValue, Properties, PropertyName};

use super::datetime;
use crate::error::{Refusal, RestResult};
use crate::filter::parse_guid;

/// What a body says of an entity. Its keys may stand in the address alone.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Received {
    pub partition: Option<String>,
    pub row: Option<String>,
    pub properties: Properties,
}

/// Most names in a body: every property with its annotation, and some of the system's.
const NAMES_MAX: usize = 2 * CUSTOM_PROPERTIES_MAX + 32;
const TYPE_ANNOTATION: &str = "@odata.type";

/// Where the keys of an entity stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    InBody,
    /// In the address: what the body says of them, of whatever type, does not count.
    InAddress,
}

/// Reads a body.
///
/// # Errors
/// For what is no JSON, and no entity that the service takes.
pub(crate) fn read_entity(body: &[u8], keys: Keys) -> RestResult<Received> {
    let Names { values, is_beyond } = serde_json::from_slice(body).map_err(|_| Refusal::InvalidInput)?;
    if is_beyond {
        return Err(Refusal::TooManyProperties);
    }
    let annotation = |name: &str| {
        let of = |(known, value): &(Cow<'_, str>, Raw<'_>)| match value {
            Raw::String(text) if known.strip_suffix(TYPE_ANNOTATION) == Some(name) => Some(edm_type(text)),
            _ => None,
        };
        let mut found = values.iter().filter_map(of);
        match (found.next().transpose()?, found.next()) {
            (_, Some(_)) => Err(Refusal::DuplicateProperty),
            (only, None) => Ok(only),
        }
    };
    let mut received = Received { properties: Properties::with_capacity(values.len()), ..Received::default() };
    let has_annotations = values.iter().any(|(name, _)| name.contains('@'));
    for (name, value) in &values {
        if name.starts_with("odata.") || name.contains("@odata.") || name == "Timestamp" {
            continue;
        }
        let edm_type = if has_annotations { annotation(name)? } else { None };
        match &**name {
            "PartitionKey" | "RowKey" if keys == Keys::InAddress => {}
            "PartitionKey" => set_key(&mut received.partition, value, edm_type)?,
            "RowKey" => set_key(&mut received.row, value, edm_type)?,
            name => {
                let name = PropertyName::parse(name)?;
                if received.properties.get(name.as_str()).is_some() {
                    return Err(Refusal::DuplicateProperty);
                }
                // What is null is not there.
                if let Some(value) = value.typed(edm_type)? {
                    received.properties.add(name, value);
                }
            }
        }
    }
    Ok(received)
}

fn set_key(place: &mut Option<String>, value: &Raw<'_>, edm_type: Option<EdmType>) -> RestResult<()> {
    if place.is_some() {
        return Err(Refusal::DuplicateProperty);
    }
    match (value, edm_type) {
        (Raw::Null, _) => Err(Refusal::PropertiesNeedValue),
        (Raw::String(text), None | Some(EdmType::String)) => {
            *place = Some(text.clone().into_owned());
            Ok(())
        }
        _ => Err(Refusal::InvalidInput),
    }
}

fn edm_type(name: &str) -> RestResult<EdmType> {
    EdmType::ALL.into_iter().find(|known| known.name() == name).ok_or(Refusal::InvalidInput)
}

/// Clients write it as their language does: `True`, `false`.
fn boolean(text: &str) -> Option<bool> {
    text.to_ascii_lowercase().parse().ok()
}

/// A value as JSON has it.
#[derive(Debug, Clone, PartialEq)]
enum Raw<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    String(Cow<'a, str>),
}

impl Raw<'_> {
    /// The value of the type that the body names, or of the one that JSON shows; `None` for null.
    fn typed(&self, edm_type: Option<EdmType>) -> RestResult<Option<EdmValue>> {
        if *self == Raw::Null {
            return Ok(None);
        }
        let value = match edm_type {
            None => Some(self.untyped()),
            Some(EdmType::String) => self.text().map(EdmValue::string),
            Some(EdmType::Int32) => match self {
                Raw::Integer(number) => i32::try_from(*number).ok().map(EdmValue::Int32),
                other => other.parsed().map(EdmValue::Int32),
            },
            Some(EdmType::Int64) => match self {
                Raw::Integer(number) => Some(EdmValue::Int64(*number)),
                other => other.parsed().map(EdmValue::Int64),
            },
            Some(EdmType::Double) => self.double().map(EdmValue::Double),
            Some(EdmType::Boolean) => match self {
                Raw::Boolean(value) => Some(EdmValue::Boolean(*value)),
                other => other.text().and_then(boolean).map(EdmValue::Boolean),
            },
            Some(EdmType::DateTime) => self.text().and_then(datetime::parse).map(EdmValue::DateTime),
            Some(EdmType::Guid) => self.text().and_then(parse_guid).map(EdmValue::Guid),
            Some(EdmType::Binary) => {
                self.text().and_then(|text| STANDARD.decode(text).ok()).map(|bytes| EdmValue::Binary(bytes.into()))
            }
        };
        value.map(Some).ok_or(Refusal::InvalidInput)
    }

    fn untyped(&self) -> EdmValue {
        match self {
            Raw::Null => EdmValue::string(""),
            Raw::Boolean(value) => EdmValue::Boolean(*value),
            Raw::Integer(number) => match i32::try_from(*number) {
                Ok(number) => EdmValue::Int32(number),
                // As the service reads a number without a type that is beyond Int32.
                #[expect(clippy::cast_precision_loss, reason = "it is read as a Double, with what that can hold")]
                Err(_) => EdmValue::Double(*number as f64),
            },
            Raw::Number(number) => EdmValue::Double(*number),
            Raw::String(text) => EdmValue::string(&**text),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Raw::String(text) => Some(text),
            _ => None,
        }
    }

    fn parsed<T: std::str::FromStr>(&self) -> Option<T> {
        self.text()?.parse().ok()
    }

    fn double(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "it is read as a Double, with what that can hold")]
            Raw::Integer(number) => Some(*number as f64),
            Raw::Number(number) => Some(*number),
            Raw::String(text) => match &**text {
                "NaN" => Some(f64::NAN),
                "Infinity" | "INF" => Some(f64::INFINITY),
                "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
                digits if digits.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => {
                    digits.parse().ok().filter(|number: &f64| number.is_finite())
                }
                _ => None,
            },
            Raw::Null | Raw::Boolean(_) => None,
        }
    }
}

/// The names and values of one object, in their order.
struct Names<'a> {
    values: Vec<(Cow<'a, str>, Raw<'a>)>,
    /// There are more than an entity can have.
    is_beyond: bool,
}

impl<'de> Deserialize<'de> for Names<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names<'de>, A::Error> {
                let mut names = Names { values: Vec::with_capacity(16), is_beyond: false };
                while let Some((Text(name), value)) = map.next_entry::<Text<'de>, Raw<'de>>()? {
                    names.is_beyond |= names.values.len() == NAMES_MAX;
                    if !names.is_beyond {
                        names.values.push((name, value));
                    }
                }
                Ok(names)
            }
        }
        deserializer.deserialize_map(NamesVisitor)
    }
}

/// A string that is borrowed where nothing in it is escaped.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Raw::deserialize(deserializer)? {
            Raw::String(text) => Ok(Text(text)),
            _ => Err(serde::de::Error::custom("a name is a string")),
        }
    }
}

impl<'de> Deserialize<'de> for Raw<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawVisitor;
        impl<'de> Visitor<'de> for RawVisitor {
            type Value = Raw<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value that is neither an object nor a list")
            }

            fn visit_unit<E>(self) -> Result<Raw<'de>, E> {
                Ok(Raw::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Raw<'de>, E> {
                Ok(Raw::Boolean(value))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Raw<'de>, E> {
                Ok(Raw::Integer(number))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Raw<'de>, E> {
                #[expect(clippy::cast_precision_loss, reason = "beyond Int64 there is only Double")]
                Ok(i64::try_from(number).map_or(Raw::Number(number as f64), Raw::Integer))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Raw<'de>, E> {
                Ok(Raw::Number(number))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Raw<'de>, E> {
                Ok(Raw::String(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Raw<'de>, E> {
                Ok(Raw::String(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_any(RawVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(body: &str) -> RestResult<Option<EdmValue>> {
        read_entity(body.as_bytes(), Keys::InBody).map(|received| received.properties.get("a").cloned())
    }

    #[test]
    fn types_are_what_the_body_says() {
        let cases = [
            (r#"{"a":1}"#, EdmValue::Int32(1)),
            (r#"{"a":1.0}"#, EdmValue::Double(1.0)),
            (r#"{"a":3000000000}"#, EdmValue::Double(3e9)),
            (r#"{"a":"x\"y"}"#, EdmValue::string("x\"y")),
            (r#"{"a":true,"a@odata.type":"Edm.Boolean"}"#, EdmValue::Boolean(true)),
            (r#"{"a@odata.type":"Edm.Int64","a":"9007199254740993"}"#, EdmValue::Int64(9_007_199_254_740_993)),
            (r#"{"a":5,"a@odata.type":"Edm.Int64"}"#, EdmValue::Int64(5)),
            (r#"{"a":5,"a@odata.type":"Edm.Double"}"#, EdmValue::Double(5.0)),
            (r#"{"a":0.9452706955539223}"#, EdmValue::Double(0.945_270_695_553_922_3)),
            (r#"{"a":"True","a@odata.type":"Edm.Boolean"}"#, EdmValue::Boolean(true)),
            (r#"{"a":"-Infinity","a@odata.type":"Edm.Double"}"#, EdmValue::Double(f64::NEG_INFINITY)),
            (r#"{"a":"AAH/","a@odata.type":"Edm.Binary"}"#, EdmValue::Binary([0, 1, 255].into())),
        ];
        for (body, expected) in cases {
            assert_eq!(value(body), Ok(Some(expected)), "{body}");
        }
        assert_eq!(value(r#"{"a":null,"a@odata.type":"Edm.Int64"}"#), Ok(None));
    }

    #[test]
    fn what_is_no_value_of_its_type_is_refused() {
        for body in [
            "",
            "[]",
            "5",
            "{",
            r#"{"a":{}}"#,
            r#"{"a":[1]}"#,
            r#"{"a":1} x"#,
            r#"{"a":"x","a@odata.type":"Edm.Int64"}"#,
            r#"{"a":"9223372036854775808","a@odata.type":"Edm.Int64"}"#,
            r#"{"a":2147483648,"a@odata.type":"Edm.Int32"}"#,
            r#"{"a":"inf","a@odata.type":"Edm.Double"}"#,
            r#"{"a":1,"a@odata.type":"Edm.String"}"#,
            r#"{"a":"x","a@odata.type":"Edm.DateTime"}"#,
            r#"{"a":"00000000000000000000000000000000","a@odata.type":"Edm.Guid"}"#,
            r#"{"a":"?","a@odata.type":"Edm.Binary"}"#,
            r#"{"a":"x","a@odata.type":"Edm.Foo"}"#,
            r#"{"PartitionKey":1}"#,
            r#"{"RowKey":"1","RowKey@odata.type":"Edm.Guid"}"#,
            r#"{"a":1e400}"#,
            r#"{"a":"1e400","a@odata.type":"Edm.Double"}"#,
            r#"{"a":"2020-01-01T10:20:60Z","a@odata.type":"Edm.DateTime"}"#,
        ] {
            assert_eq!(value(body), Err(Refusal::InvalidInput), "{body}");
        }
    }

    #[test]
    fn a_type_is_named_once() {
        let body = r#"{"a":"1","a@odata.type":"Edm.Int64","a@odata.type":"Edm.String"}"#;
        assert_eq!(value(body), Err(Refusal::DuplicateProperty));
    }

    #[test]
    fn keys_of_any_type_do_not_count_beside_those_of_the_address() {
        let body =
            r#"{"PartitionKey":"2024-01-01T00:00:00Z","PartitionKey@odata.type":"Edm.DateTime","RowKey":null,"a":1}"#;
        let received = read_entity(body.as_bytes(), Keys::InAddress).unwrap();
        assert_eq!((received.partition, received.row, received.properties.len()), (None, None, 1));
    }

    proptest::proptest! {
        #[test]
        fn numbers_are_read_to_the_last_bit(bits: u64) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                let read = value(&format!(r#"{{"a":{number:e},"a@odata.type":"Edm.Double"}}"#));
                proptest::prop_assert!(matches!(read, Ok(Some(EdmValue::Double(read))) if read.to_bits() == number.to_bits()));
            }
        }
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(value(r#"{"a-b":1}"#), Err(Refusal::PropertyNameInvalid));
        assert_eq!(value(&format!(r#"{{"{}":1}}"#, "n".repeat(256))), Err(Refusal::PropertyNameTooLong));
        assert_eq!(value(r#"{"a":1,"a":1}"#), Err(Refusal::DuplicateProperty));
        assert_eq!(value(r#"{"PartitionKey":null}"#), Err(Refusal::PropertiesNeedValue));
        let many: Vec<String> = (0..2000).map(|i| format!(r#""p{i}":1"#)).collect();
        assert_eq!(value(&format!("{{{}}}", many.join(","))), Err(Refusal::TooManyProperties));
    }

    #[test]
    fn the_systems_own_are_left_out() {
        let body = r#"{"odata.etag":"x","odata.metadata":"y","Timestamp@odata.type":"Edm.DateTime","Timestamp":"z",
            "PartitionKey":"p","RowKey":""}"#;
        let received = read_entity(body.as_bytes(), Keys::InBody).unwrap();
        assert_eq!((received.partition.as_deref(), received.row.as_deref()), (Some("p"), Some("")));
        assert!(received.properties.is_empty());
    }
}

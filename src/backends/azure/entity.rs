//! Entities of an answer: found in the JSON, typed by their annotations, put into columns.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tablegate_store::model::{
    ETag, EdmDateTime, EdmRef, EdmType, Entity, EntityKey, Properties, PropertyName, StoredEntity,
};
use tablegate_store::table::{EntityColumns, ObservedSchema, RowETag, ScanColumns, StoreError, TypeSet};
use uuid::Uuid;

use super::json::{Json, JsonError, RawString, RawValue};
use super::reply::damaged;

const ANNOTATION: &str = "@odata.type";

/// An entity as it stands in an answer. Made once and filled again for each entity.
#[derive(Debug, Default)]
pub(super) struct RawEntity<'a> {
    pub partition: Cow<'a, str>,
    pub row: Cow<'a, str>,
    timestamp: Cow<'a, str>,
    etag: Option<RawString<'a>>,
    properties: Vec<RawProperty<'a>>,
}

#[derive(Debug)]
struct RawProperty<'a> {
    name: Cow<'a, str>,
    /// What its annotation says.
    edm_type: Option<EdmType>,
    value: RawValue<'a>,
}

impl<'a> RawEntity<'a> {
    /// Reads the object that is next.
    ///
    /// # Errors
    /// When it is no entity.
    pub(super) fn read(&mut self, json: &mut Json<'a>) -> Result<(), StoreError> {
        self.properties.clear();
        self.etag = None;
        let mut keys = 0;
        let mut annotated: Option<(Cow<'a, str>, EdmType)> = None;
        json.expect(b'{').map_err(unreadable)?;
        while !json.take(b'}') {
            let name = json.string().map_err(unreadable)?.text();
            json.expect(b':').map_err(unreadable)?;
            if name.starts_with("odata.") {
                match json.value().map_err(unreadable)? {
                    RawValue::String(etag) if name == "odata.etag" => self.etag = Some(etag),
                    _ => {}
                }
            } else if let Some(property) = name.strip_suffix(ANNOTATION) {
                let edm_type = annotation(json)?;
                annotated = Some((Cow::Owned(property.to_owned()), edm_type)).filter(|_| property != "Timestamp");
            } else {
                let value = json.value().map_err(unreadable)?;
                match (name.as_ref(), value) {
                    ("PartitionKey", RawValue::String(text)) => {
                        self.partition = text.text();
                        keys += 1;
                    }
                    ("RowKey", RawValue::String(text)) => {
                        self.row = text.text();
                        keys += 1;
                    }
                    ("Timestamp", RawValue::String(text)) => self.timestamp = text.text(),
                    (_, RawValue::Null) => {}
                    _ => {
                        let edm_type = annotated.take().filter(|(of, _)| *of == name).map(|(_, edm_type)| edm_type);
                        self.properties.push(RawProperty { name, edm_type, value });
                    }
                }
            }
            json.take(b',');
        }
        if keys == 2 { Ok(()) } else { Err(damaged(&"an entity without its keys")) }
    }

    /// # Errors
    /// When a key is none.
    pub(super) fn key(&self) -> Result<EntityKey, StoreError> {
        EntityKey::parse(&self.partition, &self.row).map_err(|error| damaged(&error))
    }

    /// Shows every property with its value.
    ///
    /// # Errors
    /// When a value is not what its type says.
    pub(super) fn each_value(&self, mut show: impl FnMut(&str, EdmRef<'_>)) -> Result<(), StoreError> {
        let mut scratch = Vec::new();
        for property in &self.properties {
            show(&property.name, property.value(self, &mut scratch)?);
        }
        Ok(())
    }

    fn timestamp(&self) -> Result<EdmDateTime, StoreError> {
        EdmDateTime::parse(&self.timestamp).ok_or_else(|| damaged(&format!("the Timestamp {:?}", self.timestamp)))
    }

    /// The entity as a whole, of an answer that gives its version in a header.
    ///
    /// # Errors
    /// When something in it is not what its type says.
    pub(super) fn to_stored(&self, header: Option<&str>) -> Result<StoredEntity, StoreError> {
        let mut properties = Properties::new();
        let mut scratch = Vec::new();
        for property in &self.properties {
            if let Ok(name) = PropertyName::parse(&property.name) {
                properties.set(name, property.value(self, &mut scratch)?.to_owned());
            }
        }
        let timestamp = self.timestamp()?;
        let in_body = self.etag.map(RawString::text);
        let etag = match in_body.as_deref().or(header) {
            Some(text) => ETag::parse(text).map_err(|error| damaged(&error))?,
            None => ETag::of_timestamp(timestamp),
        };
        Ok(StoredEntity { entity: Entity::new(self.key()?, properties), timestamp, etag })
    }
}

/// The type that is named; a name that is not one of ours is refused rather than guessed at.
fn annotation(json: &mut Json<'_>) -> Result<EdmType, StoreError> {
    let RawValue::String(name) = json.value().map_err(unreadable)? else {
        return Err(damaged(&"a type that is no text"));
    };
    let name = name.text();
    EdmType::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| damaged(&format!("the type {name:?}")))
}

impl RawProperty<'_> {
    /// The value, with `scratch` to decode it into.
    fn value<'v>(&'v self, entity: &RawEntity<'_>, scratch: &'v mut Vec<u8>) -> Result<EdmRef<'v>, StoreError> {
        self.typed(scratch).ok_or_else(|| StoreError::Damaged {
            place: format!("entity (PartitionKey={:?}, RowKey={:?})", entity.partition, entity.row),
            detail: format!("property \"{}\" is not a value of its type", self.name),
        })
    }

    fn typed<'v>(&'v self, scratch: &'v mut Vec<u8>) -> Option<EdmRef<'v>> {
        let RawValue::String(raw) = self.value else { return self.number_or_boolean() };
        let text = raw.text();
        Some(match self.edm_type.unwrap_or(EdmType::String) {
            EdmType::String => EdmRef::String(match text {
                Cow::Borrowed(text) => text,
                Cow::Owned(text) => {
                    *scratch = text.into_bytes();
                    std::str::from_utf8(scratch).ok()?
                }
            }),
            EdmType::Int32 => EdmRef::Int32(text.parse().ok()?),
            EdmType::Int64 => EdmRef::Int64(text.parse().ok()?),
            EdmType::Double => EdmRef::Double(match text.as_ref() {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                number => number.parse().ok()?,
            }),
            EdmType::Boolean => EdmRef::Boolean(text.parse().ok()?),
            EdmType::DateTime => EdmRef::DateTime(EdmDateTime::parse(&text)?),
            EdmType::Guid => EdmRef::Guid(Uuid::parse_str(&text).ok()?),
            EdmType::Binary => {
                scratch.clear();
                STANDARD.decode_vec(text.as_bytes(), scratch).ok()?;
                EdmRef::Binary(scratch)
            }
        })
    }

    fn number_or_boolean(&self) -> Option<EdmRef<'static>> {
        let number = match (self.value, self.edm_type) {
            (RawValue::Boolean(value), None | Some(EdmType::Boolean)) => return Some(EdmRef::Boolean(value)),
            (RawValue::Number(number), _) => number,
            _ => return None,
        };
        match self.edm_type {
            Some(EdmType::Int64) => number.parse().ok().map(EdmRef::Int64),
            Some(EdmType::Int32) => number.parse().ok().map(EdmRef::Int32),
            Some(EdmType::Double) => number.parse().ok().map(EdmRef::Double),
            None if number.contains(['.', 'e', 'E']) => number.parse().ok().map(EdmRef::Double),
            // An integer too large for Int32 that nothing says more about is a Double to the service.
            None => number.parse().map(EdmRef::Int32).or_else(|_| number.parse().map(EdmRef::Double)).ok(),
            Some(_) => None,
        }
    }
}

/// Puts entities into columns, and notes what properties it meets.
#[derive(Debug)]
pub(super) struct Decoder {
    columns: std::sync::Arc<ScanColumns>,
    /// What was met last at each position of an entity: entities of one table mostly look alike.
    members: Vec<Member>,
    met: ObservedSchema,
    has_news: bool,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct Member {
    name: String,
    /// The columns that show it.
    columns: Vec<usize>,
    seen: TypeSet,
}

impl Decoder {
    pub(super) fn new(columns: std::sync::Arc<ScanColumns>) -> Self {
        Self { columns, members: Vec::new(), met: ObservedSchema::default(), has_news: false, scratch: Vec::new() }
    }

    /// Adds an entity as a row.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] for a value that its column cannot show; `Damaged` for one that is not what its type says.
    pub(super) fn push(&mut self, entity: &RawEntity<'_>, into: &mut EntityColumns) -> Result<(), StoreError> {
        let etag = entity.etag.map(RawString::text);
        let timestamp = entity.timestamp()?;
        let etag = etag.as_deref().map_or(RowETag::Of(timestamp), RowETag::Text);
        into.start(&entity.partition, &entity.row, timestamp, etag);
        for (position, property) in entity.properties.iter().enumerate() {
            self.turn_to(position, &property.name);
            let mut scratch = std::mem::take(&mut self.scratch);
            let value = property.value(entity, &mut scratch)?;
            self.meet(position, value);
            for &column in &self.members[position].columns {
                if let Err(expected) = into.set(column, value) {
                    let unfit = into.unfit(column, entity.key()?, value, expected);
                    return Err(unfit.map_or_else(|| damaged(&"a value without a column"), StoreError::Unfit));
                }
            }
            self.scratch = scratch;
        }
        into.finish_row();
        Ok(())
    }

    /// The properties and types met since this was last asked, if any.
    pub(super) fn take_news(&mut self) -> Option<ObservedSchema> {
        std::mem::take(&mut self.has_news).then(|| self.met.clone())
    }

    /// Makes the member at this position that of the name.
    fn turn_to(&mut self, position: usize, name: &str) {
        if self.members.get(position).is_some_and(|member| member.name == name) {
            return;
        }
        let columns = self.columns.properties().filter(|(_, property)| property.as_str() == name);
        let columns = columns.map(|(index, _)| index).collect();
        let seen = self.met.get(name).map(|known| known.types).unwrap_or_default();
        let member = Member { name: name.to_owned(), columns, seen };
        match self.members.get_mut(position) {
            Some(place) => *place = member,
            None => self.members.push(member),
        }
    }

    fn meet(&mut self, position: usize, value: EdmRef<'_>) {
        let (member, types) = (&mut self.members[position], TypeSet::of(value));
        if member.seen.contains_all(types) {
            return;
        }
        member.seen = member.seen.union(types);
        // A name that SQL could not use is not a column either.
        if let Ok(name) = PropertyName::parse(&member.name) {
            self.has_news |= self.met.add(&name, types);
        }
    }
}

fn unreadable(error: JsonError) -> StoreError {
    damaged(&error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tablegate_store::model::EdmValue;

    fn stored(json: &str) -> Result<StoredEntity, StoreError> {
        let mut entity = RawEntity::default();
        entity.read(&mut Json::new(json, 0))?;
        entity.to_stored(None)
    }

    const SYSTEM: &str = r#""odata.etag":"W/\"x\"","PartitionKey":"p","RowKey":"r","Timestamp":"2021-01-02T03:04:05Z""#;

    fn value(members: &str) -> Option<EdmValue> {
        stored(&format!("{{{SYSTEM},{members}}}")).unwrap().entity.properties.get("a").cloned()
    }

    #[test]
    fn types_follow_annotations_and_spelling() {
        let at = EdmDateTime::parse("2021-01-02T03:04:05.1234567Z").unwrap();
        let cases = [
            (r#""a":"x\ny""#, EdmValue::string("x\ny")),
            (r#""a":7"#, EdmValue::Int32(7)),
            (r#""a":7.0"#, EdmValue::Double(7.0)),
            (r#""a":1e3"#, EdmValue::Double(1000.0)),
            (r#""a":3000000000"#, EdmValue::Double(3e9)),
            (r#""a":true"#, EdmValue::Boolean(true)),
            (r#""a@odata.type":"Edm.Int64","a":"-9223372036854775808""#, EdmValue::Int64(i64::MIN)),
            (r#""a@odata.type":"Edm.Double","a":"Infinity""#, EdmValue::Double(f64::INFINITY)),
            (r#""a@odata.type":"Edm.Double","a":3"#, EdmValue::Double(3.0)),
            (r#""a@odata.type":"Edm.DateTime","a":"2021-01-02T03:04:05.1234567Z""#, EdmValue::DateTime(at)),
            (
                r#""a@odata.type":"Edm.Guid","a":"00000000-0000-0000-0000-0000000000ab""#,
                EdmValue::Guid(Uuid::from_u128(0xab)),
            ),
            (r#""a@odata.type":"Edm.Binary","a":"+/8A""#, EdmValue::Binary([0xfb, 0xff, 0].into())),
            // An annotation is about the member of its name alone.
            (r#""b@odata.type":"Edm.Int64","a":"5""#, EdmValue::string("5")),
        ];
        for (members, expected) in cases {
            assert_eq!(value(members), Some(expected), "{members}");
        }
        assert_eq!(value(r#""a":null"#), None);
    }

    #[test]
    fn what_is_not_of_its_type_names_its_entity() {
        for members in [
            r#""a@odata.type":"Edm.Int64","a":"x""#,
            r#""a@odata.type":"Edm.DateTime","a":"yesterday""#,
            r#""a@odata.type":"Edm.Guid","a":"1""#,
            r#""a@odata.type":"Edm.Binary","a":"%""#,
        ] {
            let error = stored(&format!("{{{SYSTEM},{members}}}")).unwrap_err().to_string();
            assert!(error.contains("PartitionKey=\"p\"") && error.contains("\"a\""), "{error}");
        }
        assert!(stored(r#"{"PartitionKey":"p"}"#).is_err());
        assert!(stored(&format!("{{{SYSTEM},\"a\":")).is_err());
    }

    #[test]
    fn news_is_told_once() {
        let mut decoder = Decoder::new(Arc::new(ScanColumns::new(Vec::new())));
        let mut columns = EntityColumns::new(Arc::new(ScanColumns::new(Vec::new())));
        let mut push = |members: &str| {
            let text = format!("{{{SYSTEM},{members}}}");
            let mut entity = RawEntity::default();
            entity.read(&mut Json::new(&text, 0)).unwrap();
            decoder.push(&entity, &mut columns).unwrap();
            decoder.take_news().map(|news| news.properties().len())
        };
        assert_eq!(push(r#""a":1"#), Some(1));
        assert_eq!(push(r#""a":2"#), None);
        assert_eq!(push(r#""b":1,"a":"x""#), Some(2));
        assert_eq!(push(r#""a":1"#), None);
    }
}

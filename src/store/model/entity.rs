//! Entities: a key and a bag of typed properties.

use thiserror::Error;

use super::limits::{CUSTOM_PROPERTIES_MAX, ENTITY_MAX_BYTES};
use super::value::utf16_units;
use super::{ETag, EdmDateTime, EdmRef, EdmValue, EntityKey, PropertyName, ValueError};

/// Why a set of properties is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PropertyError {
    #[error("an entity holds at most {CUSTOM_PROPERTIES_MAX} properties besides its keys and Timestamp, not {count}")]
    TooMany { count: usize },
    #[error("property \"{name}\": {source}")]
    Value { name: PropertyName, source: ValueError },
    #[error("the entity takes {bytes} bytes; the Table service stores {ENTITY_MAX_BYTES} (1 MiB)")]
    EntityTooLarge { bytes: usize },
}

/// The custom properties of one entity: each name once, in the order they were first set. Absent means NULL.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Properties(Vec<(PropertyName, EdmValue)>);

impl Properties {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_capacity(properties: usize) -> Self {
        Self(Vec::with_capacity(properties))
    }

    pub fn get(&self, name: &str) -> Option<&EdmValue> {
        self.0.iter().find(|(n, _)| n.as_str() == name).map(|(_, v)| v)
    }

    /// Sets a property, in place when it is there already.
    pub fn set(&mut self, name: PropertyName, value: EdmValue) {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// Adds a property of a name that is not there yet: where many are set, without looking through those before.
    pub fn add(&mut self, name: PropertyName, value: EdmValue) {
        debug_assert!(self.get(name.as_str()).is_none(), "{name} is there already");
        self.0.push((name, value));
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(n, _)| n.as_str() != name);
    }

    /// Sets every property of `other`, which is what Merge does: nothing is ever removed.
    pub fn merge(&mut self, other: Properties) {
        for (name, value) in other.0 {
            self.set(name, value);
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&PropertyName, EdmRef<'_>)> + Clone {
        self.0.iter().map(|(n, v)| (n, v.as_ref()))
    }
}

impl FromIterator<(PropertyName, EdmValue)> for Properties {
    fn from_iter<I: IntoIterator<Item = (PropertyName, EdmValue)>>(iter: I) -> Self {
        let mut properties = Properties::new();
        for (name, value) in iter {
            properties.set(name, value);
        }
        properties
    }
}

/// An entity as it is written: its address and its properties.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    pub key: EntityKey,
    pub properties: Properties,
}

impl Entity {
    pub fn new(key: EntityKey, properties: Properties) -> Self {
        Self { key, properties }
    }

    /// Bytes this entity counts towards the service's 1 MiB: 4 + 2 per UTF-16 unit of both keys, and for each property
    /// 8 + 2 per UTF-16 unit of its name + its value (the service's billing formula).
    pub fn stored_size(&self) -> usize {
        let keys = 4 + 2 * utf16_units(self.key.partition.as_str()) + 2 * utf16_units(self.key.row.as_str());
        let property =
            |(name, value): (&PropertyName, EdmRef<'_>)| 8 + 2 * utf16_units(name.as_str()) + value.stored_size();
        keys + self.properties.iter().map(property).sum::<usize>()
    }

    /// # Errors
    /// [`PropertyError`] when the entity has too many properties, a value too long, or is too large in all.
    pub fn check(&self) -> Result<(), PropertyError> {
        if self.properties.len() > CUSTOM_PROPERTIES_MAX {
            return Err(PropertyError::TooMany { count: self.properties.len() });
        }
        for (name, value) in self.properties.iter() {
            value.check().map_err(|source| PropertyError::Value { name: name.clone(), source })?;
        }
        let bytes = self.stored_size();
        if bytes > ENTITY_MAX_BYTES { Err(PropertyError::EntityTooLarge { bytes }) } else { Ok(()) }
    }
}

/// An entity as a store keeps it: with the time of its last write and its version.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntity {
    pub entity: Entity,
    pub timestamp: EdmDateTime,
    pub etag: ETag,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> PropertyName {
        PropertyName::parse(text).unwrap()
    }

    fn of_binaries(lengths: impl IntoIterator<Item = usize>) -> Entity {
        let value = |(i, length)| (name(&format!("p{i}")), EdmValue::Binary(vec![0; length].into()));
        Entity::new(EntityKey::parse("", "").unwrap(), lengths.into_iter().enumerate().map(value).collect())
    }

    #[test]
    fn properties_keep_their_first_order() {
        let mut properties: Properties =
            [(name("b"), EdmValue::Int32(1)), (name("a"), EdmValue::Int32(2))].into_iter().collect();
        properties.set(name("b"), EdmValue::Boolean(true));
        let names: Vec<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(properties.get("b"), Some(&EdmValue::Boolean(true)));
        properties.remove("b");
        assert_eq!((properties.len(), properties.get("b")), (1, None));
    }

    #[test]
    fn merge_never_removes() {
        let mut properties: Properties =
            [(name("a"), EdmValue::Int32(1)), (name("b"), EdmValue::Int32(2))].into_iter().collect();
        properties.merge([(name("b"), EdmValue::Int64(3)), (name("c"), EdmValue::Int32(4))].into_iter().collect());
        let expected =
            [(name("a"), EdmValue::Int32(1)), (name("b"), EdmValue::Int64(3)), (name("c"), EdmValue::Int32(4))];
        assert_eq!(properties, expected.into_iter().collect());
    }

    #[test]
    fn size_counts_keys_names_and_values() {
        let key = EntityKey::parse("pé", "😀").unwrap();
        let properties = [(name("ab"), EdmValue::Int32(1)), (name("c"), EdmValue::string("xyz"))];
        let entity = Entity::new(key, properties.into_iter().collect());
        assert_eq!(entity.stored_size(), (4 + 4 + 4) + (8 + 4 + 4) + (8 + 2 + 4 + 6));
    }

    #[test]
    fn an_entity_takes_a_mebibyte_and_no_more() {
        // 4 for the keys; each property 8 + 2 per character of its name + 4 besides its bytes.
        let overhead = 4 + 10 * (8 + 4 + 4) + 6 * (8 + 6 + 4);
        let last = ENTITY_MAX_BYTES - overhead - 15 * 65_536;
        let lengths = |last| std::iter::repeat_n(65_536, 15).chain([last]);
        assert_eq!(of_binaries(lengths(last)).stored_size(), ENTITY_MAX_BYTES);
        assert_eq!(of_binaries(lengths(last)).check(), Ok(()));
        let one_over = PropertyError::EntityTooLarge { bytes: ENTITY_MAX_BYTES + 1 };
        assert_eq!(of_binaries(lengths(last + 1)).check(), Err(one_over));
    }

    #[test]
    fn a_value_beyond_its_limit_is_named() {
        let source = ValueError::BinaryTooLong { bytes: 65_537 };
        assert_eq!(of_binaries([1, 65_537]).check(), Err(PropertyError::Value { name: name("p1"), source }));
    }

    #[test]
    fn an_entity_holds_252_properties() {
        assert_eq!(of_binaries(vec![0; 252]).check(), Ok(()));
        assert_eq!(of_binaries(vec![0; 253]).check(), Err(PropertyError::TooMany { count: 253 }));
    }
}

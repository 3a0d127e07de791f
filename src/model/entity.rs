//! Entities: a key and a bag of typed properties.

use thiserror::Error;

use super::limits::{CUSTOM_PROPERTIES_MAX, ENTITY_MAX_BYTES};
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

    pub fn iter(&self) -> impl Iterator<Item = (&PropertyName, EdmRef<'_>)> {
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
        let units = |text: &str| 2 * text.encode_utf16().count();
        let keys = 4 + units(self.key.partition.as_str()) + units(self.key.row.as_str());
        self.properties.iter().fold(keys, |sum, (name, value)| sum + 8 + units(name.as_str()) + value.stored_size())
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

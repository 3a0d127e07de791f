//! A sequence as the catalogue keeps it: its definition, and beside it how far its values are given out.
//!
//! The two are different properties of one entity. A definition changes with ALTER SEQUENCE; how far values are given
//! out changes whenever a block of them is reserved, each time under the condition that no other gateway did so since
//! it was read.

use serde::{Deserialize, Serialize};
use tablegate_store::model::{EdmRef, EdmValue, Entity, EntityKey, Properties, PropertyName, StoredEntity};
use tablegate_types::error::SqlResult;

use super::{entry, oids};
use crate::place::{Place, PlacedName};

/// The partition of the sequences' entries.
pub(super) const SEQUENCES: &str = "sequence";
const LAST: &str = "Last";
const CALLED: &str = "Called";

/// One declared sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    format: u32,
    /// Not in its entry: that is in the store of its place.
    #[serde(skip)]
    pub place: Place,
    /// SQL name, in its declared spelling.
    pub name: String,
    pub oid: u32,
    pub options: SequenceOptions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SequenceOwner>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// How a sequence counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceOptions {
    /// `smallint`, `integer` or `bigint`.
    pub sql_type: String,
    pub start: i64,
    pub increment: i64,
    pub minimum: i64,
    pub maximum: i64,
    pub cache: i64,
    pub cycle: bool,
}

/// The column a sequence belongs to: it is dropped with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceOwner {
    /// OID of the table.
    pub table: u32,
    pub column: String,
    /// It is the counter of an identity column, so it cannot be dropped or given away on its own.
    pub identity: bool,
}

/// How far a sequence's values are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceState {
    /// The last value that was given out or reserved.
    pub last: i64,
    /// Whether `last` itself counts as given out: not after creation, RESTART, or setval(..., false).
    pub called: bool,
}

impl Sequence {
    /// A sequence that belongs to nothing, its OID still open.
    pub fn new(name: &str, options: SequenceOptions) -> Self {
        let place = Place::Public;
        Self { format: entry::FORMAT, place, name: name.to_owned(), oid: 0, options, owner: None, comment: None }
    }

    /// Its name, with the place where it has it.
    pub fn placed_name(&self) -> PlacedName {
        PlacedName::new(self.place, &self.name)
    }

    /// Where it stands when nothing was given out.
    pub fn initial(&self) -> SequenceState {
        SequenceState { last: self.options.start, called: false }
    }

    pub(crate) fn entity_key(&self) -> SqlResult<EntityKey> {
        entry::entry_key(SEQUENCES, &self.name)
    }

    /// The entity that keeps the definition and the state.
    pub(crate) fn to_entity(&self, state: SequenceState) -> SqlResult<Entity> {
        let mut entity = self.definition()?;
        entity.properties.merge(state.to_properties()?);
        Ok(entity)
    }

    /// The definition alone: merged into the entity, it leaves the state as it is.
    pub(crate) fn definition(&self) -> SqlResult<Entity> {
        let numbered = self.numbered(|oid| oids::stored(self.place, oid));
        entry::to_entity(self.entity_key()?, &Self { format: entry::FORMAT, ..numbered })
    }

    /// Reads a sequence back.
    ///
    /// # Errors
    /// XX001 naming the entry when it is not one, 0A000 when a newer version wrote it.
    pub(crate) fn of_entity(place: Place, stored: &StoredEntity) -> SqlResult<(Self, SequenceState)> {
        let sequence: Self = entry::of_entity(stored)?;
        let shown = Self { place, ..sequence.numbered(|oid| oids::shown(place, oid)) };
        Ok((shown, SequenceState::of_entity(stored)?))
    }

    /// The same with other OIDs.
    fn numbered(&self, oid: impl Fn(u32) -> u32) -> Self {
        let owner = self.owner.clone().map(|owner| SequenceOwner { table: oid(owner.table), ..owner });
        Self { oid: oid(self.oid), owner, ..self.clone() }
    }
}

impl SequenceState {
    /// The properties that keep it.
    pub(crate) fn to_properties(self) -> SqlResult<Properties> {
        let last = (PropertyName::parse(LAST)?, EdmValue::Int64(self.last));
        let called = (PropertyName::parse(CALLED)?, EdmValue::Boolean(self.called));
        Ok([last, called].into_iter().collect())
    }

    /// # Errors
    /// XX001 when the entity does not hold a state.
    pub(crate) fn of_entity(stored: &StoredEntity) -> SqlResult<Self> {
        let value = |name: &str| stored.entity.properties.get(name).map(EdmValue::as_ref);
        match (value(LAST), value(CALLED)) {
            (Some(EdmRef::Int64(last)), Some(EdmRef::Boolean(called))) => Ok(Self { last, called }),
            _ => Err(entry::damaged(stored, format!("It has no properties {LAST} and {CALLED}."))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{ETag, EdmDateTime};
    use tablegate_types::error::ErrorKind;

    /// What version 4 writes, as version 3 before it, but for its comment.
    const VERSION_4: &str = r#"{"format":4,"name":"orders id","oid":16896,"options":{"sql_type":"integer","start":1,"increment":2,"minimum":1,"maximum":2147483647,"cache":1,"cycle":false},"owner":{"table":16384,"column":"id","identity":true}}"#;

    fn sequence() -> Sequence {
        let options = SequenceOptions {
            sql_type: "integer".to_owned(),
            start: 1,
            increment: 2,
            minimum: 1,
            maximum: i32::MAX.into(),
            cache: 1,
            cycle: false,
        };
        let owner = SequenceOwner { table: 16_384, column: "id".to_owned(), identity: true };
        Sequence { oid: 16_896, owner: Some(owner), ..Sequence::new("orders id", options) }
    }

    fn stored(entity: Entity) -> StoredEntity {
        let timestamp = EdmDateTime::from_unix_micros(0).unwrap();
        StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) }
    }

    #[test]
    fn version_4_is_frozen() {
        let state = SequenceState { last: 64, called: true };
        let entity = sequence().to_entity(state).unwrap();
        let properties: Vec<_> = entity.properties.iter().collect();
        let names: Vec<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Declaration", "Last", "Called"]);
        assert_eq!(properties[0].1, EdmRef::String(VERSION_4));
        assert_eq!(Sequence::of_entity(Place::Public, &stored(entity)).unwrap(), (sequence(), state));
    }

    #[test]
    fn a_sequence_without_a_state_is_damaged() {
        let mut entity = sequence().to_entity(sequence().initial()).unwrap();
        entity.properties.remove("Last");
        assert_eq!(Sequence::of_entity(Place::Public, &stored(entity)).unwrap_err().kind, ErrorKind::DataCorrupted);
    }
}

//! Who owns an object of the catalogue and what was granted on it: an entry of its own under the object's OID, so that it
//! stays with a table that is renamed, and serves found tables, the schema and the database too.

use serde::{Deserialize, Serialize};
use tablegate_store::model::{Entity, EntityKey, StoredEntity};
use tablegate_types::error::SqlResult;
use tablegate_types::privileges::{Acl, BOOTSTRAP};

use super::{entry, oids};
use crate::place::Place;

/// The partition of these entries.
pub(super) const ACCESSES: &str = "access";

/// What is known of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    format: u32,
    /// The store whose catalogue keeps it.
    #[serde(skip)]
    pub(super) place: Place,
    pub oid: u32,
    /// The user who made the object; `None` for an object that no user made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// None until something is granted or revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) acl: Option<Acl>,
}

impl Access {
    /// The entry of an object that no user made and on which nothing was granted.
    pub fn new(oid: u32) -> Self {
        Self { format: entry::FORMAT, place: Place::Public, oid, owner: None, acl: None }
    }

    /// Of an object that a user has just made.
    pub fn made_by(user: &str, oid: u32) -> Self {
        Self { owner: Some(user.to_owned()), ..Self::new(oid) }
    }

    /// The name of its owner.
    pub fn owner(&self) -> &str {
        // The server's own sessions, which make the sample tables, have no name.
        self.owner.as_deref().filter(|name| !name.is_empty()).unwrap_or(BOOTSTRAP)
    }

    /// Whether a role owns it, or has given or been given something.
    pub fn names(&self, role: &str) -> bool {
        self.owner.as_deref() == Some(role) || self.acl.as_ref().is_some_and(|acl| acl.names(role))
    }

    pub(super) fn to_entity(&self) -> SqlResult<Entity> {
        let oid = oids::stored(self.place, self.oid);
        entry::to_entity(key_of(self.place, self.oid)?, &Self { format: entry::FORMAT, oid, ..self.clone() })
    }

    /// Reads an entry back.
    ///
    /// # Errors
    /// XX001 naming the entry when it is not one, 0A000 when a newer version wrote it.
    pub(super) fn of_entity(place: Place, stored: &StoredEntity) -> SqlResult<Self> {
        let access: Self = entry::of_entity(stored)?;
        Ok(Self { place, oid: oids::shown(place, access.oid), ..access })
    }
}

/// The key of the entry of the object with this OID.
pub(super) fn key_of(place: Place, oid: u32) -> SqlResult<EntityKey> {
    entry::entry_key(ACCESSES, &oids::stored(place, oid).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{ETag, EdmDateTime, EdmRef};
    use tablegate_types::privileges::{Change, ObjectKind, Privileges};

    #[test]
    fn version_3_is_frozen() {
        let mut acl = Acl::default_of(ObjectKind::Sequence, "ann");
        let privileges = Privileges::USAGE | Privileges::SELECT;
        acl.grant(&Change { grantor: "ann", grantee: Some("bob"), privileges, option: true, owner: "ann" }).unwrap();
        let access = Access { owner: Some("ann".to_owned()), acl: Some(acl), ..Access::new(16_384) };
        let entity = access.to_entity().unwrap();
        let texts: Vec<EdmRef<'_>> = entity.properties.iter().map(|(_, value)| value).collect();
        let expected = r#"{"format":4,"oid":16384,"owner":"ann","acl":[{"grantee":"ann","grantor":"ann","privileges":"rwU"},{"grantee":"bob","grantor":"ann","privileges":"rU","grantable":"rU"}]}"#;
        assert_eq!(texts, [EdmRef::String(expected)]);
        let timestamp = EdmDateTime::from_unix_micros(0).unwrap();
        let stored = StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) };
        assert_eq!(Access::of_entity(Place::Public, &stored).unwrap(), access);
    }
}

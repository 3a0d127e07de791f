//! Comments on what has no declaration of its own: schemas, databases, roles. Those on tables, columns, constraints,
//! indexes and sequences stand in the declarations, and so go where these go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tablegate_store::model::{Entity, EntityKey, StoredEntity};
use tablegate_types::error::SqlResult;

use super::entry;

/// The partition of the entry, and the entry's name.
pub(super) const COMMENTS: &str = "comments";
const SHARED: &str = "shared";

/// The comments, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedComments {
    #[serde(default)]
    format: u32,
    /// An empty text where a schema lost the comment that it had from the beginning.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub databases: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, String>,
}

impl SharedComments {
    /// The entity that keeps them.
    pub(super) fn to_entity(&self) -> SqlResult<Entity> {
        entry::to_entity(Self::entity_key()?, &Self { format: entry::FORMAT, ..self.clone() })
    }

    fn entity_key() -> SqlResult<EntityKey> {
        entry::entry_key(COMMENTS, SHARED)
    }

    /// # Errors
    /// XX001 naming the entry when it is not one, 0A000 when a newer version wrote it.
    pub(super) fn of_entity(stored: &StoredEntity) -> SqlResult<Self> {
        entry::of_entity(stored)
    }
}

/// Puts a comment in its place, or takes it away.
pub(crate) fn set_comment(comments: &mut BTreeMap<String, String>, name: &str, text: Option<String>) {
    match text {
        Some(text) => comments.insert(name.to_owned(), text),
        None => comments.remove(name),
    };
}

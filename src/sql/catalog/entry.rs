//! Entries of the catalogue: one entity each, in a partition per kind, with its content as JSON text.
//!
//! Every entry carries the version of its format. Older versions are read, a newer one is refused, never guessed at.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tablegate_store::model::{EdmRef, EdmValue, Entity, EntityKey, Properties, PropertyName, StoredEntity, own_tables};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

/// The stored table that holds the entries. Not shown among the tables.
pub(crate) const CATALOG_TABLE: &str = own_tables::SCHEMA;
/// The version that is written.
///
/// 1: tables with their columns and key. 2: also defaults, identities, constraints, and sequences. 3: also comments, and
/// the numbers of dropped columns, owners and what is granted. 4: also the properties that dropped columns were stored in.
pub(super) const FORMAT: u32 = 4;
const OLDEST_FORMAT: u32 = 1;
const PROPERTY: &str = "Declaration";

/// The key of the entry with this SQL name.
///
/// # Errors
/// 54000 when the name is too long for a key.
pub(super) fn entry_key(partition: &str, name: &str) -> SqlResult<EntityKey> {
    Ok(EntityKey::parse(partition, &row_key_of(name))?)
}

/// The entity that keeps an entry.
///
/// # Errors
/// None are expected: entries are plain data, which JSON can always hold.
pub(super) fn to_entity(key: EntityKey, content: &impl Serialize) -> SqlResult<Entity> {
    let text = serde_json::to_string(content).map_err(|e| SqlError::new(ErrorKind::Internal, e.to_string()))?;
    let properties: Properties = [(PropertyName::parse(PROPERTY)?, EdmValue::string(text))].into_iter().collect();
    Ok(Entity::new(key, properties))
}

/// Reads an entry back.
///
/// # Errors
/// XX001 naming the entry when it is not one, 0A000 when a newer version wrote it.
pub(super) fn of_entity<T: DeserializeOwned>(stored: &StoredEntity) -> SqlResult<T> {
    let Some(EdmRef::String(text)) = stored.entity.properties.get(PROPERTY).map(EdmValue::as_ref) else {
        return Err(damaged(stored, format!("It has no text property {PROPERTY}.")));
    };
    let format = serde_json::from_str::<FormatOnly>(text).map_err(|e| damaged(stored, e.to_string()))?.format;
    if format > FORMAT {
        return Err(SqlError::not_supported(format!("catalogue format {format}"))
            .with_hint("The store was written by a newer release: use that one."));
    }
    if format < OLDEST_FORMAT {
        return Err(damaged(stored, format!("There is no format {format}.")));
    }
    serde_json::from_str(text).map_err(|e| damaged(stored, e.to_string()))
}

/// An entry that does not hold what it should (XX001).
pub(super) fn damaged(stored: &StoredEntity, detail: String) -> Box<SqlError> {
    let message = format!("the catalogue entry {} is damaged", stored.entity.key);
    SqlError::new(ErrorKind::DataCorrupted, message).with_detail(detail)
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// A SQL name as a row key: what keys cannot hold is percent-encoded.
fn row_key_of(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '%' || !tablegate_store::model::is_legal_in_keys(c) {
            let mut utf8 = [0; 4];
            c.encode_utf8(&mut utf8).bytes().for_each(|byte| key.push_str(&format!("%{byte:02X}")));
        } else {
            key.push(c);
        }
    }
    key
}

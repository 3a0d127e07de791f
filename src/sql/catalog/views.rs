//! A view as the catalogue keeps it: its query, the columns it had when it was made, and what it reads.

use serde::{Deserialize, Serialize};
use tablegate_store::model::{Entity, EntityKey, StoredEntity};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::view_definition::Definition;
use super::view_text::query_of;
use super::{entry, oids};
use crate::place::{Place, PlacedName};
use crate::syntax::text_in_schema;

/// The partition of the views' entries.
pub(super) const VIEWS: &str = "view";
/// The schema of all that is in a store, as its own catalogue says it.
const PUBLIC: &str = "public";

/// One view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    format: u32,
    /// Not in its entry: that is in the store of its place.
    #[serde(skip)]
    pub place: Place,
    /// SQL name, in its declared spelling.
    pub name: String,
    pub oid: u32,
    pub columns: Vec<ViewColumn>,
    /// Its query: `*` spelled out, every relation with its schema, every column with its relation.
    pub query: String,
    /// The relations it reads, each once.
    pub uses: Vec<ViewUse>,
    /// The same query as it is shown. Views that were made before there was such a thing show their query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewColumn {
    pub name: String,
    /// As `SqlType` prints it.
    pub sql_type: String,
    /// The number of its collation, where that is not the type's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl ViewColumn {
    pub fn new(name: &str, sql_type: &SqlType) -> Self {
        Self { name: name.to_owned(), sql_type: sql_type.to_string(), collation: None, comment: None }
    }
}

/// A table or view that a view reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewUse {
    /// OID of the table or view.
    pub relation: u32,
    /// The columns it names.
    pub columns: Vec<String>,
    /// Whether it names some of them because it groups by the primary key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_key: bool,
}

impl View {
    /// A view whose OID is still open.
    pub fn new(name: &str, columns: Vec<ViewColumn>, definition: Definition, uses: Vec<ViewUse>) -> Self {
        let (place, query) = (Place::Public, definition.query());
        let definition = Some(definition);
        let (format, name) = (entry::FORMAT, name.to_owned());
        Self { format, place, name, oid: 0, columns, query, uses, definition, comment: None }
    }

    /// The query as it is shown to somebody who sees the relations of some schemas without their names.
    pub fn shown(&self, pretty: bool, is_seen: &dyn Fn(&str) -> bool) -> String {
        match &self.definition {
            Some(definition) => definition.shown(pretty, is_seen),
            None => format!("{};", self.query),
        }
    }

    /// Its name, with the place where it has it.
    pub fn placed_name(&self) -> PlacedName {
        PlacedName::new(self.place, &self.name)
    }

    /// Takes over the comments of what it replaces, whose columns are its first ones.
    pub fn keep_comments_of(&mut self, old: &Self) {
        self.comment.clone_from(&old.comment);
        for (column, old) in self.columns.iter_mut().zip(&old.columns) {
            column.comment.clone_from(&old.comment);
        }
    }

    /// The same view under another name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// What it reads of the relation with this OID.
    pub fn use_of(&self, relation: u32) -> Option<&ViewUse> {
        self.uses.iter().find(|used| used.relation == relation)
    }

    /// The names and types of its columns.
    ///
    /// # Errors
    /// XX001 when a type is none.
    pub fn typed_columns(&self) -> SqlResult<Vec<(&str, SqlType)>> {
        self.columns.iter().map(|column| Ok((column.name.as_str(), self.type_of(column)?))).collect()
    }

    fn type_of(&self, ViewColumn { name, sql_type, .. }: &ViewColumn) -> SqlResult<SqlType> {
        SqlType::parse(sql_type).ok_or_else(|| {
            let message = format!("column \"{name}\" of view \"{}\" has no type {sql_type:?}", self.name);
            SqlError::new(ErrorKind::DataCorrupted, message)
        })
    }

    pub(super) fn entity_key(&self) -> SqlResult<EntityKey> {
        entry::entry_key(VIEWS, &self.name)
    }

    pub(super) fn to_entity(&self) -> SqlResult<Entity> {
        let stored = self.in_schema(&self.place.schema(), PUBLIC, |oid| oids::stored(self.place, oid))?;
        entry::to_entity(self.entity_key()?, &Self { format: entry::FORMAT, ..stored })
    }

    /// # Errors
    /// XX001 naming the entry when it is not one, 0A000 when a newer version wrote it.
    pub(super) fn of_entity(place: Place, stored: &StoredEntity) -> SqlResult<Self> {
        let view = Self { place, ..entry::of_entity(stored)? };
        view.in_schema(PUBLIC, &place.schema(), |oid| oids::shown(place, oid))
    }

    /// The same where the schema of what it reads has another name, and OIDs are others. What is in a mounted store has
    /// the names there that it has for a server of that store: in its entry, the schema is `public`.
    fn in_schema(&self, from: &str, to: &str, oid: impl Fn(u32) -> u32) -> SqlResult<Self> {
        if from == to {
            return Ok(self.clone());
        }
        let uses = self.uses.iter().map(|used| ViewUse { relation: oid(used.relation), ..used.clone() });
        let (oid, uses) = (oid(self.oid), uses.collect());
        let definition = self.definition.as_ref().map(|definition| definition.in_schema(from, to));
        let query = match &definition {
            Some(definition) => definition.query(),
            None => text_in_schema(query_of(self)?, from, to),
        };
        Ok(Self { oid, uses, query, definition, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::marked;
    use tablegate_store::model::{ETag, EdmDateTime, EdmRef};

    /// What is written.
    const WRITTEN: &str = r#"{"format":4,"name":"v","oid":16896,"columns":[{"name":"a","sql_type":"integer"}],"query":" SELECT t.a FROM public.t","uses":[{"relation":16384,"columns":["a"]}],"definition":{"full":[" SELECT t.a FROM ",{"schema":"public","name":"t"},";"],"pretty":[" SELECT t.a FROM ",{"schema":"public","name":"t"},";"]}}"#;
    /// What was written before definitions were.
    const BEFORE: &str = r#"{"format":3,"name":"v","oid":16896,"columns":[{"name":"a","sql_type":"integer"}],"query":"SELECT t.a FROM public.t","uses":[{"relation":16384,"columns":["a"]}]}"#;

    #[test]
    fn what_is_written_is_frozen() {
        let columns = vec![ViewColumn::new("a", &SqlType::Int4)];
        let uses = vec![ViewUse { relation: 16_384, columns: vec!["a".to_owned()], needs_key: false }];
        let printed = format!(" SELECT t.a FROM {};", marked("public", "t", false));
        let definition = Definition::of_printed(&printed, &printed);
        let view = View { oid: 16_896, ..View::new("v", columns, definition, uses) };
        let entity = view.to_entity().unwrap();
        assert_eq!(entity.properties.get("Declaration").map(|value| value.as_ref()), Some(EdmRef::String(WRITTEN)));
        let timestamp = EdmDateTime::from_unix_micros(0).unwrap();
        let stored = StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) };
        assert_eq!(View::of_entity(Place::Public, &stored).unwrap(), view);
        let before: View = serde_json::from_str(BEFORE).unwrap();
        assert_eq!(before.shown(true, &|_| true), "SELECT t.a FROM public.t;");
    }
}

//! What CREATE TABLE said, as it is kept: one entity per table in a table of the gateway's own.
//!
//! The catalogue lives in the store it describes, so every gateway over that store sees the same schema. The format
//! carries a version; a newer one is refused, never guessed at.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{EdmRef, EdmValue, Entity, EntityKey, Properties, PropertyName, StoredEntity, TableName};
use crate::sql::edm;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::key_codec::{KeyCodec, KeyColumn, PartitionScheme};
use crate::sql::relation::{ColumnSource, Relation, RelationColumn, RelationKind};
use crate::sql::types::SqlType;

/// The stored table that holds the declarations. Not shown among the tables.
pub const CATALOG_TABLE: &str = "tablegateSchema";
/// The partition of the declarations; other kinds of catalogue entries get their own.
pub(super) const DECLARATIONS: &str = "table";
const FORMAT: u32 = 1;
const PROPERTY: &str = "Declaration";

/// One declared table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    format: u32,
    /// SQL name, in its declared spelling.
    pub name: String,
    /// Name in the store.
    pub stored: String,
    pub oid: u32,
    /// Counts up when the table moves to a new stored name (TRUNCATE).
    pub generation: u32,
    pub open: bool,
    pub columns: Vec<DeclaredColumn>,
    pub key: DeclaredKey,
    /// A stored table this one has replaced and that is still to be dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doomed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredColumn {
    pub name: String,
    /// As `SqlType` prints it.
    pub sql_type: String,
    pub not_null: bool,
    /// Name of the stored property; none for a column that is part of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// How the table's key is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum DeclaredKey {
    /// The columns PartitionKey and RowKey themselves.
    Raw,
    /// No primary key: a constant PartitionKey, RowKeys that the gateway makes.
    Generated {
        partition: String,
    },
    Relational {
        columns: Vec<DeclaredKeyColumn>,
        partition: DeclaredPartition,
        escape: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredKeyColumn {
    pub name: String,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum DeclaredPartition {
    /// The first n key columns.
    Columns(usize),
    Constant(String),
    Bucket(u32),
}

impl Declaration {
    pub fn new(
        name: &str,
        stored: &TableName,
        oid: u32,
        columns: Vec<DeclaredColumn>,
        key: DeclaredKey,
        open: bool,
    ) -> Self {
        Self {
            format: FORMAT,
            name: name.to_owned(),
            stored: stored.as_str().to_owned(),
            oid,
            generation: 1,
            open,
            columns,
            key,
            doomed: None,
        }
    }

    /// The entity that keeps this declaration.
    pub(super) fn to_entity(&self) -> SqlResult<Entity> {
        let text = serde_json::to_string(self).map_err(|e| internal(&e))?;
        let name = PropertyName::parse(PROPERTY).map_err(|e| internal(&e))?;
        let properties: Properties = [(name, EdmValue::string(text))].into_iter().collect();
        Ok(Entity::new(self.entity_key()?, properties))
    }

    pub(super) fn entity_key(&self) -> SqlResult<EntityKey> {
        EntityKey::parse(DECLARATIONS, &row_key_of(&self.name)).map_err(|e| internal(&e))
    }

    /// Reads a declaration back.
    ///
    /// # Errors
    /// XX001 naming the entry when it is not one, 0A000 when a newer version wrote it.
    pub(super) fn of_entity(stored: &StoredEntity) -> SqlResult<Self> {
        let damaged = |detail: String| {
            let message = format!("the catalogue entry {} is damaged", stored.entity.key);
            SqlError::new(ErrorKind::DataCorrupted, message).with_detail(detail)
        };
        let Some(EdmRef::String(text)) = stored.entity.properties.get(PROPERTY).map(EdmValue::as_ref) else {
            return Err(damaged(format!("It has no text property {PROPERTY}.")));
        };
        let format = serde_json::from_str::<FormatOnly>(text).map_err(|e| damaged(e.to_string()))?.format;
        if format != FORMAT {
            return Err(SqlError::not_supported(format!("catalogue format {format}"))
                .with_hint("The store was written by a newer release: use that one."));
        }
        serde_json::from_str(text).map_err(|e| damaged(e.to_string()))
    }

    pub fn stored_name(&self) -> SqlResult<TableName> {
        TableName::parse(&self.stored).map_err(|e| SqlError::new(ErrorKind::DataCorrupted, e.to_string()))
    }

    /// The relation this declaration describes, without the undeclared properties of an open table.
    pub fn relation(&self) -> SqlResult<Relation> {
        let mut columns = Vec::with_capacity(self.columns.len() + 4);
        for column in &self.columns {
            columns.push(self.column(column)?);
        }
        columns.extend(hidden_columns(&columns));
        Ok(Relation {
            schema_name: "public".to_owned(),
            name: self.name.clone(),
            stored: self.stored_name()?,
            oid: self.oid,
            kind: self.kind(),
            open: self.open,
            arrow_schema: Relation::schema_of(&columns),
            codec: Arc::new(self.codec()?),
            generated_partition: match &self.key {
                DeclaredKey::Generated { partition } => Some(partition.clone()),
                DeclaredKey::Raw | DeclaredKey::Relational { .. } => None,
            },
            columns,
        })
    }

    fn kind(&self) -> RelationKind {
        match self.key {
            DeclaredKey::Raw | DeclaredKey::Generated { .. } => RelationKind::DeclaredRaw,
            DeclaredKey::Relational { .. } => RelationKind::DeclaredRelational,
        }
    }

    fn column(&self, column: &DeclaredColumn) -> SqlResult<RelationColumn> {
        let sql_type = self.type_of(column)?;
        let source = match &column.property {
            Some(property) => {
                let name = PropertyName::parse(property)
                    .map_err(|e| SqlError::new(ErrorKind::DataCorrupted, e.to_string()))?;
                ColumnSource::Property { name, column_type: edm::column_type(&sql_type) }
            }
            None => self.key_source(&column.name)?,
        };
        Ok(RelationColumn {
            name: column.name.clone(),
            sql_type,
            source,
            not_null: column.not_null,
            hidden: false,
            default: column.default.clone(),
        })
    }

    fn key_source(&self, column: &str) -> SqlResult<ColumnSource> {
        let found = match (&self.key, column) {
            (DeclaredKey::Raw, "PartitionKey") => Some(ColumnSource::PartitionKey),
            (DeclaredKey::Raw, "RowKey") => Some(ColumnSource::RowKey),
            (_, "Timestamp") => Some(ColumnSource::Timestamp),
            (DeclaredKey::Relational { columns, .. }, _) => {
                columns.iter().position(|c| c.name == column).map(ColumnSource::KeyPart)
            }
            _ => None,
        };
        found.ok_or_else(|| {
            let message =
                format!("column \"{column}\" of table \"{}\" is neither stored nor part of the key", self.name);
            SqlError::new(ErrorKind::DataCorrupted, message)
        })
    }

    fn type_of(&self, column: &DeclaredColumn) -> SqlResult<SqlType> {
        SqlType::parse(&column.sql_type).ok_or_else(|| {
            let message =
                format!("column \"{}\" of table \"{}\" has no type {:?}", column.name, self.name, column.sql_type);
            SqlError::new(ErrorKind::DataCorrupted, message)
        })
    }

    fn codec(&self) -> SqlResult<KeyCodec> {
        let DeclaredKey::Relational { columns, partition, escape } = &self.key else { return Ok(KeyCodec::raw()) };
        let mut key_columns = Vec::with_capacity(columns.len());
        for key in columns {
            let column = self.columns.iter().find(|c| c.name == key.name).ok_or_else(|| {
                SqlError::new(ErrorKind::DataCorrupted, format!("key column \"{}\" is not declared", key.name))
            })?;
            let sql_type = self.type_of(column)?;
            key_columns.push(KeyColumn { name: key.name.clone(), sql_type, descending: key.descending });
        }
        let partition = match partition {
            DeclaredPartition::Columns(n) => PartitionScheme::Columns(*n),
            DeclaredPartition::Constant(text) => PartitionScheme::Constant(text.clone()),
            DeclaredPartition::Bucket(n) => PartitionScheme::Bucket(*n),
        };
        Ok(KeyCodec::relational(key_columns, partition, *escape)?)
    }
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// The system columns that are not among the visible ones.
pub(super) fn hidden_columns(visible: &[RelationColumn]) -> Vec<RelationColumn> {
    let system = [
        ("PartitionKey", SqlType::Text, ColumnSource::PartitionKey),
        ("RowKey", SqlType::Text, ColumnSource::RowKey),
        ("Timestamp", SqlType::Timestamptz, ColumnSource::Timestamp),
        ("etag", SqlType::Text, ColumnSource::ETag),
    ];
    system
        .into_iter()
        .filter(|(name, _, _)| visible.iter().all(|c| c.name != *name))
        .map(|(name, sql_type, source)| system_column(name, sql_type, source, true))
        .collect()
}

pub(super) fn system_column(name: &str, sql_type: SqlType, source: ColumnSource, hidden: bool) -> RelationColumn {
    RelationColumn { name: name.to_owned(), sql_type, source, not_null: true, hidden, default: None }
}

/// A SQL name as a row key: what keys cannot hold is percent-encoded.
fn row_key_of(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '%' || !crate::model::is_legal_in_keys(c) {
            let mut utf8 = [0; 4];
            c.encode_utf8(&mut utf8).bytes().for_each(|byte| key.push_str(&format!("%{byte:02X}")));
        } else {
            key.push(c);
        }
    }
    key
}

fn internal(error: &dyn std::fmt::Display) -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, error.to_string())
}

//! What CREATE TABLE said, as it is kept: one entry of the catalogue per table.
//!
//! The catalogue lives in the store it describes, so every gateway over that store sees the same schema.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tablegate_store::model::limits::TABLE_NAME_MAX_CHARS;
use tablegate_store::model::{Entity, EntityKey, PropertyName, StoredEntity, TableName};
use tablegate_types::constraint::Constraints;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::key_codec::{KeyCodec, KeyColumn, PartitionScheme};
use tablegate_types::sql_type::SqlType;

use super::{entry, oids};
use crate::catalog::{default_as_kept, default_as_shown};
use crate::place::{Place, PlacedName, StoredTable};
use crate::relation::{
    ColumnSource, Identity, Relation, RelationColumn, RelationComments, RelationKind, derived_columns,
};
use crate::syntax::OnCommit;

/// The partition of the declarations; other kinds of catalogue entries get their own.
pub(super) const DECLARATIONS: &str = "table";

/// One declared table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    format: u32,
    /// Not in its entry: that is in the store of its place.
    #[serde(skip)]
    pub place: Place,
    /// SQL name, in its declared spelling.
    pub name: String,
    /// Name in the store.
    pub stored: String,
    pub oid: u32,
    /// Counts up when the table moves to a new stored name: TRUNCATE, and ALTER TABLE where it writes all rows anew.
    pub generation: u32,
    pub open: bool,
    pub columns: Vec<DeclaredColumn>,
    /// The numbers that columns had which were dropped: no other column gets them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_columns: Vec<i32>,
    /// The properties that they were stored in, as far as rows may still have them: no other column is stored there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_properties: Vec<String>,
    pub key: DeclaredKey,
    #[serde(default, skip_serializing_if = "Constraints::is_empty")]
    pub constraints: Constraints,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// A stored table this one has replaced and that is still to be dropped. Written by earlier releases only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doomed: Option<String>,
    /// Of a temporary table.
    #[serde(skip)]
    pub on_commit: OnCommit,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredColumn {
    pub name: String,
    /// As `SqlType` prints it.
    pub sql_type: String,
    /// The number of its collation, where that is not the type's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<u32>,
    pub not_null: bool,
    /// Name of the stored property; none for a column that is part of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// Source text of the DEFAULT expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Source text of GENERATED ALWAYS AS (...) STORED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl DeclaredColumn {
    /// A column that may be NULL, has no default, and is not stored as a property.
    pub fn new(name: &str, sql_type: &SqlType) -> Self {
        Self {
            name: name.to_owned(),
            sql_type: sql_type.to_string(),
            collation: None,
            not_null: false,
            property: None,
            default: None,
            identity: None,
            generated: None,
            comment: None,
        }
    }
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
        /// Whether a primary key that is added is to be escaped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        escape: bool,
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

impl DeclaredColumn {
    /// # Errors
    /// XX001 when it has none; `table` is for the message.
    pub fn declared_type(&self, table: &str) -> SqlResult<SqlType> {
        SqlType::parse(&self.sql_type).ok_or_else(|| {
            let message = format!("column \"{}\" of table \"{table}\" has no type {:?}", self.name, self.sql_type);
            SqlError::new(ErrorKind::DataCorrupted, message)
        })
    }
}

impl DeclaredKey {
    /// Whether the column is part of a relational key.
    pub fn names(&self, column: &str) -> bool {
        matches!(self, DeclaredKey::Relational { columns, .. } if columns.iter().any(|c| c.name == column))
    }

    /// Whether characters that the service does not allow in keys are escaped.
    pub fn is_escaped(&self) -> bool {
        match self {
            DeclaredKey::Raw => false,
            DeclaredKey::Generated { escape, .. } | DeclaredKey::Relational { escape, .. } => *escape,
        }
    }

    /// The columns of the primary key; none without one.
    pub fn columns(&self) -> Vec<String> {
        match self {
            DeclaredKey::Raw => ["PartitionKey", "RowKey"].map(str::to_owned).to_vec(),
            DeclaredKey::Generated { .. } => Vec::new(),
            DeclaredKey::Relational { columns, .. } => columns.iter().map(|c| c.name.clone()).collect(),
        }
    }

    /// A column of a relational key gets another name.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let DeclaredKey::Relational { columns, .. } = self {
            columns.iter_mut().filter(|c| c.name == from).for_each(|c| to.clone_into(&mut c.name));
        }
    }

    /// Whether the column is one that every entity has.
    pub fn is_system_column(&self, column: &str) -> bool {
        *self == DeclaredKey::Raw && matches!(column, "PartitionKey" | "RowKey" | "Timestamp")
    }
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
            format: entry::FORMAT,
            place: Place::Public,
            name: name.to_owned(),
            stored: stored.as_str().to_owned(),
            oid,
            generation: 1,
            open,
            columns,
            dropped_columns: Vec::new(),
            dropped_properties: Vec::new(),
            key,
            constraints: Constraints::default(),
            comment: None,
            doomed: None,
            on_commit: OnCommit::default(),
        }
    }

    /// The entity that keeps this declaration.
    pub(super) fn to_entity(&self) -> SqlResult<Entity> {
        let mut kept = Self { format: entry::FORMAT, oid: oids::stored(self.place, self.oid), ..self.clone() };
        if self.place.is_mount() {
            kept.rewrite_defaults(|text| default_as_kept(self.place, text));
        }
        entry::to_entity(self.entity_key()?, &kept)
    }

    pub(super) fn entity_key(&self) -> SqlResult<EntityKey> {
        entry::entry_key(DECLARATIONS, &self.name)
    }

    /// Reads a declaration back.
    ///
    /// # Errors
    /// XX001 naming the entry when it is not one, 0A000 when a newer version wrote it.
    pub(super) fn of_entity(place: Place, stored: &StoredEntity) -> SqlResult<Self> {
        let declaration: Self = entry::of_entity(stored)?;
        let mut shown = Self { place, oid: oids::shown(place, declaration.oid), ..declaration };
        shown.rewrite_defaults(|text| default_as_shown(place, text));
        Ok(shown)
    }

    fn rewrite_defaults(&mut self, rewrite: impl Fn(&str) -> String) {
        for text in self.columns.iter_mut().filter_map(|column| column.default.as_mut()) {
            *text = rewrite(text);
        }
    }

    /// Turns to a stored name that the table had not yet: the first with `G2`, `G3`, ...
    ///
    /// # Errors
    /// XX001 when the stored name is not one.
    pub(super) fn move_to_next_generation(&mut self) -> SqlResult<()> {
        let old_suffix = generation_suffix(self.generation);
        let first = if self.generation > 1 { self.stored.strip_suffix(&old_suffix) } else { None };
        let first = first.unwrap_or(&self.stored).to_owned();
        self.generation += 1;
        let suffix = generation_suffix(self.generation);
        let head: String = first.chars().take(TABLE_NAME_MAX_CHARS - suffix.len()).collect();
        self.stored = head + &suffix;
        self.stored_name().map(|_| ())
    }

    /// Gives the primary key a name of its own where `<table>_pkey` is another's: that of a table which had this name before.
    pub fn name_primary_key(&mut self, free: impl FnOnce(&str) -> String) {
        if self.constraints.primary_key.is_none() && self.primary_key_name().is_some() {
            let free = free("pkey");
            self.constraints.primary_key = (self.primary_key_name().as_ref() != Some(&free)).then_some(free);
        }
    }

    /// The name of its primary key; none without one.
    pub fn primary_key_name(&self) -> Option<String> {
        match self.key {
            DeclaredKey::Generated { .. } => None,
            DeclaredKey::Raw | DeclaredKey::Relational { .. } => {
                Some(self.constraints.primary_key.clone().unwrap_or_else(|| format!("{}_pkey", self.name)))
            }
        }
    }

    /// Its name, with the place where it has it.
    pub fn placed_name(&self) -> PlacedName {
        PlacedName::new(self.place, &self.name)
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
        let codec = Arc::new(self.codec()?);
        Ok(Relation {
            schema_name: self.place.schema().into_owned(),
            name: self.name.clone(),
            stored: StoredTable::new(self.place, self.stored_name()?),
            oid: self.oid,
            kind: self.kind(),
            open: self.open,
            arrow_schema: Relation::schema_of(&columns),
            derived: derived_columns(&columns, &codec),
            codec,
            generated_partition: match &self.key {
                DeclaredKey::Generated { partition, .. } => Some(partition.clone()),
                DeclaredKey::Raw | DeclaredKey::Relational { .. } => None,
            },
            columns,
            constraints: Arc::new(self.constraints.clone()),
            dropped_columns: self.dropped_columns.as_slice().into(),
            comments: Arc::new(self.comments()),
        })
    }

    /// The comments on the table and its columns.
    fn comments(&self) -> RelationComments {
        let of_column = |column: &DeclaredColumn| Some((column.name.clone(), column.comment.clone()?));
        RelationComments { table: self.comment.clone(), columns: self.columns.iter().filter_map(of_column).collect() }
    }

    fn kind(&self) -> RelationKind {
        match self.key {
            DeclaredKey::Raw | DeclaredKey::Generated { .. } => RelationKind::DeclaredRaw,
            DeclaredKey::Relational { .. } => RelationKind::DeclaredRelational,
        }
    }

    fn column(&self, column: &DeclaredColumn) -> SqlResult<RelationColumn> {
        let sql_type = column.declared_type(&self.name)?;
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
            collation: column.collation,
            source,
            not_null: column.not_null,
            hidden: false,
            default: column.default.clone(),
            identity: column.identity.clone(),
            generated: column.generated.clone(),
            observed: None,
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

    fn codec(&self) -> SqlResult<KeyCodec> {
        let DeclaredKey::Relational { columns, partition, escape } = &self.key else { return Ok(KeyCodec::raw()) };
        let mut key_columns = Vec::with_capacity(columns.len());
        for key in columns {
            let column = self.columns.iter().find(|c| c.name == key.name).ok_or_else(|| {
                SqlError::new(ErrorKind::DataCorrupted, format!("key column \"{}\" is not declared", key.name))
            })?;
            let sql_type = column.declared_type(&self.name)?;
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

fn generation_suffix(generation: u32) -> String {
    format!("G{generation}")
}

/// The system columns that are not among the visible ones. Where a property has the name of one, that gets a further name:
/// statements find it by what it is.
pub(super) fn hidden_columns(visible: &[RelationColumn]) -> Vec<RelationColumn> {
    let system = [
        ("PartitionKey", SqlType::Text, ColumnSource::PartitionKey),
        ("RowKey", SqlType::Text, ColumnSource::RowKey),
        ("Timestamp", SqlType::Timestamptz, ColumnSource::Timestamp),
        ("etag", SqlType::Text, ColumnSource::ETag),
    ];
    system
        .into_iter()
        .filter(|(_, _, source)| visible.iter().all(|c| c.source != *source))
        .map(|(name, sql_type, source)| {
            let mut free = name.to_owned();
            while visible.iter().any(|c| c.name == free) {
                free.push('_');
            }
            system_column(&free, sql_type, source, true)
        })
        .collect()
}

pub(super) fn system_column(name: &str, sql_type: SqlType, source: ColumnSource, hidden: bool) -> RelationColumn {
    RelationColumn { not_null: true, hidden, ..RelationColumn::new(name, sql_type, source) }
}

#[cfg(test)]
mod tests;

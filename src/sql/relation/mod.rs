//! A table as SQL sees it: its columns, where each one's values come from, and its key.
//!
//! The catalogue makes a [`Relation`] for a statement out of the declaration (if there is one) and the store's observed
//! schema; it never changes afterwards, so a plan made with it stays valid as long as its shape does.

mod derived;
mod row_scope;
mod row_type;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use tablegate_store::model::{EntityKey, PropertyName};
use tablegate_store::table::{ColumnType, DerivedColumn, TypeSet};
use tablegate_types::constraint::Constraints;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::key_codec::KeyCodec;
use tablegate_types::output::ShownKey;
use tablegate_types::sql_type::SqlType;

pub(crate) use self::derived::{DerivedColumns, derived_columns};
pub(crate) use self::row_scope::RowScope;
pub(crate) use self::row_type::{row_array_oid, row_type_oid, table_row};
use super::place::{Place, PlacedName, StoredTable};

/// How a table came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// It is in the store without a declaration. Its columns are what was observed.
    Found,
    /// CREATE TABLE with the columns `PartitionKey` and `RowKey`.
    DeclaredRaw,
    /// CREATE TABLE with a primary key of its own; the key codec maps it.
    DeclaredRelational,
}

/// Where a column's values come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSource {
    PartitionKey,
    RowKey,
    Timestamp,
    ETag,
    /// The key column at this index of the codec's key columns, decoded from PartitionKey and RowKey.
    KeyPart(usize),
    /// A stored property, read as `column_type`, then converted to the column's SQL type.
    Property {
        name: PropertyName,
        column_type: ColumnType,
    },
    /// The name of the EDM type a property is stored with, row by row.
    EdmTypeOf(PropertyName),
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct RelationColumn {
    /// SQL name, in its stored spelling.
    pub name: String,
    pub sql_type: SqlType,
    /// The number of its collation, where that is not the type's: all of them are the order of bytes.
    pub collation: Option<u32>,
    pub source: ColumnSource,
    pub not_null: bool,
    /// Not part of `SELECT *` (`etag`; the raw keys of a relational table), but selectable by name.
    pub hidden: bool,
    /// Source text of the DEFAULT expression.
    pub default: Option<String>,
    pub identity: Option<Identity>,
    /// Source text of the expression a stored generated column is computed from.
    pub generated: Option<String>,
    /// For an undeclared property: the EDM types it was seen with.
    pub observed: Option<TypeSet>,
}

/// A column that counts by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// GENERATED ALWAYS: only OVERRIDING SYSTEM VALUE lets a statement give the value.
    pub always: bool,
    /// Name of the sequence that counts.
    pub sequence: String,
}

impl RelationColumn {
    /// The property that stores it, if one does.
    pub fn property(&self) -> Option<&PropertyName> {
        match &self.source {
            ColumnSource::Property { name, .. } => Some(name),
            _ => None,
        }
    }

    /// A visible column that may be NULL and has no default.
    pub fn new(name: &str, sql_type: SqlType, source: ColumnSource) -> Self {
        Self {
            name: name.to_owned(),
            sql_type,
            collation: None,
            source,
            not_null: false,
            hidden: false,
            default: None,
            identity: None,
            generated: None,
            observed: None,
        }
    }
}

/// What COMMENT ON said of a table and its columns. Plans do not depend on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelationComments {
    pub table: Option<String>,
    /// By the columns' names.
    pub columns: BTreeMap<String, String>,
}

/// A table as one statement sees it.
#[derive(Debug, Clone)]
pub struct Relation {
    /// SQL schema: that of its place.
    pub schema_name: String,
    /// SQL name, in its declared spelling.
    pub name: String,
    /// Which table of which store it is.
    pub stored: StoredTable,
    /// Stable for the table's life.
    pub oid: u32,
    pub kind: RelationKind,
    /// Accepts undeclared properties.
    pub open: bool,
    /// Visible columns in order, then the hidden ones.
    pub columns: Vec<RelationColumn>,
    /// Maps key columns to PartitionKey and RowKey; for raw keys, the identity.
    pub codec: Arc<KeyCodec>,
    /// For a table without a primary key: the constant PartitionKey of the rows, whose RowKeys the gateway makes.
    pub generated_partition: Option<String>,
    pub constraints: Arc<Constraints>,
    /// Numbers that its columns do not have, because dropped ones had them.
    pub dropped_columns: Arc<[i32]>,
    pub comments: Arc<RelationComments>,
    /// Arrow schema of `columns`, each field with its SQL type.
    pub arrow_schema: SchemaRef,
    /// How the store is asked for each of `columns` that it does not have in the form that is shown.
    pub(super) derived: DerivedColumns,
}

/// The numbers of columns in order, without those that dropped ones had.
pub fn column_numbers(dropped: &[i32]) -> impl Iterator<Item = i32> {
    (1..).filter(|number| !dropped.contains(number))
}

impl Relation {
    /// A table with nothing but its name.
    #[cfg(test)]
    pub fn for_tests(name: &str) -> Self {
        let stored = tablegate_store::model::TableName::parse(name).unwrap();
        Self {
            schema_name: "public".to_owned(),
            name: name.to_owned(),
            stored: StoredTable::public(stored),
            oid: 1,
            kind: RelationKind::DeclaredRaw,
            open: false,
            columns: Vec::new(),
            codec: Arc::new(KeyCodec::raw()),
            generated_partition: None,
            constraints: Arc::default(),
            dropped_columns: Arc::new([]),
            comments: Arc::default(),
            arrow_schema: Self::schema_of(&[]),
            derived: Arc::new([]),
        }
    }

    /// The place it is in.
    pub fn place(&self) -> Place {
        self.stored.place
    }

    /// Its name there.
    pub fn placed_name(&self) -> PlacedName {
        PlacedName::new(self.place(), &self.name)
    }

    /// The Arrow schema that [`Relation::arrow_schema`] must be for these columns.
    pub fn schema_of(columns: &[RelationColumn]) -> SchemaRef {
        let fields: Vec<_> = columns.iter().map(|c| c.sql_type.field(&c.name, !c.not_null)).collect();
        Arc::new(Schema::new(fields))
    }

    /// The same table with other columns.
    pub fn with_columns(&self, columns: Vec<RelationColumn>) -> Self {
        let (arrow_schema, derived) = (Relation::schema_of(&columns), derived_columns(&columns, &self.codec));
        Self { arrow_schema, derived, columns, ..self.clone() }
    }

    /// The same table with only the columns that `SELECT *` shows.
    pub fn without_hidden(&self) -> Self {
        self.with_columns(self.columns.iter().filter(|c| !c.hidden).cloned().collect())
    }

    /// The same table with a hidden column beside each property: its stored types.
    pub fn with_edm_types(&self) -> Self {
        let mut columns = self.columns.clone();
        for column in &self.columns {
            if let ColumnSource::Property { name, .. } = &column.source {
                let name_of_types = edm_type_column(&column.name);
                let source = ColumnSource::EdmTypeOf(name.clone());
                columns.push(RelationColumn {
                    hidden: true,
                    ..RelationColumn::new(&name_of_types, SqlType::Text, source)
                });
            }
        }
        self.with_columns(columns)
    }

    /// Whether a plan made for `earlier` still holds: the same table with the same columns, and for an open one perhaps
    /// newly seen ones.
    pub fn still_serves(&self, earlier: &Relation) -> bool {
        let same_columns = if self.open && earlier.open {
            earlier.columns.iter().all(|old| self.column(&old.name).is_some_and(|(_, new)| new == old))
                && self.declared_beyond_type().eq(earlier.declared_beyond_type())
        } else {
            self.open == earlier.open && self.columns == earlier.columns
        };
        self.oid == earlier.oid
            && self.stored == earlier.stored
            && self.constraints == earlier.constraints
            && same_columns
    }

    /// Whether what is written for `earlier` may be written to what is declared here: of an open table that one may have
    /// columns which were only seen.
    pub fn declares_as(&self, earlier: &Relation) -> bool {
        let same_columns = match self.open && earlier.open {
            true => self.columns.iter().filter(|column| !column.hidden).all(|column| earlier.columns.contains(column)),
            false => self.open == earlier.open && self.columns == earlier.columns,
        };
        self.oid == earlier.oid
            && self.stored == earlier.stored
            && self.constraints == earlier.constraints
            && same_columns
    }

    /// The columns that a write must treat in a way of their own: a newly declared one makes earlier plans stale.
    fn declared_beyond_type(&self) -> impl Iterator<Item = &str> {
        let needs = |c: &&RelationColumn| {
            !c.hidden && (c.not_null || c.default.is_some() || c.identity.is_some() || c.generated.is_some())
        };
        self.columns.iter().filter(needs).map(|c| c.name.as_str())
    }

    /// How the store is asked for a column's texts as dictionaries; `None` where they are none of a property, or what is
    /// shown is made of them.
    pub(super) fn dictionary(&self, index: usize) -> Option<DerivedColumn> {
        let column = self.columns.get(index)?;
        match (&column.sql_type, &column.source) {
            (
                SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_),
                ColumnSource::Property { name, column_type: ColumnType::Text },
            ) => Some(DerivedColumn::dictionary(name)),
            _ => None,
        }
    }

    /// The columns that the store is asked for in another form than it has them in.
    pub(super) fn derived(&self) -> Vec<Arc<DerivedColumn>> {
        let dictionaries = (0..self.columns.len()).filter_map(|index| self.dictionary(index)).map(Arc::new);
        self.derived.iter().flatten().cloned().chain(dictionaries).collect()
    }

    /// An error about the table.
    pub fn error(&self, kind: ErrorKind, message: String) -> Box<SqlError> {
        SqlError::new(kind, message).for_table(&self.place().schema(), &self.name)
    }

    /// The error for a key that is there already (23505).
    pub fn duplicate_key(&self, key: &EntityKey) -> Box<SqlError> {
        let constraint = self.primary_key_name();
        let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
        let error = self.error(ErrorKind::UniqueViolation, message);
        let mut error = self.shown_key(key).shown_in(error, " already exists.");
        error.constraint = Some(constraint);
        error
    }

    /// A key as messages show it: in the terms of a relational table's key columns.
    pub fn shown_key(&self, key: &EntityKey) -> ShownKey {
        ShownKey(self.key_as_columns(key).unwrap_or_else(|| {
            let part = |name: &str, value: &str| {
                let value: ArrayRef = Arc::new(StringArray::from_iter_values([value]));
                (name.to_owned(), SqlType::Text, value)
            };
            vec![part("PartitionKey", key.partition.as_str()), part("RowKey", key.row.as_str())]
        }))
    }

    fn key_as_columns(&self, key: &EntityKey) -> Option<Vec<(String, SqlType, ArrayRef)>> {
        if self.kind != RelationKind::DeclaredRelational {
            return None;
        }
        let columns = self.codec.columns();
        let all: Vec<usize> = (0..columns.len()).collect();
        let partition = StringArray::from_iter_values([key.partition.as_str()]);
        let row = StringArray::from_iter_values([key.row.as_str()]);
        let decoded = self.codec.decode(&partition, &row, &all).ok()?;
        Some(columns.iter().zip(decoded).map(|(c, value)| (c.name.clone(), c.sql_type.clone(), value)).collect())
    }

    pub fn column(&self, name: &str) -> Option<(usize, &RelationColumn)> {
        self.columns.iter().enumerate().find(|(_, c)| c.name == name)
    }

    /// Indexes of the columns that make up the primary key, in key order.
    pub fn key_columns(&self) -> Vec<usize> {
        let position = |wanted: &dyn Fn(&ColumnSource) -> bool| self.columns.iter().position(|c| wanted(&c.source));
        match self.kind {
            RelationKind::DeclaredRelational => {
                (0..self.codec.columns().len()).filter_map(|i| position(&|s| *s == ColumnSource::KeyPart(i))).collect()
            }
            RelationKind::Found | RelationKind::DeclaredRaw => [ColumnSource::PartitionKey, ColumnSource::RowKey]
                .iter()
                .filter_map(|wanted| position(&|s| s == wanted))
                .collect(),
        }
    }

    /// Whether the primary key keeps rows with equal values in these columns apart: they hold all of it.
    pub fn is_unique_by_key(&self, columns: &[String]) -> bool {
        let key = self.key_columns();
        let visible = |index: &usize| !self.columns[*index].hidden;
        self.generated_partition.is_none()
            && !key.is_empty()
            && key.iter().all(|index| visible(index) && columns.contains(&self.columns[*index].name))
    }

    /// The name of the primary key constraint: as it was given, else as PostgreSQL would make it.
    pub fn primary_key_name(&self) -> String {
        self.constraints.primary_key.clone().unwrap_or_else(|| format!("{}_pkey", self.name))
    }
}

/// The name of the hidden column that holds the stored types of a property's column.
pub(crate) fn edm_type_column(column: &str) -> String {
    format!("edm_type({column})")
}

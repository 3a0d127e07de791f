//! What the table names of a statement mean: relations of the catalogue, system relations, or nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow::datatypes::Schema;
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use tablegate_bind::catalogue::types::is_built_in;
use tablegate_bind::statement::Syntax;
use tablegate_bind::{ParsedQuery, QualifiedName};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{SqlType, TableRow};

use super::system_columns;
use crate::catalog::{CatalogView, View};
use crate::place::PlacedName;
use crate::relation::Relation;
use crate::syntax::{Mentioned, dotted, mentioned};

/// One table a statement reads.
#[derive(Clone)]
pub(crate) struct TableEntry {
    /// Unique name under which the planner finds it.
    pub key: String,
    /// Columns that `SELECT *` shows.
    pub visible: Vec<String>,
    /// Columns that must be named.
    pub hidden: Vec<String>,
    /// What scans it.
    pub provider: Arc<dyn TableProvider>,
    /// The user's relation, if it is one.
    pub relation: Option<Arc<Relation>>,
    /// Its OID in the catalogue; `None` for rows that are no table's.
    pub oid: Option<u32>,
    /// What it is known by while a statement is planned: its OID, or a number of its own where that would not do.
    pub number: u32,
    /// The type of its rows, if they are those of a user's relation.
    pub row_type: Option<TableRow>,
    /// The query that takes its place, if it is a view.
    pub view: Option<ViewQuery>,
    /// What a query of all of it gives, where that is known and is one value, or none.
    pub only_value: Option<(ScalarValue, SqlType)>,
}

/// A view, and its query.
#[derive(Clone)]
pub(crate) struct ViewQuery {
    pub view: Arc<View>,
    pub query: Arc<ParsedQuery>,
}

impl TableEntry {
    /// Rows held in memory under a table's name.
    pub(crate) fn of_provider(key: &str, provider: Arc<dyn TableProvider>) -> Self {
        let visible = provider.schema().fields().iter().map(|f| f.name().clone()).collect();
        Self {
            key: key.to_owned(),
            visible,
            hidden: Vec::new(),
            provider,
            relation: None,
            oid: None,
            number: own_number(),
            row_type: None,
            view: None,
            only_value: None,
        }
    }

    /// The same of a relation of the catalogue.
    pub(crate) fn with_oid(self, oid: Option<u32>) -> Self {
        Self { oid, number: oid.unwrap_or(self.number), ..self }
    }

    /// A view of the user's.
    ///
    /// # Errors
    /// XX001 when a column has no type.
    pub(crate) fn of_view(view: &Arc<View>, query: ParsedQuery) -> SqlResult<Self> {
        let fields: Vec<_> = view.typed_columns()?.iter().map(|(name, t)| t.field(name, true)).collect();
        let nothing = MemTable::try_new(Arc::new(Schema::new(fields)), vec![Vec::new()])?;
        let entry = Self::of_provider(&format!("{}.{}", view.place.schema(), view.name), Arc::new(nothing));
        let entry = entry.with_oid(Some(view.oid));
        Ok(Self { view: Some(ViewQuery { view: view.clone(), query: Arc::new(query) }), ..entry })
    }
}

/// A number that no relation of the catalogue has.
pub(crate) fn own_number() -> u32 {
    /// OIDs are given out from the other end.
    const FIRST: u32 = 0xf000_0000;
    static NEXT: AtomicU32 = AtomicU32::new(FIRST);
    NEXT.fetch_add(1, Ordering::Relaxed) | FIRST
}

/// The tables of one statement, by the name the statement uses (folded, dotted).
#[derive(Clone, Default)]
pub(crate) struct Tables {
    entries: HashMap<String, TableEntry>,
}

impl Tables {
    pub(crate) fn insert(&mut self, name: &str, entry: TableEntry) {
        self.entries.insert(name.to_owned(), entry);
    }

    /// Adds others, which come before those of the same name.
    pub(crate) fn extend(&mut self, others: &Tables) {
        self.entries.extend(others.entries.iter().map(|(name, entry)| (name.clone(), entry.clone())));
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &TableEntry> {
        self.entries.values()
    }

    /// Those of these numbers.
    pub(super) fn among(&self, numbers: &HashSet<u32>) -> Self {
        let is_one = |entry: &TableEntry| numbers.contains(&entry.number);
        let entries = self.entries.iter().filter(|(_, entry)| is_one(entry));
        Self { entries: entries.map(|(name, entry)| (name.clone(), entry.clone())).collect() }
    }

    pub(super) fn by_number(&self, number: u32) -> Option<&TableEntry> {
        self.entries.values().find(|entry| entry.number == number)
    }

    pub(crate) fn get(&self, name: &QualifiedName) -> Option<&TableEntry> {
        self.entries.get(&dotted(name))
    }

    /// Whether a table is neither the user's nor rows in memory: its content was made for this plan.
    pub(crate) fn has_system_relations(&self) -> bool {
        self.entries.values().any(|e| e.relation.is_none() && e.view.is_none())
    }

    /// Columns of all of them.
    pub(super) fn width(&self) -> usize {
        self.entries.values().map(|entry| entry.visible.len() + entry.hidden.len()).sum()
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.entries.values().filter_map(|e| e.view.as_ref()).map(|view| &view.view)
    }

    pub(crate) fn relations(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.entries.values().filter_map(|e| e.relation.as_ref())
    }
}

/// A table name as (schema, table), folded; the database part of a three-part name is dropped.
///
/// # Errors
/// 42601 for more than three parts.
pub(crate) fn schema_and_table(name: &QualifiedName) -> SqlResult<(Option<String>, String)> {
    match name.folded().as_slice() {
        [table] => Ok((None, table.clone())),
        [schema, table] | [_, schema, table] => Ok((Some(schema.clone()), table.clone())),
        _ => Err(SqlError::new(ErrorKind::Syntax, format!("improper qualified name: {name}"))),
    }
}

/// What the name of a table, a sequence or a view means, with its place.
///
/// # Errors
/// 42601 for more than three parts, 3F000 for an unknown schema, 42P01 for what only the system has there.
pub(crate) fn placed_name(catalog: &CatalogView, name: &QualifiedName) -> SqlResult<PlacedName> {
    let (schema, table) = schema_and_table(name)?;
    catalog.named(schema.as_deref(), &table).ok_or_else(|| unknown_schema(schema.as_deref(), &table))
}

/// The error for a schema without tables of users.
pub(super) fn unknown_schema(schema: Option<&str>, table: &str) -> Box<SqlError> {
    let schema = schema.unwrap_or_default();
    match schema {
        "pg_catalog" | "information_schema" => {
            SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{schema}.{table}\" does not exist"))
        }
        _ => SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{schema}\" does not exist")),
    }
}

/// Every table name of a query, and whether a hidden column is named anywhere.
#[derive(Clone, Default)]
pub(crate) struct Mentions {
    pub tables: Vec<QualifiedName>,
    pub hidden: bool,
    /// The stored types of columns are asked for.
    pub edm_types: bool,
    /// A system column is named anywhere.
    pub system_columns: bool,
    /// How much there is to plan, in expressions.
    weight: usize,
}

/// What takes as long to plan as so many expressions; so many columns, and bytes of a text, as one.
const RELATION_WEIGHT: usize = 16;
const QUERY_WEIGHT: usize = 8;
const COLUMNS: usize = 8;
const TEXT_BYTES: usize = 256;
/// A statement of this weight is planned in less than a millisecond: a change of one row, a query of a few narrow tables.
const SHORT_WEIGHT: usize = 100;

const HIDDEN: [&str; 4] = ["PartitionKey", "RowKey", "Timestamp", "etag"];

impl Mentions {
    pub(crate) fn of(query: &ParsedQuery) -> Self {
        Self::of_statement(query.syntax())
    }

    /// The same of a statement that is no query.
    pub(super) fn of_statement(syntax: Syntax<'_>) -> Self {
        let mut mentions = Self::default();
        mentioned(syntax, &mut |one| mentions.note(one));
        mentions
    }

    fn note(&mut self, mentioned: Mentioned<'_>) {
        match mentioned {
            Mentioned::Query => self.weigh(QUERY_WEIGHT),
            Mentioned::Table(name) => {
                self.weigh(RELATION_WEIGHT);
                if !self.tables.contains(&name) {
                    self.tables.push(name);
                }
            }
            // It may be that of a table's rows.
            Mentioned::Type(name) => {
                let is_built_in = name.folded().last().is_some_and(|name| is_built_in(name));
                if !is_built_in && !self.tables.contains(&name) {
                    self.tables.push(name);
                }
            }
            Mentioned::Expression => self.weigh(1),
            Mentioned::Name(name) => {
                self.system_columns |= system_columns::is_named(name);
                self.hidden |= HIDDEN.iter().any(|hidden| hidden.eq_ignore_ascii_case(name));
            }
            // It asks for the stored type of a property, which is a hidden column.
            Mentioned::Function(name) => {
                self.edm_types |= name == "edm_type";
                self.hidden |= name == "edm_type";
            }
            // A long text is read while its statement is bound.
            Mentioned::Text(length) => self.weigh(length / TEXT_BYTES),
            Mentioned::GroupingSets => self.weigh(SHORT_WEIGHT),
        }
    }

    /// Adds what another query mentions.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.hidden |= other.hidden;
        self.edm_types |= other.edm_types;
        self.system_columns |= other.system_columns;
        self.weigh(other.weight);
        for table in other.tables {
            if !self.tables.contains(&table) {
                self.tables.push(table);
            }
        }
    }

    /// Whether planning it over tables with so many columns is done before others would notice.
    pub(super) fn is_short(&self, columns: usize) -> bool {
        self.weight.saturating_add(columns / COLUMNS) <= SHORT_WEIGHT
    }

    fn weigh(&mut self, more: usize) {
        self.weight = self.weight.saturating_add(more);
    }
}

//! The objects of one database as the catalogue numbers and names them: schemas, tables, their keys and columns.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::record_batch::RecordBatch;
use tablegate_types::constraint::UnenforcedKind;
use tablegate_types::error::SqlResult;
use tablegate_types::quoting::{quote_ident, split_name};

use super::comments::Commented;
use super::constraints::{TableConstraint, TableIndex};
use super::deparse::IndexShape;
use super::finder::Finder;
use super::functions::FunctionContext;
use super::layout::{self, Layout};
pub(crate) use crate::catalog::PUBLIC;
use crate::catalog::{Search, Sequence, SharedComments, View, is_found_oid, schema_oid};
use crate::place::{Place, StoredTable};
use crate::relation::{Relation, RelationColumn, column_numbers, row_array_oid, row_type_oid};

/// Schemas that are always there.
pub(super) const PG_CATALOG: u32 = 11;
const PG_TOAST: u32 = 99;
pub(super) const INFORMATION_SCHEMA: u32 = 13_207;
/// Each session sees its own under it.
pub(super) const TEMPORARY_SCHEMA: u32 = 13_208;
/// The OID of the role that owns everything. Without users it is shown under the name of the session's user.
pub(super) const OWNER: u32 = 10;
pub(super) const TEMPLATE1: u32 = 1;
pub(super) const TEMPLATE0: u32 = 4;

/// What an OID of `pg_class` stands for.
#[derive(Clone, Copy)]
pub(super) enum Class<'a> {
    Table(&'a Relation),
    Index(TableIndex<'a>),
    Sequence(&'a Sequence),
    View(&'a View),
    System(&'static Layout),
}

impl Class<'_> {
    pub(super) fn name(&self) -> String {
        match self {
            Class::Table(table) => table.name.clone(),
            Class::Index(index) => index.name(),
            Class::Sequence(sequence) => sequence.name.clone(),
            Class::View(view) => view.name.clone(),
            Class::System(layout) => layout.name.to_owned(),
        }
    }

    pub(super) fn schema(&self) -> Cow<'_, str> {
        match self {
            Class::Table(table) => table.schema_name.as_str().into(),
            Class::Index(index) => index.table().schema_name.as_str().into(),
            Class::Sequence(sequence) => sequence.place.schema(),
            Class::View(view) => view.place.schema(),
            Class::System(layout) => layout.schema.into(),
        }
    }
}

/// The type of the rows of a table or view.
#[derive(Clone, Copy)]
pub(super) struct RowType<'a> {
    pub relation: u32,
    pub name: &'a str,
    pub schema: &'a str,
}

impl RowType<'_> {
    pub(super) fn oid(&self) -> u32 {
        row_type_oid(self.relation)
    }

    pub(super) fn array_oid(&self) -> u32 {
        row_array_oid(self.relation)
    }
}

/// The user's tables and sequences. What is found out about them is kept with them.
pub(super) struct Objects {
    pub tables: Vec<Arc<Relation>>,
    pub sequences: Vec<Arc<Sequence>>,
    pub views: Vec<Arc<View>>,
    /// Those on schemas and databases.
    pub comments: Arc<SharedComments>,
    search: Search,
    finder: OnceLock<Finder>,
    commented: OnceLock<Commented>,
    shapes: OnceLock<HashMap<u32, IndexShape>>,
    /// Of relations that show nothing else, by their OID.
    rows: Mutex<HashMap<u32, RecordBatch>>,
}

impl Objects {
    pub(super) fn new(tables: Vec<Arc<Relation>>, sequences: Vec<Arc<Sequence>>) -> Self {
        let (views, comments, search) = (Vec::new(), Arc::default(), Search::default());
        let (finder, commented, shapes, rows) = Default::default();
        Self { tables, sequences, views, comments, search, finder, commented, shapes, rows }
    }

    /// With these views.
    pub(super) fn with_views(self, views: Vec<Arc<View>>) -> Self {
        Self { views, ..self }
    }

    /// With the order in which names without a schema are looked for.
    #[must_use]
    pub(super) fn with_search(self, search: Search) -> Self {
        Self { search, ..self }
    }

    /// With the comments on schemas and databases.
    #[must_use]
    pub(super) fn with_comments(self, comments: Arc<SharedComments>) -> Self {
        Self { comments, ..self }
    }

    /// Whether these are the same as others, and are called the same.
    pub(super) fn are(&self, others: &Self) -> bool {
        let is_search = match self.temporary_schema() {
            Some(_) => self.search == others.search,
            None => self.search.is_like(&others.search),
        };
        is_search
            && same(&self.tables, &others.tables)
            && same(&self.sequences, &others.sequences)
            && same(&self.views, &others.views)
            && Arc::ptr_eq(&self.comments, &others.comments)
    }

    /// The rows of a relation that shows them and nothing else, made once.
    ///
    /// # Errors
    /// Those of making them.
    pub(super) fn rows_of(
        &self,
        relation: &Layout,
        make: impl FnOnce() -> SqlResult<RecordBatch>,
    ) -> SqlResult<RecordBatch> {
        let kept = || self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = kept().get(&relation.oid) {
            return Ok(rows.clone());
        }
        let rows = make()?;
        kept().insert(relation.oid, rows.clone());
        Ok(rows)
    }

    pub(super) fn class_by_oid(&self, oid: u32) -> Option<Class<'_>> {
        let system = || layout::all().iter().find(|l| l.oid == oid).map(Class::System);
        self.finder().by_oid(self, oid).or_else(system)
    }

    pub(super) fn constraint_by_oid(&self, oid: u32) -> Option<TableConstraint<'_>> {
        self.finder().constraint(self, oid)
    }

    /// What CREATE INDEX said of each index, read once.
    pub(super) fn shape_of(&self, index: &TableIndex<'_>) -> Option<&IndexShape> {
        let read = || self.indexes().filter_map(|index| Some((index.oid(), index.shape()?))).collect();
        self.shapes.get_or_init(read).get(&index.oid())
    }

    /// Where they are, found out once.
    fn finder(&self) -> &Finder {
        self.finder.get_or_init(|| Finder::of(self))
    }

    /// The comments by what they are on, found out once.
    pub(super) fn commented(&self) -> &Commented {
        self.commented.get_or_init(|| Commented::in_all(self))
    }

    /// All indexes of all tables.
    pub(super) fn indexes(&self) -> impl Iterator<Item = TableIndex<'_>> {
        self.tables.iter().flat_map(|table| TableIndex::of_table(table))
    }

    /// All constraints of all tables.
    pub(super) fn constraints(&self) -> impl Iterator<Item = TableConstraint<'_>> {
        self.tables.iter().flat_map(|table| TableConstraint::of_table(table))
    }

    /// The table of this name in the store.
    pub(super) fn oid_of_stored(&self, stored: &StoredTable) -> Option<u32> {
        self.tables.iter().find(|table| table.stored == *stored).map(|table| table.oid)
    }

    /// The table that a foreign key of `from` refers to.
    pub(super) fn referenced(&self, from: &Relation, name: &str) -> Option<&Relation> {
        match self.class_in(from.place(), name) {
            Some((_, Class::Table(table))) => Some(table),
            _ => None,
        }
    }

    /// The tables that a foreign key refers from or to: PostgreSQL has triggers for those.
    pub(super) fn with_foreign_keys(&self) -> HashSet<u32> {
        let mut tables = HashSet::new();
        for table in &self.tables {
            for recorded in &table.constraints.unenforced {
                if let UnenforcedKind::ForeignKey { table: to, .. } = &recorded.kind {
                    tables.insert(table.oid);
                    tables.extend(self.referenced(table, to).map(|to| to.oid));
                }
            }
        }
        tables
    }

    /// The relation that `regclass` input means, with its OID.
    pub(super) fn class_by_name(&self, text: &str) -> Option<(u32, Class<'_>)> {
        let parts = split_name(text);
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name.as_str()),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name.as_str()),
            _ => return None,
        };
        if let Some(layout) = layout::find(schema, name) {
            return Some((layout.oid, Class::System(layout)));
        }
        let places = match schema {
            None => self.search.places().to_vec(),
            Some(schema) => self.search.place_of_schema(schema).into_iter().collect(),
        };
        let exact = places.iter().find_map(|place| self.class_in(*place, name));
        exact.or_else(|| places.iter().find_map(|place| self.table_like(*place, name)))
    }

    /// The table of this name but for its case, of those that the store had first.
    fn table_like(&self, place: Place, name: &str) -> Option<(u32, Class<'_>)> {
        let is_it = |table: &&Arc<Relation>| {
            table.place() == place && is_found_oid(table.oid) && table.name.eq_ignore_ascii_case(name)
        };
        self.tables.iter().find(is_it).map(|table| (table.oid, Class::Table(table)))
    }

    /// Whether its bare name finds it.
    pub(super) fn is_visible(&self, class: &Class<'_>) -> bool {
        if let Class::System(layout) = class {
            return layout.schema == "pg_catalog";
        }
        let name = class.name();
        let first = self.search.places().into_iter().find(|place| self.class_in(*place, &name).is_some());
        first.is_some_and(|place| place.schema() == class.schema())
    }

    /// As `regclass` prints it.
    pub(super) fn printed(&self, class: &Class<'_>) -> String {
        let name = quote_ident(&class.name());
        if self.is_visible(class) { name } else { format!("{}.{name}", quote_ident(&class.schema())) }
    }

    /// What has exactly this name in a place.
    fn class_in(&self, place: Place, name: &str) -> Option<(u32, Class<'_>)> {
        self.finder().by_name(self, place, name)
    }

    /// The types of the rows of all tables and views.
    pub(super) fn row_types(&self) -> impl Iterator<Item = RowType<'_>> {
        let tables = self.tables.iter().map(|table| (table.oid, table.name.as_str(), table.schema_name.as_str()));
        let views = self.views.iter().map(|view| (view.oid, view.name.as_str(), schema_of(view)));
        tables.chain(views).map(|(relation, name, schema)| RowType { relation, name, schema })
    }

    /// The row type of an OID, and whether that is the OID of the type's array.
    pub(super) fn row_type(&self, oid: u32) -> Option<(RowType<'_>, bool)> {
        let found = self.row_types().find(|row| oid == row.oid() || oid == row.array_oid())?;
        let is_array = oid == found.array_oid();
        Some((found, is_array))
    }

    /// The schema of the session's temporary objects, if it has any.
    pub(super) fn temporary_schema(&self) -> Option<String> {
        let is_there = self.tables.iter().any(|table| table.place().is_temporary())
            || self.sequences.iter().any(|sequence| sequence.place.is_temporary())
            || self.views.iter().any(|view| view.place.is_temporary());
        is_there.then(|| self.search.temporary().schema().into_owned())
    }

    /// The schemas that names without one are looked for in, in order, with the implicit ones or without.
    pub(super) fn search_path(&self, implicit: bool) -> Vec<String> {
        let temporary = self.temporary_schema();
        let is_named = self.search.places()[0] == Place::Public;
        let mut path: Vec<String> = temporary.filter(|_| implicit || is_named).into_iter().collect();
        if implicit {
            path.push("pg_catalog".to_owned());
        }
        path.push("public".to_owned());
        if is_named && path.len() > 1 && self.temporary_schema().is_some() {
            path.rotate_left(1);
        }
        path
    }

    /// Every schema with its OID: the fixed ones, those that are mounted, then that of temporary tables.
    pub(super) fn schemas(&self) -> Vec<(u32, String)> {
        let mut schemas = vec![
            (PG_CATALOG, "pg_catalog".to_owned()),
            (PG_TOAST, "pg_toast".to_owned()),
            (PUBLIC, "public".to_owned()),
            (INFORMATION_SCHEMA, "information_schema".to_owned()),
        ];
        schemas.extend(self.search.mounts().map(|place| (schema_oid(place), place.schema().into_owned())));
        schemas.extend(self.temporary_schema().map(|schema| (TEMPORARY_SCHEMA, schema)));
        schemas
    }

    pub(super) fn schema_oid(&self, name: &str) -> Option<u32> {
        if name == "pg_temp" {
            return self.temporary_schema().map(|_| TEMPORARY_SCHEMA);
        }
        self.schemas().into_iter().find(|(_, n)| n == name).map(|(oid, _)| oid)
    }
}

/// Whether they are the very same objects.
fn same<T>(some: &[Arc<T>], others: &[Arc<T>]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| Arc::ptr_eq(one, other))
}

/// The schema that the type of a view's rows is listed in.
fn schema_of(view: &View) -> &'static str {
    match view.place {
        Place::Mount(name) => name.as_str(),
        Place::Public | Place::Temporary(_) => "public",
    }
}

/// The query of a view, as the session's search path lets it be printed.
pub(super) fn view_definition(context: &FunctionContext, view: &View, pretty: bool) -> String {
    let path = context.handles.settings.show("search_path").map(|(_, path)| path);
    let sees_public = path.is_ok_and(|path| path.split(',').any(|s| s.trim().trim_matches('"') == "public"));
    view.shown(pretty, &|schema| {
        schema == "pg_catalog" || schema.starts_with("pg_temp") || (schema == "public" && sees_public)
    })
}

/// OID of the rule that a view consists of.
pub(super) fn rule_oid(view: &View) -> u32 {
    view.oid.wrapping_add(1)
}

/// The columns a table shows, numbered from 1 as in `pg_attribute`.
pub(super) fn visible_columns(table: &Relation) -> impl Iterator<Item = (i32, &RelationColumn)> {
    column_numbers(&table.dropped_columns).zip(table.columns.iter().filter(|c| !c.hidden))
}

/// The numbers of the key's columns, in key order.
pub(super) fn key_numbers(table: &Relation) -> Vec<i32> {
    let keys = table.key_columns();
    let number = |key: &usize| {
        let name = &table.columns.get(*key)?.name;
        visible_columns(table).find(|(_, c)| c.name == *name).map(|(n, _)| n)
    };
    keys.iter().filter_map(number).collect()
}

/// Whether the table has a primary key that SQL can see.
pub(super) fn has_key(table: &Relation) -> bool {
    table.generated_partition.is_none() && !key_numbers(table).is_empty()
}

/// The key's columns as a list, quoted where they must be.
pub(super) fn key_list(table: &Relation) -> String {
    let names: Vec<String> = key_numbers(table).iter().filter_map(|n| column_name(table, *n)).collect();
    names.join(", ")
}

/// The quoted name of a numbered column.
pub(super) fn column_name(table: &Relation, number: i32) -> Option<String> {
    visible_columns(table).find(|(n, _)| *n == number).map(|(_, c)| quote_ident(&c.name))
}

pub(super) fn index_oid(table: &Relation) -> u32 {
    table.oid.wrapping_add(1)
}

pub(super) fn constraint_oid(table: &Relation) -> u32 {
    table.oid.wrapping_add(2)
}

/// OID of the default of a numbered column.
pub(super) fn default_oid(table: &Relation, number: i32) -> u32 {
    const FIRST_DEFAULT: u32 = 8;
    table.oid.wrapping_add(FIRST_DEFAULT).wrapping_add(number.unsigned_abs())
}

//! The tables of one statement as the binder asks for them, with the types of their rows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use tablegate_bind::catalogue::{
    self, Function, FunctionKind, FunctionRef, Given, Key, RelationKind, RelationRef, Type, TypeKind, oids,
};
use tablegate_bind::{Catalogue, Name, Oid, ParsedQuery, QualifiedName};
use tablegate_types::constraint::UnenforcedKind;
use tablegate_types::oid::{modifier, oid};
use tablegate_types::sql_type::{SqlType, TableRow};

use crate::catalog::{CatalogView, Sequence, View, ViewColumn, query_of};
use crate::plan::planner::Planner;
use crate::plan::system_columns::SystemColumn;
use crate::plan::tables::{Mentions, TableEntry, Tables, schema_and_table};
use crate::relation::{Relation, RelationColumn, table_row};

const VOID: Oid = 2278;

/// The number of the schema `public`, which all types of rows are said to be in.
const PUBLIC: Oid = 2200;

/// What a statement may name besides what is built in.
pub(in crate::plan) struct KnownTables<'t> {
    catalog: &'t CatalogView,
    database: &'t str,
    /// By the names that the statement, and the views in it, use: the schema, if they say one, and the table.
    relations: HashMap<(Option<String>, String), RelationRef>,
    types: HashMap<Oid, Type>,
    /// The relations that types of rows are of, by their OIDs.
    rows: HashMap<Oid, RelationRef>,
    /// The queries of views, by their numbers.
    views: HashMap<Oid, Arc<ParsedQuery>>,
}

impl<'t> KnownTables<'t> {
    /// The tables of these names that there are, and those that views among them read.
    pub(super) async fn of(planner: &'t Planner<'_>, mut names: Vec<QualifiedName>) -> Self {
        let mut known = Self::none(planner);
        let mut next = 0;
        while let Some(name) = names.get(next) {
            next += 1;
            let Ok((schema, table)) = schema_and_table(name) else { continue };
            if known.relations.contains_key(&(schema.clone(), table.clone())) {
                continue;
            }
            if let Some(view) = planner.view(schema.as_deref(), &table)
                && let Ok(query) = query_of(view)
            {
                names.extend(Mentions::of(&query).tables);
                known.views.insert(view.oid, Arc::new(query));
            }
            if let Some(relation) = known.found(planner, schema.as_deref(), &table).await {
                known.add(schema, table, relation);
            }
        }
        known
    }

    /// The tables of these names, which were looked up before.
    pub(in crate::plan) fn among(planner: &'t Planner<'_>, names: &[QualifiedName], tables: &Tables) -> Self {
        let mut known = Self::none(planner);
        let mut names = names.to_vec();
        let mut next = 0;
        while let Some(name) = names.get(next) {
            next += 1;
            let Ok((schema, table)) = schema_and_table(name) else { continue };
            let Some(entry) = tables.get(name) else { continue };
            if known.relations.contains_key(&(schema.clone(), table.clone())) {
                continue;
            }
            let relation = match (&entry.relation, &entry.view) {
                (_, Some(of_view)) => {
                    names.extend(Mentions::of(&of_view.query).tables);
                    known.views.insert(of_view.view.oid, Arc::clone(&of_view.query));
                    self::of_view(&of_view.view)
                }
                (Some(relation), None) => known.of_relation(relation),
                (None, None) => known.of_rows(entry, &table),
            };
            let oid = entry.number;
            known.add(schema, table, catalogue::Relation { oid, ..relation });
        }
        known
    }

    fn none(planner: &'t Planner<'_>) -> Self {
        Self {
            catalog: &planner.reads.catalog,
            database: planner.system.database(),
            relations: HashMap::new(),
            types: HashMap::new(),
            rows: HashMap::new(),
            views: HashMap::new(),
        }
    }

    fn add(&mut self, schema: Option<String>, table: String, relation: catalogue::Relation) {
        let relation = Arc::new(relation);
        if let Some(of_row) = self.types.get(&relation.row_type) {
            self.rows.insert(of_row.relation, Arc::clone(&relation));
        }
        self.relations.insert((schema, table), relation);
    }

    fn of_relation(&mut self, table: &Relation) -> catalogue::Relation {
        let row = table_row(table);
        for of_row in types_of(&row, &table.name, table.oid) {
            self.types.insert(of_row.oid, of_row);
        }
        of_table(table, row.oid)
    }

    /// Rows that are no relation's of the user's, or those of one in memory.
    fn of_rows(&mut self, entry: &TableEntry, name: &str) -> catalogue::Relation {
        let schema = entry.provider.schema();
        let columns = schema.fields().iter().map(|field| catalogue::RelationColumn {
            is_hidden: entry.hidden.contains(field.name()),
            ..column(field.name(), &SqlType::declared_in(field))
        });
        let mut columns: Vec<_> = columns.collect();
        if let Some(oid) = entry.oid {
            columns.extend(system_columns(oid));
        }
        if let Some(row) = &entry.row_type {
            for of_row in types_of(row, &row.name, entry.number) {
                self.types.insert(of_row.oid, of_row);
            }
        }
        catalogue::Relation {
            oid: entry.number,
            name: name.to_owned(),
            row_type: entry.row_type.as_ref().map_or(0, |row| row.oid),
            columns,
            ..Default::default()
        }
    }

    /// The relation of a number.
    pub(super) fn of_number(&self, oid: Oid) -> Option<&catalogue::Relation> {
        self.relations.values().map(AsRef::as_ref).find(|relation| relation.oid == oid)
    }

    /// Columns of all of them.
    pub(super) fn width(&self) -> usize {
        self.relations.values().map(|relation| relation.columns.len()).sum()
    }

    /// The queries of the views among them.
    pub(super) fn views(&self) -> &HashMap<Oid, Arc<ParsedQuery>> {
        &self.views
    }

    /// Whether one of the views names system columns.
    pub(super) fn views_name_system_columns(&self) -> bool {
        self.views.values().any(|view| Mentions::of(view).system_columns)
    }

    async fn found(&mut self, planner: &Planner<'_>, schema: Option<&str>, name: &str) -> Option<catalogue::Relation> {
        if let Some(view) = planner.view(schema, name) {
            return Some(of_view(view));
        }
        if let Some(columns) = planner.system.columns(schema, name) {
            let oid = planner.system.oid(schema, name).unwrap_or(0);
            let schema = schema.unwrap_or("pg_catalog").to_owned();
            let columns = columns.fields().iter().map(|field| column(field.name(), &SqlType::declared_in(field)));
            let columns = columns.chain(system_columns(oid)).collect();
            return Some(catalogue::Relation { oid, name: name.to_owned(), schema, columns, ..Default::default() });
        }
        if let Ok(Some(table)) = planner.relation(schema, name).await {
            return Some(self.of_relation(&table));
        }
        planner.sequence(schema, name).map(|sequence| of_sequence(&sequence))
    }
}

impl Catalogue for KnownTables<'_> {
    fn own_type(&self, oid: Oid) -> Option<&Type> {
        self.types.get(&oid)
    }

    fn own_type_named(&self, _schema: Option<&str>, name: &str) -> Option<&Type> {
        self.types.values().find(|known| known.name == name)
    }

    fn own_functions(&self, schema: Option<&str>, name: &str) -> Vec<FunctionRef> {
        let of_name = OWN_FUNCTIONS.iter().filter(|function| function.name == name && schema.is_none());
        of_name.map(|function| FunctionRef::Own(Arc::clone(function))).collect()
    }

    fn has_schema(&self, name: &str) -> bool {
        self.catalog.named(Some(name), "").is_some()
    }

    fn is_database(&self, name: &str) -> bool {
        name == self.database
    }

    fn relation(&self, schema: Option<&Name>, name: &Name) -> Option<RelationRef> {
        let key = (schema.map(|schema| schema.text.clone()), name.text.clone());
        self.relations.get(&key).cloned()
    }

    fn columns_of(&self, relation: Oid) -> Vec<(String, Oid, i32)> {
        let columns = self.rows.get(&relation).into_iter().flat_map(|known| known.shown_columns());
        columns.map(|(_, column)| (column.name.clone(), column.oid, column.typmod)).collect()
    }
}

fn of_table(table: &Relation, row_type: Oid) -> catalogue::Relation {
    catalogue::Relation {
        oid: table.oid,
        name: table.name.clone(),
        schema: table.schema_name.clone(),
        kind: RelationKind::Table,
        row_type,
        columns: table.columns.iter().map(column_of).chain(system_columns(table.oid)).collect(),
        is_open: table.open,
        keys: keys_of(table),
    }
}

fn of_view(view: &View) -> catalogue::Relation {
    let columns = view.typed_columns().unwrap_or_default();
    catalogue::Relation {
        oid: view.oid,
        name: view.name.clone(),
        schema: view.place.schema().into_owned(),
        kind: RelationKind::View,
        columns: columns
            .iter()
            .zip(&view.columns)
            .map(|((name, sql_type), kept)| of_view_column(name, sql_type, kept))
            .collect(),
        ..Default::default()
    }
}

fn of_view_column(name: &str, sql_type: &SqlType, kept: &ViewColumn) -> catalogue::RelationColumn {
    catalogue::RelationColumn { collation: kept.collation, ..column(name, sql_type) }
}

fn of_sequence(sequence: &Sequence) -> catalogue::Relation {
    let columns = [("last_value", SqlType::Int8), ("log_cnt", SqlType::Int8), ("is_called", SqlType::Bool)];
    catalogue::Relation {
        oid: sequence.oid,
        name: sequence.name.clone(),
        schema: sequence.place.schema().into_owned(),
        kind: RelationKind::Sequence,
        columns: columns.iter().map(|(name, sql_type)| column(name, sql_type)).collect(),
        ..Default::default()
    }
}

fn column(name: &str, sql_type: &SqlType) -> catalogue::RelationColumn {
    let (oid, typmod) = (oid(sql_type), modifier(sql_type));
    catalogue::RelationColumn { name: name.to_owned(), oid, typmod, ..Default::default() }
}

fn column_of(column: &RelationColumn) -> catalogue::RelationColumn {
    let given = match (&column.generated, &column.identity) {
        (Some(_), _) => Given::Computed,
        (None, Some(identity)) if identity.always => Given::IdentityAlways,
        (None, Some(_)) => Given::IdentityByDefault,
        (None, None) => Given::ByStatements,
    };
    catalogue::RelationColumn {
        has_default: column.default.is_some(),
        given,
        takes_any: column.observed.is_some(),
        is_hidden: column.hidden,
        collation: column.collation,
        ..self::column(&column.name, &column.sql_type)
    }
}

/// The columns of a table that are none of its own.
fn system_columns(table: Oid) -> impl Iterator<Item = catalogue::RelationColumn> {
    SystemColumn::of(table)
        .map(|system| catalogue::RelationColumn { is_hidden: true, ..column(system.name, &system.sql_type) })
}

/// The primary key, unless the gateway makes the keys of rows, and what is recorded as unique.
fn keys_of(table: &Relation) -> Vec<Key> {
    let mut keys = Vec::new();
    if table.generated_partition.is_none() {
        let (name, columns) = (table.primary_key_name(), table.key_columns());
        keys.push(Key { name, columns, is_primary: true, is_constraint: true, ..Key::default() });
    }
    for recorded in table.constraints.unenforced.iter().filter(|recorded| recorded.kind.is_unique()) {
        let columns = recorded.columns.iter().filter_map(|name| table.column(name)).map(|(number, _)| number).collect();
        let is_constraint = matches!(recorded.kind, UnenforcedKind::Unique { .. });
        keys.push(Key { name: recorded.name.clone(), columns, is_constraint, ..Key::default() });
    }
    keys
}

/// The types of a table's rows, and of arrays of them.
fn types_of(row: &TableRow, name: &str, relation: Oid) -> [Type; 2] {
    let composite = Type {
        oid: row.oid,
        name: Cow::Owned(name.to_owned()),
        schema: PUBLIC,
        kind: TypeKind::Composite,
        category: b'C',
        is_preferred: false,
        element: 0,
        is_array: false,
        has_subscripts: false,
        array: row.array_oid,
        base: 0,
        base_typmod: -1,
        collation: 0,
        relation,
        takes_modifiers: false,
        bounds: 0,
        range: 0,
    };
    let array = Type {
        oid: row.array_oid,
        name: Cow::Owned(format!("_{name}")),
        kind: TypeKind::Base,
        category: b'A',
        element: row.oid,
        is_array: true,
        has_subscripts: true,
        array: 0,
        relation: 0,
        ..composite.clone()
    };
    [composite, array]
}

/// Functions that PostgreSQL does not have.
static OWN_FUNCTIONS: LazyLock<Vec<Arc<Function>>> = LazyLock::new(|| {
    let function = |name: &'static str, arguments: Vec<Oid>, result: Oid| {
        Arc::new(Function {
            oid: 0,
            name: Cow::Borrowed(name),
            schema: Cow::Borrowed("public"),
            kind: FunctionKind::Function,
            arguments,
            names: Vec::new(),
            defaults: Vec::new(),
            variadic: 0,
            result,
            gives_rows: false,
            columns: Vec::new(),
            ordered: None,
            is_strict: true,
            volatility: b's',
        })
    };
    vec![function("edm_type", vec![oids::ANY], oids::TEXT), function("statement_statistics_reset", Vec::new(), VOID)]
});

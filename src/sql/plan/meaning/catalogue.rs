//! The tables of one statement as the binder asks for them, with the types of their rows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use sqlparser::ast::ObjectName;
use tablegate_bind::catalogue::{
    self, Function, FunctionKind, FunctionRef, Given, Key, RelationKind, RelationRef, Type, TypeKind, oids,
};
use tablegate_bind::{Catalogue, Name, Oid};
use tablegate_types::constraint::UnenforcedKind;
use tablegate_types::oid::{modifier, oid};
use tablegate_types::sql_type::{SqlType, TableRow};

use crate::catalog::{CatalogView, Sequence, View};
use crate::plan::planner::Planner;
use crate::plan::tables::schema_and_table;
use crate::relation::{Relation, RelationColumn, table_row};

const VOID: Oid = 2278;

/// The number of the schema `public`, which all types of rows are said to be in.
const PUBLIC: Oid = 2200;

/// What a statement may name besides what is built in.
pub(super) struct KnownTables<'t> {
    catalog: &'t CatalogView,
    /// By the names that the statement uses: the schema, if it says one, and the table.
    relations: HashMap<(Option<String>, String), RelationRef>,
    types: HashMap<Oid, Type>,
}

impl<'t> KnownTables<'t> {
    /// The tables of these names that there are.
    pub(super) async fn of(planner: &'t Planner<'_>, names: &[ObjectName]) -> Self {
        let mut known = Self { catalog: &planner.reads.catalog, relations: HashMap::new(), types: HashMap::new() };
        for name in names {
            let Ok((schema, table)) = schema_and_table(name) else { continue };
            if let Some(relation) = known.found(planner, schema.as_deref(), &table).await {
                known.relations.insert((schema, table), Arc::new(relation));
            }
        }
        known
    }

    async fn found(&mut self, planner: &Planner<'_>, schema: Option<&str>, name: &str) -> Option<catalogue::Relation> {
        if let Some(view) = planner.view(schema, name) {
            return Some(of_view(view));
        }
        if let Some(columns) = planner.system.columns(schema, name) {
            let oid = planner.system.oid(schema, name).unwrap_or(0);
            let schema = schema.unwrap_or("pg_catalog").to_owned();
            let columns = columns.fields().iter().map(|field| column(field.name(), &SqlType::declared_in(field)));
            let columns = columns.chain([table_oid()]).collect();
            return Some(catalogue::Relation { oid, name: name.to_owned(), schema, columns, ..Default::default() });
        }
        if let Ok(Some(table)) = planner.relation(schema, name).await {
            let row = table_row(&table);
            for of_row in types_of(&row, &table) {
                self.types.insert(of_row.oid, of_row);
            }
            return Some(of_table(&table, row.oid));
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

    fn relation(&self, schema: Option<&Name>, name: &Name) -> Option<RelationRef> {
        let key = (schema.map(|schema| schema.text.clone()), name.text.clone());
        self.relations.get(&key).cloned()
    }

    fn columns_of(&self, relation: Oid) -> Vec<(String, Oid, i32)> {
        let known = self.relations.values().find(|known| known.oid == relation);
        let columns = known.into_iter().flat_map(|known| known.shown_columns());
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
        columns: table.columns.iter().map(column_of).chain([table_oid()]).collect(),
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
        columns: columns.iter().map(|(name, sql_type)| column(name, sql_type)).collect(),
        ..Default::default()
    }
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
        ..self::column(&column.name, &column.sql_type)
    }
}

/// The table that a row is of.
fn table_oid() -> catalogue::RelationColumn {
    catalogue::RelationColumn { is_hidden: true, ..column("tableoid", &SqlType::Oid) }
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
fn types_of(row: &TableRow, relation: &Relation) -> [Type; 2] {
    let composite = Type {
        oid: row.oid,
        name: Cow::Owned(relation.name.clone()),
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
        relation: relation.oid,
        takes_modifiers: false,
        bounds: 0,
        range: 0,
    };
    let array = Type {
        oid: row.array_oid,
        name: Cow::Owned(format!("_{}", relation.name)),
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

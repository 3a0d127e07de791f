//! The tables of `schema.sql` as a catalogue.

use std::collections::HashMap;
use std::sync::Arc;

use sqlparser::ast::{ColumnOption, GeneratedAs, Statement, TableConstraint};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::binder::{Binder, name_of};
use crate::catalogue::{
    BuiltInOnly, Catalogue, Given, Key, Lookup, Oid, Relation, RelationColumn, RelationKind, RelationRef, Type,
    TypeKind, oids, types,
};
use crate::name::Name;
use crate::query::name_parts;
use crate::scope::Scope;
use crate::usage::Usage;

pub(crate) struct Tables {
    pub relations: Vec<RelationRef>,
    types: HashMap<Oid, Type>,
}

impl Catalogue for Tables {
    fn own_type(&self, oid: Oid) -> Option<&Type> {
        self.types.get(&oid)
    }

    fn own_type_named(&self, _schema: Option<&str>, name: &str) -> Option<&Type> {
        self.types.values().find(|of| of.name == name && !of.is_array)
    }

    fn relation(&self, schema: Option<&Name>, name: &Name) -> Option<RelationRef> {
        let schema = schema.map_or("public", |schema| &schema.text);
        self.relations.iter().find(|relation| relation.schema == schema && relation.name == name.text).cloned()
    }

    fn columns_of(&self, relation: Oid) -> Vec<(String, Oid, i32)> {
        let found = self.relations.iter().find(|known| known.oid == relation);
        let column = |column: &RelationColumn| (column.name.clone(), column.oid, column.typmod);
        found.map(|found| found.columns.iter().map(column).collect()).unwrap_or_default()
    }

    fn has_schema(&self, name: &str) -> bool {
        matches!(name, "public" | "s")
    }
}

pub(crate) fn tables() -> Tables {
    let statements = Parser::parse_sql(&PostgreSqlDialect {}, include_str!("schema.sql")).unwrap();
    let mut tables = Tables { relations: Vec::new(), types: HashMap::new() };
    for (number, statement) in (0..).zip(statements) {
        let Statement::CreateTable(table) = statement else { panic!("{statement}") };
        let binder = Binder::new(Lookup::new(&BuiltInOnly), Scope::default(), Usage::Check);
        let (schema, name, _) = name_parts(Lookup::new(&BuiltInOnly), &table.name).unwrap();
        let (oid, row_type, array) = (20_000 + number * 10, 20_001 + number * 10, 20_002 + number * 10);
        let mut relation = Relation {
            oid,
            name: name.text.clone(),
            schema: schema.map_or_else(|| "public".to_owned(), |schema| schema.text),
            kind: RelationKind::Table,
            row_type,
            ..Relation::default()
        };
        for (at, column) in table.columns.iter().enumerate() {
            let (oid, typmod) = binder.type_of(&column.data_type).unwrap();
            let name = name_of(&column.name).text;
            let mut known = RelationColumn { name: name.clone(), oid, typmod, ..RelationColumn::default() };
            for option in &column.options {
                let key = |is_primary| Key {
                    name: format!("{}_{name}_key", relation.name),
                    columns: vec![at],
                    is_primary,
                    is_constraint: true,
                    ..Key::default()
                };
                match &option.option {
                    ColumnOption::Default(_) => known.has_default = true,
                    ColumnOption::PrimaryKey(_) => {
                        relation.keys.push(Key { name: format!("{}_pkey", relation.name), ..key(true) })
                    }
                    ColumnOption::Unique(_) => relation.keys.push(key(false)),
                    ColumnOption::Generated { generated_as, generation_expr, .. } => {
                        known.given = match (generated_as, generation_expr) {
                            (_, Some(_)) => Given::Computed,
                            (GeneratedAs::ByDefault, _) => Given::IdentityByDefault,
                            _ => Given::IdentityAlways,
                        };
                    }
                    _ => {}
                }
            }
            relation.columns.push(known);
        }
        for constraint in &table.constraints {
            if let TableConstraint::PrimaryKey(key) = constraint {
                let number = |name: &str| relation.columns.iter().position(|column| column.name == name).unwrap();
                let columns = key.columns.iter().map(|column| number(&column.column.expr.to_string())).collect();
                let name = format!("{}_pkey", relation.name);
                relation.keys.push(Key { name, columns, is_primary: true, is_constraint: true, ..Key::default() });
            }
        }
        let of_rows = types::built_in(oids::RECORD).unwrap().clone();
        let name: std::borrow::Cow<'static, str> = relation.name.clone().into();
        let array_type = Type {
            oid: array,
            element: row_type,
            array: 0,
            name: format!("_{name}").into(),
            ..types::built_in(oids::TEXT_ARRAY).unwrap().clone()
        };
        let row =
            Type { oid: row_type, name, kind: TypeKind::Composite, relation: oid, array, category: b'C', ..of_rows };
        tables.types.insert(row_type, row);
        tables.types.insert(array, array_type);
        tables.relations.push(Arc::new(relation));
    }
    tables
}

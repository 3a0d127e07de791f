//! The table that a statement writes to, and its columns as the statement names them.

use std::sync::Arc;

use tablegate_bind::{AtPlace, Identifier, QualifiedName};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::plan::{Planner, resolve_column, schema_and_table};
use crate::relation::{ColumnSource, Relation, RelationColumn};

/// The relation a statement writes to.
///
/// # Errors
/// 42P01 when there is none, 42501 for a table of the system.
pub(crate) async fn find_target(planner: &Planner<'_>, name: &QualifiedName) -> SqlResult<Arc<Relation>> {
    let (schema, table) = schema_and_table(name)?;
    if planner.system.knows(schema.as_deref(), &table) {
        let message = format!("permission denied: \"{table}\" is a system catalog");
        return Err(SqlError::new(ErrorKind::InsufficientPrivilege, message));
    }
    match planner.relation(schema.as_deref(), &table).await? {
        Some(relation) => Ok(relation),
        None if planner.sequence(schema.as_deref(), &table).is_some() => {
            Err(SqlError::new(ErrorKind::WrongObjectType, format!("\"{table}\" is not a table"))
                .with_hint("It is a sequence: use nextval, setval, ALTER SEQUENCE and DROP SEQUENCE."))
        }
        None if planner.view(schema.as_deref(), &table).is_some() => {
            Err(SqlError::new(ErrorKind::WrongObjectType, format!("\"{table}\" is not a table")))
        }
        None => {
            let message = format!("relation \"{table}\" does not exist");
            Err(SqlError::new(ErrorKind::UndefinedTable, message).at_place(name.place()))
        }
    }
}

/// The column an identifier of an INSERT list or SET clause means; for open tables possibly a new one.
///
/// # Errors
/// 42703 for an unknown column of a declared table, 42602 or 42939 for a name no property can have.
pub(crate) fn target_column(relation: &Relation, ident: &Identifier) -> SqlResult<TargetColumn> {
    let names: Vec<String> = relation.columns.iter().map(|c| c.name.clone()).collect();
    if let Some(stored) = resolve_column(names.iter(), ident)?
        && let Some((index, column)) = relation.column(stored)
    {
        return match column.source {
            ColumnSource::ETag => Err(SqlError::new(
                ErrorKind::InsufficientPrivilege,
                "column \"etag\" is made by the store and cannot be set",
            )),
            _ => Ok(TargetColumn::Known(index)),
        };
    }
    if !relation.open {
        return Err(undefined_column(relation, &ident.folded()).at_place(ident.place()));
    }
    let name = tablegate_store::model::PropertyName::parse(&ident.folded())?;
    Ok(TargetColumn::New(name))
}

/// A column that a statement sets, by its name in the table; for open tables possibly a new one.
///
/// # Errors
/// 42501 for the version, 0A000 for what is no stored column, 42602 or 42939 for a name no property can have.
pub(super) fn target_named(relation: &Relation, name: &str) -> SqlResult<TargetColumn> {
    match relation.column(name) {
        Some((_, RelationColumn { source: ColumnSource::ETag, .. })) => Err(SqlError::new(
            ErrorKind::InsufficientPrivilege,
            "column \"etag\" is made by the store and cannot be set",
        )),
        Some((index, _)) => Ok(TargetColumn::Known(index)),
        None if relation.open => Ok(TargetColumn::New(tablegate_store::model::PropertyName::parse(name)?)),
        None => {
            Err(SqlError::new(ErrorKind::FeatureNotSupported, format!("cannot assign to system column \"{name}\"")))
        }
    }
}

/// A column that the target does not have (42703).
pub(super) fn undefined_column(relation: &Relation, column: &str) -> Box<SqlError> {
    let message = format!("column \"{column}\" of relation \"{}\" does not exist", relation.name);
    SqlError::new(ErrorKind::UndefinedColumn, message)
}

/// A column a statement sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TargetColumn {
    /// Index in the relation's columns.
    Known(usize),
    /// A property the table has not shown yet, typed by the expression.
    New(tablegate_store::model::PropertyName),
}

impl TargetColumn {
    pub(crate) fn column<'r>(&self, relation: &'r Relation) -> Option<&'r RelationColumn> {
        match self {
            TargetColumn::Known(index) => relation.columns.get(*index),
            TargetColumn::New(_) => None,
        }
    }

    pub(crate) fn name<'a>(&'a self, relation: &'a Relation) -> &'a str {
        match self {
            TargetColumn::Known(index) => &relation.columns[*index].name,
            TargetColumn::New(name) => name.as_str(),
        }
    }
}

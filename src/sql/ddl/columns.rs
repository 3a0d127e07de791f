//! The columns of a CREATE TABLE: types, NOT NULL, defaults, and the properties that store them.

use std::collections::HashSet;

use tablegate_bind::{BuiltInOnly, Lookup, ParsedExpression, QualifiedName, collation_named};
use tablegate_store::model::{PropertyName, limits};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::oid::oid;
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;

use super::counters::Counters;
use crate::catalog::{DeclaredColumn, default_as_shown};
use crate::place::Place;
use crate::plan::RESERVED_COLUMNS;
use crate::syntax::{ColumnDefinition, ColumnOption};

/// A column of a CREATE TABLE, its type read.
pub(super) struct TypedColumn<'a> {
    pub definition: &'a ColumnDefinition,
    pub sql_type: SqlType,
    /// It was declared `serial` or the like.
    pub is_serial: bool,
}

/// Reads the types of columns.
///
/// # Errors
/// 42704 for an unknown type, 0A000 for one that cannot be stored, 22023 for bad parameters.
pub(super) fn typed(columns: &[ColumnDefinition]) -> SqlResult<Vec<TypedColumn<'_>>> {
    let (mut typed, mut refused) = (Vec::with_capacity(columns.len()), None);
    let mut without_type = Vec::new();
    for definition in columns {
        match typed_column(definition) {
            Ok(column) => typed.push(column),
            Err(error) => {
                without_type.push(format!("{} {}", quote_ident(&definition.name.folded()), definition.data_type));
                refused.get_or_insert(error);
            }
        }
    }
    match refused {
        None => Ok(typed),
        // Who moves a schema wants to know of all of them at once.
        Some(error) if without_type.len() > 1 => {
            Err(error.with_detail(format!("The types of these columns are not here: {}.", without_type.join(", "))))
        }
        Some(error) => Err(error),
    }
}

/// Reads the type of a column.
///
/// # Errors
/// As [`typed`].
pub(super) fn typed_column(definition: &ColumnDefinition) -> SqlResult<TypedColumn<'_>> {
    let serial = definition.data_type.serial_type();
    let is_serial = serial.is_some();
    let sql_type = serial.map_or_else(|| definition.data_type.sql_type(), Ok);
    let sql_type = sql_type.map_err(|error| error.for_column(&definition.name.folded()))?;
    if sql_type == SqlType::InternalChar {
        return Err(SqlError::not_supported("type \"char\"").with_hint("Use char(1), or text."));
    }
    if matches!(sql_type, SqlType::Int2Vector | SqlType::OidVector) {
        return Err(SqlError::not_supported(format!("type {sql_type}")).with_hint("Use smallint[] or bigint[]."));
    }
    Ok(TypedColumn { definition, sql_type, is_serial })
}

/// The declared columns of a table.
///
/// # Errors
/// What PostgreSQL refuses, reserved names, and more columns than an entity has properties.
pub(super) fn columns(
    typed: &[TypedColumn<'_>],
    primary_key: &[String],
    is_raw: bool,
    counters: &mut Counters<'_>,
) -> SqlResult<Vec<DeclaredColumn>> {
    let table = &counters.table.name;
    let mut names = HashSet::new();
    let mut properties = HashSet::new();
    let mut columns = Vec::with_capacity(typed.len());
    for column in typed {
        let name = column.definition.name.folded();
        if !names.insert(name.clone()) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        check_name(&name, is_raw)?;
        let in_key = primary_key.contains(&name);
        let is_system = if is_raw { is_key_or_timestamp(&name) } else { in_key };
        let mut declared = options(column, counters)?;
        declared.not_null |= in_key || (is_raw && is_system && name != "Timestamp");
        if in_key {
            check_key_column(&declared)?;
        }
        declared.property = if is_system { None } else { Some(property_name(&name, &mut properties)) };
        columns.push(declared);
    }
    if properties.len() > limits::CUSTOM_PROPERTIES_MAX {
        return Err(too_many_columns(table, properties.len()));
    }
    Ok(columns)
}

pub(super) fn too_many_columns(table: &str, count: usize) -> Box<SqlError> {
    let message = format!("table \"{table}\" cannot have {count} columns besides its key");
    SqlError::new(ErrorKind::TooManyColumns, message)
        .with_detail(format!("An entity holds at most {} properties.", limits::CUSTOM_PROPERTIES_MAX))
}

/// A column that joins the others of a table, with a property that nothing stored has yet.
///
/// # Errors
/// 42939 for a reserved name, 42704 for an unknown type, and what its options are refused for.
pub(super) fn read_column(
    column: &TypedColumn<'_>,
    taken: &mut HashSet<String>,
    counters: &mut Counters<'_>,
) -> SqlResult<DeclaredColumn> {
    let name = column.definition.name.folded();
    check_name(&name, false)?;
    let mut declared = options(column, counters)?;
    declared.property = Some(property_name(&name, taken));
    Ok(declared)
}

/// The key of a row is there before its generated columns are computed (0A000).
pub(super) fn check_key_column(column: &DeclaredColumn) -> SqlResult<()> {
    match column.generated {
        None => Ok(()),
        Some(_) => Err(SqlError::not_supported("a generated column in a primary key")
            .with_hint("Give the key's value in each INSERT, or make it a DEFAULT.")),
    }
}

fn is_key_or_timestamp(name: &str) -> bool {
    matches!(name, "PartitionKey" | "RowKey" | "Timestamp")
}

/// Names that a column cannot have.
fn check_name(name: &str, is_raw: bool) -> SqlResult<()> {
    if RESERVED_COLUMNS.contains(&name) {
        let message = format!("column name \"{name}\" conflicts with a system column name");
        return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
    }
    if !is_raw && is_key_or_timestamp(name) {
        let message = format!("column name \"{name}\" is reserved for the system");
        return Err(SqlError::new(ErrorKind::ReservedName, message).with_hint(
            "Declare both \"PartitionKey\" and \"RowKey\" as text to use the raw keys, or choose another name.",
        ));
    }
    Ok(())
}

/// What the column's type and options say of it. Constraints are read elsewhere (`constraints`).
fn options(column: &TypedColumn<'_>, counters: &mut Counters<'_>) -> SqlResult<DeclaredColumn> {
    let table = &counters.table.name;
    let mut declared = DeclaredColumn::new(&column.definition.name.folded(), &column.sql_type);
    let mut nullable = column.is_serial.then_some(false);
    if column.is_serial {
        declared.default = Some(counters.serial(&declared.name, &column.sql_type)?);
    }
    for option in &column.definition.options {
        match option {
            ColumnOption::NotNull => set_nullable(&mut nullable, false, table, &declared.name)?,
            ColumnOption::Null => set_nullable(&mut nullable, true, table, &declared.name)?,
            ColumnOption::Constraint(_) => {}
            ColumnOption::Collation(name) => declared.collation = collation(&column.sql_type, name)?,
            ColumnOption::Default(expression) => {
                check_no_value(table, &declared, "default")?;
                declared.default = default_text(counters.table.place, expression);
            }
            ColumnOption::Generated(expression) => {
                check_no_value(table, &declared, "generation expression")?;
                declared.generated = Some(expression.to_string());
            }
            ColumnOption::Identity { always, options } => {
                check_no_value(table, &declared, "identity")?;
                let identity = counters.identity(&declared.name, &column.sql_type, *always, options)?;
                declared.identity = Some(identity);
                set_nullable(&mut nullable, false, table, &declared.name)?;
            }
            ColumnOption::Other(option) => return Err(SqlError::not_supported(option)),
        }
    }
    declared.not_null = nullable == Some(false);
    Ok(declared)
}

fn set_nullable(nullable: &mut Option<bool>, value: bool, table: &str, column: &str) -> SqlResult<()> {
    if nullable.is_some_and(|earlier| earlier != value) {
        let message = format!("conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{table}\"");
        return Err(SqlError::new(ErrorKind::Syntax, message));
    }
    *nullable = Some(value);
    Ok(())
}

/// A column gets its value in one way.
fn check_no_value(table: &str, column: &DeclaredColumn, second: &str) -> SqlResult<()> {
    let first = match column {
        DeclaredColumn { default: Some(_), .. } => "default",
        DeclaredColumn { identity: Some(_), .. } => "identity",
        DeclaredColumn { generated: Some(_), .. } => "generation expression",
        _ => return Ok(()),
    };
    let place = format!("specified for column \"{}\" of table \"{table}\"", column.name);
    Err(SqlError::new(
        ErrorKind::Syntax,
        match (first, second) {
            ("default", "default") => format!("multiple default values {place}"),
            ("identity", "identity") => format!("multiple identity specifications {place}"),
            ("generation expression", "generation expression") => format!("multiple generation clauses {place}"),
            ("identity", "default") => format!("both default and identity {place}"),
            ("generation expression", other) => format!("both {other} and generation expression {place}"),
            (first, second) => format!("both {first} and {second} {place}"),
        },
    ))
}

/// The text that is kept of a DEFAULT: `DEFAULT NULL` is none.
pub(crate) fn default_text(place: Place, expression: &ParsedExpression) -> Option<String> {
    (!expression.is_null()).then(|| default_as_shown(place, &expression.to_string()))
}

/// The number of the collation that a column is given; none where that is its type's.
///
/// # Errors
/// 42804 for a type without collations, and what is wrong with the name.
pub(super) fn collation(sql_type: &SqlType, name: &QualifiedName) -> SqlResult<Option<u32>> {
    let of_type = Lookup::new(&BuiltInOnly).collation_of_type(oid(sql_type));
    if of_type == 0 {
        let message = format!("collations are not supported by type {sql_type}");
        return Err(SqlError::new(ErrorKind::DatatypeMismatch, message));
    }
    Ok(Some(collation_named(name)?).filter(|own| *own != of_type))
}

/// The property that stores a column: its own name where that is legal, else the nearest legal one not yet taken.
pub(super) fn property_name(column: &str, taken: &mut HashSet<String>) -> String {
    let legal = if column == "etag" {
        // Cosmos DB keeps the name for itself.
        "etag_".to_owned()
    } else if PropertyName::parse(column).is_ok() {
        column.to_owned()
    } else {
        let mut legal: String = column.chars().map(|c| if PropertyName::may_hold(c) { c } else { '_' }).collect();
        if legal.starts_with(|c: char| !(c == '_' || c.is_alphabetic())) || PropertyName::parse(&legal).is_err() {
            legal.insert(0, '_');
        }
        legal
    };
    let candidates = std::iter::once(legal.clone()).chain((2..).map(|n| format!("{legal}_{n}")));
    let free = candidates.into_iter().find(|c| !taken.contains(c)).unwrap_or(legal);
    taken.insert(free.clone());
    free
}

//! The columns of a CREATE TABLE: types, NOT NULL, defaults, and the properties that store them.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{ColumnDef, ColumnOption, Expr, Value};

use super::type_names::sql_type;
use crate::model::{PropertyName, limits};
use crate::sql::catalog::DeclaredColumn;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::statement::fold;
use crate::sql::types::SqlType;

/// The declared columns of a table.
///
/// # Errors
/// What PostgreSQL refuses, reserved names, and more columns than an entity has properties.
pub(super) fn columns(
    table: &str,
    typed: &[(&ColumnDef, SqlType)],
    primary_key: &[String],
    is_raw: bool,
) -> SqlResult<Vec<DeclaredColumn>> {
    let mut names = HashSet::new();
    let mut properties = HashSet::new();
    let mut columns = Vec::with_capacity(typed.len());
    for (column, sql_type) in typed {
        let name = fold(&column.name);
        if !names.insert(name.clone()) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        check_name(&name, is_raw)?;
        let in_key = primary_key.contains(&name);
        let is_system = if is_raw { is_key_or_timestamp(&name) } else { in_key };
        let mut declared = options(table, column, DeclaredColumn::new(&name, sql_type))?;
        declared.not_null |= in_key || (is_raw && is_system && name != "Timestamp");
        if in_key && declared.generated.is_some() {
            return Err(SqlError::not_supported("a generated column in a primary key")
                .with_hint("Give the key's value in each INSERT, or make it a DEFAULT."));
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
pub(super) fn read_column(table: &str, column: &ColumnDef, taken: &mut HashSet<String>) -> SqlResult<DeclaredColumn> {
    let name = fold(&column.name);
    check_name(&name, false)?;
    let mut declared = options(table, column, DeclaredColumn::new(&name, &sql_type(&column.data_type)?))?;
    declared.property = Some(property_name(&name, taken));
    Ok(declared)
}

fn is_key_or_timestamp(name: &str) -> bool {
    matches!(name, "PartitionKey" | "RowKey" | "Timestamp")
}

/// Names that a column cannot have.
fn check_name(name: &str, is_raw: bool) -> SqlResult<()> {
    if name == "etag" {
        return Err(SqlError::new(
            ErrorKind::ReservedName,
            "column name \"etag\" is reserved for the entity's version",
        ));
    }
    if !is_raw && is_key_or_timestamp(name) {
        let message = format!("column name \"{name}\" is reserved for the system");
        return Err(SqlError::new(ErrorKind::ReservedName, message).with_hint(
            "Declare both \"PartitionKey\" and \"RowKey\" as text to use the raw keys, or choose another name.",
        ));
    }
    Ok(())
}

/// What the column's options say of it. Constraints are read elsewhere (`constraints`).
fn options(table: &str, column: &ColumnDef, mut declared: DeclaredColumn) -> SqlResult<DeclaredColumn> {
    let mut nullable = None;
    for option in &column.options {
        match &option.option {
            ColumnOption::NotNull => set_nullable(&mut nullable, false, table, &declared.name)?,
            ColumnOption::Null => set_nullable(&mut nullable, true, table, &declared.name)?,
            ColumnOption::PrimaryKey(_) | ColumnOption::Check(_) => {}
            ColumnOption::Unique(_) | ColumnOption::ForeignKey(_) => {}
            ColumnOption::Collation(name) if is_c_collation(&name.to_string()) => {}
            ColumnOption::Default(expression) => {
                if declared.default.is_some() || declared.generated.is_some() {
                    return Err(several_values(table, &declared));
                }
                declared.default = default_text(expression);
            }
            ColumnOption::Generated { generation_expr: Some(expression), .. } => {
                if declared.default.is_some() || declared.generated.is_some() {
                    return Err(several_values(table, &declared));
                }
                declared.generated = Some(expression.to_string());
            }
            ColumnOption::Generated { .. } | ColumnOption::Identity(_) => {
                return Err(SqlError::not_supported("GENERATED ... AS IDENTITY"));
            }
            other => return Err(SqlError::not_supported(other.to_string())),
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

fn several_values(table: &str, column: &DeclaredColumn) -> Box<SqlError> {
    let message = if column.generated.is_some() {
        format!("both default and generation expression specified for column \"{}\" of table \"{table}\"", column.name)
    } else {
        format!("multiple default values specified for column \"{}\" of table \"{table}\"", column.name)
    };
    SqlError::new(ErrorKind::Syntax, message)
}

/// The text that is kept of a DEFAULT: `DEFAULT NULL` is none.
pub(crate) fn default_text(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Value(value) if value.value == Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// Strings order by their bytes, which is what these collations mean.
fn is_c_collation(name: &str) -> bool {
    matches!(
        name.trim_matches('"'),
        "C" | "POSIX" | "default" | "pg_catalog.\"default\"" | "pg_catalog.default" | "ucs_basic"
    )
}

/// The property that stores a column: its own name where that is legal, else the nearest legal one not yet taken.
pub(super) fn property_name(column: &str, taken: &mut HashSet<String>) -> String {
    let legal = if PropertyName::parse(column).is_ok() {
        column.to_owned()
    } else {
        let mut legal: String = column.chars().map(|c| if c == '_' || c.is_alphanumeric() { c } else { '_' }).collect();
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

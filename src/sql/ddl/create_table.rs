//! Reads CREATE TABLE.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{
    self, ColumnDef, ColumnOption, CreateTableOptions, Expr, SqlOption, TableConstraint, Value,
};

use super::key_layout::{TableOptions, layout};
use super::type_names::sql_type;
use crate::model::{PropertyName, TableName, limits};
use crate::sql::catalog::{Declaration, DeclaredColumn, DeclaredKey, derived_table_name};
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::plan::schema_and_table;
use crate::sql::settings::parse_bool;
use crate::sql::statement::fold;
use crate::sql::types::SqlType;

/// The declaration a CREATE TABLE makes, its OID still open, and what to tell about it.
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what the Table model cannot hold.
pub(crate) fn declare(create: &ast::CreateTable) -> SqlResult<(Declaration, Vec<Notice>)> {
    refuse_other_kinds(create)?;
    let (schema, name) = schema_and_table(&create.name)?;
    if let Some(schema) = schema.filter(|s| s != "public") {
        return Err(SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{schema}\" does not exist")));
    }
    let mut notices = Vec::new();
    let options = table_options(&create.table_options, &mut notices)?;
    let stored = stored_name(&name, &options, &mut notices)?;
    let primary_key = primary_key(create)?;
    let typed = create.columns.iter().map(|c| Ok((c, sql_type(&c.data_type)?))).collect::<SqlResult<Vec<_>>>()?;
    let is_raw = is_raw(&typed, &primary_key, &options)?;
    let key = if is_raw { DeclaredKey::Raw } else { layout(&name, &primary_key, &options, &mut notices)? };
    let columns = columns(&name, &typed, &primary_key, is_raw)?;
    let declaration = Declaration::new(&name, &stored, 0, columns, key, options.open);
    // A key type that cannot be encoded is refused here, before anything is created.
    declaration.relation()?;
    Ok((declaration, notices))
}

fn refuse_other_kinds(create: &ast::CreateTable) -> SqlResult<()> {
    let refused = [
        (create.temporary, "CREATE TEMPORARY TABLE"),
        (create.external || create.location.is_some() || create.file_format.is_some(), "CREATE EXTERNAL TABLE"),
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.query.is_some(), "CREATE TABLE AS"),
        (create.like.is_some(), "CREATE TABLE LIKE"),
        (create.inherits.is_some(), "table inheritance"),
        (create.partition_of.is_some() || create.partition_by.is_some(), "declarative partitioning"),
        (create.on_commit.is_some(), "ON COMMIT"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, "CREATE EXTERNAL TABLE")) => Err(SqlError::new(
            ErrorKind::InsufficientPrivilege,
            "CREATE EXTERNAL TABLE is not allowed: it would touch the server's files",
        )),
        Some((_, what)) => Err(SqlError::not_supported(what)),
        None => Ok(()),
    }
}

fn table_options(options: &CreateTableOptions, notices: &mut Vec<Notice>) -> SqlResult<TableOptions> {
    let mut found = TableOptions::default();
    let list = match options {
        CreateTableOptions::None => return Ok(found),
        CreateTableOptions::With(list) => list,
        other => return Err(SqlError::not_supported(other.to_string())),
    };
    for option in list {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(SqlError::not_supported(format!("table option {option}")));
        };
        let name = fold(key);
        let text = option_text(value);
        let flag = || {
            parse_bool(&text).ok_or_else(|| {
                SqlError::new(
                    ErrorKind::InvalidParameterValue,
                    format!("invalid value for option \"{name}\": \"{text}\""),
                )
            })
        };
        match name.as_str() {
            "table" => found.stored_name = Some(text),
            "partition_key" => found.partition_key = Some(text),
            "row_key" => found.row_key = Some(text),
            "key_escape" => found.key_escape = flag()?,
            "open" => found.open = flag()?,
            "fillfactor" | "autovacuum_enabled" | "toast_tuple_target" | "parallel_workers" | "oids" => {
                notices.push(Notice::info(format!("storage parameter \"{name}\" has no meaning here and is ignored")));
            }
            _ => {
                return Err(SqlError::new(
                    ErrorKind::InvalidParameterValue,
                    format!("unrecognized parameter \"{name}\""),
                )
                .with_hint("Options are table, partition_key, row_key, key_escape and open."));
            }
        }
    }
    Ok(found)
}

fn option_text(value: &Expr) -> String {
    match value {
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.clone(),
            other => other.to_string(),
        },
        Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}

fn stored_name(name: &str, options: &TableOptions, notices: &mut Vec<Notice>) -> SqlResult<TableName> {
    if let Some(chosen) = &options.stored_name {
        return Ok(TableName::parse(chosen)?);
    }
    if let Ok(same) = TableName::parse(name) {
        return Ok(same);
    }
    let derived = TableName::parse(&derived_table_name(name))?;
    notices.push(
        Notice::info(format!(
            "table \"{name}\" is stored as \"{derived}\": the Table service allows letters and digits only"
        ))
        .with_hint("Choose another stored name with WITH (table = 'Name')."),
    );
    Ok(derived)
}

/// The columns of the primary key, in its order.
fn primary_key(create: &ast::CreateTable) -> SqlResult<Vec<String>> {
    let mut keys: Vec<Vec<String>> = Vec::new();
    for column in &create.columns {
        if column.options.iter().any(|o| matches!(o.option, ColumnOption::PrimaryKey(_))) {
            keys.push(vec![fold(&column.name)]);
        }
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let names = key.columns.iter().map(|c| match &c.column.expr {
                    Expr::Identifier(ident) => Ok(fold(ident)),
                    other => Err(SqlError::not_supported(format!("expression {other} in a primary key"))),
                });
                keys.push(names.collect::<SqlResult<_>>()?);
            }
            other => return Err(refused_constraint(other)),
        }
    }
    if keys.len() > 1 {
        let message = format!("multiple primary keys for table \"{}\" are not allowed", create.name);
        return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
    }
    let key = keys.pop().unwrap_or_default();
    let mut seen = HashSet::new();
    for name in &key {
        if create.columns.iter().all(|c| fold(&c.name) != *name) {
            let message = format!("column \"{name}\" named in key does not exist");
            return Err(SqlError::new(ErrorKind::UndefinedColumn, message));
        }
        if !seen.insert(name) {
            let message = format!("column \"{name}\" appears twice in primary key constraint");
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
    }
    Ok(key)
}

fn refused_constraint(constraint: &TableConstraint) -> Box<SqlError> {
    match constraint {
        TableConstraint::Unique(_) => SqlError::not_supported("UNIQUE")
            .with_detail("The Table service has one index, on PartitionKey and RowKey.")
            .with_hint("Make the unique columns the primary key, or keep a second table whose key they are."),
        TableConstraint::ForeignKey(_) => SqlError::not_supported("FOREIGN KEY")
            .with_detail(
                "A transaction reaches one partition of one table, so a reference to another cannot be checked.",
            )
            .with_hint("Leave the constraint out and check in the application."),
        TableConstraint::Check(_) => SqlError::not_supported("CHECK"),
        other => SqlError::not_supported(other.to_string()),
    }
}

/// Whether the columns are PartitionKey and RowKey themselves.
fn is_raw(columns: &[(&ColumnDef, SqlType)], primary_key: &[String], options: &TableOptions) -> SqlResult<bool> {
    let key_column = |name: &str| columns.iter().find(|(c, _)| fold(&c.name) == name);
    let (Some(partition), Some(row)) = (key_column("PartitionKey"), key_column("RowKey")) else { return Ok(false) };
    if !primary_key.is_empty() && primary_key != ["PartitionKey", "RowKey"] {
        return Err(SqlError::new(
            ErrorKind::InvalidTableDefinition,
            "a table with columns \"PartitionKey\" and \"RowKey\" has the primary key (\"PartitionKey\", \"RowKey\")",
        ));
    }
    if options.partition_key.is_some() || options.row_key.is_some() {
        return Err(SqlError::new(
            ErrorKind::InvalidTableDefinition,
            "partition_key and row_key cannot be chosen when \"PartitionKey\" and \"RowKey\" are columns",
        ));
    }
    for (column, sql_type) in [partition, row] {
        if !matches!(sql_type, SqlType::Text | SqlType::Varchar(_)) {
            let message = format!("column \"{}\" must be of type text", column.name.value);
            return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
        }
    }
    Ok(true)
}

fn columns(
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
        if name == "etag" {
            return Err(SqlError::new(
                ErrorKind::ReservedName,
                "column name \"etag\" is reserved for the entity's version",
            ));
        }
        let in_key = primary_key.contains(&name);
        let is_system = if is_raw {
            matches!(name.as_str(), "PartitionKey" | "RowKey" | "Timestamp")
        } else {
            if matches!(name.as_str(), "PartitionKey" | "RowKey" | "Timestamp") {
                return Err(reserved_column(&name));
            }
            in_key
        };
        let not_null = options_of(column)? || in_key || (is_raw && is_system && name != "Timestamp");
        let property = if is_system { None } else { Some(property_name(&name, &mut properties)) };
        columns.push(DeclaredColumn { not_null, property, ..DeclaredColumn::new(&name, sql_type) });
    }
    if properties.len() > limits::CUSTOM_PROPERTIES_MAX {
        let message = format!("table \"{table}\" cannot have {} columns besides its key", properties.len());
        return Err(SqlError::new(ErrorKind::TooManyColumns, message)
            .with_detail(format!("An entity holds at most {} properties.", limits::CUSTOM_PROPERTIES_MAX)));
    }
    Ok(columns)
}

fn reserved_column(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::ReservedName, format!("column name \"{name}\" is reserved for the system"))
        .with_hint("Declare both \"PartitionKey\" and \"RowKey\" as text to use the raw keys, or choose another name.")
}

/// Whether a column is NOT NULL; what cannot be honoured is refused.
fn options_of(column: &ColumnDef) -> SqlResult<bool> {
    let mut not_null = false;
    for option in &column.options {
        match &option.option {
            ColumnOption::NotNull => not_null = true,
            ColumnOption::Null | ColumnOption::PrimaryKey(_) => {}
            ColumnOption::Collation(name) if is_c_collation(&name.to_string()) => {}
            ColumnOption::Default(Expr::Value(v)) if v.value == Value::Null => {}
            ColumnOption::Default(_) => return Err(SqlError::not_supported("DEFAULT")),
            ColumnOption::Check(_) => return Err(SqlError::not_supported("CHECK")),
            ColumnOption::Unique(_) => {
                return Err(SqlError::not_supported("UNIQUE")
                    .with_hint("Make the unique columns the primary key, or keep a second table whose key they are."));
            }
            ColumnOption::ForeignKey(_) => {
                return Err(SqlError::not_supported("FOREIGN KEY")
                    .with_hint("Leave the constraint out and check in the application."));
            }
            ColumnOption::Generated { .. } | ColumnOption::Identity(_) => {
                return Err(SqlError::not_supported("GENERATED columns"));
            }
            other => return Err(SqlError::not_supported(other.to_string())),
        }
    }
    Ok(not_null)
}

/// Strings order by their bytes, which is what these collations mean.
fn is_c_collation(name: &str) -> bool {
    matches!(
        name.trim_matches('"'),
        "C" | "POSIX" | "default" | "pg_catalog.\"default\"" | "pg_catalog.default" | "ucs_basic"
    )
}

/// The property that stores a column: its own name where that is legal, else the nearest legal one not yet taken.
fn property_name(column: &str, taken: &mut HashSet<String>) -> String {
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

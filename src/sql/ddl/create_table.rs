//! Reads CREATE TABLE.

use std::collections::HashSet;

use tablegate_bind::Identifier;
use tablegate_store::model::TableName;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult, Topic};
use tablegate_types::sql_type::SqlType;

use super::columns::{TypedColumn, columns, typed};
use super::constraints::constraints;
use super::counters::Counters;
use super::key_layout::{TableOptions, layout};
use super::names::free_name;
use super::unenforced::Recorder;
use crate::catalog::{Declaration, DeclaredKey, Sequence, derived_table_name, why_another_name};
use crate::place::{Place, PlacedName};
use crate::settings::{EgtMode, parse_bool};
use crate::syntax::{
    ColumnDefinition, ConstraintKind, CreateTableCommand, KeyColumns, OnCommit, TableOption,
    TableOptions as WrittenOptions,
};

/// What a CREATE TABLE makes. OIDs are still open.
pub(crate) struct Declared {
    pub declaration: Declaration,
    /// The statement says what it is stored as.
    pub is_stored_as_chosen: bool,
    /// Of columns that count.
    pub sequences: Vec<Sequence>,
    /// What to tell about it.
    pub notices: Vec<Notice>,
}

/// Reads a CREATE TABLE of this name. `is_taken` says whether a table or sequence has a name in the same place.
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what the Table model cannot hold.
pub(crate) fn declare(
    create: &CreateTableCommand,
    placed: &PlacedName,
    mode: EgtMode,
    is_taken: &dyn Fn(&str) -> bool,
) -> SqlResult<Declared> {
    refuse_other_kinds(create)?;
    let name = placed.name.clone();
    let mut notices = Vec::new();
    let options = table_options(&create.options, &mut notices)?;
    let stored = match placed.place {
        Place::Public | Place::Mount(_) => stored_name(&name, &options, &mut notices)?,
        Place::Temporary(_) => unnamed(&options)?,
    };
    let (key_name, primary_key) = primary_key(create)?;
    let typed = typed(&create.columns)?;
    let is_raw = is_raw(&typed, &primary_key, &options)?;
    let told = notices.len();
    let key = if is_raw { DeclaredKey::Raw } else { layout(&name, &primary_key, &options, &mut notices)? };
    if !placed.place.has_rules() {
        // What a key means for transactions, which are free of rules there.
        notices.truncate(told);
    }
    let mut counters = Counters { table: placed, is_taken, sequences: Vec::new() };
    let columns = columns(&typed, &primary_key, is_raw, &mut counters)?;
    let sequences = counters.sequences;
    let key_columns = if is_raw { ["PartitionKey", "RowKey"].map(str::to_owned).to_vec() } else { primary_key };
    let (columns_of, place) = (columns.as_slice(), placed.place);
    let mut recorder =
        Recorder { mode, table: &name, place, columns: columns_of, key: &key_columns, notices: &mut notices };
    let constraints = constraints(create, key_name, &mut recorder)?;
    let mut declaration = Declaration::new(&name, &stored, 0, columns, key, options.open);
    declaration.constraints = constraints;
    declaration.name_primary_key(|label| free_name(&name, None, label, is_taken));
    declaration.place = placed.place;
    declaration.on_commit = on_commit(create, placed.place)?;
    // A key type that cannot be encoded is refused here, before anything is created.
    declaration.relation()?;
    Ok(Declared { declaration, is_stored_as_chosen: options.stored_name.is_some(), sequences, notices })
}

/// What a table is stored as until the scratch store gives it a name.
///
/// # Errors
/// 0A000 where one was chosen.
fn unnamed(options: &TableOptions) -> SqlResult<TableName> {
    match options.stored_name {
        Some(_) => Err(SqlError::not_supported("a stored name for a temporary table")),
        None => Ok(TableName::parse("temporary")?),
    }
}

/// What becomes of the rows, or of the table, when a transaction commits.
///
/// # Errors
/// 42P16 for a table that is not temporary.
fn on_commit(create: &CreateTableCommand, place: Place) -> SqlResult<OnCommit> {
    match create.on_commit {
        Some(_) if !place.is_temporary() => {
            let message = "ON COMMIT can only be used on temporary tables";
            Err(SqlError::new(ErrorKind::InvalidTableDefinition, message))
        }
        on_commit => Ok(on_commit.unwrap_or_default()),
    }
}

fn refuse_other_kinds(create: &CreateTableCommand) -> SqlResult<()> {
    match create.other_kind {
        Some("CREATE EXTERNAL TABLE") => Err(SqlError::new(
            ErrorKind::InsufficientPrivilege,
            "CREATE EXTERNAL TABLE is not allowed: it would touch the server's files",
        )),
        Some(kind) => Err(SqlError::not_supported(kind)),
        None => Ok(()),
    }
}

fn table_options(options: &WrittenOptions, notices: &mut Vec<Notice>) -> SqlResult<TableOptions> {
    match options {
        WrittenOptions::With(list) => read_options(list, notices),
        WrittenOptions::Other(other) => Err(SqlError::not_supported(other)),
    }
}

/// The options of WITH (...), or of ALTER TABLE ... SET (...).
///
/// # Errors
/// 22023 for an unknown one or a bad value.
pub(super) fn read_options(list: &[TableOption], notices: &mut Vec<Notice>) -> SqlResult<TableOptions> {
    let mut found = TableOptions::default();
    for option in list {
        let (name, text) = match option {
            TableOption::Given { name, value, .. } => (name, value),
            TableOption::Other(option) => return Err(SqlError::not_supported(format!("table option {option}"))),
        };
        let flag = || {
            parse_bool(text).ok_or_else(|| {
                SqlError::new(
                    ErrorKind::InvalidParameterValue,
                    format!("invalid value for option \"{name}\": \"{text}\""),
                )
            })
        };
        match name.as_str() {
            "table" => found.stored_name = Some(text.clone()),
            "partition_key" => found.partition_key = Some(text.clone()),
            "row_key" => found.row_key = Some(text.clone()),
            "key_escape" => found.key_escape = Some(flag()?),
            "open" => found.open = flag()?,
            "oids" if !flag()? => {}
            "oids" => return Err(SqlError::not_supported("a table WITH OIDS").with_hint("Use an identity column.")),
            _ if is_of_storage(name) => {
                let message = format!("storage parameter \"{name}\" has no meaning here and is ignored");
                notices.push(Notice::info(message).once(Topic::StorageParameters));
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

/// Whether PostgreSQL's tables have the parameter.
fn is_of_storage(name: &str) -> bool {
    const OF_TABLES: &[&str] = &["fillfactor", "parallel_workers", "toast_tuple_target", "user_catalog_table"];
    const OF_BOTH: &[&str] = &[
        "autovacuum_enabled",
        "autovacuum_vacuum_threshold",
        "autovacuum_vacuum_insert_threshold",
        "autovacuum_vacuum_scale_factor",
        "autovacuum_vacuum_insert_scale_factor",
        "autovacuum_vacuum_cost_delay",
        "autovacuum_vacuum_cost_limit",
        "autovacuum_freeze_min_age",
        "autovacuum_freeze_max_age",
        "autovacuum_freeze_table_age",
        "autovacuum_multixact_freeze_min_age",
        "autovacuum_multixact_freeze_max_age",
        "autovacuum_multixact_freeze_table_age",
        "log_autovacuum_min_duration",
        "vacuum_index_cleanup",
        "vacuum_truncate",
    ];
    const OF_ROWS: &[&str] = &["autovacuum_analyze_threshold", "autovacuum_analyze_scale_factor"];
    match name.strip_prefix("toast.") {
        Some(of_toast) => OF_BOTH.contains(&of_toast),
        None => [OF_TABLES, OF_BOTH, OF_ROWS].iter().any(|names| names.contains(&name)),
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
    let reason = why_another_name(name);
    notices.push(
        Notice::info(format!("table \"{name}\" is stored as \"{derived}\": {reason}"))
            .with_hint("Choose another stored name with WITH (table = 'Name').")
            .once(Topic::StoredName),
    );
    Ok(derived)
}

/// The primary key's name, where it was given one, and its columns in order.
fn primary_key(create: &CreateTableCommand) -> SqlResult<(Option<String>, Vec<String>)> {
    let mut keys: Vec<(Option<String>, Vec<String>)> = Vec::new();
    let of_columns = create.columns.iter().flat_map(ColumnDefinition::constraints);
    for constraint in of_columns.chain(&create.constraints) {
        if let ConstraintKind::PrimaryKey(columns) = &constraint.kind {
            let names = key_columns(columns)?.iter().map(Identifier::folded).collect();
            keys.push((constraint.name.as_ref().map(Identifier::folded), names));
        }
    }
    if keys.len() > 1 {
        let message = format!("multiple primary keys for table \"{}\" are not allowed", create.name);
        return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
    }
    let (name, key) = keys.pop().unwrap_or_default();
    let mut seen = HashSet::new();
    for name in &key {
        if create.columns.iter().all(|c| c.name.folded() != *name) {
            let message = format!("column \"{name}\" named in key does not exist");
            return Err(SqlError::new(ErrorKind::UndefinedColumn, message));
        }
        if !seen.insert(name) {
            let message = format!("column \"{name}\" appears twice in primary key constraint");
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
    }
    Ok((name, key))
}

/// # Errors
/// 0A000 for an expression in a primary key.
pub(super) fn key_columns(columns: &KeyColumns) -> SqlResult<&[Identifier]> {
    let of_expression = |other| SqlError::not_supported(format!("expression {other} in a primary key"));
    columns.as_deref().map_err(of_expression)
}

/// Whether the columns are PartitionKey and RowKey themselves.
fn is_raw(columns: &[TypedColumn<'_>], primary_key: &[String], options: &TableOptions) -> SqlResult<bool> {
    let key_column = |name: &str| columns.iter().find(|column| column.definition.name.folded() == name);
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
    for column in [partition, row] {
        if !matches!(column.sql_type, SqlType::Text | SqlType::Varchar(_)) {
            let message = format!("column \"{}\" must be of type text", column.definition.name.written());
            return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
        }
    }
    Ok(true)
}

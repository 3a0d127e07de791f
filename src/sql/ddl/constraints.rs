//! The constraints of a CREATE TABLE besides the primary key.

use std::collections::HashSet;

use tablegate_bind::{Identifier, ParsedExpression};
use tablegate_types::constraint::{Check, Constraints};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::names::free_name;
use super::unenforced::Recorder;
use crate::catalog::DeclaredColumn;
use crate::plan::resolve_column;
use crate::syntax::{ColumnDefinition, ConstraintKind, CreateTableCommand, TableConstraint, column_names};

/// The constraints of a table.
///
/// # Errors
/// 42703 for an unknown column, 42710 for a name given twice, 0A000 for what cannot be enforced and may not be recorded.
pub(super) fn constraints(
    create: &CreateTableCommand,
    key_name: Option<String>,
    recorder: &mut Recorder<'_>,
) -> SqlResult<Constraints> {
    let mut found = Constraints { primary_key: key_name, ..Constraints::default() };
    let of_columns = create.columns.iter().flat_map(ColumnDefinition::constraints);
    for constraint in of_columns.chain(&create.constraints) {
        add_constraint(&mut found, constraint, recorder)?;
    }
    Ok(found)
}

/// Adds a constraint other than the primary key, which is read elsewhere.
///
/// # Errors
/// As for a whole table.
pub(crate) fn add_constraint(
    constraints: &mut Constraints,
    constraint: &TableConstraint,
    recorder: &mut Recorder<'_>,
) -> SqlResult<()> {
    let name = constraint.name.as_ref();
    match &constraint.kind {
        ConstraintKind::PrimaryKey(_) => Ok(()),
        ConstraintKind::Check(condition) => add_check(constraints, recorder.table, recorder.columns, name, condition),
        ConstraintKind::Unique { columns, nulls_not_distinct, deferral } => {
            let listed =
                columns.as_ref().map_err(|_| SqlError::not_supported("an expression in a UNIQUE constraint"))?;
            recorder.unique(constraints, name, listed, (*nulls_not_distinct, *deferral))
        }
        ConstraintKind::ForeignKey(key) => recorder.foreign_key(constraints, name, key),
        // ALTER TABLE has made one with columns of it.
        ConstraintKind::UsingIndex { .. } => Err(SqlError::not_supported("a constraint USING INDEX of a new table")),
        ConstraintKind::Other(other) => Err(SqlError::not_supported(other)),
    }
}

/// Adds a CHECK, under its name or the one PostgreSQL would make.
///
/// # Errors
/// 42703 for an unknown column, 42710 when the name is taken.
pub(crate) fn add_check(
    constraints: &mut Constraints,
    table: &str,
    columns: &[DeclaredColumn],
    name: Option<&Identifier>,
    expression: &ParsedExpression,
) -> SqlResult<()> {
    let named = columns_of(columns, expression)?;
    let name = match name {
        Some(given) => {
            let name = given.folded();
            if constraints.names().any(|taken| taken == name) {
                let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
                return Err(SqlError::new(ErrorKind::DuplicateObject, message));
            }
            name
        }
        None => {
            let column = if let [only] = named.as_slice() { Some(only.as_str()) } else { None };
            free_name(table, column, "check", |name| constraints.names().any(|taken| taken == name))
        }
    };
    let check = Check {
        number: constraints.next_number()?,
        name,
        expression: expression.to_string(),
        columns: named,
        comment: None,
        not_valid: false,
    };
    constraints.checks.push(check);
    Ok(())
}

/// The columns an expression names, in the order of the table. A name that is none's is refused where the expression is
/// bound.
///
/// # Errors
/// 42702 for one that several may have.
pub(crate) fn columns_of(columns: &[DeclaredColumn], expression: &ParsedExpression) -> SqlResult<Vec<String>> {
    let known: Vec<&String> = columns.iter().map(|column| &column.name).collect();
    let mut found = HashSet::new();
    for name in column_names(expression) {
        found.extend(resolve_column(known.iter().copied(), &name)?.map(str::to_owned));
    }
    Ok(known.into_iter().filter(|column| found.contains(*column)).cloned().collect())
}

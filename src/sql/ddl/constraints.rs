//! The constraints of a CREATE TABLE besides the primary key.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, ColumnOption, Expr, Ident, TableConstraint, Visit, Visitor};

use super::names::free_name;
use crate::sql::catalog::{Check, Constraints, DeclaredColumn};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::plan::resolve_column;
use crate::sql::statement::fold;

/// The constraints of a table with these columns.
///
/// # Errors
/// 42703 for a CHECK of an unknown column, 42710 for a name given twice, 0A000 for what cannot be enforced.
pub(super) fn constraints(
    table: &str,
    create: &ast::CreateTable,
    columns: &[DeclaredColumn],
    primary_key: Option<String>,
) -> SqlResult<Constraints> {
    let mut found = Constraints { primary_key, ..Constraints::default() };
    for column in &create.columns {
        for option in &column.options {
            match &option.option {
                ColumnOption::Check(check) => {
                    let name = option.name.as_ref().or(check.name.as_ref());
                    add_check(&mut found, table, columns, name, &check.expr)?;
                }
                ColumnOption::Unique(_) => return Err(refused_unique()),
                ColumnOption::ForeignKey(_) => return Err(refused_foreign_key()),
                _ => {}
            }
        }
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(_) => {}
            TableConstraint::Check(check) => {
                add_check(&mut found, table, columns, check.name.as_ref(), &check.expr)?;
            }
            TableConstraint::Unique(_) => return Err(refused_unique()),
            TableConstraint::ForeignKey(_) => return Err(refused_foreign_key()),
            other => return Err(SqlError::not_supported(other.to_string())),
        }
    }
    Ok(found)
}

/// Adds a CHECK, under its name or the one PostgreSQL would make.
///
/// # Errors
/// 42703 for an unknown column, 42710 when the name is taken.
pub(crate) fn add_check(
    constraints: &mut Constraints,
    table: &str,
    columns: &[DeclaredColumn],
    name: Option<&Ident>,
    expression: &Expr,
) -> SqlResult<()> {
    let named = columns_of(columns, expression)?;
    let name = match name {
        Some(given) => {
            let name = fold(given);
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
    let check = Check { number: constraints.next_number(), name, expression: expression.to_string(), columns: named };
    constraints.checks.push(check);
    Ok(())
}

/// The columns an expression names, in the order of the table.
///
/// # Errors
/// 42703 for one that is not there.
pub(crate) fn columns_of(columns: &[DeclaredColumn], expression: &Expr) -> SqlResult<Vec<String>> {
    struct Names(Vec<Ident>);
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident) => self.0.push(ident.clone()),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().cloned()),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    let _ = expression.visit(&mut names);
    let known: Vec<&String> = columns.iter().map(|column| &column.name).collect();
    let mut found = HashSet::new();
    for ident in &names.0 {
        match resolve_column(known.iter().copied(), ident)? {
            Some(column) => found.insert(column.to_owned()),
            None => {
                let message = format!("column \"{}\" does not exist", fold(ident));
                return Err(SqlError::new(ErrorKind::UndefinedColumn, message));
            }
        };
    }
    Ok(known.into_iter().filter(|column| found.contains(*column)).cloned().collect())
}

pub(super) fn refused_unique() -> Box<SqlError> {
    SqlError::not_supported("UNIQUE")
        .with_detail("The Table service has one index, on PartitionKey and RowKey.")
        .with_hint("Make the unique columns the primary key, or keep a second table whose key they are.")
}

pub(super) fn refused_foreign_key() -> Box<SqlError> {
    SqlError::not_supported("FOREIGN KEY")
        .with_detail("A transaction reaches one partition of one table, so a reference to another cannot be checked.")
        .with_hint("Leave the constraint out and check in the application.")
}

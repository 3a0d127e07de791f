//! The constraints of a CREATE TABLE besides the primary key.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{self, ColumnOption, Expr, Ident, TableConstraint, Visitor};
use tablegate_types::constraint::{Check, Constraints};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::names::free_name;
use super::unenforced::Recorder;
use crate::catalog::DeclaredColumn;
use crate::plan::resolve_column;
use crate::syntax::{fold, walk};

/// The constraints of a table.
///
/// # Errors
/// 42703 for an unknown column, 42710 for a name given twice, 0A000 for what cannot be enforced and may not be recorded.
pub(super) fn constraints(
    create: &ast::CreateTable,
    key_name: Option<String>,
    recorder: &mut Recorder<'_>,
) -> SqlResult<Constraints> {
    let mut found = Constraints { primary_key: key_name, ..Constraints::default() };
    for column in &create.columns {
        let own = std::slice::from_ref(&column.name);
        for option in &column.options {
            let name = option.name.as_ref();
            match &option.option {
                ColumnOption::Check(check) => {
                    let name = name.or(check.name.as_ref());
                    add_check(&mut found, recorder.table, recorder.columns, name, &check.expr)?;
                }
                ColumnOption::Unique(unique) => {
                    recorder.unique(&mut found, name.or(unique.name.as_ref()), own, unique)?;
                }
                ColumnOption::ForeignKey(key) => {
                    recorder.foreign_key(&mut found, name.or(key.name.as_ref()), own, key)?;
                }
                _ => {}
            }
        }
    }
    for constraint in &create.constraints {
        add_constraint(&mut found, constraint, recorder)?;
    }
    Ok(found)
}

/// Adds a table constraint other than the primary key, which is read elsewhere.
///
/// # Errors
/// As for a whole table.
pub(crate) fn add_constraint(
    constraints: &mut Constraints,
    constraint: &TableConstraint,
    recorder: &mut Recorder<'_>,
) -> SqlResult<()> {
    match constraint {
        TableConstraint::PrimaryKey(_) => Ok(()),
        TableConstraint::Check(check) => {
            add_check(constraints, recorder.table, recorder.columns, check.name.as_ref(), &check.expr)
        }
        TableConstraint::Unique(unique) => {
            let listed: Option<Vec<Ident>> = unique.columns.iter().map(|item| plain(&item.column.expr)).collect();
            let listed = listed.ok_or_else(|| SqlError::not_supported("an expression in a UNIQUE constraint"))?;
            recorder.unique(constraints, unique.name.as_ref(), &listed, unique)
        }
        TableConstraint::ForeignKey(key) => recorder.foreign_key(constraints, key.name.as_ref(), &key.columns, key),
        TableConstraint::PrimaryKeyUsingIndex(_) | TableConstraint::UniqueUsingIndex(_) => {
            Err(SqlError::not_supported("a constraint USING INDEX").with_hint("Name its columns instead of an index."))
        }
        other => Err(SqlError::not_supported(other.to_string())),
    }
}

fn plain(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Identifier(ident) => Some(ident.clone()),
        _ => None,
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
    let _ = walk(expression, &mut names);
    let known: Vec<&String> = columns.iter().map(|column| &column.name).collect();
    let mut found = HashSet::new();
    for ident in &names.0 {
        found.extend(resolve_column(known.iter().copied(), ident)?.map(str::to_owned));
    }
    Ok(known.into_iter().filter(|column| found.contains(*column)).cloned().collect())
}

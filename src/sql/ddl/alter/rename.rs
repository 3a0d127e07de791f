//! RENAME: a table, a column or a constraint gets another name, and everything that names it follows.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AlterTableOperation, Expr, Ident, RenameTableNameKind, Visit, VisitMut, Visitor, VisitorMut,
};

use crate::sql::catalog::{CatalogView, Declaration, UnenforcedKind};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::plan::{resolve_column, schema_and_table};
use crate::sql::statement::{fold, parse_expression};

/// What gets another name.
#[derive(Debug, PartialEq)]
pub(crate) enum Renaming {
    Table { to: String },
    Column { from: Ident, to: String },
    Constraint { from: String, to: String },
}

/// The renaming that an ALTER TABLE consists of; it stands alone.
///
/// # Errors
/// 42601 when it does not.
pub(crate) fn renaming(operations: &[AlterTableOperation]) -> SqlResult<Option<Renaming>> {
    use AlterTableOperation as A;
    let is_renaming = |o: &AlterTableOperation| {
        matches!(o, A::RenameTable { .. } | A::RenameColumn { .. } | A::RenameConstraint { .. })
    };
    if operations.len() > 1 && operations.iter().any(is_renaming) {
        return Err(SqlError::new(ErrorKind::Syntax, "RENAME stands alone in an ALTER TABLE"));
    }
    Ok(match operations {
        [A::RenameTable { table_name: RenameTableNameKind::To(name) }] => {
            let (None, to) = schema_and_table(name)? else {
                return Err(SqlError::new(ErrorKind::Syntax, "RENAME TO takes a name without a schema"));
            };
            Some(Renaming::Table { to })
        }
        [A::RenameColumn { old_column_name, new_column_name }] => {
            Some(Renaming::Column { from: old_column_name.clone(), to: fold(new_column_name) })
        }
        [A::RenameConstraint { old_name, new_name }] => {
            Some(Renaming::Constraint { from: fold(old_name), to: fold(new_name) })
        }
        _ => None,
    })
}

impl Renaming {
    /// The table's declaration with the new name, and those of other tables that name what was renamed.
    ///
    /// # Errors
    /// 42703 or 42704 when there is nothing to rename, 42701 or 42710 when the new name is taken.
    pub fn apply(&self, catalog: &CatalogView, before: &Declaration) -> SqlResult<(Declaration, Vec<Declaration>)> {
        let mut after = before.clone();
        let others: Vec<Declaration> = match self {
            Renaming::Table { to } => {
                // The key keeps its name, as every constraint does.
                after.constraints.primary_key = before.primary_key_name().filter(|name| *name != format!("{to}_pkey"));
                after.name.clone_from(to);
                referring(catalog, &before.name, |_| (), |table| table.clone_from(to))
            }
            Renaming::Column { from, to } => {
                let from = rename_column(&mut after, from, to)?;
                let rename = |columns: &mut Vec<String>| rename_in(columns, &from, to);
                rename_references(&mut after, &before.name, &rename);
                referring(catalog, &before.name, rename, |_| ())
            }
            Renaming::Constraint { from, to } => {
                rename_constraint(&mut after, from, to)?;
                Vec::new()
            }
        };
        Ok((after, others.into_iter().filter(|other| other.name != before.name).collect()))
    }
}

/// The tables with foreign keys to this one, those keys changed.
fn referring(
    catalog: &CatalogView,
    name: &str,
    columns: impl Fn(&mut Vec<String>),
    rename: impl Fn(&mut String),
) -> Vec<Declaration> {
    let refers = |d: &&Declaration| d.constraints.unenforced.iter().any(|u| u.kind.refers_to(name));
    let mut found: Vec<Declaration> = catalog.declarations().filter(refers).cloned().collect();
    for declaration in &mut found {
        rename_references(declaration, name, &columns);
        for constraint in &mut declaration.constraints.unenforced {
            if let UnenforcedKind::ForeignKey { table, .. } = &mut constraint.kind
                && table == name
            {
                rename(table);
            }
        }
    }
    found
}

fn rename_references(declaration: &mut Declaration, name: &str, columns: &impl Fn(&mut Vec<String>)) {
    for constraint in &mut declaration.constraints.unenforced {
        if let UnenforcedKind::ForeignKey { table, referenced, .. } = &mut constraint.kind
            && table == name
        {
            columns(referenced);
        }
    }
}

fn rename_in(columns: &mut [String], from: &str, to: &str) {
    columns.iter_mut().filter(|c| *c == from).for_each(|c| to.clone_into(c));
}

/// Gives a column its new name wherever the declaration has the old one; gives the old one as it was spelled.
fn rename_column(after: &mut Declaration, from: &Ident, to: &str) -> SqlResult<String> {
    let found = resolve_column(after.columns.iter().map(|c| &c.name), from)?.map(str::to_owned);
    let from = found.ok_or_else(|| {
        SqlError::new(ErrorKind::UndefinedColumn, format!("column \"{}\" does not exist", fold(from)))
    })?;
    if after.columns.iter().any(|c| c.name == to) {
        let message = format!("column \"{to}\" of relation \"{}\" already exists", after.name);
        return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
    }
    if after.key.is_system_column(&from) {
        return Err(SqlError::not_supported(format!("renaming the system column \"{from}\"")));
    }
    for column in &mut after.columns {
        if column.name == from {
            to.clone_into(&mut column.name);
        }
        if let Some(text) = &mut column.generated {
            *text = renamed_in_expression(text, &from, to)?;
        }
    }
    after.key.rename(&from, to);
    for check in &mut after.constraints.checks {
        check.expression = renamed_in_expression(&check.expression, &from, to)?;
        rename_in(&mut check.columns, &from, to);
    }
    for constraint in &mut after.constraints.unenforced {
        rename_in(&mut constraint.columns, &from, to);
    }
    Ok(from)
}

fn rename_constraint(after: &mut Declaration, from: &str, to: &str) -> SqlResult<()> {
    if after.primary_key_name().as_deref() != Some(from) && !after.constraints.names().any(|name| name == from) {
        let message = format!("constraint \"{from}\" for table \"{}\" does not exist", after.name);
        return Err(SqlError::new(ErrorKind::UndefinedObject, message));
    }
    if after.primary_key_name().as_deref() == Some(to) || after.constraints.names().any(|name| name == to) {
        let message = format!("constraint \"{to}\" for relation \"{}\" already exists", after.name);
        return Err(SqlError::new(ErrorKind::DuplicateObject, message));
    }
    if after.primary_key_name().as_deref() == Some(from) {
        after.constraints.primary_key = Some(to.to_owned());
    }
    let checks = after.constraints.checks.iter_mut().map(|c| &mut c.name);
    let names = checks.chain(after.constraints.unenforced.iter_mut().map(|u| &mut u.name));
    names.filter(|name| *name == from).for_each(|name| to.clone_into(name));
    Ok(())
}

/// Whether an expression, given as text, names the column.
pub(super) fn mentions(expression: &str, column: &str) -> bool {
    struct Search<'a>(&'a str);
    impl Visitor for Search<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match column_of(expr) {
                Some(ident) if means(ident, self.0) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    parse_expression(expression).is_ok_and(|expr| expr.visit(&mut Search(column)).is_break())
}

fn renamed_in_expression(expression: &str, from: &str, to: &str) -> SqlResult<String> {
    struct Rename<'a>(&'a str, &'a str);
    impl VisitorMut for Rename<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let ident = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(parts) => parts.last_mut(),
                _ => None,
            };
            if let Some(ident) = ident
                && means(ident, self.0)
            {
                *ident = Ident::with_quote('"', self.1);
            }
            ControlFlow::Continue(())
        }
    }
    if !mentions(expression, from) {
        return Ok(expression.to_owned());
    }
    let mut expr = parse_expression(expression)?;
    let _ = VisitMut::visit(&mut expr, &mut Rename(from, to));
    Ok(expr.to_string())
}

fn column_of(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(ident) => Some(ident),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    }
}

/// Declared expressions name columns of one table, so an unquoted identifier means the column it equals ignoring case.
fn means(ident: &Ident, column: &str) -> bool {
    match ident.quote_style {
        Some(_) => ident.value == column,
        None => ident.value.eq_ignore_ascii_case(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_follow_their_columns() {
        for (expression, expected) in [
            ("a > 0 AND b <> 'a'", "\"x y\" > 0 AND b <> 'a'"),
            ("length(A) > a", "length(\"x y\") > \"x y\""),
            ("\"A\" = 1", "\"A\" = 1"),
            ("a IN (1, 2) OR t.a IS NULL", "\"x y\" IN (1, 2) OR t.\"x y\" IS NULL"),
        ] {
            assert_eq!(renamed_in_expression(expression, "a", "x y").unwrap(), expected);
        }
        assert!(!mentions("a(1) + 'a'::text", "a"));
    }
}

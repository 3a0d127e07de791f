//! RENAME: a table, a column or a constraint gets another name, and everything that names it follows.

use tablegate_bind::Identifier;
use tablegate_types::constraint::UnenforcedKind;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalog::{CatalogView, Declaration};
use crate::plan::{resolve_column, schema_and_table};
use crate::syntax::{AlterAction, index_with_renamed_column, renamed};

/// What gets another name.
#[derive(Debug, PartialEq)]
pub(crate) enum Renaming {
    Table { to: String },
    Column { from: Identifier, to: String },
    Constraint { from: String, to: String },
    Index { from: String, to: String },
}

/// The renaming that an ALTER TABLE consists of; it stands alone.
///
/// # Errors
/// 42601 when it does not.
pub(crate) fn renaming(actions: &[AlterAction]) -> SqlResult<Option<Renaming>> {
    use AlterAction as A;
    let is_renaming = |action: &AlterAction| {
        matches!(action, A::RenameTable(_) | A::RenameColumn { .. } | A::RenameConstraint { .. })
    };
    if actions.len() > 1 && actions.iter().any(is_renaming) {
        return Err(SqlError::new(ErrorKind::Syntax, "RENAME stands alone in an ALTER TABLE"));
    }
    Ok(match actions {
        [A::RenameTable(name)] => {
            let (None, to) = schema_and_table(name)? else {
                return Err(SqlError::new(ErrorKind::Syntax, "RENAME TO takes a name without a schema"));
            };
            Some(Renaming::Table { to })
        }
        [A::RenameColumn { from, to }] => Some(Renaming::Column { from: from.clone(), to: to.clone() }),
        [A::RenameConstraint { from, to }] => Some(Renaming::Constraint { from: from.clone(), to: to.clone() }),
        _ => None,
    })
}

impl Renaming {
    /// The table's declaration with the new name, and those of other tables that name what was renamed.
    ///
    /// # Errors
    /// 42703 or 42704 when there is nothing to rename, 42701 or 42710 when the new name is taken.
    pub(crate) fn apply(
        &self,
        catalog: &CatalogView,
        before: &Declaration,
    ) -> SqlResult<(Declaration, Vec<Declaration>)> {
        let mut after = before.clone();
        let others: Vec<Declaration> = match self {
            Renaming::Table { to } => {
                // The key keeps its name, as every constraint does.
                after.constraints.primary_key = before.primary_key_name().filter(|name| *name != format!("{to}_pkey"));
                after.name.clone_from(to);
                rename_target(&mut after, &before.name, to);
                referring(catalog, before, |other| rename_target(other, &before.name, to))
            }
            Renaming::Column { from, to } => {
                let from = rename_column(&mut after, from, to)?;
                let rename = |columns: &mut Vec<String>| rename_in(columns, &from, to);
                rename_references(&mut after, &before.name, &rename);
                referring(catalog, before, |other| rename_references(other, &before.name, &rename))
            }
            Renaming::Constraint { from, to } => {
                rename_constraint(&mut after, from, to)?;
                Vec::new()
            }
            Renaming::Index { from, to } => {
                rename_index(&mut after, from, to)?;
                Vec::new()
            }
        };
        Ok((after, others.into_iter().filter(|other| other.name != before.name).collect()))
    }
}

/// The tables with foreign keys to this one, changed.
fn referring(catalog: &CatalogView, to: &Declaration, change: impl Fn(&mut Declaration)) -> Vec<Declaration> {
    let refers =
        |d: &&Declaration| d.place == to.place && d.constraints.unenforced.iter().any(|u| u.kind.refers_to(&to.name));
    let mut found: Vec<Declaration> = catalog.declarations().filter(refers).cloned().collect();
    found.iter_mut().for_each(change);
    found
}

/// Foreign keys to the table follow its name.
fn rename_target(declaration: &mut Declaration, from: &str, to: &str) {
    for constraint in &mut declaration.constraints.unenforced {
        if let UnenforcedKind::ForeignKey { table, .. } = &mut constraint.kind
            && table == from
        {
            to.clone_into(table);
        }
    }
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
fn rename_column(after: &mut Declaration, from: &Identifier, to: &str) -> SqlResult<String> {
    let found = resolve_column(after.columns.iter().map(|c| &c.name), from)?.map(str::to_owned);
    let from = found.ok_or_else(|| {
        SqlError::new(ErrorKind::UndefinedColumn, format!("column \"{}\" does not exist", from.folded()))
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
            *text = renamed(text, &from, to)?;
        }
    }
    after.key.rename(&from, to);
    for check in &mut after.constraints.checks {
        check.expression = renamed(&check.expression, &from, to)?;
        rename_in(&mut check.columns, &from, to);
    }
    for constraint in &mut after.constraints.unenforced {
        rename_in(&mut constraint.columns, &from, to);
        if let UnenforcedKind::Index { definition, .. } = &mut constraint.kind {
            *definition = index_with_renamed_column(definition, &from, to);
        }
    }
    Ok(from)
}

fn rename_constraint(after: &mut Declaration, from: &str, to: &str) -> SqlResult<()> {
    let is_key = after.primary_key_name().as_deref() == Some(from);
    if !is_key && !after.constraints.names().any(|name| name == from) {
        let message = format!("constraint \"{from}\" for table \"{}\" does not exist", after.name);
        return Err(SqlError::new(ErrorKind::UndefinedObject, message));
    }
    if after.primary_key_name().as_deref() == Some(to) || after.constraints.names().any(|name| name == to) {
        let message = format!("constraint \"{to}\" for relation \"{}\" already exists", after.name);
        return Err(SqlError::new(ErrorKind::DuplicateObject, message));
    }
    if is_key {
        after.constraints.primary_key = Some(to.to_owned());
    }
    let checks = after.constraints.checks.iter_mut().map(|check| &mut check.name);
    let recorded = after.constraints.unenforced.iter_mut().filter(|recorded| recorded.kind.is_constraint());
    let names = checks.chain(recorded.map(|recorded| &mut recorded.name));
    names.filter(|name| *name == from).for_each(|name| to.clone_into(name));
    Ok(())
}

/// An index that stands alone gets another name. That of a constraint has the constraint's.
fn rename_index(after: &mut Declaration, from: &str, to: &str) -> SqlResult<()> {
    if !after.constraints.has_index_alone(from) {
        return rename_constraint(after, from, to);
    }
    let recorded = after.constraints.unenforced.iter_mut().filter(|recorded| !recorded.kind.is_constraint());
    recorded.filter(|recorded| recorded.name == from).for_each(|recorded| to.clone_into(&mut recorded.name));
    Ok(())
}

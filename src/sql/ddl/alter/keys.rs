//! Adding or dropping a primary key, which moves all rows to new keys.

use std::collections::HashSet;

use tablegate_bind::Identifier;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::Alteration;
use crate::catalog::DeclaredKey;
use crate::ddl::columns::{check_key_column, property_name};
use crate::ddl::key_layout::{TableOptions, layout};

impl Alteration<'_> {
    /// Makes these columns the primary key.
    pub(super) fn key_by(&mut self, constraint: Option<String>, columns: &[Identifier]) -> SqlResult<()> {
        let table = self.after.name.clone();
        if self.is_raw_key(columns)? {
            self.check_free(constraint.as_deref())?;
            return self.name_key(constraint);
        }
        if !matches!(self.after.key, DeclaredKey::Generated { .. }) {
            let message = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
        }
        let mut names: Vec<String> = Vec::with_capacity(columns.len());
        for ident in columns {
            let column = self.own_column(ident)?;
            check_key_column(column)?;
            let name = column.name.clone();
            if names.contains(&name) {
                let message = format!("column \"{name}\" appears twice in primary key constraint");
                return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
            }
            names.push(name);
        }
        self.check_free(constraint.as_deref())?;
        self.after.key = layout(&table, &names, &self.key_options(), &mut self.notices)?;
        self.name_key(constraint)?;
        for column in self.after.columns.iter_mut().filter(|c| names.contains(&c.name)) {
            column.property = None;
            column.not_null = true;
        }
        self.must_rewrite = true;
        self.after.relation().map(|_| ())
    }

    /// Whether it is the key that every table on raw keys has: a dump adds it behind the rows, as it does that of any table.
    fn is_raw_key(&self, columns: &[Identifier]) -> SqlResult<bool> {
        if self.after.key != DeclaredKey::Raw {
            return Ok(false);
        }
        let names = columns.iter().map(|column| Ok(self.after.columns[self.position(column)?].name.as_str()));
        Ok(names.collect::<SqlResult<Vec<_>>>()? == self.after.key.columns())
    }

    fn check_free(&self, constraint: Option<&str>) -> SqlResult<()> {
        match constraint.filter(|name| self.after.constraints.names().any(|n| n == *name)) {
            None => Ok(()),
            Some(taken) => {
                let message = format!("constraint \"{taken}\" for relation \"{}\" already exists", self.after.name);
                Err(SqlError::new(ErrorKind::DuplicateObject, message))
            }
        }
    }

    fn name_key(&mut self, constraint: Option<String>) -> SqlResult<()> {
        let own = format!("{}_pkey", self.after.name);
        self.after.constraints.primary_key = constraint.filter(|name| *name != own);
        self.after.relation().map(|_| ())
    }

    /// A key that is added or dropped leaves the table as escaped as it was.
    fn key_options(&self) -> TableOptions {
        TableOptions { key_escape: Some(self.after.key.is_escaped()), ..TableOptions::default() }
    }

    /// SET (key_escape = ..): rows that are there get other keys.
    pub(super) fn set_escape(&mut self, wanted: bool) -> SqlResult<()> {
        match &mut self.after.key {
            DeclaredKey::Raw => Err(SqlError::not_supported("key_escape of a table on raw keys")
                .with_hint("PartitionKey and RowKey are stored as they are: escape them in the application.")),
            DeclaredKey::Generated { escape, .. } => {
                *escape = wanted;
                Ok(())
            }
            DeclaredKey::Relational { escape, .. } => {
                self.must_rewrite |= *escape != wanted;
                *escape = wanted;
                Ok(())
            }
        }
    }

    /// The rows get keys that the gateway makes; what was in the key becomes properties.
    pub(super) fn drop_primary_key(&mut self, cascade: bool) -> SqlResult<()> {
        let DeclaredKey::Relational { columns, .. } = &self.after.key else {
            return Err(SqlError::not_supported("dropping the key of a table on raw keys").with_hint(
                "PartitionKey and RowKey are the key of every entity: create another table and INSERT INTO it.",
            ));
        };
        let names: HashSet<String> = columns.iter().map(|c| c.name.clone()).collect();
        let constraint = self.after.primary_key_name().unwrap_or_default();
        let what = format!("constraint {constraint} on table {}", self.after.name);
        let is_key = |referenced: &[String]| {
            referenced.len() == names.len() && referenced.iter().all(|column| names.contains(column))
        };
        self.let_go(cascade, is_key, &what, &format!("index {constraint}"))?;
        self.after.key = layout(&self.after.name, &[], &self.key_options(), &mut self.notices)?;
        let constraints = &mut self.after.constraints;
        constraints.primary_key = None;
        constraints.primary_key_comment = None;
        constraints.primary_key_index_comment = None;
        for column in self.after.columns.iter_mut().filter(|c| names.contains(&c.name)) {
            column.property = Some(property_name(&column.name, &mut self.stored));
        }
        self.must_rewrite = true;
        self.dropped_key = Some(constraint);
        Ok(())
    }
}

//! ADD COLUMN, DROP COLUMN, and whether a column may be NULL.

use tablegate_bind::Identifier;
use tablegate_types::constraint::{Unenforced, UnenforcedKind};
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::{Alteration, NewValue, Origin, RowCheck, skipped, undefined_column};
use crate::catalog::{DeclaredKey, next_call};
use crate::ddl::columns::{read_column, typed_column};
use crate::ddl::dependents::{lines_of_references, needed};
use crate::relation::column_numbers;
use crate::syntax::{ColumnDefinition, index_names_column, parse_expression};
use crate::views::{Needed, dependents_of, needed_by_views};

impl Alteration<'_> {
    pub(super) fn add_column(&mut self, column: &ColumnDefinition, if_not_exists: bool) -> SqlResult<()> {
        let name = column.name.folded();
        if self.after.columns.iter().any(|c| c.name == name) {
            let message = format!("column \"{name}\" of relation \"{}\" already exists", self.after.name);
            if if_not_exists {
                self.notices.push(skipped(message).of_kind(ErrorKind::DuplicateColumn));
                return Ok(());
            }
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        let typed = typed_column(column)?;
        let mut stored = std::mem::take(&mut self.stored);
        let declared = self.counted(|counters| read_column(&typed, &mut stored, counters));
        self.stored = stored;
        let declared = declared?;
        if declared.not_null {
            self.checks.push(RowCheck::NotNull { column: name.clone() });
        }
        let (text, origin) = match (&declared.generated, &declared.identity, &declared.default) {
            (Some(text), ..) => (Some(text.clone()), Origin::Generated),
            (None, Some(identity), _) => (Some(next_call(self.after.place, &identity.sequence)), Origin::Default),
            (None, None, text) => (text.clone(), Origin::Default),
        };
        if let Some(text) = text {
            let expr = parse_expression(&text)?;
            self.must_rewrite = true;
            self.values.insert(name, NewValue { untyped: expr.is_untyped(), expr, origin });
        }
        self.after.columns.push(declared);
        self.add_constraints_of(column)
    }

    pub(super) fn drop_column(&mut self, ident: &Identifier, if_exists: bool, cascade: bool) -> SqlResult<()> {
        let Some(index) = self.find(ident)? else {
            let name = ident.folded();
            if if_exists {
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.after.name);
                self.notices.push(skipped(message));
                return Ok(());
            }
            return Err(undefined_column(&name, &self.after.name));
        };
        let name = self.own_column(ident)?.name.clone();
        let computed: Vec<String> = self.computed_from(&name).map(|c| c.name.clone()).collect();
        // What goes with the column does not hold it.
        let goes = |known: &Unenforced| {
            matches!(known.kind, UnenforcedKind::ForeignKey { .. }) && known.columns.contains(&name)
        };
        self.after.constraints.unenforced.retain(|known| !goes(known));
        let table = self.after.name.clone();
        let what = format!("column {name} of table {table}");
        if !cascade {
            let lines = self.dependents_of_column(&name, &computed, &what);
            if !lines.is_empty() {
                return Err(needed(&what, &lines));
            }
        }
        self.let_go(cascade, |referenced| referenced.contains(&name), &what, &what)?;
        if self.after.key.names(&name) {
            self.drop_primary_key(cascade)?;
        }
        // An open table shows every property, so this one must leave the rows.
        self.must_rewrite |= self.after.open;
        let number = column_numbers(&self.after.dropped_columns).nth(index);
        self.after.dropped_columns.extend(number);
        let column = self.after.columns.remove(index);
        self.after.dropped_properties.extend(column.property);
        self.after.constraints.forget_column(&name, index_names_column);
        self.dropped.push(name);
        for other in computed {
            let message = format!("drop cascades to column {other} of table {}", self.after.name);
            self.notices.push(Notice::info(message));
            self.drop_column(&Identifier::quoted(&other), true, cascade)?;
        }
        Ok(())
    }

    /// What depends on a column, a line for each: generated columns, each with the views of it, views, and foreign keys.
    fn dependents_of_column(&self, column: &str, computed: &[String], what: &str) -> Vec<String> {
        let (oid, table) = (self.before.oid, &self.after.name);
        let columns = computed.iter().map(String::as_str).chain([column]);
        let wanted: Vec<Needed<'_>> = columns.map(|column| Needed::column(oid, table, column)).collect();
        let views = dependents_of(self.catalog, &wanted);
        let mut lines = Vec::new();
        for root in 0..wanted.len() {
            lines.extend(computed.get(root).map(|other| format!("column {other} of table {table} depends on {what}")));
            lines.extend(needed_by_views(views.iter().filter(|view| view.root == root)));
        }
        let needs = |referenced: &[String]| referenced.iter().any(|name| name == column);
        lines.extend(lines_of_references(&self.references_left(needs), what));
        lines
    }

    pub(super) fn set_not_null(&mut self, ident: &Identifier) -> SqlResult<()> {
        let column = self.own_column(ident)?;
        if !column.not_null {
            column.not_null = true;
            let column = column.name.clone();
            self.checks.push(RowCheck::NotNull { column });
        }
        Ok(())
    }

    pub(super) fn drop_not_null(&mut self, ident: &Identifier) -> SqlResult<()> {
        let name = self.after.columns[self.position(ident)?].name.clone();
        let is_raw_key = self.after.key == DeclaredKey::Raw && matches!(name.as_str(), "PartitionKey" | "RowKey");
        if is_raw_key || self.after.key.names(&name) {
            let message = format!("column \"{name}\" is in a primary key");
            return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
        }
        let column = self.own_column(ident)?;
        if column.identity.is_some() {
            let message = format!("column \"{name}\" of relation \"{}\" is an identity column", self.after.name);
            return Err(SqlError::new(ErrorKind::Syntax, message));
        }
        column.not_null = false;
        Ok(())
    }
}

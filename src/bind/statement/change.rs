//! UPDATE and DELETE: PostgreSQL's `transformUpdateStmt` and `transformDeleteStmt`.

use sqlparser::ast::{Delete, FromTable, TableAlias, TableFactor, TableWithJoins, Update, UpdateTableFromKind};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::namespace::Shown;
use crate::query::changes::{BoundChange, ChangeKind};
use crate::query::{Alias, Level};
use crate::usage::Usage;

impl Level<'_> {
    pub(super) fn update(&mut self, update: &Update) -> SqlResult<BoundChange> {
        if !update.order_by.is_empty() || update.limit.is_some() {
            return Err(SqlError::new(ErrorKind::Syntax, "UPDATE has neither ORDER BY nor LIMIT"));
        }
        let target = self.changed_table(&update.table)?;
        let mut relation = self.relation_of(target)?;
        match &update.from {
            None => {}
            Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) => self.bind_from(from)?,
        }
        self.show_beside(target);
        self.filter(update.selection.as_ref())?;
        let returning = self.returning(update.returning.as_deref())?;
        let assigned = self.assignments(target, &mut relation, &update.assignments)?;
        Ok(self.change(target, relation, ChangeKind::Update(assigned), returning))
    }

    pub(super) fn delete(&mut self, delete: &Delete) -> SqlResult<BoundChange> {
        if !delete.order_by.is_empty() || delete.limit.is_some() {
            return Err(SqlError::new(ErrorKind::Syntax, "DELETE has neither ORDER BY nor LIMIT"));
        }
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
        let [table] = tables.as_slice() else {
            return Err(SqlError::new(ErrorKind::Syntax, "DELETE is from one table"));
        };
        let target = self.changed_table(table)?;
        let relation = self.relation_of(target)?;
        if let Some(using) = &delete.using {
            self.bind_from(using)?;
        }
        self.show_beside(target);
        self.filter(delete.selection.as_ref())?;
        let returning = self.returning(delete.returning.as_deref())?;
        Ok(self.change(target, relation, ChangeKind::Delete, returning))
    }

    /// The table that is changed: what else is read from has its name beside it, and cannot name it.
    fn changed_table(&mut self, table: &TableWithJoins) -> SqlResult<usize> {
        let target = match &table.relation {
            TableFactor::Table { name, alias, args: None, .. } if table.joins.is_empty() => {
                refuse_columns(alias.as_ref())?;
                self.target_table(name, Alias::of(alias.as_ref()))?
            }
            _ => return Err(SqlError::new(ErrorKind::Syntax, "only a table's rows are changed")),
        };
        self.namespace.shown = vec![Shown { lateral_only: true, lateral_allowed: false, ..Shown::all_of(target) }];
        Ok(target)
    }

    fn show_beside(&mut self, target: usize) {
        for shown in self.namespace.shown.iter_mut().filter(|shown| shown.entry == target) {
            *shown = Shown::all_of(target);
        }
    }

    fn filter(&mut self, selection: Option<&sqlparser::ast::Expr>) -> SqlResult<()> {
        if let Some(selection) = selection {
            self.query.filter = Some(self.condition(selection, Usage::Where)?);
        }
        Ok(())
    }
}

/// The alias of the table that is changed names no columns.
///
/// # Errors
/// 42601.
pub(super) fn refuse_columns(alias: Option<&TableAlias>) -> SqlResult<()> {
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            Err(SqlError::new(ErrorKind::Syntax, "syntax error at or near \"(\"")
                .with_detail("The alias of the table that is changed names no columns."))
        }
        _ => Ok(()),
    }
}

//! How columns get their values: defaults, identities, and the expressions of generated columns.

use tablegate_bind::{Identifier, ParsedExpression};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Alteration, skipped};
use crate::catalog::DeclaredColumn;
use crate::ddl::columns::default_text;
use crate::ddl::counters::{Counters, check_identity_type};
use crate::syntax::{GivenOptions, ValueChange};

impl Alteration<'_> {
    /// SET DEFAULT, and DROP DEFAULT with none.
    pub(super) fn set_default(&mut self, ident: &Identifier, value: Option<&ParsedExpression>) -> SqlResult<()> {
        let (table, place) = (self.after.name.clone(), self.after.place);
        let column = self.own_column(ident)?;
        let kind = match (&column.identity, &column.generated) {
            (Some(_), _) => "an identity",
            (None, Some(_)) => "a generated",
            (None, None) => {
                column.default = value.and_then(|value| default_text(place, value));
                return Ok(());
            }
        };
        let message = format!("column \"{}\" of relation \"{table}\" is {kind} column", column.name);
        Err(SqlError::new(ErrorKind::Syntax, message))
    }

    /// ADD GENERATED ... AS IDENTITY: the rows keep the values they have.
    pub(super) fn add_identity(&mut self, ident: &Identifier, always: bool, given: &GivenOptions) -> SqlResult<()> {
        let table = self.after.name.clone();
        let column = self.own_column(ident)?.clone();
        let sql_type = column.declared_type(&table)?;
        check_identity_type(&sql_type)?;
        let place = format!("column \"{}\" of relation \"{table}\"", column.name);
        let problem = match (&column.identity, &column.default, &column.generated) {
            _ if !column.not_null => Some(format!("{place} must be declared NOT NULL before identity can be added")),
            (Some(_), ..) => Some(format!("{place} is already an identity column")),
            (None, Some(_), _) | (None, None, Some(_)) => Some(format!("{place} already has a default value")),
            (None, None, None) => None,
        };
        if let Some(problem) = problem {
            return Err(SqlError::new(ErrorKind::ObjectNotInState, problem));
        }
        let identity = self.counted(|counters| counters.identity(&column.name, &sql_type, always, given))?;
        self.own_column(ident)?.identity = Some(identity);
        Ok(())
    }

    /// DROP IDENTITY and DROP EXPRESSION: the rows keep the values they have.
    pub(super) fn drop_values(&mut self, (column, change): &(String, ValueChange)) -> SqlResult<()> {
        match change {
            ValueChange::DropIdentity { if_exists } => {
                self.changed(column, *if_exists, "an identity", |column| column.identity.take().is_some())?;
                self.uncounted.push(column.clone());
                Ok(())
            }
            ValueChange::DropExpression { if_exists } => {
                self.changed(column, *if_exists, "a stored generated", |column| column.generated.take().is_some())
            }
            ValueChange::Identity { .. } => Ok(()),
        }
    }

    /// SET GENERATED. What is set of the sequence is set when the table is done.
    pub(super) fn set_values(&mut self, (column, change): &(String, ValueChange)) -> SqlResult<()> {
        let ValueChange::Identity { always, .. } = change else { return Ok(()) };
        self.changed(column, false, "an identity", |column| match &mut column.identity {
            Some(identity) => {
                identity.always = always.unwrap_or(identity.always);
                true
            }
            None => false,
        })
    }

    /// Changes a column; `change` says whether it is of the kind that can be changed so.
    fn changed(
        &mut self,
        column: &str,
        if_exists: bool,
        kind: &str,
        change: impl FnOnce(&mut DeclaredColumn) -> bool,
    ) -> SqlResult<()> {
        let message = format!("column \"{column}\" of relation \"{}\" is not {kind} column", self.after.name);
        if change(self.own_column(&Identifier::quoted(column))?) {
            return Ok(());
        }
        if !if_exists {
            return Err(SqlError::new(ErrorKind::ObjectNotInState, message));
        }
        self.notices.push(skipped(message));
        Ok(())
    }

    /// Does what may make sequences for columns.
    pub(super) fn counted<T>(&mut self, make: impl FnOnce(&mut Counters<'_>) -> SqlResult<T>) -> SqlResult<T> {
        let catalog = self.catalog;
        let own = self.after.placed_name();
        let is_taken = |name: &str| catalog.has_name(&own.beside(name));
        let sequences = std::mem::take(&mut self.sequences);
        let mut counters = Counters { table: &own, is_taken: &is_taken, sequences };
        let made = make(&mut counters);
        self.sequences = counters.sequences;
        made
    }
}

//! ADD CONSTRAINT and DROP CONSTRAINT, besides the primary key.

use datafusion::sql::sqlparser::ast::{ColumnDef, ColumnOption, DropBehavior, Expr, Ident, TableConstraint};

use super::{Alteration, RowCheck, skipped};
use crate::sql::ddl::constraints::{add_check, refused_foreign_key, refused_unique};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::statement::parse_expression;

impl Alteration<'_> {
    /// `NOT VALID` leaves the rows alone that are there.
    pub(super) fn add_constraint(&mut self, constraint: &TableConstraint, not_valid: bool) -> SqlResult<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => self.add_primary_key(key),
            TableConstraint::Check(check) => self.add_condition(check.name.as_ref(), &check.expr, not_valid),
            TableConstraint::Unique(_) => Err(refused_unique()),
            TableConstraint::ForeignKey(_) => Err(refused_foreign_key()),
            other => Err(SqlError::not_supported(other.to_string())),
        }
    }

    /// The constraints that a new column brings with it.
    pub(super) fn add_constraints_of(&mut self, column: &ColumnDef) -> SqlResult<()> {
        for option in &column.options {
            let name = option.name.as_ref();
            match &option.option {
                ColumnOption::PrimaryKey(_) => {
                    self.column_key = Some((name.map(crate::sql::statement::fold), column.name.clone()));
                }
                ColumnOption::Check(check) => {
                    self.add_condition(name.or(check.name.as_ref()), &check.expr, false)?;
                }
                ColumnOption::Unique(_) => return Err(refused_unique()),
                ColumnOption::ForeignKey(_) => return Err(refused_foreign_key()),
                _ => {}
            }
        }
        Ok(())
    }

    fn add_condition(&mut self, name: Option<&Ident>, expression: &Expr, not_valid: bool) -> SqlResult<()> {
        let table = self.after.name.clone();
        add_check(&mut self.after.constraints, &table, &self.after.columns, name, expression)?;
        if let Some(added) = self.after.constraints.checks.last().filter(|_| !not_valid) {
            let (constraint, expression) = (added.name.clone(), Box::new(expression.clone()));
            self.checks.push(RowCheck::Condition { constraint, expression });
        }
        Ok(())
    }

    pub(super) fn validate(&mut self, name: &str) -> SqlResult<()> {
        match self.after.constraints.checks.iter().find(|check| check.name == name) {
            Some(check) => {
                let (constraint, expression) = (check.name.clone(), Box::new(parse_expression(&check.expression)?));
                self.checks.push(RowCheck::Condition { constraint, expression });
                Ok(())
            }
            None if self.after.constraints.names().any(|known| known == name) => Ok(()),
            None => Err(self.undefined_constraint(name)),
        }
    }

    /// What the conditions on a column say of its new values.
    pub(super) fn check_again(&mut self, column: &str) -> SqlResult<()> {
        for check in self.after.constraints.checks.iter().filter(|c| c.columns.iter().any(|name| name == column)) {
            let (constraint, expression) = (check.name.clone(), Box::new(parse_expression(&check.expression)?));
            self.checks.push(RowCheck::Condition { constraint, expression });
        }
        Ok(())
    }

    pub(super) fn drop_constraint(
        &mut self,
        name: &str,
        if_exists: bool,
        behavior: Option<DropBehavior>,
    ) -> SqlResult<()> {
        if self.after.primary_key_name().as_deref() == Some(name) {
            return self.drop_primary_key(behavior);
        }
        if self.after.constraints.remove(name) {
            return Ok(());
        }
        let error = self.undefined_constraint(name);
        if if_exists {
            self.notices.push(skipped(error.message));
            return Ok(());
        }
        Err(error)
    }

    fn undefined_constraint(&self, name: &str) -> Box<SqlError> {
        let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", self.after.name);
        SqlError::new(ErrorKind::UndefinedObject, message)
    }
}

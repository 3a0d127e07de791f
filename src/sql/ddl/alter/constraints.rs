//! ADD CONSTRAINT and DROP CONSTRAINT, besides the primary key.

use tablegate_bind::{Identifier, ParsedExpression, Usage};
use tablegate_types::constraint::{Check, Constraints, Deferral, UnenforcedKind};
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;

use super::{Alteration, RowCheck, skipped};
use crate::ddl::Recorder;
use crate::ddl::constraints::{add_check, add_constraint};
use crate::ddl::create_table::key_columns;
use crate::relation::{Relation, RowScope};
use crate::syntax::{ColumnDefinition, ConstraintKind, TableConstraint, parse_expression};

impl Alteration<'_> {
    /// `NOT VALID` leaves the rows alone that are there.
    pub(super) fn add_constraint(&mut self, constraint: &TableConstraint, not_valid: bool) -> SqlResult<()> {
        let name = constraint.name.as_ref();
        match &constraint.kind {
            ConstraintKind::PrimaryKey(_) if not_valid => Err(cannot_be_not_valid("PRIMARY KEY")),
            ConstraintKind::Unique { .. } if not_valid => Err(cannot_be_not_valid("UNIQUE")),
            ConstraintKind::PrimaryKey(columns) => self.key_by(name.map(Identifier::folded), key_columns(columns)?),
            ConstraintKind::Check(condition) => self.add_condition(name, condition, not_valid),
            ConstraintKind::UsingIndex { index, is_primary, deferral } => {
                let constraint = self.of_index(name, index, *is_primary, *deferral)?;
                self.add_constraint(&constraint, not_valid)
            }
            _ => self.record(|recorder, constraints| add_constraint(constraints, constraint, recorder)),
        }
    }

    /// The constraint with the columns of an index that stands alone, which becomes its own: under its name.
    fn of_index(
        &mut self,
        name: Option<&Identifier>,
        index: &Identifier,
        is_primary: bool,
        deferral: Deferral,
    ) -> SqlResult<TableConstraint> {
        let index = index.folded();
        let recorded = &mut self.after.constraints.unenforced;
        let Some(place) = recorded.iter().position(|known| known.name == index && known.kind.has_index()) else {
            let message = format!("index \"{index}\" does not exist");
            return Err(SqlError::new(ErrorKind::UndefinedObject, message));
        };
        let UnenforcedKind::Index { unique, definition, .. } = &recorded[place].kind else {
            let message = format!("index \"{index}\" is already associated with a constraint");
            return Err(SqlError::new(ErrorKind::ObjectNotInState, message));
        };
        let no_key = |message: String| {
            SqlError::new(ErrorKind::WrongObjectType, message)
                .with_detail("Cannot create a primary key or unique constraint using such an index.")
        };
        if !unique {
            return Err(no_key(format!("\"{index}\" is not a unique index")));
        }
        let columns: Vec<Identifier> = recorded[place].columns.iter().map(|name| Identifier::shown(name)).collect();
        let listed: Vec<String> = recorded[place].columns.iter().map(|name| quote_ident(name)).collect();
        let listed = format!("({})", listed.join(", "));
        match definition.strip_prefix(&*listed) {
            Some("") => {}
            Some(rest) if rest.starts_with(" WHERE") => return Err(no_key(format!("\"{index}\" is a partial index"))),
            _ => return Err(no_key(format!("index \"{index}\" is not of columns alone, in their default order"))),
        }
        recorded.remove(place);
        let named = name.map_or_else(|| index.clone(), Identifier::folded);
        if named != index {
            let message =
                format!("ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{index}\" to \"{named}\"");
            self.notices.push(Notice::info(message));
        }
        let columns = Ok(columns);
        let kind = match is_primary {
            true => ConstraintKind::PrimaryKey(columns),
            false => ConstraintKind::Unique { columns, nulls_not_distinct: false, deferral },
        };
        Ok(TableConstraint { name: Some(Identifier::shown(&named)), kind })
    }

    /// Adds what is recorded and not enforced.
    fn record(&mut self, add: impl FnOnce(&mut Recorder<'_>, &mut Constraints) -> SqlResult<()>) -> SqlResult<()> {
        let key = self.after.key.columns();
        let mut constraints = std::mem::take(&mut self.after.constraints);
        let mut recorder = Recorder {
            mode: self.mode,
            table: &self.after.name,
            place: self.after.place,
            columns: &self.after.columns,
            key: &key,
            notices: &mut self.notices,
        };
        let added = add(&mut recorder, &mut constraints);
        self.after.constraints = constraints;
        added
    }

    /// The constraints that a new column brings with it.
    pub(super) fn add_constraints_of(&mut self, column: &ColumnDefinition) -> SqlResult<()> {
        for constraint in column.constraints() {
            match constraint.kind {
                ConstraintKind::PrimaryKey(_) => {
                    self.column_key = Some((constraint.name.as_ref().map(Identifier::folded), column.name.clone()));
                }
                _ => self.add_constraint(constraint, false)?,
            }
        }
        Ok(())
    }

    fn add_condition(
        &mut self,
        name: Option<&Identifier>,
        expression: &ParsedExpression,
        not_valid: bool,
    ) -> SqlResult<()> {
        let table = self.after.name.clone();
        add_check(&mut self.after.constraints, &table, &self.after.columns, name, expression)?;
        let Some(added) = self.after.constraints.checks.last_mut() else { return Ok(()) };
        added.not_valid = not_valid;
        if !not_valid {
            let (constraint, expression) = (added.name.clone(), Box::new(expression.clone()));
            self.checks.push(RowCheck::Condition { constraint, expression });
        }
        Ok(())
    }

    pub(super) fn validate(&mut self, name: &str) -> SqlResult<()> {
        if let Some(check) = self.after.constraints.checks.iter_mut().find(|check| check.name == name) {
            check.not_valid = false;
            let (constraint, expression) = (check.name.clone(), Box::new(parse_expression(&check.expression)?));
            self.checks.push(RowCheck::Condition { constraint, expression });
            return Ok(());
        }
        match self.after.constraints.names().any(|known| known == name) {
            true => Ok(()),
            false => Err(self.undefined_constraint(name)),
        }
    }

    /// What the conditions on a column say of its new values. They mean what they meant: their constants keep the types that those
    /// took from the column as it was.
    pub(super) fn check_again(&mut self, column: &str) -> SqlResult<()> {
        let before = self.before.relation()?;
        let is_of_column = |check: &&mut Check| check.columns.iter().any(|name| name == column);
        for check in self.after.constraints.checks.iter_mut().filter(is_of_column) {
            if self.before.constraints.checks.iter().any(|known| known.name == check.name) {
                check.expression = with_types(&before, &check.expression);
            }
            if check.not_valid {
                continue;
            }
            let (constraint, expression) = (check.name.clone(), Box::new(parse_expression(&check.expression)?));
            self.checks.push(RowCheck::Condition { constraint, expression });
        }
        Ok(())
    }

    pub(super) fn drop_constraint(&mut self, name: &str, if_exists: bool, cascade: bool) -> SqlResult<()> {
        if self.after.primary_key_name().as_deref() == Some(name) {
            return self.drop_primary_key(cascade);
        }
        self.let_go_of_unique(name, cascade)?;
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

    /// Foreign keys may need a UNIQUE that is dropped.
    fn let_go_of_unique(&mut self, name: &str, cascade: bool) -> SqlResult<()> {
        let unenforced = &self.after.constraints.unenforced;
        let unique = unenforced.iter().find(|u| u.name == name && matches!(u.kind, UnenforcedKind::Unique { .. }));
        let Some(columns) = unique.map(|unique| unique.columns.clone()) else { return Ok(()) };
        let same = |listed: &[String]| listed.len() == columns.len() && listed.iter().all(|c| columns.contains(c));
        if same(&self.after.key.columns()) {
            return Ok(());
        }
        let what = format!("constraint {name} on table {}", self.after.name);
        self.let_go(cascade, same, &what, &format!("index {name}"))
    }

    fn undefined_constraint(&self, name: &str) -> Box<SqlError> {
        let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", self.after.name);
        SqlError::new(ErrorKind::UndefinedObject, message)
    }
}

/// A condition over a table's columns, whose constants say their types.
fn with_types(table: &Relation, condition: &str) -> String {
    let scope = RowScope::of(table);
    let parsed = parse_expression(condition);
    let bound = parsed.and_then(|parsed| parsed.bind_condition(&mut scope.binder(Usage::Check), "CHECK"));
    bound.map_or_else(|_| condition.to_owned(), |bound| scope.text(&bound, false))
}

/// A key is in the rows, or it is none: PostgreSQL says so, too.
fn cannot_be_not_valid(what: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::FeatureNotSupported, format!("{what} constraints cannot be marked NOT VALID"))
}

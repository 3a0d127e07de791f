//! The expressions that a statement declares, as it writes them: bound, so that what is wrong with them is told with
//! PostgreSQL's code and its place in the text.

use tablegate_bind::{Binder, BoundExpr, ParsedExpression, Source, Usage};
use tablegate_types::error::SqlResult;

use crate::relation::{Relation, RelationColumn, RowScope};
use crate::syntax::source::SourceText;
use crate::syntax::{
    AlterAction, AlterCommand, ColumnChange, ColumnDefinition, ColumnOption, ConstraintKind, CreateTableCommand,
    IndexDefinition, TableConstraint,
};

/// The expressions of a statement, and its text.
#[derive(Default)]
pub(crate) struct Written<'s> {
    expressions: Vec<(String, &'s ParsedExpression)>,
    source: Option<&'s SourceText>,
}

impl<'s> Written<'s> {
    pub(crate) fn of_table(command: &'s CreateTableCommand) -> Self {
        let mut written = Self { source: Some(&command.source), ..Self::default() };
        command.columns.iter().for_each(|column| written.column(column));
        command.constraints.iter().for_each(|constraint| written.constraint(constraint));
        written
    }

    pub(crate) fn of_changes(command: &'s AlterCommand) -> Self {
        let mut written = Self { source: Some(&command.source), ..Self::default() };
        for action in &command.actions {
            match action {
                AlterAction::AddColumn { column, .. } => written.column(column),
                AlterAction::AddConstraint { constraint, .. } => written.constraint(constraint),
                AlterAction::AlterColumn { change: ColumnChange::Default(Some(value)), .. } => written.add(value),
                _ => {}
            }
        }
        written
    }

    fn column(&mut self, column: &'s ColumnDefinition) {
        for option in &column.options {
            match option {
                ColumnOption::Default(expression) | ColumnOption::Generated(expression) => self.add(expression),
                ColumnOption::Constraint(constraint) => self.constraint(constraint),
                _ => {}
            }
        }
    }

    fn constraint(&mut self, constraint: &'s TableConstraint) {
        if let ConstraintKind::Check(condition) = &constraint.kind {
            self.add(condition);
        }
    }

    fn add(&mut self, expression: &'s ParsedExpression) {
        self.expressions.push((expression.to_string(), expression));
    }

    /// The expression that is kept as the text, if the statement has it.
    fn find(&self, text: &str) -> Option<&'s ParsedExpression> {
        self.expressions.iter().find(|(written, _)| written == text).map(|(_, expression)| *expression)
    }

    /// Binds the value of a column. What the statement does not say was bound when it was declared.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub(super) fn bind_value(
        &self,
        relation: &Relation,
        column: &RelationColumn,
        text: &str,
        usage: Usage,
    ) -> SqlResult<()> {
        self.bind(relation, text, usage, |binder, expression| {
            expression.bind_default(binder, &column.name, RowScope::type_of(column))
        })
    }

    /// Binds a condition.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub(super) fn bind_condition(&self, relation: &Relation, text: &str, usage: Usage) -> SqlResult<()> {
        self.bind(relation, text, usage, |binder, expression| expression.bind_condition(binder, "CHECK"))
    }

    fn bind(
        &self,
        relation: &Relation,
        text: &str,
        usage: Usage,
        bind: impl FnOnce(&mut Binder<'_>, &ParsedExpression) -> SqlResult<BoundExpr>,
    ) -> SqlResult<()> {
        let Some(expression) = self.find(text) else { return Ok(()) };
        let scope = RowScope::of(relation);
        let source = self.source.map(|text| Source::new(text));
        let mut binder = scope.binder(usage);
        if let Some(source) = &source {
            binder = binder.with_source(source);
        }
        bind(&mut binder, expression).map(|_| ())
    }
}

/// Binds the expressions of an index, and its condition.
///
/// # Errors
/// PostgreSQL's.
pub(crate) fn bind_index(relation: &Relation, definition: &IndexDefinition) -> SqlResult<()> {
    let scope = RowScope::of(relation);
    for part in &definition.columns {
        part.expression.bind_typed(&mut scope.binder(Usage::Index))?;
    }
    if let Some(predicate) = &definition.predicate {
        predicate.bind_condition(&mut scope.binder(Usage::IndexPredicate), "WHERE")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tablegate_types::error::ErrorKind;
    use tablegate_types::sql_type::SqlType;

    use super::*;
    use crate::relation::ColumnSource;
    use crate::syntax::{Command, parse};

    /// The kind and the place of what is wrong with the only CHECK or DEFAULT of a statement.
    fn refused(sql: &str) -> (ErrorKind, Option<usize>) {
        let command = parse(sql).unwrap().pop().unwrap().command;
        let Command::CreateTable(command) = command else { panic!("{sql}") };
        let columns = [("a", SqlType::Int4), ("t", SqlType::Text)];
        let columns = columns.map(|(name, sql_type)| RelationColumn::new(name, sql_type, ColumnSource::ETag));
        let relation = Relation { columns: columns.to_vec(), ..Relation::for_tests("things") };
        let written = Written::of_table(&command);
        let (text, _) = &written.expressions[0];
        let bound = if sql.contains("DEFAULT") {
            written.bind_value(&relation, &relation.columns[0], text, Usage::Default)
        } else {
            written.bind_condition(&relation, text, Usage::Check)
        };
        let error = command.source.located(bound.unwrap_err());
        (error.kind, error.position)
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (sql, kind, position) in [
            ("SELECT 1; CREATE TABLE things (a int, CHECK (a > no_such))", ErrorKind::UndefinedColumn, 50),
            ("CREATE TABLE things (a int,\n t text CHECK (lower(t) || a > true))", ErrorKind::UndefinedFunction, 58),
            ("CREATE TABLE things (a int CHECK (a = 'x'))", ErrorKind::InvalidTextRepresentation, 39),
            ("CREATE TABLE things (a int CHECK (sum(a) > 1))", ErrorKind::Grouping, 35),
            ("CREATE TABLE things (a int CHECK (EXISTS (SELECT 1)))", ErrorKind::FeatureNotSupported, 35),
            ("CREATE TABLE things (a int CHECK (a))", ErrorKind::DatatypeMismatch, 35),
            ("CREATE TABLE things (a int DEFAULT no_such(1))", ErrorKind::UndefinedFunction, 36),
            ("CREATE TABLE things (a int DEFAULT t)", ErrorKind::FeatureNotSupported, 36),
        ] {
            assert_eq!(refused(sql), (kind, Some(position)), "{sql}");
        }
    }
}

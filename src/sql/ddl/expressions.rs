//! Whether the expressions of a declaration can be kept: DEFAULT, CHECK and GENERATED are planned once when they are
//! declared, so that what is wrong with them is said then, and as PostgreSQL says it.

use std::sync::Arc;

use arrow::array::new_empty_array;
use tablegate_bind::{ParsedExpression, Usage};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::split_name;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, ambiguous};

use super::constraints::columns_of;
use super::written::Written;
use crate::catalog::{Declaration, DeclaredColumn, Sequence};
use crate::dml::{RowExpressions, visible_schema};
use crate::plan::Planner;
use crate::relation::{Relation, RelationColumn, RowScope};
use crate::sequence::waits;
use crate::syntax::{parse_expression, take_next_calls};

/// Where an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Default,
    Check,
    Generated,
    /// WHERE of COPY FROM.
    CopyWhere,
}

/// Checks all expressions of a declaration. `own` are the sequences it brings along.
///
/// # Errors
/// 0A000 for a column in a DEFAULT and for sub-queries, 42803 and 42P20 for aggregates and windows, 42804 for a type
/// that does not fit, 42P17 for a generated column that is not computed from plain columns alone.
pub(crate) fn check_expressions(
    planner: &Planner<'_>,
    declaration: &Declaration,
    own: &[Sequence],
    written: &Written<'_>,
) -> SqlResult<()> {
    let relation = declaration.relation()?;
    for column in &relation.columns {
        if let Some(text) = &column.default {
            written.bind_value(&relation, column, text, Usage::Default)?;
            let expression = parse_expression(text)?;
            check_value(planner, &relation, column, &expression, Place::Default)?;
            check_sequences(planner, declaration.place, expression, own)?;
        }
        if let Some(text) = &column.generated {
            written.bind_value(&relation, column, text, Usage::Generated)?;
            let expression = parse_expression(text)?;
            check_references(&declaration.columns, &expression)?;
            check_value(planner, &relation, column, &expression, Place::Generated)?;
        }
    }
    for check in &relation.constraints.checks {
        written.bind_condition(&relation, &check.expression, Usage::Check)?;
        check_condition(planner, &relation, &parse_expression(&check.expression)?)?;
    }
    Ok(())
}

/// Checks the value of a DEFAULT or a generated column.
///
/// # Errors
/// As [`check_expressions`].
pub(crate) fn check_value(
    planner: &Planner<'_>,
    relation: &Relation,
    column: &RelationColumn,
    expression: &ParsedExpression,
    place: Place,
) -> SqlResult<()> {
    let schema = match place {
        Place::Default => Arc::new(arrow::datatypes::Schema::empty()),
        Place::Check | Place::Generated | Place::CopyWhere => visible_schema(relation),
    };
    let planned = RowExpressions::plan(&planner.for_later(), &relation.name, &schema, vec![expression.clone()])?;
    if place == Place::Generated && !planned.are_immutable() {
        return Err(SqlError::new(ErrorKind::InvalidObjectDefinition, "generation expression is not immutable"));
    }
    let from = planned.types().first().cloned().unwrap_or(SqlType::Text);
    let untyped = expression.is_untyped();
    let fits = edm::assign(&new_empty_array(&from.arrow()), &from, &column.sql_type, untyped);
    fits.map_err(|_| {
        let message = format!(
            "column \"{}\" is of type {} but default expression is of type {from}",
            column.name, column.sql_type
        );
        SqlError::new(ErrorKind::DatatypeMismatch, message)
            .with_hint("You will need to rewrite or cast the expression.")
    })?;
    if untyped {
        // A literal has the column's type, so it is read now; whether it has the length is asked of each row.
        let value = planned.bind(&planner.moment())?.constant(0)?;
        let to = without_length(&column.sql_type);
        let plain = edm::assign(&value, &from, &to, true)?;
        // Every session reads it in the plain style: it must mean the same in this one.
        let read = edm::assign_as(&value, &from, &to, true, Reading { style: planner.style(), now: None });
        if !read.is_ok_and(|read| read == plain) {
            let text = expression.to_string();
            return Err(ambiguous(&text, &to));
        }
    }
    Ok(())
}

fn without_length(sql_type: &SqlType) -> SqlType {
    match sql_type {
        SqlType::Varchar(_) | SqlType::Char(_) => SqlType::Text,
        SqlType::Numeric(_) => SqlType::Numeric(None),
        other => other.clone(),
    }
}

/// Checks the condition of a CHECK.
///
/// # Errors
/// As [`check_expressions`].
pub(crate) fn check_condition(
    planner: &Planner<'_>,
    relation: &Relation,
    expression: &ParsedExpression,
) -> SqlResult<()> {
    plan_condition(&planner.for_later(), relation, expression, Place::Check).map(|_| ())
}

/// A condition over the visible columns of a table's rows.
///
/// # Errors
/// As [`check_expressions`].
pub(crate) fn plan_condition(
    planner: &Planner<'_>,
    relation: &Relation,
    expression: &ParsedExpression,
    place: Place,
) -> SqlResult<RowExpressions> {
    if place == Place::CopyWhere {
        expression.bind_condition(&mut RowScope::of(relation).binder(Usage::CopyWhere), "WHERE")?;
    }
    let planned = RowExpressions::plan(planner, &relation.name, &visible_schema(relation), vec![expression.clone()])?;
    match planned.types() {
        [SqlType::Bool] => Ok(planned),
        _ if expression.is_untyped() => Ok(planned),
        types => {
            let given = types.first().cloned().unwrap_or(SqlType::Text);
            let clause = if place == Place::CopyWhere { "WHERE" } else { "CHECK" };
            let message = format!("argument of {clause} must be type boolean, not type {given}");
            Err(SqlError::new(ErrorKind::DatatypeMismatch, message))
        }
    }
}

/// The sequences that a DEFAULT counts with must be there.
///
/// # Errors
/// 42P01 and 42809 where one is not, 0A000 for one that is not named by a constant, or is in another store.
pub(crate) fn check_sequences(
    planner: &Planner<'_>,
    place: crate::place::Place,
    mut expression: ParsedExpression,
    own: &[Sequence],
) -> SqlResult<()> {
    for named in take_next_calls(&mut expression, &waits, &|_| "next".to_owned())? {
        let is_own = split_name(&named).pop().is_some_and(|name| own.iter().any(|sequence| sequence.name == name));
        if !is_own {
            let found = planner.system.sequences()?.find(&named)?.place;
            if found != place && (found.is_mount() || place.is_mount()) {
                return Err(SqlError::not_supported("a default that counts with a sequence in another schema")
                    .with_hint("Each schema is a store of its own: make the sequence in the schema of the table."));
            }
        }
    }
    Ok(())
}

/// A generated column is computed from the others as they are given, not from one another.
fn check_references(columns: &[DeclaredColumn], expression: &ParsedExpression) -> SqlResult<()> {
    let named = columns_of(columns, expression)?;
    match columns.iter().find(|column| column.generated.is_some() && named.contains(&column.name)) {
        None => Ok(()),
        Some(column) => {
            let message = format!("cannot use generated column \"{}\" in column generation expression", column.name);
            Err(SqlError::new(ErrorKind::InvalidObjectDefinition, message)
                .with_detail("A generated column cannot reference another generated column."))
        }
    }
}

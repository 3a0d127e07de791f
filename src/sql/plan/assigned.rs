//! What the columns of a query are assigned to: checked before it runs, as far as types and constants tell.

use arrow::array::new_empty_array;
use arrow::datatypes::Field;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, LogicalPlan};
use tablegate_types::conversion::name as type_name;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use crate::expr::{constants, is_immutable_cast, parameter_number, unaliased};

/// The column of a table that takes the values of a query's column.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    /// Which column of the query.
    pub place: usize,
    pub name: String,
    pub sql_type: SqlType,
    /// The query's column is a bare literal or parameter: its text is read as this type.
    pub untyped: bool,
}

impl Receiver {
    fn check_type(&self, field: &Field) -> SqlResult<()> {
        let none = new_empty_array(field.data_type());
        let from = SqlType::of_field(field);
        let Err(error) = edm::assign(&none, &from, &self.sql_type, false) else { return Ok(()) };
        if error.kind != ErrorKind::DatatypeMismatch {
            return Err(error.for_column(&self.name));
        }
        let message = format!(
            "column \"{}\" is of type {} but expression is of type {}",
            self.name,
            type_name(&self.sql_type),
            type_name(&from)
        );
        Err(SqlError::new(error.kind, message).with_hint("You will need to rewrite or cast the expression."))
    }

    fn check_value(&self, value: &ScalarValue, from: &SqlType, style: Style) -> SqlResult<()> {
        // Words like `now` are read when it runs: at any time they are read.
        let reading = Reading { style, now: Some(0) };
        let assigned = edm::assign_as(&value.to_array()?, from, &self.sql_type, self.untyped, reading);
        assigned.map(|_| ()).map_err(|error| error.for_column(&self.name))
    }
}

/// What a query's types and literals already tell.
///
/// # Errors
/// 42804 for a type that is not assigned to the column's, and what the column's type says of a literal without one.
pub(super) fn check_types(plan: &LogicalPlan, receivers: &[Receiver], style: Style) -> SqlResult<()> {
    let constants = constants(plan);
    for receiver in receivers {
        let constant = constants.iter().find(|(place, ..)| *place == receiver.place);
        match constant {
            Some((_, value, from)) if receiver.untyped => receiver.check_value(value, from, style)?,
            _ if receiver.untyped => {}
            _ => receiver.check_type(plan.schema().field(receiver.place))?,
        }
    }
    Ok(())
}

/// A parameter that a column takes as it is.
#[derive(Debug)]
pub(super) struct Given {
    /// Which of the receivers.
    receiver: usize,
    /// By its index, from 0.
    parameter: usize,
    sql_type: SqlType,
}

impl Given {
    /// Those among expressions that are assigned; `None` where one has no type.
    pub(super) fn all(exprs: &[Expr], receivers: &[Receiver]) -> Option<Vec<Self>> {
        let mut given = Vec::new();
        for (receiver, Receiver { place, .. }) in receivers.iter().enumerate().filter(|(_, r)| !r.untyped) {
            let Expr::Placeholder(placeholder) = unaliased(exprs.get(*place)?) else { continue };
            let sql_type = SqlType::of_field(placeholder.field.as_ref()?);
            given.push(Self { receiver, parameter: parameter_number(&placeholder.id)?.checked_sub(1)?, sql_type });
        }
        Some(given)
    }

    /// The type of its value in a run: a numeric has the digits of its value.
    fn type_of(&self, value: &ScalarValue) -> SqlType {
        match self.sql_type {
            SqlType::Numeric(_) => SqlType::of_arrow(&value.data_type()),
            ref other => other.clone(),
        }
    }
}

/// What the constants of a query tell that is about to run.
///
/// # Errors
/// The errors of assigning the values to the columns.
pub(super) fn check_constants(plan: &LogicalPlan, receivers: &[Receiver], style: Style) -> SqlResult<()> {
    check_given(plan, receivers, style, &[], &[])
}

/// The same, with what the parameters tell that columns take: the first column of which there is something to tell is told of.
///
/// # Errors
/// As [`check_constants`].
pub(super) fn check_given(
    plan: &LogicalPlan,
    receivers: &[Receiver],
    style: Style,
    given: &[Given],
    parameters: &[ScalarValue],
) -> SqlResult<()> {
    if receivers.is_empty() {
        return Ok(());
    }
    let constants = constants(plan);
    for (number, receiver) in receivers.iter().enumerate().filter(|(_, receiver)| !receiver.untyped) {
        let constant = constants.iter().find(|(place, ..)| *place == receiver.place);
        let constant = constant.map(|(_, value, from)| (*value, from.clone()));
        let known = constant.or_else(|| {
            let given = given.iter().find(|given| given.receiver == number)?;
            let value = parameters.get(given.parameter)?;
            Some((value, given.type_of(value)))
        });
        if let Some((value, from)) = known
            && is_immutable_cast(&from, &receiver.sql_type)
        {
            receiver.check_value(value, &from, style)?;
        }
    }
    Ok(())
}

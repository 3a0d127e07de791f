//! Functions that describe functions.

use tablegate_types::built_in::routines::{Routine, by_oid};
use tablegate_types::error::SqlResult;

use super::{Definition, FunctionContext, argument, text};
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::routine_text;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("pg_get_function_arguments", text, |c, a| {
        described(a, |routine| routine_text::arguments(routine, c, true))
    }),
    Definition::new("pg_get_function_identity_arguments", text, |c, a| {
        described(a, |routine| routine_text::arguments(routine, c, false))
    }),
    Definition::new("pg_get_function_result", text, |c, a| described(a, |routine| routine_text::result(routine, c))),
    Definition::new("pg_get_function_arg_default", text, default),
    // No function here has its source as SQL: those of PostgreSQL are built in.
    Definition::new("pg_get_function_sqlbody", text, super::nothing),
    Definition::new("pg_get_functiondef", text, |c, a| match argument(a, 0).as_oid() {
        Some(oid) => Ok(routine_text::definition(c, oid)?.into()),
        None => Ok(Cell::Null),
    }),
];

fn described(arguments: &[Cell], describe: impl Fn(&Routine) -> String) -> SqlResult<Cell> {
    Ok(argument(arguments, 0).as_oid().and_then(by_oid).map(describe).into())
}

fn default(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let (routine, number) = (argument(arguments, 0).as_oid().and_then(by_oid), argument(arguments, 1).as_int());
    Ok(routine.zip(number).and_then(|(routine, number)| routine.default(number)).into())
}

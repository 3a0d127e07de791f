//! `pg_get_functiondef`: the statement that would make one of PostgreSQL's own functions.

use std::fmt::Write;

use super::built_ins::function_name;
use super::functions::FunctionContext;
use super::quoting::quote_ident;
use super::recorded::RecordedFile;
use super::routines::by_oid;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// OIDs of languages in `pg_language`.
const INTERNAL: &str = "12";
const C: &str = "13";

/// The statement; `None` for a function that is not there or whose body is SQL, which is not recorded.
///
/// # Errors
/// 42809 for an aggregate.
pub(super) fn definition(context: &FunctionContext, oid: u32) -> SqlResult<Option<String>> {
    let Some(file) = RecordedFile::of("pg_proc") else { return Ok(None) };
    let cell_of = |row: &[&'static str], column| file.position(column).and_then(|at| row.get(at).copied());
    let wanted = oid.to_string();
    let found = file.rows().find(|row| cell_of(row, "oid") == Some(wanted.as_str()));
    let (Some(row), Some(routine)) = (found, by_oid(oid)) else { return Ok(None) };
    let cell = |column| cell_of(&row, column).unwrap_or_default();
    if cell("prokind") == "a" {
        let message = format!("\"{}\" is an aggregate function", cell("proname"));
        return Err(SqlError::new(ErrorKind::WrongObjectType, message));
    }
    let language = match cell("prolang") {
        INTERNAL => "internal",
        C => "c",
        _ => return Ok(None),
    };
    let mut text = format!(
        "CREATE OR REPLACE FUNCTION pg_catalog.{}({})\n RETURNS {}\n LANGUAGE {language}\n",
        quote_ident(cell("proname")),
        routine.arguments(context, true),
        routine.result(context)
    );
    let cost = if cell("procost") == "1" { String::new() } else { format!("COST {}", cell("procost")) };
    let rows =
        if matches!(cell("prorows"), "0" | "1000") { String::new() } else { format!("ROWS {}", cell("prorows")) };
    let support = match cell("prosupport") {
        "0" => String::new(),
        support => support.parse().ok().and_then(function_name).map_or_else(String::new, |n| format!("SUPPORT {n}")),
    };
    let attributes = [
        if cell("prokind") == "w" { "WINDOW" } else { "" },
        match cell("provolatile") {
            "i" => "IMMUTABLE",
            "s" => "STABLE",
            _ => "",
        },
        match cell("proparallel") {
            "s" => "PARALLEL SAFE",
            "r" => "PARALLEL RESTRICTED",
            _ => "",
        },
        if cell("proisstrict") == "t" { "STRICT" } else { "" },
        if cell("prosecdef") == "t" { "SECURITY DEFINER" } else { "" },
        if cell("proleakproof") == "t" { "LEAKPROOF" } else { "" },
        &cost,
        &rows,
        &support,
    ];
    let given: Vec<&str> = attributes.into_iter().filter(|attribute| !attribute.is_empty()).collect();
    if !given.is_empty() {
        let _ = writeln!(text, " {}", given.join(" "));
    }
    let library = match cell("probin") {
        "\\N" | "" => String::new(),
        library => format!("'{library}', "),
    };
    let _ = writeln!(text, "AS {library}$function${}$function$", cell("prosrc"));
    Ok(Some(text))
}

//! How one of PostgreSQL's own functions is written: its signature, arguments and result, and the statement that would
//! make it.

use std::fmt::Write;

use tablegate_types::built_in::routines::{Routine, by_oid};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;

use super::built_ins::format_type;
use super::functions::FunctionContext;

/// OIDs of languages in `pg_language`.
const INTERNAL: &str = "12";
const C: &str = "13";

/// What `pg_get_functiondef` gives; `None` for a function that is not there or whose body is SQL, which is not recorded.
///
/// # Errors
/// 42809 for an aggregate.
pub(super) fn definition(context: &FunctionContext, oid: u32) -> SqlResult<Option<String>> {
    let Some(routine) = by_oid(oid) else { return Ok(None) };
    if routine.kind == "a" {
        let message = format!("\"{}\" is an aggregate function", routine.name);
        return Err(SqlError::new(ErrorKind::WrongObjectType, message));
    }
    let language = match routine.language {
        INTERNAL => "internal",
        C => "c",
        _ => return Ok(None),
    };
    let mut text = format!(
        "CREATE OR REPLACE FUNCTION pg_catalog.{}({})\n RETURNS {}\n LANGUAGE {language}\n",
        quote_ident(routine.name),
        arguments(routine, context, true),
        result(routine, context)
    );
    let cost = if routine.cost == "1" { String::new() } else { format!("COST {}", routine.cost) };
    let rows = if matches!(routine.rows, "0" | "1000") { String::new() } else { format!("ROWS {}", routine.rows) };
    let support = by_oid(routine.support).map_or_else(String::new, |support| format!("SUPPORT {}", support.name));
    let attributes = [
        if routine.kind == "w" { "WINDOW" } else { "" },
        match routine.volatility {
            "i" => "IMMUTABLE",
            "s" => "STABLE",
            _ => "",
        },
        match routine.parallel {
            "s" => "PARALLEL SAFE",
            "r" => "PARALLEL RESTRICTED",
            _ => "",
        },
        if routine.is_strict { "STRICT" } else { "" },
        if routine.is_security_definer { "SECURITY DEFINER" } else { "" },
        if routine.is_leakproof { "LEAKPROOF" } else { "" },
        &cost,
        &rows,
        &support,
    ];
    let given: Vec<&str> = attributes.into_iter().filter(|attribute| !attribute.is_empty()).collect();
    if !given.is_empty() {
        let _ = writeln!(text, " {}", given.join(" "));
    }
    let library = routine.library.map_or_else(String::new, |library| format!("'{library}', "));
    let _ = writeln!(text, "AS {library}$function${}$function$", routine.source);
    Ok(Some(text))
}

/// As `regprocedure` prints it.
pub(super) fn signature(routine: &Routine, context: &FunctionContext) -> String {
    let types: Vec<String> = routine.arguments.iter().map(|oid| shown(context, *oid)).collect();
    let schema = if routine.is_standard() { "information_schema." } else { "" };
    format!("{schema}{}({})", quote_ident(routine.name), types.join(","))
}

/// The arguments with names, modes and defaults, as CREATE FUNCTION has them.
pub(super) fn arguments(routine: &Routine, context: &FunctionContext, with_defaults: bool) -> String {
    let all = if routine.all.is_empty() { &routine.arguments } else { &routine.all };
    let mode = |at: usize| routine.modes.get(at).copied().unwrap_or("i");
    let given = (0..all.len()).filter(|at| matches!(mode(*at), "i" | "b" | "v")).count();
    let first_default = given.saturating_sub(routine.defaults.len());
    let (mut shown_arguments, mut inputs) = (Vec::new(), 0_usize);
    for (at, oid) in all.iter().enumerate() {
        let mode = mode(at);
        let is_input = matches!(mode, "i" | "b" | "v");
        let default = match inputs.checked_sub(first_default) {
            Some(nth) if is_input && with_defaults => routine.defaults.get(nth),
            _ => None,
        };
        inputs += usize::from(is_input);
        if mode == "t" || !is_input && !with_defaults {
            continue;
        }
        let prefix = match mode {
            "o" => "OUT ",
            "b" => "INOUT ",
            "v" => "VARIADIC ",
            _ => "",
        };
        let name = routine.names.get(at).filter(|name| !name.is_empty());
        let name = name.map_or_else(String::new, |name| format!("{} ", quote_ident(name.trim_matches('"'))));
        let default = default.map_or_else(String::new, |default| format!(" DEFAULT {default}"));
        shown_arguments.push(format!("{prefix}{name}{}{default}", shown(context, *oid)));
    }
    match routine.over_ordered() {
        Some((direct, again)) => {
            let ordered = if again { shown_arguments.len().saturating_sub(1) } else { direct };
            let behind = shown_arguments.get(ordered..).unwrap_or_default().join(", ");
            let before = shown_arguments.get(..direct).unwrap_or_default().join(", ");
            format!("{before}{}ORDER BY {behind}", if before.is_empty() { "" } else { " " })
        }
        None => shown_arguments.join(", "),
    }
}

/// What it gives.
pub(super) fn result(routine: &Routine, context: &FunctionContext) -> String {
    let columns: Vec<String> = (0..)
        .zip(&routine.all)
        .filter(|(at, _)| routine.modes.get(*at) == Some(&"t"))
        .map(|(at, oid)| {
            let name = routine.names.get(at).copied().unwrap_or_default();
            format!("{} {}", quote_ident(name), shown(context, *oid))
        })
        .collect();
    if !columns.is_empty() {
        return format!("TABLE({})", columns.join(", "));
    }
    let set = if routine.gives_rows { "SETOF " } else { "" };
    format!("{set}{}", shown(context, routine.result))
}

fn shown(context: &FunctionContext, oid: u32) -> String {
    format_type(&context.objects, oid, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_types::built_in::routines;

    #[test]
    fn functions_are_described_as_postgresql_does() {
        let context = FunctionContext::for_tests(Vec::new());
        let described = |name: &str| {
            let routine = by_oid(routines::oid_of(name)).unwrap();
            (arguments(routine, &context, true), result(routine, &context))
        };
        let both = |arguments: &str, result: &str| (arguments.to_owned(), result.to_owned());
        assert_eq!(described("now"), both("", "timestamp with time zone"));
        assert_eq!(described("format"), both("text, VARIADIC \"any\"", "text"));
        assert_eq!(
            described("pg_get_keywords"),
            both(
                "OUT word text, OUT catcode \"char\", OUT barelabel boolean, OUT catdesc text, OUT baredesc text",
                "SETOF record"
            )
        );
        assert_eq!(
            described("make_interval").0,
            "years integer DEFAULT 0, months integer DEFAULT 0, weeks integer DEFAULT 0, days integer DEFAULT 0, \
             hours integer DEFAULT 0, mins integer DEFAULT 0, secs double precision DEFAULT 0.0"
        );
    }
}

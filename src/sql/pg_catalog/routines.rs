//! PostgreSQL's own functions as `pg_get_function_arguments` and its kin describe them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::built_ins::{format_type, functions_named};
use super::functions::FunctionContext;
use super::quoting::{quote_ident, split_name};
use super::recorded::RecordedFile;
use super::references::type_oid;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// One row of `pg_proc`.
pub(super) struct Routine {
    oid: u32,
    name: &'static str,
    /// Those a call gives.
    arguments: Vec<u32>,
    /// All of them, with those that it gives back.
    all: Vec<u32>,
    modes: Vec<&'static str>,
    names: Vec<&'static str>,
    defaults: Vec<&'static str>,
    result: u32,
    gives_rows: bool,
}

static ROUTINES: LazyLock<HashMap<u32, Routine>> =
    LazyLock::new(|| read().unwrap_or_default().into_iter().map(|routine| (routine.oid, routine)).collect());

fn read() -> Option<Vec<Routine>> {
    let file = RecordedFile::of("pg_proc")?;
    let columns = [
        "oid",
        "proname",
        "proargtypes",
        "proallargtypes",
        "proargmodes",
        "proargnames",
        "proargdefaults",
        "prorettype",
        "proretset",
    ];
    let positions = columns.map(|column| file.position(column).unwrap_or(usize::MAX));
    let routine = |row: Vec<&'static str>| {
        let [oid, name, arguments, all, modes, names, defaults, result, gives_rows] =
            positions.map(|at| row.get(at).copied().unwrap_or_default());
        let numbers = |words: Vec<&str>| words.iter().filter_map(|word| word.parse().ok()).collect();
        Routine {
            oid: oid.parse().unwrap_or(0),
            name,
            arguments: numbers(arguments.split_whitespace().collect()),
            all: numbers(items(all)),
            modes: items(modes),
            names: items(names),
            defaults: defaults.strip_prefix("\\N").map_or_else(|| expressions(defaults), |_| Vec::new()),
            result: result.parse().unwrap_or(0),
            gives_rows: gives_rows == "t",
        }
    };
    Some(file.rows().map(routine).collect())
}

/// The items of an array as text; none of NULL.
fn items(text: &'static str) -> Vec<&'static str> {
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    inside.split(',').filter(|item| !item.is_empty()).map(|item| if item == "\"\"" { "" } else { item }).collect()
}

/// Expressions with commas between them, of which none is inside parentheses or quotes.
fn expressions(text: &'static str) -> Vec<&'static str> {
    let (mut depth, mut quoted, mut start) = (0, false, 0);
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                found.push(text.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(start..).map(str::trim).filter(|last| !last.is_empty()));
    found
}

pub(super) fn by_oid(oid: u32) -> Option<&'static Routine> {
    ROUTINES.get(&oid)
}

/// The function that a name alone means.
///
/// # Errors
/// 42725 when there are several.
pub(super) fn by_name(parts: &[String]) -> SqlResult<Option<u32>> {
    let name = match parts {
        [schema, name] if schema == "pg_catalog" || schema == "information_schema" => name,
        [name] => name,
        _ => return Ok(None),
    };
    match functions_named(name) {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => {
            let message = format!("more than one function named \"{name}\"");
            Err(SqlError::new(ErrorKind::AmbiguousFunction, message))
        }
    }
}

/// The function of a name with the types of its arguments: `format(text)`.
///
/// # Errors
/// 22P02 without parentheses, 42704 for a type that there is not.
pub(super) fn by_signature(context: &FunctionContext, text: &str) -> SqlResult<Option<u32>> {
    let Some((name, rest)) = text.split_once('(') else {
        return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, "expected a left parenthesis"));
    };
    let Some(types) = rest.trim().strip_suffix(')') else {
        return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, "expected a right parenthesis"));
    };
    let mut asked = Vec::new();
    for name in types.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        asked.push(
            type_oid(context, name)
                .ok_or_else(|| SqlError::new(ErrorKind::UndefinedObject, format!("type \"{name}\" does not exist")))?,
        );
    }
    let parts = split_name(name);
    let Some(name) = parts.last() else { return Ok(None) };
    let has_arguments = |oid: &&u32| by_oid(**oid).is_some_and(|routine| routine.arguments == asked);
    Ok(functions_named(name).iter().find(has_arguments).copied())
}

impl Routine {
    /// As `regprocedure` prints it.
    pub fn signature(&self, context: &FunctionContext) -> String {
        let types: Vec<String> = self.arguments.iter().map(|oid| shown(context, *oid)).collect();
        let schema = if self.name.starts_with("_pg_") { "information_schema." } else { "" };
        format!("{schema}{}({})", quote_ident(self.name), types.join(","))
    }

    /// The arguments with names, modes and defaults, as CREATE FUNCTION has them.
    pub fn arguments(&self, context: &FunctionContext, with_defaults: bool) -> String {
        let all = if self.all.is_empty() { &self.arguments } else { &self.all };
        let mode = |at: usize| self.modes.get(at).copied().unwrap_or("i");
        let given = (0..all.len()).filter(|at| matches!(mode(*at), "i" | "b" | "v")).count();
        let first_default = given.saturating_sub(self.defaults.len());
        let (mut shown_arguments, mut inputs) = (Vec::new(), 0_usize);
        for (at, oid) in all.iter().enumerate() {
            let mode = mode(at);
            let is_input = matches!(mode, "i" | "b" | "v");
            let default = match inputs.checked_sub(first_default) {
                Some(nth) if is_input && with_defaults => self.defaults.get(nth),
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
            let name = self.names.get(at).filter(|name| !name.is_empty());
            let name = name.map_or_else(String::new, |name| format!("{} ", quote_ident(name.trim_matches('"'))));
            let default = default.map_or_else(String::new, |default| format!(" DEFAULT {default}"));
            shown_arguments.push(format!("{prefix}{name}{}{default}", shown(context, *oid)));
        }
        shown_arguments.join(", ")
    }

    /// What it gives.
    pub fn result(&self, context: &FunctionContext) -> String {
        let columns: Vec<String> = (0..)
            .zip(&self.all)
            .filter(|(at, _)| self.modes.get(*at) == Some(&"t"))
            .map(|(at, oid)| {
                let name = self.names.get(at).copied().unwrap_or_default();
                format!("{} {}", quote_ident(name), shown(context, *oid))
            })
            .collect();
        if !columns.is_empty() {
            return format!("TABLE({})", columns.join(", "));
        }
        let set = if self.gives_rows { "SETOF " } else { "" };
        format!("{set}{}", shown(context, self.result))
    }

    /// The default of an argument, counted from 1.
    pub fn default(&self, number: i64) -> Option<&'static str> {
        let first = self.arguments.len().saturating_sub(self.defaults.len());
        let at = usize::try_from(number).ok()?.checked_sub(1)?.checked_sub(first)?;
        self.defaults.get(at).copied()
    }
}

fn shown(context: &FunctionContext, oid: u32) -> String {
    format_type(&context.objects, oid, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_described_as_postgresql_does() {
        let context = FunctionContext::for_tests(Vec::new());
        let described = |name: &str| {
            let routine = by_oid(functions_named(name)[0]).unwrap();
            (routine.arguments(&context, true), routine.result(&context))
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

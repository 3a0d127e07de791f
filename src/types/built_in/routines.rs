//! PostgreSQL's own functions, the rows of `pg_proc`: found by number, by name and by signature.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::recorded::RecordedFile;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::quoting::{quote_ident, split_name};

/// OID of `information_schema`, as the recorded rows have it.
const INFORMATION_SCHEMA: &str = "13207";

/// One row of `pg_proc`; what only its definition shows is as it is recorded.
pub struct Routine {
    pub oid: u32,
    pub name: &'static str,
    /// Those a call gives.
    pub arguments: Vec<u32>,
    /// All of them, with those that it gives back.
    pub all: Vec<u32>,
    pub modes: Vec<&'static str>,
    pub names: Vec<&'static str>,
    pub defaults: Vec<&'static str>,
    /// The type of what the last argument may be repeated as, else 0.
    pub variadic: u32,
    pub result: u32,
    pub gives_rows: bool,
    /// `f`, `a` for an aggregate, `w` for a window function.
    pub kind: &'static str,
    pub schema: &'static str,
    pub language: &'static str,
    pub cost: &'static str,
    pub rows: &'static str,
    pub support: u32,
    pub volatility: &'static str,
    pub parallel: &'static str,
    pub is_strict: bool,
    pub is_security_definer: bool,
    pub is_leakproof: bool,
    /// The library of a function in C; `None` for others.
    pub library: Option<&'static str>,
    pub source: &'static str,
}

/// All of them, by their OIDs.
static ROUTINES: LazyLock<Vec<Routine>> = LazyLock::new(|| {
    let Some(file) = RecordedFile::of("pg_proc") else { return Vec::new() };
    let positions = COLUMNS.map(|column| file.position(column).unwrap_or(usize::MAX));
    let cells = |row: Vec<&'static str>| positions.map(|at| row.get(at).copied().unwrap_or_default());
    let mut routines: Vec<_> = file.rows().map(|row| read(cells(row))).collect();
    routines.sort_unstable_by_key(|routine| routine.oid);
    routines
});

/// Their OIDs by their names, in order.
static BY_NAME: LazyLock<HashMap<&'static str, Vec<u32>>> = LazyLock::new(|| {
    let mut by_name: HashMap<_, Vec<u32>> = HashMap::new();
    ROUTINES.iter().for_each(|routine| by_name.entry(routine.name).or_default().push(routine.oid));
    by_name
});

/// The columns that are read, in the order in which [`read`] takes them.
const COLUMNS: [&str; 23] = [
    "oid",
    "proname",
    "proargtypes",
    "proallargtypes",
    "proargmodes",
    "proargnames",
    "proargdefaults",
    "prorettype",
    "proretset",
    "prokind",
    "pronamespace",
    "prolang",
    "procost",
    "prorows",
    "prosupport",
    "provolatile",
    "proparallel",
    "proisstrict",
    "prosecdef",
    "proleakproof",
    "probin",
    "prosrc",
    "provariadic",
];

/// Aggregates over ordered rows by their OIDs: how many of their arguments are not of the rows, and whether they are
/// hypothetical, whose last argument stands for those of the rows too.
static OVER_ORDERED: LazyLock<HashMap<u32, (usize, bool)>> = LazyLock::new(|| {
    let Some(file) = RecordedFile::of("pg_aggregate") else { return HashMap::new() };
    let columns = ["aggfnoid", "aggkind", "aggnumdirectargs"].map(|column| file.position(column));
    let read = |row: Vec<&'static str>| {
        let [oid, kind, direct] = columns.map(|at| at.and_then(|at| row.get(at).copied()));
        let hypothetical = match kind? {
            "o" => false,
            "h" => true,
            _ => return None,
        };
        Some((oid?.parse().ok()?, (direct?.parse().ok()?, hypothetical)))
    };
    file.rows().filter_map(read).collect()
});

fn read(row: [&'static str; COLUMNS.len()]) -> Routine {
    let [oid, name, arguments, all, modes, names, defaults, result, gives_rows, rest @ ..] = row;
    let [kind, schema, language, cost, rows, support, volatility, parallel, rest @ ..] = rest;
    let [is_strict, is_security_definer, is_leakproof, library, source, variadic] = rest;
    let numbers = |words: Vec<&str>| words.iter().filter_map(|word| word.parse().ok()).collect();
    Routine {
        oid: oid.parse().unwrap_or(0),
        name,
        arguments: numbers(arguments.split_whitespace().collect()),
        all: numbers(items(all)),
        modes: items(modes),
        names: items(names),
        defaults: defaults.strip_prefix("\\N").map_or_else(|| expressions(defaults), |_| Vec::new()),
        variadic: variadic.parse().unwrap_or(0),
        result: result.parse().unwrap_or(0),
        gives_rows: gives_rows == "t",
        kind,
        schema,
        language,
        cost,
        rows,
        support: support.parse().unwrap_or(0),
        volatility,
        parallel,
        is_strict: is_strict == "t",
        is_security_definer: is_security_definer == "t",
        is_leakproof: is_leakproof == "t",
        library: Some(library).filter(|library| !matches!(*library, "\\N" | "")),
        source,
    }
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

/// All of them, by their OIDs.
pub fn all() -> &'static [Routine] {
    &ROUTINES
}

pub fn by_oid(oid: u32) -> Option<&'static Routine> {
    let at = ROUTINES.binary_search_by_key(&oid, |routine| routine.oid).ok()?;
    ROUTINES.get(at)
}

/// The OIDs of the functions with this name.
pub fn named(name: &str) -> &'static [u32] {
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

/// Whether a function of the name makes one value of many rows.
pub fn is_aggregate(name: &str) -> bool {
    of_name(name).any(|routine| routine.kind == "a")
}

/// Whether a function of the name gives any number of rows.
pub fn gives_rows(name: &str) -> bool {
    of_name(name).any(|routine| routine.gives_rows)
}

fn of_name(name: &str) -> impl Iterator<Item = &'static Routine> {
    named(name).iter().filter_map(|oid| by_oid(*oid))
}

/// The type of an argument, counted from 0, of a function that is called with so many; `None` where functions of the name
/// differ in it.
pub fn argument_type(name: &str, count: usize, index: usize) -> Option<u32> {
    let takes = |routine: &&Routine| {
        let least = routine.arguments.len().saturating_sub(routine.defaults.len());
        (least..=routine.arguments.len()).contains(&count)
    };
    let takers = of_name(name).filter(takes);
    let mut types = takers.map(|routine| routine.arguments.get(index).copied());
    let first = types.next()??;
    types.all(|other| other == Some(first)).then_some(first)
}

/// The OID of a function of the catalogue's own, whose name is its alone; 0 for none.
pub fn oid_of(name: &str) -> u32 {
    named(name).first().copied().unwrap_or(0)
}

/// As `regproc` prints an OID: with its schema where the name alone does not find it.
pub fn printed(oid: u32) -> String {
    match by_oid(oid) {
        None if oid == 0 => "-".to_owned(),
        None => oid.to_string(),
        Some(routine) if routine.is_standard() => format!("information_schema.{}", quote_ident(routine.name)),
        Some(routine) if named(routine.name).len() > 1 => format!("pg_catalog.{}", quote_ident(routine.name)),
        Some(routine) => quote_ident(routine.name),
    }
}

/// What `regproc` reads: the name of one function, its number, or `-` for none.
///
/// # Errors
/// 42883 for a name that no function has, 42725 for one that several have, 42602 for what is not a name.
pub fn read_reference(text: &str) -> SqlResult<u32> {
    let text = text.trim();
    if text == "-" {
        return Ok(0);
    }
    if let Ok(oid) = text.parse() {
        return Ok(oid);
    }
    let parts = split_name(text);
    if parts.is_empty() {
        return Err(SqlError::new(ErrorKind::InvalidName, "invalid name syntax"));
    }
    by_name(&parts)?
        .ok_or_else(|| SqlError::new(ErrorKind::UndefinedFunction, format!("function \"{text}\" does not exist")))
}

/// The function that a name alone means.
///
/// # Errors
/// 42725 when there are several.
pub fn by_name(parts: &[String]) -> SqlResult<Option<u32>> {
    let name = match parts {
        [schema, name] if schema == "pg_catalog" || schema == "information_schema" => name,
        [name] => name,
        _ => return Ok(None),
    };
    match named(name) {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => {
            let message = format!("more than one function named \"{name}\"");
            Err(SqlError::new(ErrorKind::AmbiguousFunction, message))
        }
    }
}

impl Routine {
    /// Of an aggregate over ordered rows, how many arguments stand before ORDER BY, and whether the last stands behind it
    /// again.
    pub fn over_ordered(&self) -> Option<(usize, bool)> {
        OVER_ORDERED.get(&self.oid).copied()
    }

    /// Whether it is one of `information_schema`, which is found by its full name only.
    pub fn is_standard(&self) -> bool {
        self.schema == INFORMATION_SCHEMA
    }

    /// The default of an argument, counted from 1.
    pub fn default(&self, number: i64) -> Option<&'static str> {
        let first = self.arguments.len().saturating_sub(self.defaults.len());
        let at = usize::try_from(number).ok()?.checked_sub(1)?.checked_sub(first)?;
        self.defaults.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_name_and_by_number() {
        assert_eq!((by_oid(1242).map(|routine| routine.name), named("boolin")), (Some("boolin"), &[1242][..]));
        assert_eq!((printed(1242).as_str(), printed(0).as_str()), ("boolin", "-"));
        assert_eq!(printed(2100), "pg_catalog.avg");
        assert_eq!((read_reference("boolin").unwrap(), read_reference("-").unwrap()), (1242, 0));
        assert_eq!(read_reference("pg_catalog.\"boolin\"").unwrap(), 1242);
        assert_eq!(read_reference("2100").unwrap(), 2100);
        assert_eq!(read_reference("avg").unwrap_err().kind, ErrorKind::AmbiguousFunction);
        assert_eq!(read_reference("nosuch").unwrap_err().kind, ErrorKind::UndefinedFunction);
    }

    #[test]
    fn arguments_have_the_type_that_all_functions_of_the_name_ask_for() {
        let (int4, int8) = (Some(23), Some(20));
        assert_eq!(argument_type("pg_terminate_backend", 1, 0), int4);
        assert_eq!(argument_type("pg_terminate_backend", 2, 1), int8);
        assert_eq!((argument_type("pg_advisory_lock", 1, 0), argument_type("pg_advisory_lock", 2, 0)), (int8, int4));
        assert_eq!(argument_type("pg_get_viewdef", 1, 0), None);
        assert_eq!(argument_type("pg_cancel_backend", 2, 0), None);
    }
}

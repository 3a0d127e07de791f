//! Functions that give rows: each column is a list, whose items become rows.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument};
use crate::pg_catalog::cells::Cell;

/// PostgreSQL 15's words: each with the letter of its kind, and `-` behind it for one that needs AS to be a label.
const KEYWORDS: &str = tablegate_types::built_in::KEYWORDS;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("keyword words", texts, |_, _| Ok(keywords(|word, _, _| word.into()))),
    Definition::new("keyword codes", texts, |_, _| Ok(keywords(|_, code, _| code.into()))),
    Definition::new("keyword labels", booleans, |_, _| Ok(keywords(|_, _, bare| bare.into()))),
    Definition::new("keyword kinds", texts, |_, _| Ok(keywords(|_, code, _| kind_of(code).into()))),
    Definition::new("keyword label kinds", texts, |_, _| {
        Ok(keywords(|_, _, bare| if bare { "can be bare label" } else { "requires AS" }.into()))
    }),
    Definition::new("option names", texts, |_, a| Ok(options(a, |name, _| name.into()))),
    Definition::new("option values", texts, |_, a| Ok(options(a, |_, value| value.into()))),
    Definition::new("token numbers", integers, |_, a| tokens(a, |number, _, _| number.into())),
    Definition::new("token aliases", texts, |_, a| tokens(a, |_, alias, _| alias.into())),
    Definition::new("token descriptions", texts, |_, a| tokens(a, |_, _, description| description.into())),
    // Of partitions, which no table has.
    Definition::new("no relations", relations, empty),
    Definition::new("no truths", booleans, empty),
    Definition::new("no numbers", integers, empty),
    Definition::new("item numbers", integers, |_, a| {
        Ok(match argument(a, 0) {
            Cell::List(items) => Cell::List((1_i64..).zip(items).map(|(number, _)| number.into()).collect()),
            _ => Cell::Null,
        })
    }),
];

fn texts(_: &[arrow::datatypes::FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Text))
}

fn booleans(_: &[arrow::datatypes::FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Bool))
}

fn integers(_: &[arrow::datatypes::FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Int4))
}

fn relations(_: &[arrow::datatypes::FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Regclass))
}

fn empty(_: &FunctionContext, _: &[Cell]) -> SqlResult<Cell> {
    Ok(Cell::List(Vec::new()))
}

/// One column of `ts_token_type`.
///
/// # Errors
/// 42704 for a parser that does not exist.
fn tokens(arguments: &[Cell], column: impl Fn(i64, &'static str, &'static str) -> Cell) -> SqlResult<Cell> {
    let parser = argument(arguments, 0);
    let name = parser.as_text().unwrap_or_default();
    if parser.as_oid() != Some(DEFAULT_PARSER) && !matches!(name.as_str(), "default" | "pg_catalog.default") {
        let message = format!("text search parser \"{name}\" does not exist");
        return Err(SqlError::new(ErrorKind::UndefinedObject, message));
    }
    let cells = (1..).zip(TOKENS).map(|(number, (alias, description))| column(number, alias, description));
    Ok(Cell::List(cells.collect()))
}

/// The one parser of `pg_ts_parser`.
const DEFAULT_PARSER: u32 = 3722;

/// The kinds of tokens that it finds, in order.
const TOKENS: &[(&str, &str)] = &[
    ("asciiword", "Word, all ASCII"),
    ("word", "Word, all letters"),
    ("numword", "Word, letters and digits"),
    ("email", "Email address"),
    ("url", "URL"),
    ("host", "Host"),
    ("sfloat", "Scientific notation"),
    ("version", "Version number"),
    ("hword_numpart", "Hyphenated word part, letters and digits"),
    ("hword_part", "Hyphenated word part, all letters"),
    ("hword_asciipart", "Hyphenated word part, all ASCII"),
    ("blank", "Space symbols"),
    ("tag", "XML tag"),
    ("protocol", "Protocol head"),
    ("numhword", "Hyphenated word, letters and digits"),
    ("asciihword", "Hyphenated word, all ASCII"),
    ("hword", "Hyphenated word, all letters"),
    ("url_path", "URL path"),
    ("file", "File or path name"),
    ("float", "Decimal notation"),
    ("int", "Signed integer"),
    ("uint", "Unsigned integer"),
    ("entity", "XML entity"),
];

/// One column of `pg_get_keywords`.
fn keywords(column: impl Fn(&'static str, &'static str, bool) -> Cell) -> Cell {
    let cell = |line: &'static str| {
        let (word, code) = line.split_once(' ').unwrap_or((line, ""));
        column(word, code.trim_end_matches('-'), !code.ends_with('-'))
    };
    Cell::List(KEYWORDS.lines().map(cell).collect())
}

fn kind_of(code: &str) -> &'static str {
    match code {
        "R" => "reserved",
        "T" => "reserved (can be function or type name)",
        "C" => "unreserved (cannot be function or type name)",
        _ => "unreserved",
    }
}

/// One column of `pg_options_to_table`, of options written `name=value`.
fn options(arguments: &[Cell], column: impl Fn(&str, Option<&str>) -> Cell) -> Cell {
    let Cell::List(options) = argument(arguments, 0) else { return Cell::Null };
    let cell = |option: &Cell| {
        let option = option.as_text().unwrap_or_default();
        match option.split_once('=') {
            Some((name, value)) => column(name, Some(value)),
            None => column(&option, None),
        }
    };
    Cell::List(options.iter().map(cell).collect())
}

//! Functions that give rows: each column is a list, whose items become rows.

use super::{Definition, argument};
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::types::SqlType;

/// PostgreSQL 15's words: each with the letter of its kind, and `-` behind it for one that needs AS to be a label.
const KEYWORDS: &str = include_str!("../data/keywords.txt");

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

//! Tables of templates with what PostgreSQL 15 makes of them: each line of the `.txt` files was asked of a server. Behind `!`
//! stands the SQLSTATE and message of an error.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use datafusion_common::ScalarValue;

use super::super::call::{Argument, Call};
use super::super::moments::Moments;
use super::super::signature::{Arguments, Evaluate, Overload};
use crate::error::{ErrorKind, SqlResult};
use crate::input::parse_text;
use crate::output::TextColumn;
use crate::sql_type::SqlType;

/// What a function makes of two constants, as text.
fn evaluated(overload: &Overload, value: (&str, SqlType), template: &str) -> SqlResult<String> {
    let template: ArrayRef = Arc::new(StringArray::from(vec![template]));
    let constant = parse_text(&value.1, value.0)?;
    let types = [value.1.clone(), SqlType::Text];
    let constants = [Some(constant.clone()), Some(ScalarValue::try_from_array(&template, 0)?)];
    let returns = match overload.result_type {
        Some(result_type) => result_type(&Arguments { types: &types, constants: &constants })?,
        None => overload.returns.concrete().unwrap(),
    };
    let first = Argument { array: constant.to_array()?, sql_type: value.1, constant: true };
    let second = Argument { array: template, sql_type: SqlType::Text, constant: true };
    let call = Call {
        arguments: vec![first, second],
        returns: returns.clone(),
        rows: 1,
        nulls: None,
        moments: Moments::unknown(),
    };
    let evaluate: Evaluate = overload.evaluate;
    let result = evaluate(&call)?;
    let column = TextColumn::plain(&result, &returns);
    let mut text = String::new();
    if column.is_null(0) {
        return Ok("\\N".to_owned());
    }
    column.write_to(0, &mut text).unwrap();
    Ok(text)
}

fn overload(name: &str, first: &SqlType) -> &'static Overload {
    let all = super::FUNCTIONS.iter().flat_map(|table| table.iter());
    let fits =
        |o: &&Overload| o.name == name && o.arguments.len() == 2 && o.arguments[0].concrete().as_ref() == Some(first);
    all.clone().find(fits).unwrap()
}

/// An error as the tables have it; of the message only what the server does not embellish.
fn shown(result: SqlResult<String>) -> String {
    result.unwrap_or_else(|error| {
        let code = match error.kind {
            ErrorKind::InvalidDatetimeFormat => "22007",
            ErrorKind::DatetimeOverflow => "22008",
            ErrorKind::FeatureNotSupported => "0A000",
            ErrorKind::InvalidTextRepresentation => "22P02",
            ErrorKind::Syntax => "42601",
            ErrorKind::NumericOutOfRange => "22003",
            ErrorKind::InvalidZoneDisplacement => "22009",
            other => panic!("{other:?} {}", error.message),
        };
        format!("!{code} {}", error.message)
    })
}

/// Compares line by line and tells all that differ.
fn check(lines: impl Iterator<Item = (String, String, String)>) {
    let wrong: Vec<String> = lines
        .filter(|(_, expected, actual)| expected != actual)
        .map(|(input, expected, actual)| format!("{input}: expected [{expected}] but got [{actual}]"))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn fields(line: &str) -> Vec<&str> {
    line.split('\t').collect()
}

#[test]
fn timestamps_are_written_as_in_postgresql() {
    check(include_str!("timestamps_written.txt").lines().map(|line| {
        let [value, template, expected] = fields(line)[..] else { panic!("{line}") };
        let function = overload("to_char", &SqlType::Timestamp);
        let actual = shown(evaluated(function, (value, SqlType::Timestamp), template));
        (line.to_owned(), expected.to_owned(), actual)
    }));
}

#[test]
fn intervals_are_written_as_in_postgresql() {
    check(include_str!("intervals_written.txt").lines().map(|line| {
        let [value, template, expected] = fields(line)[..] else { panic!("{line}") };
        let function = overload("to_char", &SqlType::Interval);
        let actual = shown(evaluated(function, (value, SqlType::Interval), template));
        (line.to_owned(), expected.to_owned(), actual)
    }));
}

#[test]
fn timestamps_and_dates_are_read_as_in_postgresql() {
    for (name, column) in [("to_timestamp", 2), ("to_date", 3)] {
        let function = overload(name, &SqlType::Text);
        check(include_str!("timestamps_read.txt").lines().map(|line| {
            let parts = fields(line);
            let actual = shown(evaluated(function, (parts[0], SqlType::Text), parts[1]));
            (format!("{name} {line}"), parts[column].to_owned(), actual)
        }));
    }
}

#[test]
fn numbers_are_written_as_in_postgresql() {
    check(include_str!("numbers_written.txt").lines().map(|line| {
        let [sql_type, value, template, expected] = fields(line)[..] else { panic!("{line}") };
        let digits = value.trim_start_matches('-').split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let (declared, given) = match sql_type {
            "int4" => (SqlType::Int4, SqlType::Int4),
            "int8" => (SqlType::Int8, SqlType::Int8),
            "float4" => (SqlType::Float4, SqlType::Float4),
            "float8" => (SqlType::Float8, SqlType::Float8),
            _ => (SqlType::Numeric(None), SqlType::Numeric(Some((30, i8::try_from(digits).unwrap())))),
        };
        let actual = shown(evaluated(overload("to_char", &declared), (value, given), template));
        (line.to_owned(), expected.to_owned(), actual)
    }));
}

#[test]
fn numbers_are_read_as_in_postgresql() {
    let function = overload("to_number", &SqlType::Text);
    check(include_str!("numbers_read.txt").lines().map(|line| {
        let [text, template, expected] = fields(line)[..] else { panic!("{line}") };
        (line.to_owned(), expected.to_owned(), shown(evaluated(function, (text, SqlType::Text), template)))
    }));
}

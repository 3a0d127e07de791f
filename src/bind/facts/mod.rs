//! How the facts of PostgreSQL 15 are compared with what is bound: two lines each, what was asked and the answer.
//!
//! The answer to what is wrong begins with `!` and has SQLSTATE, position, message, DETAIL and HINT.

pub(crate) mod tables;

use tablegate_types::error::{ErrorKind, Location, SqlError};

/// Compares all facts; `answer` gives `None` of what the parser does not read.
pub(crate) fn compare(facts: &str, most_unread: usize, answer: impl Fn(&str) -> Option<String>) {
    let (mut wrong, mut unread, mut count) = (Vec::new(), 0_usize, 0_usize);
    let mut lines = facts.lines();
    while let (Some(asked), Some(expected)) = (lines.next(), lines.next()) {
        count += 1;
        match answer(asked) {
            None => {
                if std::env::var("SHOW_UNREAD").is_ok() {
                    wrong.push(format!("UNREAD {asked}\n  {expected}"));
                }
                unread += 1;
            }
            Some(found) if found != expected => wrong.push(format!("{asked}\n  {expected}\n  {found}")),
            Some(_) => {}
        }
    }
    let text = wrong.join("\n");
    assert!(wrong.is_empty(), "of {count}, {unread} unread: {} differ\n{text}", wrong.len());
    assert!(unread <= most_unread, "{unread} of {count} are not read");
}

/// Compares facts of a file that the variable names: others than those that are kept, in their form.
pub(crate) fn compare_file(variable: &str, answer: impl Fn(&str) -> Option<String>) {
    if let Ok(file) = std::env::var(variable) {
        compare(&std::fs::read_to_string(file).unwrap(), usize::MAX, answer);
    }
}

/// The error as the facts have it, if the text was asked so far behind its beginning. Of messages that begin like these the
/// DETAIL is said in other words.
pub(crate) fn told(error: &SqlError, shift: usize, said_otherwise: &[&str]) -> String {
    let position = match (error.position, error.location) {
        (Some(position), _) => position,
        (None, Some(Location { column, .. })) => usize::try_from(column).unwrap(),
        (None, None) => shift,
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (detail, hint) = (text(&error.detail), text(&error.hint));
    let is_same = !said_otherwise.iter().any(|message| error.message.starts_with(message));
    let detail = if is_same { detail } else { String::new() };
    let state = sqlstate(error.kind);
    written(&format!("!\t{state}\t{}\t{}\t{detail}\t{hint}", position.saturating_sub(shift), error.message))
}

/// A text as a part of a line.
pub(crate) fn written(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn sqlstate(kind: ErrorKind) -> String {
    let code = match kind {
        ErrorKind::Syntax => "42601",
        ErrorKind::FeatureNotSupported => "0A000",
        ErrorKind::UndefinedTable => "42P01",
        ErrorKind::UndefinedColumn => "42703",
        ErrorKind::UndefinedSchema => "3F000",
        ErrorKind::AmbiguousColumn => "42702",
        ErrorKind::AmbiguousAlias => "42P09",
        ErrorKind::DuplicateAlias => "42712",
        ErrorKind::DuplicateColumn => "42701",
        ErrorKind::UndefinedFunction => "42883",
        ErrorKind::AmbiguousFunction => "42725",
        ErrorKind::UndefinedObject => "42704",
        ErrorKind::DatatypeMismatch => "42804",
        ErrorKind::CannotCoerce => "42846",
        ErrorKind::Grouping => "42803",
        ErrorKind::Windowing => "42P20",
        ErrorKind::InvalidRecursion => "42P19",
        ErrorKind::TooManyArguments => "54023",
        ErrorKind::TooManyColumns => "54011",
        ErrorKind::TooComplex => "54001",
        ErrorKind::InvalidColumnReference => "42P10",
        ErrorKind::GeneratedAlways => "428C9",
        ErrorKind::WrongObjectType => "42809",
        ErrorKind::UndefinedParameter => "42P02",
        ErrorKind::IndeterminateDatatype => "42P18",
        ErrorKind::AmbiguousParameter => "42P08",
        ErrorKind::CollationMismatch => "42P21",
        ErrorKind::InvalidTextRepresentation => "22P02",
        ErrorKind::InvalidDatetimeFormat => "22007",
        ErrorKind::DatetimeOverflow => "22008",
        ErrorKind::NumericOutOfRange => "22003",
        ErrorKind::InvalidParameterValue => "22023",
        other => return format!("{other:?}"),
    };
    code.to_owned()
}

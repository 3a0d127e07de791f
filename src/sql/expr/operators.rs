//! Which operator an operator's name means for operands of given types: PostgreSQL's rules on its own operators.
//!
//! "Typing of operators" in its manual. `data/operators.txt` holds the rows of PostgreSQL 15's `pg_operator` for the types
//! that there are here: left type (`-` for none), right type, result type, then the names with these types. Operators on
//! arrays, whose types are those of the items, are not among them.

use std::collections::HashMap;
use std::sync::LazyLock;

use tablegate_types::candidates::{self, Candidate, Unresolved};
use tablegate_types::conversion::{is_implicit, is_same, name as type_name};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

const OPERATORS: &str = include_str!("data/operators.txt");

/// One row of `pg_operator`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operator {
    /// `None` before its only operand.
    pub left: Option<SqlType>,
    pub right: SqlType,
    pub result: SqlType,
}

static BY_NAME: LazyLock<HashMap<&'static str, Vec<Operator>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&'static str, Vec<Operator>> = HashMap::new();
    for line in OPERATORS.lines() {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let (left, right, result) =
            (SqlType::of_typname(next()), SqlType::of_typname(next()), SqlType::of_typname(next()));
        let (Some(right), Some(result)) = (right, result) else { continue };
        for name in words {
            let operator = Operator { left: left.clone(), right: right.clone(), result: result.clone() };
            by_name.entry(name).or_default().push(operator);
        }
    }
    by_name
});

/// The operator between two operands, `Unknown` for a literal without a type.
///
/// # Errors
/// 42883 when there is none, 42725 when several fit and none is better than the others.
pub(super) fn binary(name: &str, left: &SqlType, right: &SqlType) -> SqlResult<Operator> {
    let candidates: Vec<&'static Operator> =
        BY_NAME.get(name).into_iter().flatten().filter(|operator| operator.left.is_some()).collect();
    // A literal is first taken for what the other operand is.
    let (likely_left, likely_right) = match (left, right) {
        (SqlType::Unknown, known) => (known, known),
        (known, SqlType::Unknown) => (known, known),
        both => both,
    };
    let exact = candidates.iter().find(|operator| {
        operator.left.as_ref().is_some_and(|l| is_same(l, likely_left)) && is_same(&operator.right, likely_right)
    });
    if let Some(exact) = exact {
        return Ok((*exact).clone());
    }
    best(candidates, &[left.clone(), right.clone()]).map_err(|found| unresolved(found, name, Some(left), right))
}

/// The operator before its only operand.
///
/// # Errors
/// As [`binary`].
pub(super) fn prefix(name: &str, operand: &SqlType) -> SqlResult<Operator> {
    let candidates: Vec<&'static Operator> =
        BY_NAME.get(name).into_iter().flatten().filter(|operator| operator.left.is_none()).collect();
    if let Some(exact) = candidates.iter().find(|operator| is_same(&operator.right, operand)) {
        return Ok((*exact).clone());
    }
    best(candidates, std::slice::from_ref(operand)).map_err(|found| unresolved(found, name, None, operand))
}

/// The name of an operator, for as long as the program runs.
pub(super) fn interned(name: &str) -> &'static str {
    BY_NAME.get_key_value(name).map_or("", |(name, _)| *name)
}

impl Operator {
    fn operands(&self) -> impl Iterator<Item = &SqlType> {
        self.left.iter().chain(std::iter::once(&self.right))
    }

    fn takes(&self, given: &[SqlType]) -> bool {
        self.operands().zip(given).all(|(asked, given)| is_implicit(given, asked))
    }
}

impl Candidate for Operator {
    fn asked(&self, index: usize) -> Option<SqlType> {
        self.operands().nth(index).cloned()
    }
}

fn best(mut candidates: Vec<&'static Operator>, given: &[SqlType]) -> Result<Operator, Unresolved> {
    candidates.retain(|operator| operator.takes(given));
    candidates::best(candidates, given).cloned()
}

fn unresolved(why: Unresolved, name: &str, left: Option<&SqlType>, right: &SqlType) -> Box<SqlError> {
    match why {
        Unresolved::None => missing(name, left, right),
        Unresolved::Several => {
            SqlError::new(ErrorKind::AmbiguousFunction, format!("operator is not unique: {}", shown(name, left, right)))
                .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
        }
    }
}

/// There is no operator of this name for these operands (42883).
pub(super) fn missing(name: &str, left: Option<&SqlType>, right: &SqlType) -> Box<SqlError> {
    let hint = match left {
        Some(_) => "No operator matches the given name and argument types. You might need to add explicit type casts.",
        None => "No operator matches the given name and argument type. You might need to add an explicit type cast.",
    };
    let message = format!("operator does not exist: {}", shown(name, left, right));
    SqlError::new(ErrorKind::UndefinedFunction, message).with_hint(hint)
}

fn shown(name: &str, left: Option<&SqlType>, right: &SqlType) -> String {
    match left {
        Some(left) => format!("{} {name} {}", type_name(left), type_name(right)),
        None => format!("{name} {}", type_name(right)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str, left: SqlType, right: SqlType) -> String {
        match binary(name, &left, &right) {
            Ok(Operator { left: Some(left), right, result }) => format!("{left} {right} -> {result}"),
            Ok(_) => "prefix".to_owned(),
            Err(error) => error.message,
        }
    }

    /// Each was asked of PostgreSQL 15.
    #[test]
    fn operators_are_chosen_as_postgresql_does() {
        use SqlType::{Date, Float8, Int2, Int4, Int8, Interval, Numeric, Oid, Text, Timestamp, Timestamptz, Unknown};
        let varchar = SqlType::Varchar(Some(3));
        for (name, left, right, expected) in [
            ("+", Int4, Int4, "integer integer -> integer"),
            ("+", Int2, Int8, "smallint bigint -> bigint"),
            ("+", Int4, Numeric(Some((3, 1))), "numeric numeric -> numeric"),
            ("+", Numeric(None), Float8, "double precision double precision -> double precision"),
            ("+", Unknown, Int4, "integer integer -> integer"),
            ("-", Date, Unknown, "date date -> integer"),
            ("+", Date, Unknown, "operator is not unique: date + unknown"),
            ("-", Timestamp, Unknown, "timestamp without time zone timestamp without time zone -> interval"),
            ("+", Timestamptz, Unknown, "timestamp with time zone interval -> timestamp with time zone"),
            ("*", Interval, Int4, "interval double precision -> interval"),
            ("*", Int4, Interval, "double precision interval -> interval"),
            ("^", Int4, Int4, "double precision double precision -> double precision"),
            ("%", Int2, Int4, "integer integer -> integer"),
            ("=", Oid, Int4, "oid oid -> boolean"),
            ("=", Date, Timestamptz, "date timestamp with time zone -> boolean"),
            ("=", varchar.clone(), Unknown, "text text -> boolean"),
            ("=", varchar, Text, "text text -> boolean"),
            ("=", Unknown, Unknown, "text text -> boolean"),
            ("||", Text, Unknown, "text text -> text"),
            ("=", Int4, Text, "operator does not exist: integer = text"),
            ("+", Text, Int4, "operator does not exist: text + integer"),
            ("+", Unknown, Unknown, "operator is not unique: unknown + unknown"),
            ("%", Float8, Float8, "operator does not exist: double precision % double precision"),
            ("~~", Int4, Unknown, "operator does not exist: integer ~~ unknown"),
        ] {
            assert_eq!(chosen(name, left.clone(), right.clone()), expected, "{left} {name} {right}");
        }
    }

    #[test]
    fn prefix_operators_have_one_operand() {
        assert_eq!(prefix("-", &SqlType::Int4).unwrap().result, SqlType::Int4);
        assert_eq!(prefix("|/", &SqlType::Int4).unwrap().result, SqlType::Float8);
        assert_eq!(prefix("-", &SqlType::Unknown).unwrap_err().message, "operator is not unique: - unknown");
        assert_eq!(prefix("-", &SqlType::Text).unwrap_err().message, "operator does not exist: - text");
    }
}

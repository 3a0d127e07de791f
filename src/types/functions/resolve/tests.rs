//! Each case was asked of PostgreSQL 15.

use arrow::datatypes::Int32Type;

use super::*;
use crate::functions::call::Call;
use crate::functions::signature::Type::{self, *};

fn nothing(call: &Call) -> SqlResult<arrow::array::ArrayRef> {
    call.numbers::<Int32Type>(|_| Ok(0))
}

const fn overload(name: &'static str, arguments: &'static [Type]) -> Overload {
    Overload::new(name, arguments, Int4, nothing)
}

static DATE_TRUNC: [Overload; 3] = [
    overload("timestamptz", &[Text, Timestamptz]),
    overload("timestamp", &[Text, Timestamp]),
    overload("interval", &[Text, Interval]),
];
static DATE_PART: [Overload; 5] = [
    overload("timestamptz", &[Text, Timestamptz]),
    overload("timestamp", &[Text, Timestamp]),
    overload("interval", &[Text, Interval]),
    overload("date", &[Text, Date]),
    overload("time", &[Text, Time]),
];
static SQRT: [Overload; 2] = [overload("float8", &[Float8]), overload("numeric", &[Numeric])];
static LENGTH: [Overload; 2] = [overload("text", &[Text]), overload("bytea", &[Bytea])];
static ROUND: [Overload; 3] =
    [overload("float8", &[Float8]), overload("numeric, int4", &[Numeric, Int4]), overload("numeric", &[Numeric])];
static SUBSTRING: [Overload; 4] = [
    overload("text, int4", &[Text, Int4]),
    overload("bytea, int4", &[Bytea, Int4]),
    overload("text, text", &[Text, Text]),
    overload("text, text, text", &[Text, Text, Text]),
];
static TIMESTAMPS: [Overload; 2] =
    [overload("timestamptz", &[Timestamptz, Timestamptz]), overload("timestamp", &[Timestamp, Timestamp])];
static APPEND: [Overload; 1] = [overload("append", &[CompatibleArray, Compatible])];
static CONCAT: [Overload; 1] = [overload("concat", &[Any]).variadic()];

/// The function chosen for arguments of these types; `None` is a literal.
fn chosen(overloads: &'static [Overload], types: &[Option<SqlType>]) -> Result<&'static str, ErrorKind> {
    let given: Vec<SqlType> = types.iter().map(|t| t.clone().unwrap_or(SqlType::Unknown)).collect();
    let overloads: Vec<&'static Overload> = overloads.iter().collect();
    resolve("f", &overloads, &given).map(|r| r.overload.name).map_err(|error| error.kind)
}

#[test]
fn literals_are_text_where_text_is_taken() {
    assert_eq!(chosen(&LENGTH, &[None]), Ok("text"));
    assert_eq!(chosen(&SUBSTRING, &[None, None]), Ok("text, text"));
    assert_eq!(chosen(&SUBSTRING, &[None, Some(SqlType::Int4)]), Ok("text, int4"));
}

#[test]
fn preferred_types_win() {
    assert_eq!(chosen(&SQRT, &[Some(SqlType::Int4)]), Ok("float8"));
    assert_eq!(chosen(&SQRT, &[None]), Ok("float8"));
    assert_eq!(chosen(&SQRT, &[Some(SqlType::Numeric(Some((3, 1))))]), Ok("numeric"));
    assert_eq!(chosen(&ROUND, &[Some(SqlType::Int4), Some(SqlType::Int4)]), Ok("numeric, int4"));
    assert_eq!(chosen(&TIMESTAMPS, &[Some(SqlType::Date), Some(SqlType::Date)]), Ok("timestamptz"));
    assert_eq!(chosen(&TIMESTAMPS, &[Some(SqlType::Timestamp), None]), Ok("timestamp"));
    assert_eq!(chosen(&TIMESTAMPS, &[None, None]), Ok("timestamptz"));
    assert_eq!(chosen(&DATE_TRUNC, &[None, Some(SqlType::Date)]), Ok("timestamptz"));
    assert_eq!(chosen(&DATE_PART, &[None, Some(SqlType::Date)]), Ok("date"));
}

#[test]
fn what_cannot_be_decided_is_refused() {
    assert_eq!(chosen(&DATE_TRUNC, &[None, None]), Err(ErrorKind::AmbiguousFunction));
    assert_eq!(chosen(&LENGTH, &[Some(SqlType::Int4)]), Err(ErrorKind::UndefinedFunction));
    assert_eq!(chosen(&ROUND, &[Some(SqlType::Float8), Some(SqlType::Int4)]), Err(ErrorKind::UndefinedFunction));
    assert_eq!(chosen(&CONCAT, &[]), Err(ErrorKind::UndefinedFunction));
}

#[test]
fn placeholders_stand_for_a_common_type() {
    let list = |item| Some(SqlType::Array(Box::new(item)));
    let resolved = |types: [Option<SqlType>; 2]| {
        let given = types.map(|sql_type| sql_type.unwrap_or(SqlType::Unknown));
        resolve("f", &[&APPEND[0]], &given).map(|r| r.asked).map_err(|error| error.message)
    };
    let eights = vec![Asked::Exactly(SqlType::Array(Box::new(SqlType::Int8))), Asked::Exactly(SqlType::Int8)];
    assert_eq!(resolved([list(SqlType::Int4), Some(SqlType::Int8)]), Ok(eights.clone()));
    assert_eq!(resolved([list(SqlType::Int8), None]), Ok(eights));
    assert_eq!(
        resolved([list(SqlType::Int4), Some(SqlType::Text)]),
        Err("function f(integer[], text) does not exist".to_owned())
    );
}

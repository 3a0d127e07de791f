//! Lengths and positions. Characters are Unicode code points, as in a UTF-8 database.

use arrow::array::ArrayRef;
use arrow::datatypes::Int32Type;

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bool, Bytea, Char, Int4, Text};
use crate::sql_type::SqlType;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("length", &[Text], Int4, characters),
    Overload::new("length", &[Bytea], Int4, bytes),
    Overload::new("char_length", &[Text], Int4, characters),
    Overload::new("character_length", &[Text], Int4, characters),
    Overload::new("octet_length", &[Text], Int4, text_bytes),
    Overload::new("octet_length", &[Char], Int4, padded_bytes),
    Overload::new("octet_length", &[Bytea], Int4, bytes),
    Overload::new("bit_length", &[Text], Int4, |call| {
        let text = call.text(0)?;
        call.numbers::<Int32Type>(|row| int4(text.at(row).len().saturating_mul(8)))
    }),
    Overload::new("bit_length", &[Bytea], Int4, |call| {
        let bytes = call.bytes(0)?;
        call.numbers::<Int32Type>(|row| int4(bytes.at(row).len().saturating_mul(8)))
    }),
    Overload::new("strpos", &[Text, Text], Int4, position),
    Overload::new("position", &[Text, Text], Int4, position),
    Overload::new("position", &[Bytea, Bytea], Int4, position_of_bytes),
    Overload::new("starts_with", &[Text, Text], Bool, |call| {
        let (text, prefix) = (call.text(0)?, call.text(1)?);
        call.booleans(|row| Ok(text.at(row).starts_with(prefix.at(row))))
    }),
];

/// A count as PostgreSQL's `integer`.
pub(in crate::functions) fn int4(count: usize) -> SqlResult<i32> {
    i32::try_from(count).map_err(|_| SqlError::new(ErrorKind::NumericOutOfRange, "integer out of range"))
}

fn characters(call: &Call) -> SqlResult<ArrayRef> {
    let text = call.text(0)?;
    call.numbers::<Int32Type>(|row| int4(text.at(row).chars().count()))
}

fn text_bytes(call: &Call) -> SqlResult<ArrayRef> {
    let text = call.text(0)?;
    call.numbers::<Int32Type>(|row| int4(text.at(row).len()))
}

/// With the blanks that a `character(n)` is filled up with, which are nowhere else.
fn padded_bytes(call: &Call) -> SqlResult<ArrayRef> {
    let text = call.text(0)?;
    let length = match call.arguments.first().map(|argument| &argument.sql_type) {
        Some(SqlType::Char(length)) => *length as usize,
        _ => 0,
    };
    call.numbers::<Int32Type>(|row| {
        let text = text.at(row);
        int4(text.len() + length.saturating_sub(text.chars().count()))
    })
}

fn bytes(call: &Call) -> SqlResult<ArrayRef> {
    let bytes = call.bytes(0)?;
    call.numbers::<Int32Type>(|row| int4(bytes.at(row).len()))
}

/// Where the second text begins in the first, from 1; 0 when it is not in it.
fn position(call: &Call) -> SqlResult<ArrayRef> {
    let (text, sought) = (call.text(0)?, call.text(1)?);
    call.numbers::<Int32Type>(|row| {
        let text = text.at(row);
        text.find(sought.at(row)).map_or(Ok(0), |at| int4(text[..at].chars().count() + 1))
    })
}

fn position_of_bytes(call: &Call) -> SqlResult<ArrayRef> {
    let (bytes, sought) = (call.bytes(0)?, call.bytes(1)?);
    call.numbers::<Int32Type>(|row| {
        let (bytes, sought) = (bytes.at(row), sought.at(row));
        let found = if sought.is_empty() { Some(0) } else { bytes.windows(sought.len()).position(|w| w == sought) };
        found.map_or(Ok(0), |at| int4(at + 1))
    })
}

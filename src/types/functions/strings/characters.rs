//! Functions that go from character to character: case, order, replacement by table, code points.

use arrow::array::ArrayRef;
use arrow::datatypes::{Int32Type, Int64Type};

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Int4, Int8, Text};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("lower", &[Text], Text, |call| {
        let text = call.text(0)?;
        // Character by character: in PostgreSQL no letter depends on its place in the word.
        call.texts(|row, out| {
            text.at(row).chars().for_each(|c| out.push(single(c, c.to_lowercase())));
            Ok(())
        })
    }),
    Overload::new("upper", &[Text], Text, |call| {
        let text = call.text(0)?;
        call.texts(|row, out| {
            text.at(row).chars().for_each(|c| out.push(single(c, c.to_uppercase())));
            Ok(())
        })
    }),
    Overload::new("initcap", &[Text], Text, initcap),
    Overload::new("reverse", &[Text], Text, |call| {
        let text = call.text(0)?;
        call.texts(|row, out| {
            text.at(row).chars().rev().for_each(|c| out.push(c));
            Ok(())
        })
    }),
    Overload::new("translate", &[Text, Text, Text], Text, translate),
    Overload::new("ascii", &[Text], Int4, |call| {
        let text = call.text(0)?;
        call.numbers::<Int32Type>(|row| Ok(text.at(row).chars().next().map_or(0, |c| u32::from(c).cast_signed())))
    }),
    Overload::new("chr", &[Int4], Text, chr),
    Overload::new("to_hex", &[Int4], Text, |call| {
        let numbers = call.primitive::<Int32Type>(0)?;
        call.texts(|row, out| write_hex(out, numbers.at(row).cast_unsigned().into()))
    }),
    Overload::new("to_hex", &[Int8], Text, |call| {
        let numbers = call.primitive::<Int64Type>(0)?;
        call.texts(|row, out| write_hex(out, numbers.at(row).cast_unsigned()))
    }),
];

/// The one character another case has; a letter that would become several stays as it is, as in C's `towupper`.
fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

fn initcap(call: &Call) -> SqlResult<ArrayRef> {
    let text = call.text(0)?;
    call.texts(|row, out| {
        let mut in_word = false;
        for c in text.at(row).chars() {
            out.push(if in_word { single(c, c.to_lowercase()) } else { single(c, c.to_uppercase()) });
            in_word = c.is_alphanumeric();
        }
        Ok(())
    })
}

/// Each character found in the second argument becomes the one at its place in the third, or nothing beyond its end.
fn translate(call: &Call) -> SqlResult<ArrayRef> {
    let (text, from, to) = (call.text(0)?, call.text(1)?, call.text(2)?);
    call.texts(|row, out| {
        let (from, to) = (from.at(row), to.at(row));
        for c in text.at(row).chars() {
            match from.chars().position(|f| f == c) {
                None => out.push(c),
                Some(place) => to.chars().nth(place).into_iter().for_each(|t| out.push(t)),
            }
        }
        Ok(())
    })
}

fn chr(call: &Call) -> SqlResult<ArrayRef> {
    let codes = call.primitive::<Int32Type>(0)?;
    call.texts(|row, out| {
        out.push(character(codes.at(row))?);
        Ok(())
    })
}

fn character(code: i32) -> SqlResult<char> {
    const GREATEST: u32 = 0x10_FFFF;
    let refused = |message: String| Err(SqlError::new(ErrorKind::LimitExceeded, message));
    match u32::try_from(code) {
        Ok(0) => refused("null character not permitted".to_owned()),
        Err(_) => Err(SqlError::new(ErrorKind::InvalidParameterValue, "character number must be positive")),
        Ok(code) if code > GREATEST => refused(format!("requested character too large for encoding: {code}")),
        Ok(code) => match char::from_u32(code) {
            Some(c) => Ok(c),
            None => refused(format!("requested character not valid for encoding: {code}")),
        },
    }
}

fn write_hex(out: &mut impl std::fmt::Write, number: u64) -> SqlResult<()> {
    // Writing to memory does not fail.
    let _ = write!(out, "{number:x}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_become_characters() {
        assert_eq!(character(233).unwrap(), 'é');
        for (code, kind) in [
            (0, ErrorKind::LimitExceeded),
            (-1, ErrorKind::InvalidParameterValue),
            (55_296, ErrorKind::LimitExceeded),
            (1_114_112, ErrorKind::LimitExceeded),
        ] {
            assert_eq!(character(code).unwrap_err().kind, kind);
        }
    }

    #[test]
    fn letters_without_a_single_counterpart_stay() {
        assert_eq!(single('ß', 'ß'.to_uppercase()), 'ß');
        assert_eq!(single('é', 'é'.to_uppercase()), 'É');
    }
}

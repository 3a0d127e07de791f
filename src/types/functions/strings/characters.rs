//! Functions that go from character to character: case, order, replacement by table, code points.

use std::collections::HashMap;

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
        call.texts(|row, out| out.push_chars(text.at(row).chars().map(|c| single(c, c.to_lowercase()))))
    }),
    Overload::new("upper", &[Text], Text, |call| {
        let text = call.text(0)?;
        call.texts(|row, out| out.push_chars(text.at(row).chars().map(|c| single(c, c.to_uppercase()))))
    }),
    Overload::new("initcap", &[Text], Text, initcap),
    Overload::new("reverse", &[Text], Text, |call| {
        let text = call.text(0)?;
        call.texts(|row, out| out.push_chars(text.at(row).chars().rev()))
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
        out.push_chars(text.at(row).chars().map(|c| {
            let is_first = !std::mem::replace(&mut in_word, c.is_alphanumeric());
            if is_first { single(c, c.to_uppercase()) } else { single(c, c.to_lowercase()) }
        }))
    })
}

/// Each character found in the second argument becomes the one at its place in the third, or nothing beyond its end.
fn translate(call: &Call) -> SqlResult<ArrayRef> {
    let (text, from, to) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let mut table = Table::default();
    call.texts(|row, out| {
        table.set(from.at(row), to.at(row));
        out.push_chars(text.at(row).chars().filter_map(|c| table.replaced(c)))
    })
}

/// What becomes of each character; that of the row before is that of the next one too, most of the time.
#[derive(Default)]
struct Table {
    from: String,
    to: String,
    replacements: HashMap<char, Option<char>>,
}

impl Table {
    fn set(&mut self, from: &str, to: &str) {
        if self.from == from && self.to == to {
            return;
        }
        self.replacements.clear();
        let mut replacements = to.chars();
        for c in from.chars() {
            let replacement = replacements.next();
            // The first of several counts.
            self.replacements.entry(c).or_insert(replacement);
        }
        from.clone_into(&mut self.from);
        to.clone_into(&mut self.to);
    }

    fn replaced(&self, c: char) -> Option<char> {
        self.replacements.get(&c).copied().unwrap_or(Some(c))
    }
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
    fn a_character_is_replaced_by_that_at_its_first_place() {
        let mut table = Table::default();
        let mut translated = |text: &str, from, to| {
            table.set(from, to);
            text.chars().filter_map(|c| table.replaced(c)).collect::<String>()
        };
        assert_eq!(translated("12345", "143", "ax"), "a2x5");
        assert_eq!(translated("aabb", "aba", "xyz"), "xxyy");
        assert_eq!(translated("abc", "", "x"), "abc");
    }

    #[test]
    fn letters_without_a_single_counterpart_stay() {
        assert_eq!(single('ß', 'ß'.to_uppercase()), 'ß');
        assert_eq!(single('é', 'é'.to_uppercase()), 'É');
    }
}

//! `split_part`: the n-th field of a text, from either end.

use arrow::array::ArrayRef;
use arrow::datatypes::Int32Type;

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Int4, Text};

pub(super) const FUNCTIONS: &[Overload] = &[Overload::new("split_part", &[Text, Text, Int4], Text, split_part)];

fn split_part(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, separators, numbers) = (call.text(0)?, call.text(1)?, call.primitive::<Int32Type>(2)?);
    call.texts(|row, out| {
        out.push_str(part(texts.at(row), separators.at(row), numbers.at(row))?);
        Ok(())
    })
}

fn part<'t>(text: &'t str, separator: &str, number: i32) -> SqlResult<&'t str> {
    let place = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let part = match (number, separator) {
        (0, _) => {
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, "field position must not be zero"));
        }
        (1 | -1, "") => Some(text),
        (_, "") => None,
        (1.., _) => text.split(separator).nth(place - 1),
        _ => text.rsplit(separator).nth(place - 1),
    };
    Ok(part.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_both_ends() {
        for (text, separator, number, expected) in [
            ("a,b,c", ",", 2, "b"),
            ("a,b,c", ",", -1, "c"),
            ("a,b", ",", 3, ""),
            ("abc", "", 1, "abc"),
            ("abc", "", -1, "abc"),
            ("abc", "", 2, ""),
            ("", ",", 1, ""),
            ("a~@~b~@~c", "~@~", -3, "a"),
        ] {
            assert_eq!(part(text, separator, number).unwrap(), expected, "{text} {number}");
        }
        assert_eq!(part("a", ",", 0).unwrap_err().kind, ErrorKind::InvalidParameterValue);
    }
}

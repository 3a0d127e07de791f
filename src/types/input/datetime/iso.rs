//! Moments in the one form that programs write: `2014-08-22 00:50:32.5`, with or without an offset in whole minutes.
//!
//! What is read here means the same in every style. Anything else, be it wrong, goes the long way through fields.

use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, days_in_month};

/// A moment as it is written: microseconds since 1970 where it was written, and seconds east of Greenwich if it says so.
pub(super) fn moment(text: &str) -> Option<(i64, Option<i64>)> {
    let (date, rest) = text.as_bytes().split_first_chunk::<10>()?;
    let days = day(date)?;
    let (separator, rest) = rest.split_first()?;
    if !matches!(separator, b' ' | b'T') {
        return None;
    }
    let (time, mut rest) = rest.split_first_chunk::<8>()?;
    let [h1, h2, b':', m1, m2, b':', s1, s2] = time else { return None };
    let (hours, minutes, seconds) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?, number(&[*s1, *s2])?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let mut micros = ((hours * 60 + minutes) * 60 + seconds) * MICROS_PER_SECOND;
    if let Some((b'.', fraction)) = rest.split_first() {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // More of them are rounded.
        if !(1..=6).contains(&digits) {
            return None;
        }
        let (fraction, behind) = fraction.split_at(digits);
        micros += (digits..6).try_fold(number(fraction)?, |value, _| Some(value * 10))?;
        rest = behind;
    }
    let east = match rest {
        [] => None,
        [b'Z'] => Some(0),
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let (hours, minutes) = match offset {
                [h1, h2] => (number(&[*h1, *h2])?, 0),
                [h1, h2, b':', m1, m2] => (number(&[*h1, *h2])?, number(&[*m1, *m2])?),
                _ => return None,
            };
            if hours > 14 || minutes > 59 {
                return None;
            }
            let east = (hours * 60 + minutes) * 60;
            Some(if *sign == b'-' { -east } else { east })
        }
        _ => return None,
    };
    Some((days * MICROS_PER_DAY + micros, east))
}

/// Days since 1970 of `2014-08-22`.
pub(super) fn date(text: &str) -> Option<i64> {
    day(text.as_bytes().try_into().ok()?)
}

fn day(date: &[u8; 10]) -> Option<i64> {
    let [year @ .., b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let (year, month, day) = (number(year)?, number(&[*m1, *m2])?, number(&[*d1, *d2])?);
    let is_one = year > 0 && (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    is_one.then(|| days_from_civil(year, month, day))
}

/// The number that some digits are.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decode::{self, Said};
    use super::super::fields::Fields;
    use super::*;
    use crate::style::Reading;

    fn the_long_way(text: &str) -> Option<(i64, i64, i64)> {
        match Fields::split(text).and_then(|fields| decode::moment(&fields, Reading::default())).ok()? {
            Said::At { days, micros, east } => Some((days, micros, east)),
            Said::Epoch | Said::Infinity => None,
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_long_way_reads(
            text in "[0-2][0-9]{3}-[01][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{1,7})?(Z|[+-][01][0-9](:[0-6][0-9])?)?"
        ) {
            if let Some((moment, east)) = moment(&text) {
                let (days, micros, long_east) = the_long_way(&text).expect("it is a moment");
                prop_assert_eq!(moment, days * MICROS_PER_DAY + micros);
                prop_assert_eq!(east.unwrap_or_default(), long_east);
            }
        }

        #[test]
        fn days_are_those_of_the_long_way(text in "[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]") {
            if let Some(day) = date(&text) {
                prop_assert_eq!(Some((day, 0, 0)), the_long_way(&text));
            }
        }
    }

    #[test]
    fn most_forms_of_programs_are_read_here() {
        for (text, expected) in [
            ("1970-01-02 00:00:01", Some((86_401_000_000, None))),
            ("1970-01-01T00:00:00.5Z", Some((500_000, Some(0)))),
            ("1970-01-01 00:00:00.000001+05:30", Some((1, Some(19_800)))),
            ("1970-01-01 00:00:00-08", Some((0, Some(-28_800)))),
            ("2023-02-29 00:00:00", None),
            ("1970-01-01 24:00:00", None),
            ("1970-01-01 00:00:00.1234567", None),
            ("1970-01-01", None),
            ("now", None),
        ] {
            assert_eq!(moment(text), expected, "{text}");
        }
    }
}

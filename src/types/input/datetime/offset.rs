//! Offsets from UTC as dates and times have them.

use super::Fail;
use super::fields::leading_integer;

/// Reads `+02`, `-0830`, `+02:00`, `+02:00:30`: seconds east of UTC.
///
/// # Errors
/// [`Fail::ZoneOverflow`] for more than fifteen hours.
pub(super) fn offset(text: &[u8]) -> Result<i64, Fail> {
    const MAX_HOURS: i64 = 15;
    let sign = match text.first() {
        Some(b'-') => -1,
        Some(b'+') => 1,
        _ => return Err(Fail::Syntax),
    };
    let part = |text: &'_ [u8]| leading_integer(text).map(|(value, rest)| (value, rest.len()));
    let tail = |length: usize| &text[text.len() - length..];
    let (mut hours, mut left) = part(&text[1..]).map_err(|_| Fail::ZoneOverflow)?;
    let (mut minutes, mut seconds) = (0, 0);
    if tail(left).first() == Some(&b':') {
        (minutes, left) = part(tail(left - 1)).map_err(|_| Fail::ZoneOverflow)?;
        if tail(left).first() == Some(&b':') {
            (seconds, left) = part(tail(left - 1)).map_err(|_| Fail::ZoneOverflow)?;
        }
    } else if left == 0 && text.len() > 3 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    let fits = |value: i64| (0..60).contains(&value);
    if !(0..=MAX_HOURS).contains(&hours) || !fits(minutes) || !fits(seconds) {
        return Err(Fail::ZoneOverflow);
    }
    if left > 0 {
        return Err(Fail::Syntax);
    }
    Ok(sign * (hours * 3600 + minutes * 60 + seconds))
}

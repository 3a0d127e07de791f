//! Instants as the service reads them: more forms than it prints.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use tablegate_store::model::EdmDateTime;

const TICKS_PER_SECOND: i64 = 10_000_000;

/// `YYYY-MM-DD`, or with a time `Thh:mm`, `Thh:mm:ss` or `Thh:mm:ss.f` of up to seven digits, then `Z`, `+hh:mm`, `-hh:mm`
/// or nothing, which means UTC. `None` for anything else, and outside what the service holds.
pub(crate) fn parse(text: &str) -> Option<EdmDateTime> {
    // No day of the service has a second more than others.
    if text.get(16..19) == Some(":60") {
        return None;
    }
    // The one form that clients write.
    if let Some(instant) = canonical(text) {
        return Some(instant);
    }
    let (date, rest) = text.split_at_checked(10)?;
    let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
    let Some(time) = rest.strip_prefix(['T', 't']) else {
        return if rest.is_empty() { ticks(date.and_time(NaiveTime::MIN), 0, 0) } else { None };
    };
    let (time, offset) = split_offset(time)?;
    let (whole, fraction) = match time.split_once('.') {
        Some((whole, digits)) if whole.len() == 8 => (whole, fraction(digits)?),
        Some(_) => return None,
        None => (time, 0),
    };
    let format = match whole.len() {
        5 => "%H:%M",
        8 => "%H:%M:%S",
        _ => return None,
    };
    let time = NaiveTime::parse_from_str(whole, format).ok()?;
    ticks(date.and_time(time), fraction, offset)
}

/// `2021-09-21T00:54:03.1536324Z`, with fewer digits or none.
fn canonical(text: &str) -> Option<EdmDateTime> {
    let digits = text.strip_suffix('Z')?.get(19..)?;
    // More digits than there are ticks for would be cut off.
    if digits.len() <= 8 && text.as_bytes().get(10) == Some(&b'T') { EdmDateTime::parse(text) } else { None }
}

fn ticks(at: NaiveDateTime, fraction: i64, offset_minutes: i64) -> Option<EdmDateTime> {
    let seconds = at.and_utc().timestamp() - offset_minutes * 60;
    EdmDateTime::from_unix_ticks(seconds.checked_mul(TICKS_PER_SECOND)?.checked_add(fraction)?)
}

/// The time, and the minutes that it is ahead of UTC.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (time, offset) = text.split_at(at);
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let number = |digits: &str, most: i64| {
        let is_two = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_two.then(|| digits.parse::<i64>().ok()).flatten().filter(|number| *number <= most)
    };
    let minutes = number(hours, 23)? * 60 + number(minutes, 59)?;
    Some((time, if offset.starts_with('-') { -minutes } else { minutes }))
}

/// Up to seven digits as ticks.
fn fraction(digits: &str) -> Option<i64> {
    let is_fraction = (1..=7).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_fraction.then(|| format!("{digits:0<7}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_services_forms_are_read() {
        let forms = [
            ("2021-01-02", "2021-01-02T00:00:00Z"),
            ("2021-01-02T03:04Z", "2021-01-02T03:04:00Z"),
            ("2021-01-02T03:04:05", "2021-01-02T03:04:05Z"),
            ("2021-01-02T03:04:05.1Z", "2021-01-02T03:04:05.1Z"),
            ("2021-01-02T03:04:05.1234567Z", "2021-01-02T03:04:05.1234567Z"),
            ("2021-01-02T03:04:05+01:30", "2021-01-02T01:34:05Z"),
            ("2021-01-02T03:04:05.5-23:59", "2021-01-03T03:03:05.5Z"),
            ("1601-01-01T00:00:00Z", "1601-01-01T00:00:00Z"),
        ];
        for (text, expected) in forms {
            assert_eq!(parse(text).map(|at| at.to_string()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn others_are_not() {
        for text in [
            "",
            "x",
            "2021",
            "2021-13-01",
            "2021-01-02T",
            "2021-01-02 03:04:05Z",
            "2021-01-02T03:04:05.12345678Z",
            "2021-01-02T03:04:05.Z",
            "2021-01-02T03:04.5Z",
            "2021-01-02T03:04:05+24:00",
            "1600-12-31T23:59:59Z",
            "2021-01-02T3:4:5Z",
            "2021-01-02T3:04:5Z",
            "é21-01-02T03:04:05Z",
            "2021-01-02T03:04:60Z",
            "2021-01-02T03:04:60.5+01:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

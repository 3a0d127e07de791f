//! The value of TimeZone: a name of the time zone database, an offset, or hours east of Greenwich.

use crate::calendar::{Zone, offset_text};

const SECONDS_PER_HOUR: f64 = 3600.0;
/// PostgreSQL's bound on a zone's distance from Greenwich.
const HOURS_MAX: f64 = 167.0;

/// The zone that a value of the setting names, and its name as SHOW has it. `None` for what names none.
pub fn named_zone(value: &str) -> Option<(Zone, String)> {
    if let Ok(hours) = value.trim().parse::<f64>() {
        return hours.is_finite().then(|| of_hours(hours)).flatten();
    }
    if let Some(offset) = shown_offset(value) {
        return Some((Zone::Fixed(offset), value.to_owned()));
    }
    Zone::of_name(value)
}

/// So many hours east, which PostgreSQL shows as POSIX writes it: `<+02>-02`.
fn of_hours(hours: f64) -> Option<(Zone, String)> {
    #[expect(clippy::cast_possible_truncation, reason = "a few hours in seconds")]
    let seconds = (hours.abs() <= HOURS_MAX).then_some((hours * SECONDS_PER_HOUR) as i64)?;
    Some((Zone::Fixed(seconds), offset_name(seconds)))
}

/// The name of a zone that is so many seconds east of Greenwich.
pub fn offset_name(seconds: i64) -> String {
    // Of none at all the sign is that of the east.
    let west = if seconds < 0 { '+' } else { '-' };
    let east = offset_text(seconds);
    format!("<{east}>{west}{}", &east[1..])
}

/// Seconds east of Greenwich of a name that [`offset_name`] gives.
fn shown_offset(value: &str) -> Option<i64> {
    let (sign, rest) = match value.strip_prefix('<')?.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (clock, _) = rest.split_once('>')?;
    let mut seconds = 0;
    for (part, size) in clock.split(':').zip([3600, 60, 1]) {
        seconds += part.parse::<i64>().ok()? * size;
    }
    (offset_name(sign * seconds) == value).then_some(sign * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_show_as_postgresql_shows_them() {
        for (value, shown) in [
            ("europe/athens", Some("Europe/Athens")),
            ("+02", Some("<+02>-02")),
            ("2.5", Some("<+02:30>-02:30")),
            ("-5", Some("<-05>+05")),
            ("UTC+3", Some("UTC+3")),
            ("est5edt", Some("EST5EDT")),
            ("utc", Some("UTC")),
            ("<+02>-02", Some("<+02>-02")),
            ("z", None),
            ("nope", None),
            ("", None),
            (" utc", None),
            ("200", None),
        ] {
            assert_eq!(named_zone(value).map(|(_, name)| name).as_deref(), shown, "{value}");
        }
    }
}

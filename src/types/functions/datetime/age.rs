//! `age`: the difference of two timestamps in years, months and days.

use arrow::array::ArrayRef;
use arrow::datatypes::{IntervalMonthDayNanoType, TimestampMicrosecondType};

use super::civil::Moment;
use super::interval::Parts;
use crate::calendar::{MICROS_PER_DAY, Zone};
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Interval, Timestamp, Timestamptz};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("age", &[Timestamptz, Timestamptz], Interval, |call| between(call, Some(call.style().zone))).stable(),
    Overload::new("age", &[Timestamp, Timestamp], Interval, |call| between(call, None)),
    Overload::new("age", &[Timestamptz], Interval, |call| until_today(call, Some(call.style().zone))).stable(),
    Overload::new("age", &[Timestamp], Interval, |call| until_today(call, None)).stable(),
];

fn between(call: &Call, zone: Option<Zone>) -> SqlResult<ArrayRef> {
    let (ends, starts) =
        (call.primitive::<TimestampMicrosecondType>(0)?, call.primitive::<TimestampMicrosecondType>(1)?);
    call.numbers::<IntervalMonthDayNanoType>(|row| {
        age(local(ends.at(row), zone)?, local(starts.at(row), zone)?).interval()
    })
}

/// Until the midnight that today began with.
fn until_today(call: &Call, zone: Option<Zone>) -> SqlResult<ArrayRef> {
    let starts = call.primitive::<TimestampMicrosecondType>(0)?;
    let now = call.style().zone.to_local(call.moments.transaction())?;
    let midnight = now - now.rem_euclid(MICROS_PER_DAY);
    call.numbers::<IntervalMonthDayNanoType>(|row| age(midnight, local(starts.at(row), zone)?).interval())
}

/// A moment on the clock of its zone.
fn local(moment: i64, zone: Option<Zone>) -> SqlResult<i64> {
    zone.map_or(Ok(moment), |zone| zone.to_local(moment))
}

fn age(end: i64, start: i64) -> Parts {
    let is_negative = end < start;
    let (later, earlier) = if is_negative { (start, end) } else { (end, start) };
    let (later, earlier) = (Moment::of_micros(later), Moment::of_micros(earlier));
    let mut micros = later.micros - earlier.micros;
    let mut days = later.date.day - earlier.date.day;
    let mut months = (later.date.year - earlier.date.year) * 12 + later.date.month - earlier.date.month;
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    while days < 0 {
        // Days are borrowed from the month that the first argument's or the earlier moment lies in.
        days += earlier.date.days_in_month();
        months -= 1;
    }
    let sign = if is_negative { -1 } else { 1 };
    Parts { months: sign * months, days: sign * days, micros: sign * micros }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::parse_text;
    use crate::sql_type::SqlType;
    use datafusion_common::ScalarValue;

    fn micros(text: &str) -> i64 {
        match parse_text(&SqlType::Timestamp, text).unwrap() {
            ScalarValue::TimestampMicrosecond(Some(micros), _) => micros,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn ages_are_postgresqls() {
        const HOUR: i64 = 3_600_000_000;
        for (end, start, months, days, time) in [
            ("2001-04-10", "1957-06-13", 43 * 12 + 9, 27, 0),
            ("2020-03-01", "2020-02-28", 0, 2, 0),
            ("2020-01-31 10:00", "2020-03-01 12:00", -1, -1, -2 * HOUR),
            ("2020-03-31 00:00:01", "2020-02-29 23:59:59", 1, 1, 2_000_000),
        ] {
            assert_eq!(age(micros(end), micros(start)), Parts { months, days, micros: time }, "{end} {start}");
        }
    }
}

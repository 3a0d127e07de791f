//! `justify_hours`, `justify_days`, `justify_interval`: 24 hours as a day, 30 days as a month.

use arrow::array::ArrayRef;
use arrow::datatypes::IntervalMonthDayNanoType;

use super::interval::Parts;
use crate::calendar::MICROS_PER_DAY;
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::Interval;

const DAYS_PER_MONTH: i64 = 30;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("justify_hours", &[Interval], Interval, |call| justified(call, hours)),
    Overload::new("justify_days", &[Interval], Interval, |call| justified(call, days)),
    Overload::new("justify_interval", &[Interval], Interval, |call| justified(call, all)),
];

fn justified(call: &Call, justify: fn(Parts) -> Parts) -> SqlResult<ArrayRef> {
    let values = call.primitive::<IntervalMonthDayNanoType>(0)?;
    call.numbers::<IntervalMonthDayNanoType>(|row| justify(Parts::of(values.at(row))).interval())
}

fn hours(mut parts: Parts) -> Parts {
    carry_hours(&mut parts);
    level_hours(&mut parts);
    parts
}

fn days(mut parts: Parts) -> Parts {
    carry_days(&mut parts);
    if parts.months > 0 && parts.days < 0 {
        parts.days += DAYS_PER_MONTH;
        parts.months -= 1;
    } else if parts.months < 0 && parts.days > 0 {
        parts.days -= DAYS_PER_MONTH;
        parts.months += 1;
    }
    parts
}

fn all(mut parts: Parts) -> Parts {
    carry_hours(&mut parts);
    carry_days(&mut parts);
    if parts.months > 0 && (parts.days < 0 || (parts.days == 0 && parts.micros < 0)) {
        parts.days += DAYS_PER_MONTH;
        parts.months -= 1;
    } else if parts.months < 0 && (parts.days > 0 || (parts.days == 0 && parts.micros > 0)) {
        parts.days -= DAYS_PER_MONTH;
        parts.months += 1;
    }
    level_hours(&mut parts);
    parts
}

/// Hours get the sign of the days.
fn level_hours(parts: &mut Parts) {
    if parts.days > 0 && parts.micros < 0 {
        parts.micros += MICROS_PER_DAY;
        parts.days -= 1;
    } else if parts.days < 0 && parts.micros > 0 {
        parts.micros -= MICROS_PER_DAY;
        parts.days += 1;
    }
}

fn carry_hours(parts: &mut Parts) {
    parts.days += parts.micros / MICROS_PER_DAY;
    parts.micros %= MICROS_PER_DAY;
}

fn carry_days(parts: &mut Parts) {
    parts.months += parts.days / DAYS_PER_MONTH;
    parts.days %= DAYS_PER_MONTH;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_one_sign() {
        const HOUR: i64 = 3_600_000_000;
        let parts = |months, days, micros| Parts { months, days, micros };
        assert_eq!(hours(parts(0, 0, 27 * HOUR)), parts(0, 1, 3 * HOUR));
        assert_eq!(hours(parts(0, 2, -30 * HOUR)), parts(0, 0, 18 * HOUR));
        assert_eq!(days(parts(1, -35, 0)), parts(0, -5, 0));
        assert_eq!(all(parts(1, 0, -HOUR)), parts(0, 29, 23 * HOUR));
    }
}

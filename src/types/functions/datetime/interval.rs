//! Intervals in PostgreSQL's parts: months, days, microseconds.

use arrow::datatypes::IntervalMonthDayNano;

use super::civil::{Date, Moment, interval_out_of_range, timestamp_out_of_range};
use crate::calendar::{FIRST_DAY, MICROS_PER_DAY, Zone};
use crate::error::SqlResult;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::functions) struct Parts {
    pub months: i64,
    pub days: i64,
    pub micros: i64,
}

impl Parts {
    pub(crate) fn of(value: IntervalMonthDayNano) -> Self {
        Self { months: value.months.into(), days: value.days.into(), micros: value.nanoseconds / 1_000 }
    }

    /// About how long it is, with months of 30 days, in microseconds: its sign is what counts.
    pub(crate) fn estimate(self) -> i128 {
        const DAYS_PER_MONTH: i64 = 30;
        const MICROS_PER_DAY: i128 = 86_400_000_000;
        i128::from(self.months * DAYS_PER_MONTH + self.days) * MICROS_PER_DAY + i128::from(self.micros)
    }

    /// A timestamp so much later: the day of a month that has no such day is its last one.
    ///
    /// # Errors
    /// 22008 outside of what a timestamp holds.
    pub(crate) fn added_to(self, timestamp: i64) -> SqlResult<i64> {
        let mut moment = Moment::of_micros(timestamp);
        if self.months != 0 {
            let months = moment.date.year * 12 + moment.date.month - 1 + self.months;
            let first = Date { year: months.div_euclid(12), month: months.rem_euclid(12) + 1, day: 1 };
            moment.date = Date { day: moment.date.day.min(first.days_in_month()), ..first };
        }
        moment.date = Date::of_days(moment.date.days() + self.days);
        moment.timestamp()?.checked_add(self.micros).ok_or_else(timestamp_out_of_range)
    }

    /// A timestamp plus an interval: months and days are added in the zone's calendar, the time as elapsed time.
    ///
    /// # Errors
    /// As [`Parts::added_to`].
    pub(crate) fn added_in(self, zone: Zone, moment: i64) -> SqlResult<i64> {
        let mut moved = moment;
        if self.months != 0 || self.days != 0 {
            moved = zone.to_utc(Parts { micros: 0, ..self }.added_to(zone.to_local(moment)?)?)?;
        }
        moved
            .checked_add(self.micros)
            .filter(|moved| *moved >= FIRST_DAY * MICROS_PER_DAY)
            .ok_or_else(timestamp_out_of_range)
    }

    /// # Errors
    /// 22008 for a part that is too large.
    pub(crate) fn interval(self) -> SqlResult<IntervalMonthDayNano> {
        let months = i32::try_from(self.months).ok();
        let days = i32::try_from(self.days).ok();
        match (months, days, self.micros.checked_mul(1_000)) {
            (Some(months), Some(days), Some(nanos)) => Ok(IntervalMonthDayNano::new(months, days, nanos)),
            _ => Err(interval_out_of_range()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_end_where_they_end() {
        let days = |year, month, day| Date { year, month, day }.days() * 86_400_000_000;
        let month = Parts { months: 1, days: 0, micros: 0 };
        assert_eq!(month.added_to(days(2020, 1, 31)).unwrap(), days(2020, 2, 29));
        let back = Parts { months: -13, days: 1, micros: -1 };
        assert_eq!(back.added_to(days(2020, 3, 31)).unwrap(), days(2019, 3, 1) - 1);
    }
}

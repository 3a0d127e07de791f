//! `extract` and `date_part`: one field of a date, time or interval.
//!
//! `extract` is `numeric` with as many digits behind the point as the field has, `date_part` double precision.

use arrow::array::ArrayRef;
use arrow::datatypes::{
    Date32Type, Float64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, i256,
};

use super::civil::{Date, JULIAN_OF_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, Moment};
use super::interval::Parts;
use super::unit::{Unit, unit, unsupported};
use crate::calendar::MICROS_PER_DAY;
use crate::error::SqlResult;
use crate::functions::call::{Argument, Call};
use crate::functions::signature::Type::{
    Date as DateType, Float8, Interval, Numeric, Text, Time, Timestamp, Timestamptz,
};
use crate::functions::signature::{Arguments, Overload};
use crate::input::Digits;
use crate::sql_type::{BARE_NUMERIC_SCALE, SqlType};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("extract", &[Text, DateType], Numeric, numerics).sized(|arguments| size(arguments, Source::Date)),
    Overload::new("extract", &[Text, Time], Numeric, numerics).sized(|arguments| size(arguments, Source::Time)),
    Overload::new("extract", &[Text, Timestamp], Numeric, numerics)
        .sized(|arguments| size(arguments, Source::Timestamp)),
    Overload::new("extract", &[Text, Timestamptz], Numeric, numerics)
        .sized(|arguments| size(arguments, Source::Timestamptz))
        .stable(),
    Overload::new("extract", &[Text, Interval], Numeric, numerics).sized(|arguments| size(arguments, Source::Interval)),
    // Of a date it is that of its midnight, though `extract` knows no hours of a date.
    Overload::new("date_part", &[Text, DateType], Float8, |call| floats(&of_midnight(call)?)),
    Overload::new("date_part", &[Text, Time], Float8, floats),
    Overload::new("date_part", &[Text, Timestamp], Float8, floats),
    Overload::new("date_part", &[Text, Timestamptz], Float8, floats).stable(),
    Overload::new("date_part", &[Text, Interval], Float8, floats),
];

/// What a field is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Interval,
}

impl Source {
    fn of(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::Date => Source::Date,
            SqlType::Time => Source::Time,
            SqlType::Timestamp => Source::Timestamp,
            SqlType::Timestamptz => Source::Timestamptz,
            _ => Source::Interval,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Source::Date => "date",
            Source::Time => "time without time zone",
            Source::Timestamp => "timestamp without time zone",
            Source::Timestamptz => "timestamp with time zone",
            Source::Interval => "interval",
        }
    }
}

/// A field's value: an integer, or one with digits behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Whole(i64),
    /// In thousandths.
    Millis(i64),
    /// In millionths.
    Micros(i128),
    /// Days with microseconds of the next one.
    Days(i64, i64),
}

impl Field {
    fn numeric(self, digits: Digits) -> SqlResult<i256> {
        let (value, scale) = match self {
            Field::Whole(value) => (value.into(), 0),
            Field::Millis(value) => (value.into(), 3),
            Field::Micros(value) => (value, 6),
            Field::Days(days, micros) => {
                /// 10^20: as many digits as a `numeric` without declared size has.
                const UNIT: i128 = 100_000_000_000_000_000_000;
                let per_day = i128::from(MICROS_PER_DAY);
                // Half of the divisor more, to round.
                let fraction = (i128::from(micros) * UNIT + per_day / 2) / per_day;
                (i128::from(days) * UNIT + fraction, BARE_NUMERIC_SCALE)
            }
        };
        digits.rescale(i256::from_i128(value), scale)
    }

    #[expect(clippy::cast_precision_loss, reason = "a double is what was asked for")]
    fn float(self) -> f64 {
        match self {
            Field::Whole(value) => value as f64,
            Field::Millis(value) => value as f64 / 1e3,
            Field::Micros(value) => value as f64 / 1e6,
            Field::Days(days, micros) => days as f64 + micros as f64 / MICROS_PER_DAY as f64,
        }
    }
}

/// As many digits behind the point as the field has, when it is a constant.
fn size(arguments: &Arguments<'_>, source: Source) -> SqlResult<SqlType> {
    /// All years, and all seconds since 1970, have fewer digits.
    const WHOLE_DIGITS: u8 = 24;
    let Some(name) = arguments.constant_text(0) else { return Ok(SqlType::Numeric(None)) };
    let scale: i8 = match unit(name, source.name())? {
        Unit::Second => 6,
        Unit::Millisecond => 3,
        Unit::Epoch if source != Source::Date => 6,
        Unit::Julian if source != Source::Date => return Ok(SqlType::Numeric(None)),
        _ => 0,
    };
    Ok(SqlType::Numeric(Some((WHOLE_DIGITS + scale.unsigned_abs(), scale))))
}

fn numerics(call: &Call) -> SqlResult<ArrayRef> {
    let fields = Fields::of(call)?;
    call.decimal_results(|row, digits| fields.at(row)?.numeric(digits))
}

fn floats(call: &Call) -> SqlResult<ArrayRef> {
    let fields = Fields::of(call)?;
    call.numbers::<Float64Type>(|row| Ok(fields.at(row)?.float()))
}

/// The call with its date as a timestamp.
fn of_midnight(call: &Call) -> SqlResult<Call> {
    let as_timestamp = |argument: &Argument| -> SqlResult<Argument> {
        let constant = argument.constant;
        if argument.sql_type != SqlType::Date {
            return Ok(Argument { array: argument.array.clone(), sql_type: argument.sql_type.clone(), constant });
        }
        let array = arrow::compute::cast(&argument.array, &SqlType::Timestamp.arrow())?;
        Ok(Argument { array, sql_type: SqlType::Timestamp, constant })
    };
    Ok(Call {
        arguments: call.arguments.iter().map(as_timestamp).collect::<SqlResult<_>>()?,
        returns: call.returns.clone(),
        rows: call.rows,
        nulls: call.nulls.clone(),
        moments: call.moments.clone(),
    })
}

/// The fields that a call asks for.
struct Fields<'a> {
    call: &'a Call,
    source: Source,
    constant: Option<Unit>,
}

impl<'a> Fields<'a> {
    fn of(call: &'a Call) -> SqlResult<Self> {
        let source = Source::of(&call.arguments[1].sql_type);
        let constant = call.text(0)?.constant().map(|name| unit(name, source.name())).transpose()?;
        Ok(Self { call, source, constant })
    }

    fn at(&self, row: usize) -> SqlResult<Field> {
        let name = self.call.text(0)?.at(row);
        let unit = self.constant.map_or_else(|| unit(name, self.source.name()), Ok)?;
        let field = match self.source {
            Source::Date => of_date(Date::of_days(self.call.primitive::<Date32Type>(1)?.at(row).into()), unit),
            Source::Time => of_time(self.call.primitive::<Time64MicrosecondType>(1)?.at(row), unit),
            Source::Timestamp => of_timestamp(self.call.primitive::<TimestampMicrosecondType>(1)?.at(row), unit),
            Source::Timestamptz => {
                let moment = self.call.primitive::<TimestampMicrosecondType>(1)?.at(row);
                of_moment(moment, self.call.style().zone.east_at(moment), unit)
            }
            Source::Interval => {
                of_interval(Parts::of(self.call.primitive::<IntervalMonthDayNanoType>(1)?.at(row)), unit)
            }
        };
        field.ok_or_else(|| unsupported(name, self.source.name()))
    }
}

fn of_date(date: Date, unit: Unit) -> Option<Field> {
    Some(Field::Whole(match unit {
        Unit::Day => date.day,
        Unit::Month => date.month,
        Unit::Quarter => (date.month - 1) / 3 + 1,
        Unit::Week => date.iso_week().1,
        Unit::Year => date.shown_year(),
        Unit::Decade => date.year.div_euclid(10),
        // There is no century and no millennium 0.
        Unit::Century => ordinal(date.year, 100),
        Unit::Millennium => ordinal(date.year, 1000),
        Unit::Julian => date.days() + JULIAN_OF_EPOCH,
        Unit::IsoYear => {
            let year = date.iso_week().0;
            if year > 0 { year } else { year - 1 }
        }
        Unit::DayOfWeek => date.day_of_week(),
        Unit::IsoDayOfWeek => date.iso_day_of_week(),
        Unit::DayOfYear => date.day_of_year(),
        Unit::Epoch => date.days() * (MICROS_PER_DAY / MICROS_PER_SECOND),
        Unit::Microsecond
        | Unit::Millisecond
        | Unit::Second
        | Unit::Minute
        | Unit::Hour
        | Unit::Timezone
        | Unit::TimezoneHour
        | Unit::TimezoneMinute => return None,
    }))
}

/// Which period of so many years a year lies in, the first of our era being 1 and the last before it -1.
fn ordinal(year: i64, years: i64) -> i64 {
    let period = (year - 1).div_euclid(years);
    if period >= 0 { period + 1 } else { period }
}

fn of_time(micros: i64, unit: Unit) -> Option<Field> {
    let of_minute = micros % MICROS_PER_MINUTE;
    Some(match unit {
        Unit::Microsecond => Field::Whole(of_minute),
        Unit::Millisecond => Field::Millis(of_minute),
        Unit::Second => Field::Micros(of_minute.into()),
        Unit::Minute => Field::Whole(micros / MICROS_PER_MINUTE % 60),
        Unit::Hour => Field::Whole(micros / MICROS_PER_HOUR),
        Unit::Epoch => Field::Micros(micros.into()),
        _ => return None,
    })
}

/// Of a moment where clocks are so many seconds east of UTC.
fn of_moment(micros: i64, east: i64, unit: Unit) -> Option<Field> {
    match unit {
        Unit::Epoch => Some(Field::Micros(micros.into())),
        Unit::Timezone => Some(Field::Whole(east)),
        Unit::TimezoneHour => Some(Field::Whole(east / 3600)),
        Unit::TimezoneMinute => Some(Field::Whole(east / 60 % 60)),
        _ => of_timestamp(micros.saturating_add(east.saturating_mul(MICROS_PER_SECOND)), unit),
    }
}

fn of_timestamp(micros: i64, unit: Unit) -> Option<Field> {
    let moment = Moment::of_micros(micros);
    match unit {
        Unit::Epoch => Some(Field::Micros(micros.into())),
        Unit::Julian => Some(Field::Days(moment.date.days() + JULIAN_OF_EPOCH, moment.micros)),
        Unit::Timezone | Unit::TimezoneHour | Unit::TimezoneMinute => None,
        _ => of_time(moment.micros, unit).or_else(|| of_date(moment.date, unit)),
    }
}

fn of_interval(parts: Parts, unit: Unit) -> Option<Field> {
    let (years, months) = (parts.months / 12, parts.months % 12);
    Some(Field::Whole(match unit {
        Unit::Day => parts.days,
        Unit::Month => months,
        Unit::Quarter => months / 3 + 1,
        Unit::Year => years,
        Unit::Decade => years / 10,
        Unit::Century => years / 100,
        Unit::Millennium => years / 1000,
        Unit::Epoch => {
            /// A year has 365.25 days, a month 30.
            const SECONDS_PER_YEAR: i64 = 31_557_600;
            const SECONDS_PER_DAY: i64 = 86_400;
            let seconds = years * SECONDS_PER_YEAR + (months * 30 + parts.days) * SECONDS_PER_DAY;
            let micros = i128::from(seconds) * i128::from(MICROS_PER_SECOND) + i128::from(parts.micros);
            return Some(Field::Micros(micros));
        }
        _ => return of_time(parts.micros, unit),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_before_christ_count_backwards() {
        let ides = Date { year: -43, month: 3, day: 15 };
        let field = |unit| of_date(ides, unit).unwrap();
        assert_eq!(field(Unit::Year), Field::Whole(-44));
        assert_eq!(field(Unit::Century), Field::Whole(-1));
        assert_eq!(field(Unit::Decade), Field::Whole(-5));
        assert_eq!(field(Unit::Millennium), Field::Whole(-1));
        assert_eq!((ordinal(1, 100), ordinal(100, 100), ordinal(101, 100), ordinal(0, 100)), (1, 1, 2, -1));
    }

    #[test]
    fn intervals_have_fields_of_their_own() {
        let parts = Parts { months: 14, days: 0, micros: -1_500_000 };
        assert_eq!(of_interval(parts, Unit::Epoch), Some(Field::Micros(36_741_598_500_000)));
        assert_eq!(of_interval(Parts { months: -5, days: 0, micros: 0 }, Unit::Quarter), Some(Field::Whole(0)));
        assert_eq!(of_interval(parts, Unit::DayOfWeek), None);
    }
}

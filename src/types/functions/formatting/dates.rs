//! `to_char` of timestamps and intervals; `to_date` and `to_timestamp`.

use arrow::array::ArrayRef;
use arrow::datatypes::{Date32Type, Float64Type, IntervalMonthDayNanoType, TimestampMicrosecondType};

use super::Latest;
use super::date_patterns::{DateTemplate, date_template};
use super::date_reader::{Read, read};
use super::date_writer::{Fields, write_date};
use crate::calendar::Zone;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::datetime::{Parts, micros_of};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Date, Float8, Interval, Text, Timestamp, Timestamptz};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("to_char", &[Timestamptz, Text], Text, |call| timestamps(call, Some(call.style().zone))).stable(),
    Overload::new("to_char", &[Timestamp, Text], Text, |call| timestamps(call, None)).stable(),
    Overload::new("to_char", &[Interval, Text], Text, |call| {
        let values = call.primitive::<IntervalMonthDayNanoType>(0)?;
        written(call, |row| Fields::of_interval(Parts::of(values.at(row))))
    })
    .stable(),
    Overload::new("to_date", &[Text, Text], Date, |call| {
        let mut reader = RowReader::of(call)?;
        call.numbers::<Date32Type>(|row| {
            let (read, text) = reader.at(row)?;
            read.date(text)
        })
    })
    .stable(),
    Overload::new("to_timestamp", &[Text, Text], Timestamptz, |call| {
        let mut reader = RowReader::of(call)?;
        let zone = call.style().zone;
        call.numbers::<TimestampMicrosecondType>(|row| {
            let (read, text) = reader.at(row)?;
            read.timestamp(text, zone)
        })
    })
    .stable(),
    Overload::new("to_timestamp", &[Float8], Timestamptz, |call| {
        let seconds = call.primitive::<Float64Type>(0)?;
        call.numbers::<TimestampMicrosecondType>(|row| of_seconds(seconds.at(row)))
    }),
];

fn timestamps(call: &Call, zone: Option<Zone>) -> SqlResult<ArrayRef> {
    let values = call.primitive::<TimestampMicrosecondType>(0)?;
    written(call, |row| Fields::of_timestamp(values.at(row), zone))
}

/// NULL for an empty template.
fn written(call: &Call, fields: impl Fn(usize) -> Fields) -> SqlResult<ArrayRef> {
    let templates = call.text(1)?;
    let mut latest = Latest::<DateTemplate>::new();
    call.maybe_texts(|row, out| {
        let template = latest.of(templates.at(row), date_template)?;
        write_date(&fields(row), template, out)?;
        Ok(!template.is_empty())
    })
}

/// Reads the texts of a call by their templates.
struct RowReader<'a> {
    texts: crate::functions::call::Texts<'a>,
    templates: crate::functions::call::Texts<'a>,
    latest: Latest<DateTemplate>,
}

impl<'a> RowReader<'a> {
    fn of(call: &'a Call) -> SqlResult<Self> {
        Ok(Self { texts: call.text(0)?, templates: call.text(1)?, latest: Latest::new() })
    }

    fn at(&mut self, row: usize) -> SqlResult<(Read, &'a str)> {
        let text = self.texts.at(row);
        let template = self.latest.of(self.templates.at(row), date_template)?;
        Ok((read(text, template)?, text))
    }
}

/// Seconds since 1970-01-01.
fn of_seconds(seconds: f64) -> SqlResult<i64> {
    if seconds.is_nan() {
        return Err(SqlError::new(ErrorKind::DatetimeOverflow, "timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        let shown = if seconds > 0.0 { "infinity" } else { "-infinity" };
        let message = format!("date/time field value out of range: \"{shown}\"");
        return Err(SqlError::new(ErrorKind::DatetimeOverflow, message).with_detail("Infinity cannot be stored."));
    }
    micros_of(seconds)
        .ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, format!("timestamp out of range: \"{seconds:e}\"")))
}

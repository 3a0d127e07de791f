//! Dates, times and intervals are read as PostgreSQL 15 reads them: its own answers are beside this file.

use super::super::parse_text_as;
use crate::error::{ErrorKind, SqlResult};
use crate::output::TextColumn;
use crate::sql_type::{IntervalFields, SqlType, TimeLimits, TimeType};
use crate::style::{DateForm, DateOrder, DateStyle, IntervalStyle, Reading, Style};

/// 2026-11-22 00:38:03.789
const NOW: i64 = 1_795_307_883_789_000;

fn read(text: &str, sql_type: &SqlType) -> SqlResult<String> {
    let array = parse_text_as(sql_type, text, Reading::at(Some(NOW)))?.to_array().unwrap();
    let mut out = String::new();
    TextColumn::plain(&array, &sql_type.bare()).write_to(0, &mut out).unwrap();
    Ok(out)
}

/// What a text is read as, or the code of the error.
fn answer(text: &str, sql_type: &SqlType) -> String {
    read(text, sql_type).unwrap_or_else(|error| {
        let code = match error.kind {
            ErrorKind::InvalidDatetimeFormat => "22007",
            ErrorKind::DatetimeOverflow => "22008",
            ErrorKind::InvalidZoneDisplacement => "22009",
            ErrorKind::IntervalFieldOverflow => "22015",
            ErrorKind::InvalidParameterValue => "22023",
            other => panic!("{text}: {other:?} {}", error.message),
        };
        code.to_owned()
    })
}

/// Each line of a table of answers: a text, and what it is as each of the types.
fn agree(answers: &str, types: &[SqlType]) {
    let mut differ = Vec::new();
    for line in answers.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split('|');
        let text = columns.next().unwrap();
        for (sql_type, expected) in types.iter().zip(columns) {
            let found = answer(text, sql_type);
            if found != expected {
                differ.push(format!("{text:?}::{sql_type} is {found} and should be {expected}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn dates_and_times_are_read_as_postgresql_does() {
    let types = [SqlType::Date, SqlType::Time, SqlType::Timestamp, SqlType::Timestamptz];
    agree(include_str!("tests/dates.txt"), &types);
}

#[test]
fn intervals_are_read_as_postgresql_does() {
    agree(include_str!("tests/intervals.txt"), &[SqlType::Interval]);
}

#[test]
fn words_stand_for_the_time_of_the_transaction() {
    for (text, sql_type, expected) in [
        ("now", SqlType::Timestamp, "2026-11-22 00:38:03.789"),
        ("Now?", SqlType::Timestamptz, "2026-11-22 00:38:03.789+00"),
        ("now", SqlType::Time, "00:38:03.789"),
        ("now", SqlType::Date, "2026-11-22"),
        ("today", SqlType::Timestamp, "2026-11-22 00:00:00"),
        ("tomorrow 04:05", SqlType::Timestamp, "2026-11-23 04:05:00"),
        ("yesterday?", SqlType::Date, "2026-11-21"),
    ] {
        assert_eq!(read(text, &sql_type).unwrap(), expected, "{text}");
        assert_eq!(
            parse_text_as(&sql_type, text, Reading::default()).unwrap_err().kind,
            ErrorKind::FeatureNotSupported
        );
    }
    assert_eq!(answer("now today", &SqlType::Timestamp), "22007");
    assert_eq!(answer("today", &SqlType::Time), "22007");
}

#[test]
fn limits_are_heeded() {
    let digits = |of, digits| SqlType::Limited(TimeLimits::digits(of, digits));
    let fields = |fields| SqlType::Limited(TimeLimits::interval(fields, None));
    for (text, sql_type, expected) in [
        ("10:11:12.3456789", digits(TimeType::Time, 3), "10:11:12.346"),
        ("2014-08-22 23:59:59.5", digits(TimeType::Timestamp, 0), "2014-08-23 00:00:00"),
        ("1999-12-31 23:59:59.5", digits(TimeType::Timestamp, 0), "1999-12-31 23:59:59"),
        ("2014-08-22 10:00:00.125+02", digits(TimeType::Timestamptz, 2), "2014-08-22 08:00:00.13+00"),
        ("-1.5 sec", digits(TimeType::Interval, 0), "-00:00:02"),
        ("7", fields(IntervalFields::YEAR), "7 years"),
        ("7", fields(IntervalFields::YEAR_TO_MONTH), "7 mons"),
        ("1 2:03:04", fields(IntervalFields::DAY_TO_MINUTE), "1 day 02:03:00"),
        ("5:6", fields(IntervalFields::MINUTE_TO_SECOND), "00:05:06"),
        ("5:6", fields(IntervalFields::HOUR_TO_MINUTE), "05:06:00"),
    ] {
        assert_eq!(read(text, &sql_type).unwrap(), expected, "{text} as {sql_type}");
    }
}

#[test]
fn messages_are_postgresqls() {
    let message =
        |text: &str, sql_type: SqlType| parse_text_as(&sql_type, text, Reading::default()).unwrap_err().message;
    for (sql_type, text, expected) in [
        (SqlType::Date, "x", "invalid input syntax for type date: \"x\""),
        (SqlType::Date, "2014-02-30", "date/time field value out of range: \"2014-02-30\""),
        (SqlType::Date, "5874898-01-01", "date out of range: \"5874898-01-01\""),
        (SqlType::Time, "25:00:00", "date/time field value out of range: \"25:00:00\""),
        (SqlType::Timestamp, "294277-01-01", "timestamp out of range: \"294277-01-01\""),
        (
            SqlType::Timestamptz,
            "2014-08-22 x",
            "invalid input syntax for type timestamp with time zone: \"2014-08-22 x\"",
        ),
        (SqlType::Timestamptz, "2014-08-22 00:00:00 Foo/Bar", "time zone \"foo/bar\" not recognized"),
        (
            SqlType::Timestamptz,
            "2014-08-22 00:00:00+99",
            "time zone displacement out of range: \"2014-08-22 00:00:00+99\"",
        ),
        (SqlType::Interval, "1 fortnight", "invalid input syntax for type interval: \"1 fortnight\""),
        (SqlType::Interval, "99999999999 years", "interval field value out of range: \"99999999999 years\""),
        // Of nanoseconds there is room for fewer hours than PostgreSQL has of microseconds.
        (SqlType::Interval, "2562048 hours", "interval out of range"),
        (SqlType::Interval, "178956970 years 8 mons", "interval out of range"),
    ] {
        assert_eq!(message(text, sql_type), expected);
    }
}

#[test]
fn infinity_is_refused() {
    for text in ["infinity", "-infinity"] {
        for sql_type in [SqlType::Date, SqlType::Timestamp, SqlType::Timestamptz] {
            assert_eq!(answer(text, &sql_type), "22008");
        }
        assert_eq!(answer(text, &SqlType::Time), "22007");
    }
}

/// What a text is in a session of another style, written in the plain one.
fn read_in(style: Style, text: &str, sql_type: &SqlType) -> String {
    let reading = Reading { style, now: Some(NOW) };
    let Ok(value) = parse_text_as(sql_type, text, reading) else { return "refused".to_owned() };
    let mut out = String::new();
    TextColumn::plain(&value.to_array().unwrap(), sql_type).write_to(0, &mut out).unwrap();
    out
}

#[test]
fn the_order_of_a_date_is_the_sessions() {
    let of = |order| Style { dates: DateStyle { form: DateForm::Iso, order }, ..Style::PLAIN };
    for (text, ymd, dmy, mdy) in [
        ("01/02/03", "2001-02-03", "2003-02-01", "2003-01-02"),
        ("99-Jan-08", "1999-01-08", "refused", "refused"),
        ("08-Jan-99", "refused", "1999-01-08", "1999-01-08"),
        ("13/01/2003", "refused", "2003-01-13", "refused"),
        ("2003-01-13", "2003-01-13", "2003-01-13", "2003-01-13"),
        ("8 January 1999", "1999-01-08", "1999-01-08", "1999-01-08"),
    ] {
        for (order, expected) in [(DateOrder::Ymd, ymd), (DateOrder::Dmy, dmy), (DateOrder::Mdy, mdy)] {
            assert_eq!(read_in(of(order), text, &SqlType::Date), expected, "{text} {order:?}");
        }
    }
}

#[test]
fn a_moment_without_a_zone_is_of_the_sessions() {
    let athens = Style { zone: crate::calendar::Zone::parse("Europe/Athens").unwrap(), ..Style::PLAIN };
    for (text, sql_type, expected) in [
        ("2014-08-22 10:00", SqlType::Timestamptz, "2014-08-22 07:00:00+00"),
        ("2014-01-22 10:00", SqlType::Timestamptz, "2014-01-22 08:00:00+00"),
        ("2014-01-22 10:00+00", SqlType::Timestamptz, "2014-01-22 10:00:00+00"),
        ("2014-08-22 10:00", SqlType::Timestamp, "2014-08-22 10:00:00"),
        ("now", SqlType::Timestamptz, "2026-11-22 00:38:03.789+00"),
        ("now", SqlType::Timestamp, "2026-11-22 02:38:03.789"),
        ("now", SqlType::Time, "02:38:03.789"),
        ("today", SqlType::Timestamptz, "2026-11-21 22:00:00+00"),
        ("epoch", SqlType::Timestamptz, "1970-01-01 00:00:00+00"),
    ] {
        assert_eq!(read_in(athens, text, &sql_type), expected, "{text}::{sql_type}");
    }
}

#[test]
fn a_sign_in_front_is_for_all_of_a_standard_interval() {
    let standard = Style { intervals: IntervalStyle::SqlStandard, ..Style::PLAIN };
    for (text, expected) in [
        ("-1 2:03:04", "-1 days -02:03:04"),
        ("-1-2 3 4:05", "-1 years -2 mons -3 days -04:05:00"),
        ("-1 +2:03:04", "-1 days +02:03:04"),
        ("1 -2:03:04", "1 day -02:03:04"),
    ] {
        assert_eq!(read_in(standard, text, &SqlType::Interval), expected, "{text}");
    }
    assert_eq!(read_in(Style::PLAIN, "-1 2:03:04", &SqlType::Interval), "-1 days +02:03:04");
}

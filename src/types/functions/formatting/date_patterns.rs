//! The patterns of dates and times.

use super::template::Letters::{self, Capital, Lower, Upper};
use super::template::{Keywords, Piece, parse};
use crate::error::SqlResult;
use crate::grown::Grown;

/// What a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// AM and PM; with points when true.
    Meridiem(bool, Letters),
    /// BC and AD; with points when true.
    Era(bool, Letters),
    Hour12,
    Hour24,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    /// So many digits of a second.
    Fraction(u32),
    SecondOfDay,
    MonthName(Letters),
    ShortMonthName(Letters),
    MonthNumber,
    RomanMonth(Letters),
    DayName(Letters),
    ShortDayName(Letters),
    DayOfMonth,
    DayOfYear,
    IsoDayOfYear,
    /// From Sunday, 1.
    DayOfWeek,
    /// From Monday, 1.
    IsoDayOfWeek,
    WeekOfMonth,
    WeekOfYear,
    IsoWeek,
    Quarter,
    Century,
    YearWithComma,
    /// The last so many digits of the year.
    Year(usize),
    IsoYear(usize),
    Julian,
    Zone(Letters),
    ZoneHour,
    ZoneMinute,
    ZoneOffset,
    /// `FX`
    Exact,
}

/// Which calendar a pattern belongs to: the two do not mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Convention {
    Gregorian,
    IsoWeek,
}

impl Field {
    pub(super) fn convention(self) -> Option<Convention> {
        match self {
            Field::IsoDayOfYear | Field::IsoDayOfWeek | Field::IsoWeek | Field::IsoYear(_) => Some(Convention::IsoWeek),
            Field::MonthName(_)
            | Field::ShortMonthName(_)
            | Field::MonthNumber
            | Field::RomanMonth(_)
            | Field::DayOfMonth
            | Field::DayOfYear
            | Field::DayOfWeek
            | Field::WeekOfMonth
            | Field::WeekOfYear
            | Field::YearWithComma
            | Field::Year(_) => Some(Convention::Gregorian),
            _ => None,
        }
    }

    /// Whether its value is written in digits.
    pub(super) fn is_digits(self) -> bool {
        !matches!(
            self,
            Field::Meridiem(..)
                | Field::Era(..)
                | Field::MonthName(_)
                | Field::ShortMonthName(_)
                | Field::RomanMonth(_)
                | Field::DayName(_)
                | Field::ShortDayName(_)
                | Field::Zone(_)
                | Field::ZoneHour
                | Field::ZoneOffset
                | Field::Exact
        )
    }
}

const KEYWORDS: Keywords<Field> = &[
    ("A.D.", Field::Era(true, Upper)),
    ("A.M.", Field::Meridiem(true, Upper)),
    ("AD", Field::Era(false, Upper)),
    ("AM", Field::Meridiem(false, Upper)),
    ("B.C.", Field::Era(true, Upper)),
    ("BC", Field::Era(false, Upper)),
    ("CC", Field::Century),
    ("DAY", Field::DayName(Upper)),
    ("DDD", Field::DayOfYear),
    ("DD", Field::DayOfMonth),
    ("DY", Field::ShortDayName(Upper)),
    ("Day", Field::DayName(Capital)),
    ("Dy", Field::ShortDayName(Capital)),
    ("D", Field::DayOfWeek),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("FX", Field::Exact),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("I", Field::IsoYear(1)),
    ("J", Field::Julian),
    ("MI", Field::Minute),
    ("MM", Field::MonthNumber),
    ("MONTH", Field::MonthName(Upper)),
    ("MON", Field::ShortMonthName(Upper)),
    ("MS", Field::Millisecond),
    ("Month", Field::MonthName(Capital)),
    ("Mon", Field::ShortMonthName(Capital)),
    ("OF", Field::ZoneOffset),
    ("P.M.", Field::Meridiem(true, Upper)),
    ("PM", Field::Meridiem(false, Upper)),
    ("Q", Field::Quarter),
    ("RM", Field::RomanMonth(Upper)),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("TZH", Field::ZoneHour),
    ("TZM", Field::ZoneMinute),
    ("TZ", Field::Zone(Upper)),
    ("US", Field::Microsecond),
    ("WW", Field::WeekOfYear),
    ("W", Field::WeekOfMonth),
    ("Y,YYY", Field::YearWithComma),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
    ("a.d.", Field::Era(true, Lower)),
    ("a.m.", Field::Meridiem(true, Lower)),
    ("ad", Field::Era(false, Lower)),
    ("am", Field::Meridiem(false, Lower)),
    ("b.c.", Field::Era(true, Lower)),
    ("bc", Field::Era(false, Lower)),
    ("cc", Field::Century),
    ("day", Field::DayName(Lower)),
    ("ddd", Field::DayOfYear),
    ("dd", Field::DayOfMonth),
    ("dy", Field::ShortDayName(Lower)),
    ("d", Field::DayOfWeek),
    ("ff1", Field::Fraction(1)),
    ("ff2", Field::Fraction(2)),
    ("ff3", Field::Fraction(3)),
    ("ff4", Field::Fraction(4)),
    ("ff5", Field::Fraction(5)),
    ("ff6", Field::Fraction(6)),
    ("fx", Field::Exact),
    ("hh24", Field::Hour24),
    ("hh12", Field::Hour12),
    ("hh", Field::Hour12),
    ("iddd", Field::IsoDayOfYear),
    ("id", Field::IsoDayOfWeek),
    ("iw", Field::IsoWeek),
    ("iyyy", Field::IsoYear(4)),
    ("iyy", Field::IsoYear(3)),
    ("iy", Field::IsoYear(2)),
    ("i", Field::IsoYear(1)),
    ("j", Field::Julian),
    ("mi", Field::Minute),
    ("mm", Field::MonthNumber),
    ("month", Field::MonthName(Lower)),
    ("mon", Field::ShortMonthName(Lower)),
    ("ms", Field::Millisecond),
    ("of", Field::ZoneOffset),
    ("p.m.", Field::Meridiem(true, Lower)),
    ("pm", Field::Meridiem(false, Lower)),
    ("q", Field::Quarter),
    ("rm", Field::RomanMonth(Lower)),
    ("sssss", Field::SecondOfDay),
    ("ssss", Field::SecondOfDay),
    ("ss", Field::Second),
    ("tzh", Field::ZoneHour),
    ("tzm", Field::ZoneMinute),
    ("tz", Field::Zone(Lower)),
    ("us", Field::Microsecond),
    ("ww", Field::WeekOfYear),
    ("w", Field::WeekOfMonth),
    ("y,yyy", Field::YearWithComma),
    ("yyyy", Field::Year(4)),
    ("yyy", Field::Year(3)),
    ("yy", Field::Year(2)),
    ("y", Field::Year(1)),
];

/// A template of dates.
pub(super) type DateTemplate = Grown<Piece<Field>>;

/// # Errors
/// 54000 or 53200 for a template that is too long.
pub(super) fn date_template(text: &str) -> SqlResult<DateTemplate> {
    parse(text, KEYWORDS, true)
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Sunday.
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// From January.
pub(super) const ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// The first letters of a name.
pub(super) fn short(name: &str) -> &str {
    const LETTERS: usize = 3;
    name.get(..LETTERS).unwrap_or(name)
}

//! The words of dates, times and intervals.

/// PostgreSQL compares no more than so many characters of a word.
const COMPARED: usize = 10;

/// What a word of a date or time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Month(i64),
    Weekday,
    /// PM, or AM when false.
    Afternoon(bool),
    /// BC, or AD when false.
    BeforeChrist(bool),
    /// The T of ISO 8601.
    TimeFollows,
    /// A label before its number: `y2001m02d04`.
    Label(Label),
    /// Daylight saving time of the zone before it.
    DaylightSaving,
    Special(Special),
    /// `at`, `on`
    Nothing,
}

/// Words that stand for a date or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Now,
    Yesterday,
    Today,
    Tomorrow,
    /// Midnight, of UTC.
    AllBalls,
    Epoch,
    Infinity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Year,
    /// The minute when there is a month and an hour.
    Month,
    Day,
    Hour,
    Minute,
    Second,
    JulianDay,
    /// Digits of a time follow.
    Time,
    /// Known words that label no field of a date or time.
    Other,
}

/// The meaning of a lower-case word.
pub(super) fn word(text: &[u8]) -> Option<Word> {
    let text = &text[..text.len().min(COMPARED)];
    Some(match text {
        b"allballs" => Word::Special(Special::AllBalls),
        b"epoch" => Word::Special(Special::Epoch),
        b"infinity" | b"-infinity" => Word::Special(Special::Infinity),
        b"now" => Word::Special(Special::Now),
        b"today" => Word::Special(Special::Today),
        b"tomorrow" => Word::Special(Special::Tomorrow),
        b"yesterday" => Word::Special(Special::Yesterday),
        b"ad" => Word::BeforeChrist(false),
        b"bc" => Word::BeforeChrist(true),
        b"am" => Word::Afternoon(false),
        b"pm" => Word::Afternoon(true),
        b"at" | b"on" => Word::Nothing,
        b"dst" => Word::DaylightSaving,
        b"t" => Word::TimeFollows,
        b"y" => Word::Label(Label::Year),
        b"m" => Word::Label(Label::Month),
        b"d" => Word::Label(Label::Day),
        b"h" => Word::Label(Label::Hour),
        b"mm" => Word::Label(Label::Minute),
        b"s" => Word::Label(Label::Second),
        b"j" | b"jd" | b"julian" => Word::Label(Label::JulianDay),
        b"dow" | b"doy" | b"isodow" | b"isoyear" => Word::Label(Label::Other),
        b"mon" | b"monday" | b"tue" | b"tues" | b"tuesday" | b"wed" | b"weds" | b"wednesday" | b"thu" | b"thur"
        | b"thurs" | b"thursday" | b"fri" | b"friday" | b"sat" | b"saturday" | b"sun" | b"sunday" => Word::Weekday,
        _ => Word::Month(month(text)?),
    })
}

fn month(text: &[u8]) -> Option<i64> {
    Some(match text {
        b"jan" | b"january" => 1,
        b"feb" | b"february" => 2,
        b"mar" | b"march" => 3,
        b"apr" | b"april" => 4,
        b"may" => 5,
        b"jun" | b"june" => 6,
        b"jul" | b"july" => 7,
        b"aug" | b"august" => 8,
        b"sep" | b"sept" | b"september" => 9,
        b"oct" | b"october" => 10,
        b"nov" | b"november" => 11,
        b"dec" | b"december" => 12,
        _ => return None,
    })
}

/// What a word of an interval means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    Of(Unit),
    Ago,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
    /// `quarter`, `timezone`: of functions, not of intervals.
    Other,
}

/// The meaning of a lower-case word in an interval.
pub(super) fn span(text: &[u8]) -> Option<Span> {
    let text = &text[..text.len().min(COMPARED)];
    Some(Span::Of(match text {
        b"ago" => return Some(Span::Ago),
        b"us" | b"usec" | b"usecs" | b"usecond" | b"useconds" | b"microsecon" => Unit::Microsecond,
        b"ms" | b"msec" | b"msecs" | b"msecond" | b"mseconds" | b"millisecon" => Unit::Millisecond,
        b"s" | b"sec" | b"secs" | b"second" | b"seconds" => Unit::Second,
        b"m" | b"min" | b"mins" | b"minute" | b"minutes" => Unit::Minute,
        b"h" | b"hr" | b"hrs" | b"hour" | b"hours" => Unit::Hour,
        b"d" | b"day" | b"days" => Unit::Day,
        b"w" | b"week" | b"weeks" => Unit::Week,
        b"mon" | b"mons" | b"month" | b"months" => Unit::Month,
        b"y" | b"yr" | b"yrs" | b"year" | b"years" => Unit::Year,
        b"dec" | b"decs" | b"decade" | b"decades" => Unit::Decade,
        b"c" | b"cent" | b"century" | b"centuries" => Unit::Century,
        b"mil" | b"mils" | b"millennium" | b"millennia" => Unit::Millennium,
        b"qtr" | b"quarter" | b"timezone" | b"timezone_h" | b"timezone_m" => Unit::Other,
        _ => return None,
    }))
}

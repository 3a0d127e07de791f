//! How a session writes values, and how it reads texts that may mean several things: what DateStyle, TimeZone,
//! IntervalStyle, extra_float_digits and bytea_output say.
//!
//! What is stored is always written in the plain style, so that it means the same to every session.

mod dates;
mod intervals;
mod time_zone;

pub use self::dates::{DateForm, DateOrder, DateStyle};
pub use self::intervals::IntervalStyle;
pub use self::time_zone::{named_zone, offset_name};
use super::error::SqlError;
use super::sql_type::SqlType;
use crate::calendar::Zone;

/// The settings that change how values are written and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub dates: DateStyle,
    pub zone: Zone,
    pub intervals: IntervalStyle,
    /// `extra_float_digits`: above 0 as many digits as tell a number from its neighbours.
    pub float_digits: i8,
    pub bytea: ByteaOutput,
}

/// How byte strings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByteaOutput {
    /// `\x00ff`
    #[default]
    Hex,
    /// `\000\377`
    Escape,
}

impl ByteaOutput {
    pub const NAMES: [&str; 2] = ["escape", "hex"];
}

impl Style {
    /// PostgreSQL's defaults, in UTC.
    pub const PLAIN: Style = Style {
        dates: DateStyle { form: DateForm::Iso, order: DateOrder::Mdy },
        zone: Zone::UTC,
        intervals: IntervalStyle::Postgres,
        float_digits: 1,
        bytea: ByteaOutput::Hex,
    };

    /// The same with dates as JSON has them, whatever DateStyle says.
    pub fn of_json(self) -> Self {
        Self { dates: DateStyle { form: DateForm::Xsd, ..self.dates }, ..self }
    }

    /// Whether a local time and its moment are one: then the engine's own casts between them do.
    pub fn is_in_utc(&self) -> bool {
        self.zone == Zone::UTC
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// What a text is read with: the session's style, and when the transaction began, if that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    pub style: Style,
    /// Microseconds since 1970-01-01; `None` where the statement's time is not known, as in a plan that is kept for
    /// later: `now` has no value there.
    pub now: Option<i64>,
}

impl Reading {
    /// In the plain style, at a moment.
    pub fn at(now: Option<i64>) -> Self {
        Self { style: Style::PLAIN, now }
    }
}

/// A literal that is to be kept means one thing to this session and another in the plain style (0A000).
pub fn ambiguous(text: &str, sql_type: &SqlType) -> Box<SqlError> {
    let message = format!("{text} as a {sql_type} that is kept, in a session of this TimeZone and DateStyle");
    SqlError::not_supported(message)
        .with_hint("Write the year first, and behind a time with time zone the offset of its zone.")
}

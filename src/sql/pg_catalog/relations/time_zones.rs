//! `pg_timezone_names` and `pg_timezone_abbrevs`: the time zones that are known, as their clocks stand when the
//! transaction began.

use tablegate_types::calendar::{MICROS_PER_SECOND, Reading, abbreviations_at, zones_at};

use super::Rows;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn names(context: &FunctionContext, rows: &mut Rows) {
    for zone in zones_at(began(context)) {
        let abbreviation = ("abbrev", zone.abbreviation.as_str().into());
        rows.push_all([("name", zone.name.as_str().into()), abbreviation].into_iter().chain(clock(&zone)));
    }
}

pub(super) fn abbreviations(context: &FunctionContext, rows: &mut Rows) {
    for meaning in abbreviations_at(began(context)) {
        rows.push_all([("abbrev", meaning.name.as_str().into())].into_iter().chain(clock(&meaning)));
    }
}

fn clock(reading: &Reading) -> [(&'static str, Cell); 2] {
    [("utc_offset", (reading.east * MICROS_PER_SECOND).into()), ("is_dst", reading.is_summer.into())]
}

/// When the session's transaction began, in microseconds since 1970.
fn began(context: &FunctionContext) -> i64 {
    let session = context.handles.sessions.get(context.login.process);
    session.and_then(|session| session.now().transaction_began).unwrap_or_default()
}

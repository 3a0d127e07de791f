//! IntervalStyle: how intervals are written.

/// How intervals are written, and what a sign in front of one is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

impl IntervalStyle {
    const ALL: [Self; 4] = [Self::Postgres, Self::PostgresVerbose, Self::SqlStandard, Self::Iso8601];
    /// As the setting has them.
    pub const NAMES: [&str; 4] = ["postgres", "postgres_verbose", "sql_standard", "iso_8601"];

    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().zip(Self::ALL).find(|(known, _)| *known == name).map(|(_, style)| style)
    }
}

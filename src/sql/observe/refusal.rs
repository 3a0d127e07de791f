//! Statements that were refused because PostgreSQL does what is not done here: what an application, or the dump of its schema, asked
//! for in vain.

use serde::{Deserialize, Serialize};
use tablegate_types::error::{ErrorKind, SqlError};

use super::seen::{SeenStatement, bounded};
use super::tally::Counted;

/// The shape of statements that are not told apart.
const OTHERS: &str = "(others)";
/// Characters of a message, a detail or a hint that are kept.
const WORDS_MAX_CHARS: usize = 1_000;

/// A statement of an application that was refused, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub application_name: String,
    pub sqlstate: String,
    /// What was said the first time.
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// The statement of the first time.
    pub statement: String,
    pub shape: String,
    pub times: u64,
    /// Microseconds since 1970.
    pub first_seen: i64,
    pub last_seen: i64,
}

impl Refusal {
    /// The refusal that an error is; `None` for one that PostgreSQL would give as well.
    pub(super) fn of(application: &str, sqlstate: &str, error: &SqlError, text: &str, now: i64) -> Option<Self> {
        let is_refusal = match error.kind {
            ErrorKind::FeatureNotSupported | ErrorKind::LimitExceeded | ErrorKind::TooManyColumns => true,
            // ON CONFLICT over a UNIQUE that is only recorded: the hint says so.
            ErrorKind::InvalidColumnReference => error.hint.is_some(),
            _ => false,
        };
        let words = |text: &Option<String>| text.as_ref().map(|text| bounded(text, WORDS_MAX_CHARS));
        is_refusal.then(|| {
            let statement = SeenStatement::new(text);
            Self {
                application_name: application.to_owned(),
                sqlstate: sqlstate.to_owned(),
                message: bounded(&error.message, WORDS_MAX_CHARS),
                detail: words(&error.detail),
                hint: words(&error.hint),
                statement: statement.text().to_owned(),
                shape: statement.shape().to_owned(),
                times: 1,
                first_seen: now,
                last_seen: now,
            }
        })
    }
}

impl Counted for Refusal {
    const PARTITION: &'static str = "refusal1";

    fn kind(&self) -> String {
        format!("{}\0{}\0{}", self.application_name, self.sqlstate, self.shape)
    }

    fn of_others(self) -> Self {
        let nothing = String::new;
        Self {
            application_name: nothing(),
            sqlstate: nothing(),
            message: nothing(),
            detail: None,
            hint: None,
            statement: OTHERS.to_owned(),
            shape: OTHERS.to_owned(),
            ..self
        }
    }

    fn add(&mut self, other: &Self) {
        self.times += other.times;
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
    }
}

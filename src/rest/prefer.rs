//! Whether a client wants to be told what it wrote.

use crate::answer::Answer;

/// The `Prefer` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefer {
    /// It says nothing: what was written comes back.
    Silent,
    Content,
    NoContent,
}

impl Prefer {
    pub(crate) fn of(header: Option<&str>) -> Self {
        let is_said = |wanted: &str| {
            let mut preferences = header.unwrap_or_default().split(',').map(str::trim);
            preferences.any(|preference| preference.eq_ignore_ascii_case(wanted))
        };
        if is_said("return-no-content") {
            Prefer::NoContent
        } else if is_said("return-content") {
            Prefer::Content
        } else {
            Prefer::Silent
        }
    }

    /// The answer, which says what was followed.
    pub(crate) fn applied(self, answer: Answer) -> Answer {
        match self {
            Prefer::Silent => answer,
            Prefer::Content => answer.with_name("preference-applied", "return-content"),
            Prefer::NoContent => answer.with_name("preference-applied", "return-no-content"),
        }
    }
}
